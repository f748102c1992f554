"""Variables: the last word wins whole, and what refers to others is rendered once per target.

A value is replaced as a whole, never merged into the one below it. A text that is nothing but
``{{ name }}`` takes the other value as it is, so lists stay lists and secrets stay references.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import lru_cache

from jinja2 import meta

from fleet.dataclass import dataclass
from fleet.errors import Place, PlanError
from fleet.inventory.draft import Setting
from fleet.inventory.model import Value
from fleet.inventory.nodes import Verbatim
from fleet.inventory.problems import did_you_mean
from fleet.inventory.render import FAULTS, environment, render

DEEPEST = 40
_CIRCLE = "variables refer to one another in a circle"

_WHOLE = re.compile(r"\s*\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}\s*")
_UNDEFINED = re.compile(r"'([^']+)' is undefined")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a variable has no value here.

    Attributes:
        follows: whether it only refers to another variable that has none, told by itself.
    """

    name: str
    what: str
    place: Place | None
    hint: str = field(default="", compare=False)
    is_circle: bool = False
    follows: bool = False


@dataclass(slots=True)
class Rendering:
    """The variables of one target, rendered on demand.

    Attributes:
        settings: what was written, the last word on each.
        told: what can be referred to without being a variable of the inventory: facts of the
            target itself, and the defaults of its systems.
        faults: what could not be rendered, in the order it was found.
    """

    settings: Mapping[str, Setting]
    told: Mapping[str, Value]
    faults: dict[str, Fault] = field(default_factory=dict)
    _done: dict[str, Value] = field(default_factory=dict)
    _path: list[str] = field(default_factory=list)

    def all(self) -> dict[str, Value]:
        """Return every variable that has a value; :attr:`faults` then tells the others."""
        for name in self.settings:
            self._value(name)
        return {name: self._done[name] for name in self.settings if name in self._done}

    def text(self, text: str, place: Place | None) -> str | None:
        """Return another text rendered with the variables; None when it cannot be (a fault)."""
        name = f"{place}"
        value = self._rendered(text, lambda fault: self._fault(name, fault, place))
        return None if value is None else str(value)

    def _value(self, name: str) -> bool:
        """Render one variable; False when it has no value."""
        if name in self._done:
            return True
        if name in self.faults:
            return False
        setting = self.settings[name]
        if not has_template(setting.value):
            self._done[name] = setting.value
            return True
        if name in self._path:
            loop = " → ".join([*self._path[self._path.index(name) :], name])
            self._fault(name, Fault(name, f"{_CIRCLE}: {loop}", None, is_circle=True))
            return False
        if len(self._path) >= DEEPEST:
            what = f"`{name}` is reached through more than {DEEPEST} other variables"
            self._fault(name, Fault(name, what, None))
            return False
        self._path.append(name)
        value = self._walk(setting.value, name, setting.place)
        self._path.pop()
        if name not in self.faults:
            self._done[name] = value
        return name in self._done

    def _walk(self, value: Value, name: str, place: Place | None) -> Value:
        if isinstance(value, list):
            return [self._walk(item, name, place) for item in value]
        if isinstance(value, dict):
            return {key: self._walk(item, name, place) for key, item in value.items()}
        if isinstance(value, str) and is_template(value):
            return self._rendered(value, lambda fault: self._fault(name, fault, place))
        return value

    def _rendered(self, text: str, fail: Callable[[Fault], None]) -> Value:
        if not is_template(text):
            return text
        needed = references(text)
        if isinstance(needed, str):
            fail(Fault("", needed, None))
            return None
        known: dict[str, Value] = {}
        for other in needed:
            if other in self.settings:
                if not self._value(other):
                    fail(self._because(other))
                    return None
                known[other] = self._done[other]
            elif other in self.told:
                known[other] = self.told[other]
        whole = _WHOLE.fullmatch(text)
        if whole and whole[1] in known:
            return known[whole[1]]
        try:
            return render(text, known, where="")
        except PlanError as error:
            fail(self._explained(error.what))
            return None

    def _because(self, other: str) -> Fault:
        fault = self.faults.get(other)
        if fault is None:  # it is being rendered further up: the circle is told there
            return Fault(other, f"{_CIRCLE}, through `{other}`", None, follows=True)
        return replace(fault, follows=True)

    def _explained(self, said: str) -> Fault:
        missing = _UNDEFINED.search(said)
        if not missing:
            return Fault("", f"cannot be rendered: {said}", None)
        name = missing[1]
        hint = did_you_mean(name, {*self.settings, *self.told}, kind="variables")
        return Fault("", f"undefined variable `{name}`", None, hint)

    def _fault(self, name: str, fault: Fault, place: Place | None = None) -> None:
        if name not in self.faults:
            held = self.settings.get(name)
            spot = place or (held.place if held else None)
            self.faults[name] = replace(fault, name=name, place=spot)


def is_template(text: str) -> bool:
    """Tell whether a text refers to variables."""
    return ("{{" in text or "{%" in text) and not isinstance(text, Verbatim)


def has_template(value: Value) -> bool:
    """Tell whether a value, or anything inside of it, refers to variables."""
    if isinstance(value, str):
        return is_template(value)
    if isinstance(value, list):
        return any(has_template(item) for item in value)
    return isinstance(value, dict) and any(has_template(item) for item in value.values())


@lru_cache(maxsize=4096)
def references(text: str) -> tuple[str, ...] | str:
    """Return the names a text refers to, or what is wrong with it as a template."""
    try:
        return tuple(sorted(meta.find_undeclared_variables(environment().parse(text))))
    except RecursionError:
        return "the template is nested too deeply"
    except FAULTS as error:
        return f"the template cannot be read: {error}"
