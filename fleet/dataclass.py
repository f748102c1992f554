"""Data classes that cost little to define; to read, to type and to use, they are the library's.

The library's decorator writes the source of six methods for each class and compiles it whenever its
module is imported: for the two hundred classes of a short command, a sixth of the processor time.
Here classes share the methods that compare, print and pickle them. The one that must know their
fields, the constructor, is compiled when the first object is made: of most classes a run has none.
Fields, ``replace``, ``asdict`` and match patterns are the library's own.

Only what is used is here: slots always, ``frozen``, ``__post_init__`` without ``InitVar``, and
fields with ``default``, ``default_factory``, ``init``, ``repr`` and ``compare``.
"""

import dataclasses
from collections.abc import Callable, Sequence
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias, TypeVar, cast

T = TypeVar("T")
Field: TypeAlias = "dataclasses.Field[object]"
Method: TypeAlias = Callable[..., object]
Values: TypeAlias = Callable[[object], tuple[object, ...]]

__all__ = ["dataclass", "define"]

_MISSING = dataclasses.MISSING
_GIVEN = ("__init__", "__eq__", "__hash__", "__setattr__", "__delattr__")


def define(
    *,
    frozen: bool = False,
    slots: Literal[True],  # noqa: ARG001 - as the library's is called
) -> Callable[[type[T]], type[T]]:
    """Return a decorator that makes of a class what ``dataclasses.dataclass`` makes of it.

    Raises:
        TypeError: the class has a method of its own that its fields are to give it.
    """

    def decorate(cls: type[T]) -> type[T]:
        own = [name for name in _GIVEN if name in vars(cls)]
        if own:
            raise TypeError(f"{cls.__qualname__} has its own {own[0]}")
        made = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True)(cls)
        for name, method in _methods(made, frozen=frozen).items():
            if name != "__repr__" or name not in vars(made):
                setattr(made, name, method)
        return made

    return decorate


def _fields(cls: object) -> tuple[Field, ...]:
    return dataclasses.fields(cls)  # type: ignore[arg-type]  # a data class, or an object of one


def _methods(cls: type, *, frozen: bool) -> dict[str, Method | None]:
    fields = _fields(cls)
    compared = _values([field.name for field in fields if field.compare])
    always = {"__init__": _first(cls, fields, frozen=frozen), "__eq__": _equal(compared)}
    if not frozen:
        return {**always, "__repr__": _printed, "__hash__": None}
    return {
        **always,
        "__repr__": _printed,
        "__hash__": lambda self: hash(compared(self)),
        "__setattr__": _not_set,
        "__delattr__": _not_deleted,
        "__getstate__": _state,
        "__setstate__": _restored,
    }


# --- what classes share --------------------------------------------------------------------------


def _values(names: Sequence[str]) -> Values:
    """Return what brings the values of these fields."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda self: tuple(getattr(self, name) for name in names)


def _equal(values: Values) -> Method:
    def equal(self: object, other: object) -> object:
        if other.__class__ is not self.__class__:
            return NotImplemented
        return values(self) == values(other)

    return equal


@recursive_repr()
def _printed(self: object) -> str:
    shown = (f"{f.name}={getattr(self, f.name)!r}" for f in _fields(self) if f.repr)
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _not_set(_: object, name: str, __: object) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _not_deleted(_: object, name: str) -> NoReturn:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: object) -> list[object]:
    return [getattr(self, field.name) for field in _fields(self)]


def _restored(self: object, state: Sequence[object]) -> None:
    for field, value in zip(_fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)


# --- the constructor -----------------------------------------------------------------------------


def _first(cls: type, fields: Sequence[Field], *, frozen: bool) -> Method:
    """Return a constructor that puts the right one in its own place."""

    def first(self: object, *args: object, **named: object) -> None:
        constructor = _constructor(cls, fields, frozen=frozen)
        cls.__init__ = constructor  # type: ignore[misc]
        constructor(self, *args, **named)

    return first


def _constructor(cls: type, fields: Sequence[Field], *, frozen: bool) -> Method:
    """Compile a constructor as the library has it; what is frozen is set by way of its slots."""
    held: dict[str, object] = {"_unset": _MISSING}
    parameters, lines = ["self"], []
    for number, field in enumerate(fields):
        name, value, default = field.name, field.name, ""
        if field.default is not _MISSING:
            default = f"_default{number}"
            held[default] = field.default
            value = name if field.init else default
        elif field.default_factory is not _MISSING:
            default, make = "_unset", f"_make{number}"
            held[make] = field.default_factory
            value = f"{make}() if {name} is _unset else {name}" if field.init else f"{make}()"
        if field.init:
            parameters.append(f"{name}={default}" if default else name)
        if field.init or default:
            held[f"_set{number}"] = getattr(cls, name).__set__
            lines.append(f"_set{number}(self, {value})" if frozen else f"self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    source = f"def __init__({', '.join(parameters)}):\n " + "\n ".join(lines or ["pass"])
    exec(source, held)  # noqa: S102 - nothing but names of the class's own fields
    made = cast("Method", held["__init__"])
    made.__qualname__ = f"{cls.__qualname__}.__init__"
    return made


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = define
