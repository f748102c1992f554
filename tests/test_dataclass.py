"""Our data classes do what the library's do, method by method."""

import ast
import copy
import dataclasses
import pickle
from collections.abc import Callable
from dataclasses import FrozenInstanceError, asdict, field, fields, replace
from pathlib import Path
from typing import Any, Generic, TypeVar

import pytest

import fleet
from fleet.dataclass import dataclass, define

ROOT = Path(fleet.__file__).parent
T = TypeVar("T")
Decorate = Callable[..., Callable[[type[T]], type[T]]]
Classes = tuple[Any, ...]


def classes(decorate: Any) -> Classes:
    """Make the same classes by a decorator; of what comes, nothing tells which it was."""

    @decorate(frozen=True, slots=True)
    class Frozen(Generic[T]):
        """Has every sort of field."""

        name: str
        number: int = 3
        parts: list[str] = field(default_factory=list)
        place: str = field(default="here", compare=False)
        hidden: str = field(default="x", repr=False)
        cache: dict[str, int] = field(default_factory=dict, init=False, repr=False, compare=False)
        fixed: int = field(default=7, init=False)

    @decorate(slots=True)
    class Open:
        """May change."""

        name: str
        parts: list[str] = field(default_factory=list)
        doubled: str = field(init=False)

        def __post_init__(self) -> None:
            self.doubled = self.name * 2

    @decorate(slots=True)
    class Under(Open):
        """Has more than what it comes from."""

        more: int = 0

    @decorate(frozen=True, slots=True)
    class One:
        """Has one field."""

        value: object

    @decorate(frozen=True, slots=True)
    class Empty:
        """Has none."""

    @decorate(frozen=True, slots=True)
    class Said:
        """Prints as it likes."""

        value: str

        def __repr__(self) -> str:
            return "***"

    return Frozen, Open, Under, One, Empty, Said


OURS, THEIRS = classes(define), classes(dataclasses.dataclass)
DONE: dict[str, Callable[[Classes], object]] = {
    "positional": lambda c: repr(c[0]("a", 4, ["b"], "there", "y")),
    "named": lambda c: repr(c[0](name="a", parts=["b"])),
    "default": lambda c: (c[0]("a").number, c[0]("a").fixed, c[0]("a").cache),
    "fresh defaults": lambda c: c[0]("a").parts is c[0]("a").parts,
    "None is given": lambda c: c[0]("a", parts=None).parts,
    "missing": lambda c: c[0](),
    "too many": lambda c: c[1]("a", [], "b"),
    "unknown": lambda c: c[0]("a", other=1),
    "not for the constructor": lambda c: c[0]("a", cache={}),
    "equal": lambda c: (c[0]("a", place="b") == c[0]("a"), c[0]("a") == c[0]("a", 4)),
    "another class": lambda c: (c[1]("a") == c[2]("a"), c[1]("a") == "a", c[4]() == c[4]()),
    "no answer": lambda c: c[1]("a").__eq__("a"),
    "hash": lambda c: (hash(c[3]("a")), hash(c[4]()), hash(c[5]("a")) == hash("a")),
    "hash of what may change": lambda c: hash(c[1]("a")),
    "hash of a part that may change": lambda c: hash(c[3]([])),
    "set a field": lambda c: setattr(c[0]("a"), "name", "b"),
    "delete a field": lambda c: delattr(c[0]("a"), "name"),
    "change": lambda c: setattr(c[1]("a"), "name", "b"),
    "slots": lambda c: [hasattr(k, "__dict__") for k in (c[0]("a"), c[1]("a"), c[2]("a"))],
    "no slot": lambda c: setattr(c[1]("a"), "other", "b"),
    "after the constructor": lambda c: (c[1]("a").doubled, repr(c[2]("ab", more=2))),
    "printed": lambda c: (repr(c[3](1)), repr(c[4]()), repr(c[5]("a"))),
    "holds itself": lambda c: _holding_itself(c[3]),
    "replace": lambda c: repr(replace(c[0]("a", 4), name="b")),
    "replace what is not given": lambda c: replace(c[0]("a"), fixed=2),
    "asdict": lambda c: asdict(c[0]("a")),
    "fields": lambda c: [[(f.name, f.init, f.repr, f.compare) for f in fields(k)] for k in c],
    "match": lambda c: [k.__match_args__ for k in c],
    "copied": lambda c: [repr(copy.copy(k)) for k in (c[0]("a", 4), c[1]("a"), c[4]())],
    "copied deeply": lambda c: repr(copy.deepcopy(c[0]("a", parts=["b"]))),
    "state": lambda c: c[0]("a").__getstate__(),
    "constructor's name": lambda c: (c[3](1), c[3].__init__.__qualname__)[1],
}


def _holding_itself(one: Any) -> str:
    held: list[object] = []
    held.append(one(held))
    return repr(held[0])


def outcome(do: Callable[[Classes], object], made: Classes) -> object:
    try:
        return do(made)
    except (TypeError, AttributeError, ValueError, FrozenInstanceError) as error:
        return type(error), str(error)


@pytest.mark.parametrize("name", DONE)
def test_it_is_as_the_librarys(name: str) -> None:
    again = classes(define)  # whose constructors were never called
    expected = outcome(DONE[name], THEIRS)
    assert outcome(DONE[name], OURS) == expected
    assert outcome(DONE[name], again) == expected


def test_what_the_library_stumbles_on_is_told() -> None:
    (frozen, *_) = OURS
    with pytest.raises(FrozenInstanceError, match="'other'"):
        frozen("a").other = "b"
    assert frozen[int]("a").name == "a"


@dataclass(frozen=True, slots=True)
class Sent:
    """Can be found by its name, as who unpickles must."""

    name: str
    parts: tuple[str, ...] = ()


def test_it_travels() -> None:
    again = pickle.loads(pickle.dumps(Sent("a", ("b",))))  # noqa: S301 - our own
    assert again == Sent("a", ("b",))


@pytest.mark.parametrize("method", ["__init__", "__eq__", "__hash__", "__setattr__"])
def test_a_method_that_fields_give_is_not_written(method: str) -> None:
    with pytest.raises(TypeError, match=method):
        define(frozen=True, slots=True)(type("Own", (), {method: lambda *_: None}))


def test_only_what_is_used_is_compiled() -> None:
    (one, *_) = classes(define)
    before = one.__init__
    one("a")
    assert one.__init__ is not before
    assert one.__init__.__code__.co_filename == "<string>"


def test_every_data_class_is_such_a_one() -> None:
    found = [
        str(path.relative_to(ROOT))
        for path in ROOT.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if "dataclass" in {alias.name for alias in node.names}
    ]
    assert found == ["dataclass.py"]
