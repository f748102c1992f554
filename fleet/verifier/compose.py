"""A compose file as a model: variables filled in, short forms taken apart, services told apart.

Pure: it reads text and an environment. What is wrong with a file is a :class:`Problem`, never an
exception, so one mistake does not hide the next.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.errors import InventoryError, Place
from fleet.facts.dotenv import EnvEntry
from fleet.inventory.nodes import ListNode, MapNode, Node
from fleet.inventory.yaml import parse
from fleet.verifier import compose_forms as forms
from fleet.verifier.compose_forms import EnvFile, Plain, Port, Volume
from fleet.verifier.interpolate import BadVariable, Mention, fill
from fleet.verifier.model import Verdict

Path: TypeAlias = tuple[str | int, ...]

ALL_PROFILES = "*"
#: A text that is the value of one variable, or of what follows its operator.
_ONE_VARIABLE = re.compile(r"\$(?:(?P<bare>\w+)|\{(?P<braced>\w+)(?::?[-?][^{}$]*)?\})", re.ASCII)


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about a compose file that will go wrong, or goes wrong silently.

    Attributes:
        verdict: ``fail``, ``warn``, or ``not-applicable`` for a service that is not meant to run.
        where: file, line and column.
        message: one line, without a final stop.
    """

    verdict: Verdict
    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


@dataclass(frozen=True, slots=True)
class Drawn:
    """What a value is drawn from, where it does not stand in the file itself.

    Attributes:
        variable: the one variable whose value it is as it stands; empty where it is pieced
            together.
        mentions: all variables that were looked at; none where the text could not be filled in.
    """

    variable: str = ""
    mentions: tuple[Mention, ...] = ()


@dataclass(frozen=True, slots=True)
class Service:
    """One service, as compose would start it.

    Attributes:
        environment: None stands for the value of whoever starts it.
        healthcheck: the words of its test, ``CMD`` or ``CMD-SHELL`` first; empty for none.
        mentions: variables its texts were filled in from, by the key they stand under.
        literals: names in ``environment`` whose value stands in the file itself.
        drawn: of the other names there, what their values are drawn from.
    """

    name: str
    image: str = ""
    container_name: str = ""
    command: tuple[str, ...] = ()
    environment: Mapping[str, str | None] = field(default_factory=dict)
    env_files: tuple[EnvFile, ...] = ()
    ports: tuple[Port, ...] = ()
    volumes: tuple[Volume, ...] = ()
    depends_on: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    healthcheck: tuple[str, ...] = ()
    network_mode: str = ""
    restart: str = ""
    mentions: Mapping[str, tuple[Mention, ...]] = field(default_factory=dict)
    literals: tuple[str, ...] = ()
    drawn: Mapping[str, Drawn] = field(default_factory=dict)

    def selected(self, profiles: frozenset[str]) -> bool:
        """Tell whether a plain ``up`` starts it while these profiles are active."""
        return not self.profiles or ALL_PROFILES in profiles or bool(profiles & {*self.profiles})


@dataclass(frozen=True, slots=True)
class Compose:
    """A compose file.

    Attributes:
        environment: what its texts were filled in from.
        secrets: environment variables that secrets are taken from, by secret.
        volumes: names that the engine knows volumes by, by the name in the file, where the file
            gives one; else it is the project's name before the file's.
        problems: what was found wrong while reading.
        places: where each part stands.
    """

    file: str
    environment: Mapping[str, str]
    services: Mapping[str, Service] = field(default_factory=dict)
    secrets: Mapping[str, str] = field(default_factory=dict)
    volumes: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[Problem, ...] = ()
    places: Mapping[Path, Place] = field(default_factory=dict)

    @property
    def profiles(self) -> frozenset[str]:
        """Return the active profiles, as ``COMPOSE_PROFILES`` names them."""
        named = self.environment.get("COMPOSE_PROFILES", "").split(",")
        return frozenset(name.strip() for name in named if name.strip())

    @property
    def selected(self) -> tuple[Service, ...]:
        """Return the services that a plain ``up`` starts."""
        return tuple(s for s in self.services.values() if s.selected(self.profiles))

    def where(self, *path: str | int) -> str:
        """Return the place of a part, or of the nearest part around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.places:
                return str(self.places[path[:length]])
        return self.file


def stand_ins(entries: Mapping[str, EnvEntry]) -> dict[str, str]:
    """Return an environment to fill a file in from; any text stands for a value not told."""
    return {name: _stand_in(entry) for name, entry in entries.items()}


def _stand_in(entry: EnvEntry) -> str:
    if entry.value.value is not None:
        return entry.value.value
    return "x" if entry.value.length or entry.unknown else ""


def read_compose(text: str | bytes, file: str, environment: Mapping[str, str]) -> Compose:
    """Read a compose file.

    Args:
        text: its content.
        file: its name, for messages.
        environment: the ``.env`` beside it, overlaid with the environment of whoever starts it;
            values that are not known may be any text that is not empty.
    """
    try:
        root = parse(text, file)
    except InventoryError as error:
        problem = Problem(Verdict.FAIL, str(error.place or file), error.what)
        return Compose(file, environment, problems=(problem,))
    reader = _Reader(file, environment, (text if isinstance(text, str) else text.decode()))
    return reader.compose(root)


@dataclass(slots=True)
class _Reader:
    """Turns the tree into plain data, filling in variables and keeping places on the way."""

    file: str
    environment: Mapping[str, str]
    text: str
    problems: list[Problem] = field(default_factory=list)
    places: dict[Path, Place] = field(default_factory=dict)
    mentions: list[tuple[Path, Mention]] = field(default_factory=list)
    written: dict[Path, str] = field(default_factory=dict)

    def compose(self, root: Node) -> Compose:
        data = self.plain(root, ())
        services = self._mapping(data, "services")
        return Compose(
            file=self.file,
            environment=self.environment,
            services={
                name: self._service(name, given)
                for name in services
                if (given := self._mapping(services, name, under="services"))
            },
            secrets=_secrets(self._mapping(data, "secrets")),
            volumes=_named(self._mapping(data, "volumes")),
            problems=tuple(self.problems),
            places=self.places,
        )

    def plain(self, node: Node, path: Path) -> Plain:
        self.places[path] = node.place
        if isinstance(node, MapNode):
            for key, pair in node.pairs.items():
                self.places[(*path, key)] = pair.place
            return {key: self._within(pair.value, (*path, key)) for key, pair in node.pairs.items()}
        if isinstance(node, ListNode):
            return [self.plain(item, (*path, index)) for index, item in enumerate(node.items)]
        if node.value is None or isinstance(node.value, bool):
            return node.value
        self._warn_of_base_60(node.text, node.place, path)
        return self._filled(node.text, node.place, path)

    def _within(self, node: Node, path: Path) -> Plain:
        place = self.places[path]
        value = self.plain(node, path)
        # A key stands before its value, and is what a reader looks for.
        self.places[path] = place
        return value

    def _filled(self, text: str, place: Place, path: Path) -> str:
        try:
            filled = fill(text, self.environment)
        except BadVariable as error:
            self.problems.append(Problem(Verdict.FAIL, str(place), str(error)))
            self.written[path] = text
            return ""
        self.mentions += [(path, mention) for mention in filled.mentions]
        if filled.mentions:
            self.written[path] = text
        return filled.text

    def _warn_of_base_60(self, text: str, place: Place, path: Path) -> None:
        """Warn of an unquoted ``8765:55``, which a reader of YAML 1.1 takes for a number."""
        head, colon, tail = text.partition(":")
        if not (colon and "ports" in path and head.isdecimal() and tail.isdecimal()):
            return
        line = self.text.splitlines()[place.line - 1 : place.line]
        if int(tail) < 60 and line and line[0][place.column - 1 : place.column] not in "\"'":  # noqa: PLR2004 - the base that YAML 1.1 reads it in
            number = int(head) * 60 + int(tail)
            what = f'quote "{text}": a reader of YAML 1.1 takes it for the number {number}'
            self.problems.append(Problem(Verdict.WARN, str(place), what))

    def _mapping(self, data: Plain, key: str, *, under: str = "") -> dict[str, Plain]:
        value = data.get(key) if isinstance(data, dict) else None
        if isinstance(value, dict):
            return value
        if value is not None or (isinstance(data, dict) and under and key in data):
            path = (under, key) if under else (key,)
            where = str(self.places.get(path, self.file))
            self.problems.append(Problem(Verdict.FAIL, where, f"`{key}` is no mapping"))
        return {}

    def _service(self, name: str, given: dict[str, Plain]) -> Service:
        def parts(key: str) -> Iterator[tuple[int, Plain]]:
            value = given.get(key)
            return enumerate(value if isinstance(value, list) else [])

        health = given.get("healthcheck")
        test = health.get("test") if isinstance(health, dict) else None
        words = ("CMD-SHELL", test) if isinstance(test, str) else forms.command(test)
        path = ("services", name)
        entries = self._entries((*path, "environment"), given.get("environment"))
        return Service(
            name=name,
            image=forms.word(given.get("image")),
            container_name=forms.word(given.get("container_name")),
            command=(*forms.command(given.get("entrypoint")), *forms.command(given.get("command"))),
            environment=forms.variables(given.get("environment")),
            env_files=tuple(forms.env_files(given.get("env_file"))),
            ports=tuple(self._ports(path, parts("ports"))),
            volumes=tuple(self._volumes(path, parts("volumes"))),
            depends_on=forms.names(given.get("depends_on")),
            profiles=forms.names(given.get("profiles")),
            secrets=forms.names(given.get("secrets")),
            healthcheck=words,
            network_mode=forms.word(given.get("network_mode")),
            restart=forms.word(given.get("restart")) or _restart(given.get("deploy")),
            mentions=self._mentioned(path),
            literals=tuple(name for name, told in entries.items() if told is None),
            drawn={name: told for name, told in entries.items() if told is not None},
        )

    def _ports(self, path: Path, entries: Iterator[tuple[int, Plain]]) -> Iterator[Port]:
        for index, entry in entries:
            port = forms.port(entry)
            if port:
                yield port
            else:
                self._odd((*path, "ports", index), "port")

    def _volumes(self, path: Path, entries: Iterator[tuple[int, Plain]]) -> Iterator[Volume]:
        for index, entry in entries:
            volume = forms.volume(entry)
            if volume:
                yield volume
            else:
                self._odd((*path, "volumes", index), "volume")

    def _odd(self, path: Path, kind: str) -> None:
        self.problems.append(
            Problem(Verdict.FAIL, str(self.places[path]), f"this is no {kind} that compose knows")
        )

    def _entries(self, path: Path, environment: Plain) -> dict[str, Drawn | None]:
        """Tell what each name of ``environment`` is drawn from; None: it stands in the file."""
        if isinstance(environment, dict):
            found = {
                name: (value is not None, self.written.get((*path, name)), (*path, name))
                for name, value in environment.items()
            }
        else:
            found = {}
            for index, item in enumerate(environment if isinstance(environment, list) else ()):
                where = (*path, index)
                written = self.written.get(where)
                name, equals, _ = forms.word(item).partition("=")
                text = written.partition("=")[2] if written is not None else None
                found[name] = (bool(equals), text, where)
        return {name: self._drawn(name, *told) for name, told in found.items()}

    def _drawn(self, name: str, given: bool, written: str | None, path: Path) -> Drawn | None:
        if not given and written is None:
            return Drawn(name)
        if written is None:
            return None
        whole = _ONE_VARIABLE.fullmatch(written)
        variable = (whole["bare"] or whole["braced"]) if whole else ""
        return Drawn(variable, tuple(mention for where, mention in self.mentions if where == path))

    def _mentioned(self, service: Path) -> dict[str, tuple[Mention, ...]]:
        found: dict[str, tuple[Mention, ...]] = {}
        for path, mention in self.mentions:
            if path[:2] == service:
                key = str(path[2])
                found[key] = (*found.get(key, ()), mention)
        return found


def _restart(deploy: Plain) -> str:
    """Return what ``deploy.restart_policy`` comes to; compose heeds it where ``restart`` is not."""
    policy = deploy.get("restart_policy") if isinstance(deploy, dict) else None
    if not isinstance(policy, dict):
        return ""
    condition = forms.word(policy.get("condition")) or "any"
    return {"any": "always", "none": "no"}.get(condition, condition)


def _secrets(given: dict[str, Plain]) -> dict[str, str]:
    return {
        name: forms.word(source.get("environment"))
        for name, source in given.items()
        if isinstance(source, dict) and source.get("environment")
    }


def _named(given: dict[str, Plain]) -> dict[str, str]:
    """Return the volumes that do not take the project's name: named ones, and others' own."""
    named: dict[str, str] = {}
    for key, volume in given.items():
        if isinstance(volume, dict) and (volume.get("name") or volume.get("external")):
            named[key] = forms.word(volume.get("name")) or key
    return named
