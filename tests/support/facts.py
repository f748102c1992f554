"""Facts for tests, in the words of what lies on a target."""

import hashlib
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime

from fleet.facts.envfile import read_env_file
from fleet.facts.model import (
    CommandFact,
    EndpointFact,
    Entry,
    EnvValue,
    Facts,
    Hop,
    LaunchFact,
    PathFact,
    Platform,
    State,
)
from fleet.inventory.address import parse_address
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret, keyed_digest
from fleet.systems.ask import request_for
from fleet.systems.catalogue import Catalogue, load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.judge import Expectations, judge
from fleet.verifier.model import Finding
from fleet.verifier.toolkit import Toolkit

HOME = "/home/u"
NONCE = "n0nce"
BRIDGE = b"""// bridge
const FEED = process.env.MEMPALACE_FEED ?? "1";
const DEVICE = process.env.MEMPALACE_PI_DEVICE;
export default function (pi) { pi.on("session_shutdown", async () => {}); }
"""


def absolute(path: str) -> str:
    return HOME + path[1:] if path.startswith("~") else path


class World:
    """What lies on one target; each method adds something and returns the world."""

    def __init__(self, kind: str = "host") -> None:
        self.kind = kind
        self.paths: dict[str, PathFact] = {}
        self.contents: dict[str, bytes] = {}
        self.launches: dict[str, LaunchFact] = {}
        self.endpoints: list[EndpointFact] = []
        self.templates: dict[str, str] = {}

    def _keep(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return digest

    def file(
        self, path: str, content: bytes = b"", *, via: Sequence[str] = (), mode: int = 0o644
    ) -> "World":
        """A file; ``via`` are the links' targets on the way to it, the last being the file."""
        at, hops = absolute(path), []
        for target in via:
            hops.append(Hop(path=at, target=target))
            at = absolute(target)
        self.paths[path] = PathFact(
            path=path,
            absolute=absolute(path),
            state=State.PRESENT,
            link=bool(via),
            hops=tuple(hops),
            final=at,
            kind="file",
            mode=mode,
            uid=1000,
            owner="u",
            size=len(content),
            mtime=0,
            sha256=self._keep(content),
        )
        return self

    def env_file(
        self, path: str, content: bytes, *, public: Sequence[str] = (), mode: int = 0o600
    ) -> "World":
        """An env file as an audit reads it: structure and digests, no secret values."""
        self.paths[path] = PathFact(
            path=path,
            absolute=absolute(path),
            state=State.PRESENT,
            final=absolute(path),
            kind="file",
            mode=mode,
            uid=1000,
            owner="u",
            size=len(content),
            mtime=0,
            env=read_env_file(content, nonce=NONCE, public=public),
        )
        return self

    def folder(self, path: str, *names: str) -> "World":
        entries = tuple(Entry(name=n, kind="file") for n in names)
        self.paths[path] = PathFact(
            path=path,
            absolute=absolute(path),
            state=State.PRESENT,
            final=absolute(path),
            kind="directory",
            mode=0o755,
            entries=entries,
        )
        return self

    def broken(
        self,
        path: str,
        state: State,
        *,
        at: str | None = None,
        why: str | None = None,
        target: str | None = None,
    ) -> "World":
        hops = (Hop(path=absolute(path), target=target),) if target else ()
        self.paths[path] = PathFact(
            path=path,
            absolute=absolute(path),
            state=state,
            link=bool(target),
            hops=hops,
            at=at or absolute(path),
            why=why,
        )
        return self

    def launch(
        self,
        name: str = "bash -lc",
        variables: Mapping[str, str | Secret] | None = None,
        commands: Mapping[str, tuple[str, bytes]] | None = None,
        manifests: Mapping[str, bytes] | None = None,
        state: str = "ok",
    ) -> "World":
        """A way of launching pi, what it exports and what is on its PATH."""
        values = {n: _value(v) for n, v in (variables or {}).items()}
        found = {}
        for command in {**(commands or {}), **(manifests or {})}:
            path, content = (commands or {}).get(command, (f"/usr/bin/{command}", b""))
            manifest = (manifests or {}).get(command)
            found[command] = CommandFact(
                name=command,
                file=self._fact(path, content),
                manifest=self._fact(f"{path}.json", manifest) if manifest is not None else None,
            )
        self.launches[name] = LaunchFact.model_validate(
            {"launch": name, "state": state, "variables": values, "commands": found}
        )
        return self

    def _fact(self, path: str, content: bytes) -> PathFact:
        return PathFact(
            path=path,
            absolute=path,
            state=State.PRESENT,
            final=path,
            kind="file",
            sha256=self._keep(content),
        )

    def heard(self, endpoint: EndpointFact) -> "World":
        self.endpoints.append(endpoint)
        return self

    def nothing_else_exported(self, names: Sequence[str]) -> None:
        """Say of every launch that variables it does not mention are not set there."""
        unset = {name: EnvValue(set=False) for name in names}
        for name, launch in self.launches.items():
            told = {**unset, **launch.variables}
            self.launches[name] = launch.model_copy(update={"variables": told})

    def nothing_else(self, asked: Sequence[str]) -> None:
        """Let the probe have found nothing at every further path it was asked for."""
        for path in asked:
            if path not in self.paths:
                self.broken(path, State.ABSENT)

    def facts(self, target: Target) -> Facts:
        return Facts(
            target=target.name,
            address=str(target.address),
            kind=target.kind.value,
            taken_at=datetime(2026, 12, 1, tzinfo=UTC),
            nonce=NONCE,
            platform=Platform(os="Linux", home=HOME, rule="HOME", user="u", uid=1000),
            paths=self.paths,
            launches=self.launches,
            endpoints=tuple(self.endpoints),
            contents=self.contents,
        )


def _value(value: str | Secret) -> EnvValue:
    if isinstance(value, Secret):
        plain = value.reveal()
        return EnvValue(set=True, length=len(plain), digest=keyed_digest(NONCE, plain))
    return EnvValue(set=True, length=len(value), value=value)


def target(
    *systems: str,
    address: str = "ssh://u@laptop",
    require: Sequence[str] = (),
    launches: Sequence[str] = ("bash -lc",),
    **variables: Value,
) -> Target:
    return Target(
        name="laptop",
        address=parse_address(address),
        systems=systems,
        require=tuple(require),
        variables=variables,
        launches=tuple(launches),
    )


def findings(
    where: Target,
    world: World,
    *,
    secrets: Mapping[SecretRef, Secret] | None = None,
    troubles: Mapping[SecretRef, str] | None = None,
    toolkit: Toolkit | None = None,
    whole: bool = True,
) -> dict[str, Finding]:
    """Judge a world; findings by gate.

    Unless it is ``whole``, what the world does not mention was not even asked for.
    """
    return findings_in(
        load_catalogue(),
        where,
        world,
        secrets=secrets,
        troubles=troubles,
        toolkit=toolkit,
        whole=whole,
    )


def findings_in(
    catalogue: Catalogue,
    where: Target,
    world: World,
    *,
    secrets: Mapping[SecretRef, Secret] | None = None,
    troubles: Mapping[SecretRef, str] | None = None,
    toolkit: Toolkit | None = None,
    whole: bool = True,
) -> dict[str, Finding]:
    """Judge a world by a catalogue of its own."""
    systems = [catalogue.system(name) for name in where.systems]
    resolved = resolve(systems, where)
    if whole:
        request = request_for(where, resolved, nonce=NONCE)
        world.nothing_else([question.path for question in request.paths])
        for question in request.launches:
            world.nothing_else_exported((*question.public, *question.secret))
    expectations = Expectations(
        today=date(2026, 12, 1),
        secrets=secrets or {},
        troubles=troubles or {},
        toolkit=toolkit,
        templates=world.templates,
    )
    judged = judge(where, resolved, world.facts(where), catalogue, expectations)
    return {f.gate: f for f in judged}
