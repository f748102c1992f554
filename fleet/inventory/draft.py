"""What inventory files say, gathered from every form of them before anything is decided."""

from collections.abc import Iterable
from dataclasses import field
from datetime import date

from fleet.dataclass import dataclass
from fleet.errors import Place
from fleet.inventory.model import Kind, Value
from fleet.inventory.problems import Problems
from fleet.systems.model import Gate

ALL = "all"
UNGROUPED = "ungrouped"


@dataclass(frozen=True, slots=True)
class Setting:
    """One variable as it was written."""

    value: Value
    place: Place | None


@dataclass(frozen=True, slots=True)
class Named:
    """A name that was mentioned, and where."""

    name: str
    place: Place | None


@dataclass(slots=True)
class GroupDraft:
    """A group; what several places say of it is united.

    Attributes:
        settings: variables written in inventory files.
        further: variables from ``group_vars``.
        groups: names of the groups inside of it.
        targets: names of its targets.
    """

    name: str
    place: Place | None
    settings: dict[str, Setting] = field(default_factory=dict)
    further: dict[str, Setting] = field(default_factory=dict)
    systems: list[Named] = field(default_factory=list)
    require: list[Named] = field(default_factory=list)
    groups: dict[str, Place | None] = field(default_factory=dict)
    targets: dict[str, Place | None] = field(default_factory=dict)


@dataclass(slots=True)
class TargetDraft:
    """A target.

    Attributes:
        place: where it is described, or first mentioned.
        described: whether anything but its name was said.
        address: what was written; None when nothing was.
        further: variables from ``host_vars``.
    """

    name: str
    kind: Kind
    place: Place
    described: bool = False
    address: "WrittenAddress | None" = None
    settings: dict[str, Setting] = field(default_factory=dict)
    further: dict[str, Setting] = field(default_factory=dict)
    systems: list[Named] = field(default_factory=list)
    require: list[Named] = field(default_factory=list)
    launches: tuple[str, ...] = ()
    become: str = ""
    identity: str = ""


@dataclass(frozen=True, slots=True)
class WrittenAddress:
    """An address as written: which key (``ssh``, ``image``, ...), the text, and where."""

    key: str
    text: str
    place: Place


@dataclass(frozen=True, slots=True)
class UserGate:
    """A gate that the inventory adds to a system."""

    system: str
    gate: Gate
    place: Place


@dataclass(frozen=True, slots=True)
class WaiverDraft:
    """A waiver as it was written; ``targets`` are patterns."""

    gate: Named
    targets: tuple[Named, ...]
    reason: str
    until: date
    place: Place


@dataclass(slots=True)
class Draft:
    """Everything that the files of one inventory say.

    Attributes:
        ansible: whether every file has Ansible's form; its rules of precedence then hold.
        sources: the files, in the order they were read.
        notes: what a reader should know though it is no mistake.
    """

    groups: dict[str, GroupDraft] = field(default_factory=dict)
    targets: dict[str, TargetDraft] = field(default_factory=dict)
    gates: list[UserGate] = field(default_factory=list)
    waivers: list[WaiverDraft] = field(default_factory=list)
    ansible: bool = True
    sources: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: Problems = field(default_factory=Problems)

    def group(self, name: str, place: Place | None) -> GroupDraft:
        """Return a group, made if it is new."""
        if name not in self.groups:
            self.groups[name] = GroupDraft(name, place)
        return self.groups[name]

    def mention(self, name: str, kind: Kind, place: Place) -> TargetDraft:
        """Return a target, made if it is new; a name of another kind is a mistake."""
        held = self.targets.get(name)
        if held is None:
            held = self.targets[name] = TargetDraft(name, kind, place)
        elif held.kind is not kind:
            self.problems.add(
                f"`{name}` is a {kind} here and a {held.kind} in {_spot(held.place, place)}",
                place,
                "every target needs a name of its own",
            )
        return held

    def describe(self, target: TargetDraft, place: Place) -> bool:
        """Note that a target is described here; False when it was before, which is a mistake."""
        if target.described:
            self.problems.add(
                f"`{target.name}` is described twice: here and in {_spot(target.place, place)}",
                place,
                "describe it once; in further groups its name alone puts it there",
            )
            return False
        target.described, target.place = True, place
        return True

    def set(self, held: dict[str, Setting], name: str, setting: Setting, of: str) -> None:
        """Note a variable; saying it twice in one group is a mistake."""
        before = held.get(name)
        if before is not None and before.place is not None and setting.place is not None:
            self.problems.add(
                f"`{name}` of {of} is set twice: here and in {_spot(before.place, setting.place)}",
                setting.place,
                "set it once; a child group or a target may set it anew",
            )
        held[name] = setting


def _spot(place: Place, seen_from: Place) -> str:
    return f"line {place.line}" if place.file == seen_from.file else str(place)


def united(path: Iterable[Iterable[Named]]) -> tuple[Named, ...]:
    """Return names along a path of groups, each once, in the order they were first said."""
    found: dict[str, Named] = {}
    for names in path:
        for named in names:
            found.setdefault(named.name, named)
    return tuple(found.values())
