"""Builders of canned facts, in the words of what lies on a target."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Self

from fleet.facts.endpoints import EndpointFact
from fleet.facts.envfile import read_env_file
from fleet.facts.environment import env_value
from fleet.facts.model import Facts, Platform
from fleet.facts.paths import Entry, Hop, PathFact, State
from fleet.facts.request import Request
from fleet.facts.running import CommandFact, EnvValue, LaunchFact
from fleet.inventory.model import Target
from fleet.secrets import Secret
from fleet.testing.answer import answered

HOME = "/home/u"
NONCE = "n0nce"
TAKEN = datetime(2026, 12, 1, tzinfo=UTC)
UID = 1000


class CannedFacts:
    """What lies on one target; each method adds something and returns the object.

    The home is :data:`HOME` and the user ``u``. Paths are spelled as a system asks for them
    (``~/notes/INDEX.md``). What is not mentioned is not there.
    """

    def __init__(self, kind: str = "host") -> None:
        self.kind = kind
        self.paths: dict[str, PathFact] = {}
        self.contents: dict[str, bytes] = {}
        self.launches: dict[str, LaunchFact] = {}
        self.endpoints: list[EndpointFact] = []
        self.templates: dict[str, str] = {}
        self.more: dict[str, object] = {}

    def file(
        self, path: str, content: bytes = b"", *, via: Sequence[str] = (), mode: int = 0o644
    ) -> Self:
        """A file; ``via`` are the links' targets on the way to it, the last being the file."""
        at, hops = absolute(path), []
        for target in via:
            hops.append(Hop(path=at, target=target))
            at = absolute(target)
        self.paths[path] = _file(path, at, content, mode).model_copy(
            update={"link": bool(via), "hops": tuple(hops), "sha256": self._keep(content)}
        )
        return self

    def env_file(
        self, path: str, content: bytes, *, public: Sequence[str] = (), mode: int = 0o600
    ) -> Self:
        """An env file as an audit reads it: structure and digests, no secret values."""
        told = {"env": read_env_file(content, nonce=NONCE, public=public)}
        self.paths[path] = _file(path, absolute(path), content, mode).model_copy(update=told)
        return self

    def folder(self, path: str, *names: str) -> Self:
        """A folder, and the files in it by name."""
        self.paths[path] = PathFact(
            path=path,
            absolute=absolute(path),
            state=State.PRESENT,
            final=absolute(path),
            kind="directory",
            mode=0o755,
            entries=tuple(Entry(name=name, kind="file") for name in names),
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
    ) -> Self:
        """A path that does not lead to anything that can be read.

        Args:
            path: as it is asked for.
            state: what became of it.
            at: the component where reading stopped; the path itself, unless it is told.
            why: the reason, where the state alone does not tell.
            target: what it says, where it is a link.
        """
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
    ) -> Self:
        """A way of launching pi, what it exports and what is on its PATH.

        Args:
            name: as the target declares it (``zsh -ic``).
            variables: what it exports; of a :class:`Secret` only length and digest are kept.
            commands: by name, where each program lies and what is in it.
            manifests: by command, its ``package.json``.
            state: what became of asking, as :class:`fleet.facts.model.LaunchFact` knows it.
        """
        found = {}
        for command in {**(commands or {}), **(manifests or {})}:
            path, content = (commands or {}).get(command, (f"/usr/bin/{command}", b""))
            manifest = (manifests or {}).get(command)
            found[command] = CommandFact(
                name=command,
                file=self._read(path, content),
                manifest=None if manifest is None else self._read(f"{path}.json", manifest),
            )
        exported = {n: _exported(value) for n, value in (variables or {}).items()}
        self.launches[name] = LaunchFact.model_validate(
            {"launch": name, "state": state, "variables": exported, "commands": found}
        )
        return self

    def heard(self, endpoint: EndpointFact) -> Self:
        """What a palace answered."""
        self.endpoints.append(endpoint)
        return self

    def also(self, **fields: object) -> Self:
        """Further fields of :class:`Facts`, as they are; later ones replace earlier ones.

        ``processes`` (by the name under which a system asks for them), ``containers`` (by compose
        project), ``listeners``, ``interfaces``, ``crontab``, ``checks``, ``container``, ``image``,
        ``deep``; and ``unseen`` for parts that could not be told, with the reason.
        """
        self.more |= fields
        return self

    def nothing_else_exported(self, names: Iterable[str]) -> None:
        """Say of every launch that variables it does not mention are not set there."""
        unset = {name: EnvValue(set=False) for name in names}
        for name, launch in self.launches.items():
            told = {**unset, **launch.variables}
            self.launches[name] = launch.model_copy(update={"variables": told})

    def nothing_else(self, asked: Iterable[str]) -> None:
        """Let the probe have found nothing at every further path it was asked for."""
        for path in asked:
            if path not in self.paths:
                self.broken(path, State.ABSENT)

    def facts(self, target: Target) -> Facts:
        """Return all of it as the facts of a target, asked for or not.

        Raises:
            ValidationError: what :meth:`also` was given is no such fact.
        """
        told: dict[str, object] = {
            "target": target.name,
            "address": str(target.address),
            "kind": target.kind.value,
            "taken_at": TAKEN,
            "nonce": NONCE,
            "platform": Platform(os="Linux", home=HOME, rule="HOME", user="u", uid=UID),
            "paths": self.paths,
            "launches": self.launches,
            "endpoints": tuple(self.endpoints),
            "contents": self.contents,
        }
        return Facts.model_validate(told | self.more)

    def answer(self, request: Request, target: Target) -> Facts:
        """Return the facts that a real target of this content would answer a request with."""
        return answered(self.facts(target), request, absent=_absent)

    def _keep(self, content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        self.contents[digest] = content
        return digest

    def _read(self, path: str, content: bytes) -> PathFact:
        return PathFact(
            path=path,
            absolute=path,
            state=State.PRESENT,
            final=path,
            kind="file",
            sha256=self._keep(content),
        )


def absolute(path: str) -> str:
    """Fill the canned home in."""
    return HOME + path[1:] if path.startswith("~") else path


def _absent(path: str) -> PathFact:
    return PathFact(path=path, absolute=absolute(path), state=State.ABSENT, at=absolute(path))


def _file(path: str, final: str, content: bytes, mode: int) -> PathFact:
    return PathFact(
        path=path,
        absolute=absolute(path),
        state=State.PRESENT,
        final=final,
        kind="file",
        mode=mode,
        uid=UID,
        owner="u",
        size=len(content),
        mtime=0,
    )


def _exported(value: str | Secret) -> EnvValue:
    if isinstance(value, Secret):
        return env_value(value.reveal(), nonce=NONCE, public=False)
    return env_value(value, nonce=NONCE, public=True)
