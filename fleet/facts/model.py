"""Facts: what was read on a target at one moment. Plain data, no judgement.

The models validate what they are built from, so saved facts from any source are safe to judge.
``Facts.format`` carries the version of the layout; a reader of a newer one refuses it by name.
"""

import hashlib
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, WrapValidator

from fleet.facts.base import Fact
from fleet.facts.deep import DeepFact
from fleet.facts.endpoints import EndpointFact
from fleet.facts.images import ImageFact, ScanFact
from fleet.facts.paths import PathFact, Sha256
from fleet.facts.running import CheckFact, ContainerFact, LaunchFact, Listener, ProcessFact
from fleet.facts.shared import read_contents

FORMAT: Literal["fleet.facts/1"] = "fleet.facts/1"


class Platform(Fact):
    """Who was asked, and where. ``rule`` says what gave the home."""

    os: str = ""
    machine: str = ""
    hostname: str = ""
    user: str = ""
    uid: int | None = None
    home: str
    rule: str


class Facts(Fact):
    """All that was read on one target at one moment.

    Attributes:
        nonce: keys the digests of secrets in these facts.
        paths: by the path that was asked for.
        launches: by launch.
        processes: by question; a key that was asked and is missing stands in ``unseen``.
        containers: by compose project.
        interfaces: addresses by interface name.
        crontab: how many lines of the user's crontab hold the word that was asked for.
        checks: by question.
        endpoints: what probes heard, in the order asked.
        deep: what a deep check saw; None when none was asked for.
        scan: secrets in the files of a root folder; an image's are in ``image``.
        contents: bytes by sha256, each once.
        unseen: parts of the request that could not be answered, with the reason. Keys:
            ``launches``, ``processes``, ``listeners``, ``interfaces``, ``containers``, ``crontab``,
            ``checks``.
    """

    format: Literal["fleet.facts/1"] = FORMAT
    target: str
    address: str
    kind: Literal["host", "container", "image"]
    taken_at: AwareDatetime
    nonce: str
    platform: Platform
    paths: dict[str, PathFact] = Field(default_factory=dict)
    launches: dict[str, LaunchFact] = Field(default_factory=dict)
    processes: dict[str, tuple[ProcessFact, ...]] = Field(default_factory=dict)
    containers: dict[str, tuple[ContainerFact, ...]] = Field(default_factory=dict)
    listeners: tuple[Listener, ...] | None = None
    interfaces: dict[str, tuple[str, ...]] | None = None
    crontab: int | None = None
    checks: dict[str, CheckFact] = Field(default_factory=dict)
    container: ContainerFact | None = None
    image: ImageFact | None = None
    endpoints: tuple[EndpointFact, ...] = ()
    deep: DeepFact | None = None
    scan: ScanFact | None = None
    contents: Annotated[dict[Sha256, bytes], WrapValidator(read_contents)] = Field(
        default_factory=dict
    )
    unseen: dict[str, str] = Field(default_factory=dict)

    def content(self, fact: PathFact | None) -> bytes | None:
        """Return the bytes of a path, or None when they were not read."""
        return self.contents.get(fact.sha256) if fact and fact.sha256 else None


@lru_cache(maxsize=256)
def git_blob(content: bytes) -> str:
    """Name content as git does: sha1 hex of the blob header and the bytes."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
