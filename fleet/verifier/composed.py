"""A container held against its compose file, its environment too, by what the engine tells of it.

Compose's own label with the hash of its configuration is not asked: it changes with compose's
version, and says nothing of what changed.
"""

from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.facts.dotenv import EnvEntry
from fleet.facts.images import ImageFact
from fleet.facts.running import ContainerFact, EnvValue
from fleet.verifier.compose import Compose, Drawn, Service
from fleet.verifier.compose_running import Ground, differences, inherits
from fleet.verifier.exports import (
    Difference,
    compare_digest,
    compare_text,
    compare_values,
)
from fleet.verifier.interpolate import Mention
from fleet.verifier.look import Expected

_SHELL = "its value comes from the shell that runs compose"
_PIECED = "its value is pieced together of variables that are not told"

#: A value: the text itself, what a fact tells of it, or in words why it is not known.
Meant: TypeAlias = "str | EnvValue | _Unknown"


@dataclass(frozen=True, slots=True)
class _Unknown:
    why: str


@dataclass(frozen=True, slots=True)
class Around:
    """What was read of the variables that a compose file is filled in from.

    Attributes:
        dotenv: variables of the ``.env``.
        env_files: variables of the files that services read, by path as it is written; None for
            one that could not be read.
        expected: values that are known from elsewhere, by variable.
    """

    dotenv: Mapping[str, EnvEntry] = field(default_factory=dict)
    env_files: Mapping[str, Mapping[str, EnvEntry] | None] = field(default_factory=dict)
    expected: Mapping[str, Expected] = field(default_factory=dict)


def untold(entries: Mapping[str, EnvEntry]) -> frozenset[str]:
    """Return the variables whose values are not told, and not empty."""
    return frozenset(
        name
        for name, entry in entries.items()
        if entry.unknown or (entry.value.value is None and entry.value.length)
    )


@dataclass(frozen=True, slots=True)
class Compared:
    """What differs between a container and its service, and what could not be compared."""

    wrong: tuple[str, ...] = ()
    unseen: tuple[str, ...] = ()


def compare_container(
    ground: Ground,
    around: Around,
    file: Compose,
    service: Service,
    container: ContainerFact,
    image: ImageFact | None = None,
) -> Compared:
    """Compare a container with its service, its environment too.

    Args:
        ground: where the file lies; its nonce is that of the container's facts.
        around: what was read beside the file, with the same nonce.
        file: the file that lies there.
        service: the container's, of that file.
        container: what the engine tells.
        image: what the container's own image says, where that was asked too. Without it nothing
            is told of variables that the file does not name.
    """
    wrong, unseen = differences(ground, file, service, container, image)
    if inherits(file, service):
        return Compared(wrong, unseen)
    told = list(_environment(service, container, _Values(ground.nonce, around), image))
    return Compared(
        (*wrong, *(str(each) for each in told if not each.unseen)),
        (*unseen, *(str(each) for each in told if each.unseen)),
    )


@dataclass(frozen=True, slots=True)
class _Values:
    """What is known of values, and the nonce that digests of them are keyed with."""

    nonce: str
    around: Around

    def is_told(self, mention: Mention) -> bool:
        """Tell whether the text that a mention stands for is known."""
        if mention.name in self.around.dotenv:
            return mention.name not in untold(self.around.dotenv)
        return mention.operator.lstrip(":") not in ("", "?")


def _environment(
    service: Service, container: ContainerFact, values: _Values, image: ImageFact | None
) -> Iterator[Difference]:
    meant = dict(_meant(service, values))
    whole = image is not None and image.variables is not None
    for name, value in meant.items():
        actual = container.variables.get(name)
        if actual is None and not whole:
            continue
        told = _differs(name, value, actual or EnvValue(set=False), values)
        if told:
            yield told
    lost = [e.path for e in service.env_files if _entries(values, e.path) is None]
    for path in lost:
        yield Difference(path, "was not read, so its variables were not compared", unseen=True)
    if image is not None and image.variables is not None and not lost:
        yield from _beside(meant, container, image.variables, values)


def _entries(values: _Values, path: str) -> Mapping[str, EnvEntry] | None:
    return values.around.env_files.get(path)


def _meant(service: Service, values: _Values) -> Iterator[tuple[str, Meant]]:
    """Yield what the file says of each variable; what stands in it comes last and holds."""
    for env_file in service.env_files:
        for name, entry in (_entries(values, env_file.path) or {}).items():
            yield name, _of_entry(entry)
    for name, text in service.environment.items():
        if name in values.around.expected:
            yield name, EnvValue(set=True)
        elif name in service.literals:
            yield name, text or ""
        else:
            yield name, _drawn(text or "", service.drawn.get(name, Drawn()), values)


def _drawn(text: str, drawn: Drawn, values: _Values) -> Meant:
    entry = values.around.dotenv.get(drawn.variable)
    if entry is not None and (entry.value.length or entry.unknown):
        return _of_entry(entry)
    if not drawn.mentions:
        return _Unknown(_SHELL)
    if all(values.is_told(mention) for mention in drawn.mentions):
        return text
    return _Unknown(_SHELL if drawn.variable else _PIECED)


def _of_entry(entry: EnvEntry) -> Meant:
    return _Unknown(entry.unknown) if entry.unknown else entry.value


def _differs(name: str, meant: Meant, actual: EnvValue, values: _Values) -> Difference | None:
    if isinstance(meant, _Unknown):
        return Difference(name, f"was not compared: {meant.why}", unseen=True)
    if not actual.set:
        return Difference(name, "is not set")
    expected = values.around.expected.get(name)
    if expected is not None:
        return compare_digest(name, expected, actual)
    if isinstance(meant, str):
        return compare_text(name, meant, actual, values.nonce)
    return compare_values(name, meant, actual, values.nonce)


def _beside(
    meant: Mapping[str, Meant],
    container: ContainerFact,
    baked: Mapping[str, EnvValue],
    values: _Values,
) -> Iterator[Difference]:
    """Yield variables that were given to the container and that the file does not name."""
    for name, actual in container.variables.items():
        # Proxies are handed on from the client's own configuration.
        if not actual.set or name in meant or name.lower().endswith("_proxy"):
            continue
        own = baked.get(name)
        if own is None or not own.set:
            yield Difference(name, "is set, and neither the file nor the image says so")
        elif compare_values(name, own, actual, values.nonce):
            yield Difference(name, "is not the image's own, and the file does not name it")
