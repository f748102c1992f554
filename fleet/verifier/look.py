"""What a gate sees: one target's facts and expectations. Read-only, and nothing else.

A gate is a function ``(Look) -> Judgement``. It asks the look by the names of its system's
description, so it never spells a path and never reaches for anything that is not a fact.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from datetime import date
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.facts.endpoints import EndpointFact
from fleet.facts.jsonshape import json_shape
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret, keyed_digest
from fleet.systems.ask import launches_of
from fleet.systems.resolve import Resolved
from fleet.verifier.code import Code
from fleet.verifier.model import Judgement
from fleet.verifier.toolkit import Toolkit

NOT_ASKED = "these facts were taken without asking for it; take them again"


@dataclass(frozen=True, slots=True)
class Expected:
    """An expected secret, ready for comparison: never the value."""

    digest: str
    length: int

    @classmethod
    def of(cls, nonce: str, value: str) -> "Expected":
        """Digest a secret's value with a run's nonce."""
        return cls(keyed_digest(nonce, value), len(value.encode()))


class Digests(Mapping[SecretRef, Expected]):
    """Expected secrets, each digested when it is asked for: a fleet may have one a host."""

    __slots__ = ("_made", "_nonce", "_secrets")

    def __init__(self, nonce: str, secrets: Mapping[SecretRef, Secret]) -> None:
        self._nonce = nonce
        self._secrets = secrets
        self._made: dict[SecretRef, Expected] = {}

    def __getitem__(self, reference: SecretRef) -> Expected:
        if reference not in self._made:
            value = self._secrets[reference].reveal()
            self._made[reference] = Expected.of(self._nonce, value)
        return self._made[reference]

    def __iter__(self) -> Iterator[SecretRef]:
        return iter(self._secrets)

    def __len__(self) -> int:
        return len(self._secrets)


@dataclass(frozen=True, slots=True)
class Look:
    """One system on one target.

    Attributes:
        resolved: the system with its texts rendered for this target.
        expected: secrets that could be fetched, digested with these facts' nonce.
        troubles: secrets that could not be fetched, with the reason.
        toolkit: the toolkit's history on the controller, None when no clone is declared.
        blobs: contents the controller knew before, by sha256 (facts then carry no bytes).
        templates: texts of the templates of files that are held against them, by name.
        read: artifacts that a marker was looked for in: what was read of each, or why nothing was.
    """

    target: Target
    resolved: Resolved
    facts: Facts
    today: date
    expected: Mapping[SecretRef, Expected] = field(default_factory=dict)
    troubles: Mapping[SecretRef, str] = field(default_factory=dict)
    toolkit: Toolkit | None = None
    blobs: Mapping[str, bytes] = field(default_factory=dict)
    templates: Mapping[str, str] = field(default_factory=dict)
    read: dict[str, Judgement | tuple[Code, tuple[str, ...]]] = field(
        default_factory=dict, init=False, repr=False, compare=False
    )
    _launches: list[LaunchFact] = field(default_factory=list, init=False, repr=False, compare=False)

    def value(self, name: str) -> Value:
        """Return a variable, or None where the inventory and the system say nothing."""
        return self.resolved.variables.get(name)

    def text(self, name: str) -> str:
        """Return a variable as text; empty where it is undefined or a secret."""
        value = self.value(name)
        return str(value) if isinstance(value, str | int | float) else ""

    def artifact(self, name: str) -> PathFact | None:
        """Return what was read at an artifact's path; None when it is not wanted here."""
        artifact = self.resolved.artifacts.get(name)
        return self.path(artifact.path) if artifact and artifact.path else None

    def path(self, path: str) -> PathFact:
        """Return what was read at a path.

        Saved facts may be older than the inventory: what they were not asked is unsupported, and
        neither absent nor undeclared.
        """
        return self.facts.paths.get(path) or PathFact(
            path=path, absolute=path, state=State.UNSUPPORTED, why=NOT_ASKED
        )

    def content(self, fact: PathFact | None) -> bytes | None:
        """Return a path's bytes, or None when they were not read."""
        if fact is None or fact.sha256 is None:
            return None
        held = self.facts.content(fact)
        return self.blobs.get(fact.sha256) if held is None else held

    def shape(self, name: str) -> str | None:
        """Return a JSON artifact's text without secrets; None when it was not read.

        Where its bytes were read for a plan, the text is made of them here.
        """
        fact = self.artifact(name)
        if fact is None or fact.shape is not None:
            return fact.shape if fact else None
        content = self.content(fact)
        return None if content is None else json_shape(content, self.resolved.artifacts[name].keys)

    def launches(self) -> tuple[LaunchFact, ...]:
        """Return what was seen of the declared ways of launching pi, in the order declared.

        One that saved facts know nothing of is unsupported: it was not asked.
        """
        if not self._launches:  # nearly every gate asks
            self._launches.extend(
                self.facts.launches.get(name)
                or LaunchFact(launch=name, state="unsupported", why=NOT_ASKED)
                for name in launches_of(self.target)
            )
        return tuple(self._launches)

    def endpoints(self, url: str) -> tuple[EndpointFact, ...]:
        """Return what probes heard from a URL, from every place it was asked."""
        return tuple(e for e in self.facts.endpoints if e.url == url)


Check: TypeAlias = Callable[[Look], Judgement]
