"""What was read of an image that does not run. Plain data."""

from typing import Literal

from pydantic import Field

from fleet.facts.base import Fact
from fleet.facts.paths import Sha256
from fleet.facts.running import EnvValue

MOST_FOUND = 200


class SecretFact(Fact):
    """Where an image holds a secret, and never what it is.

    Attributes:
        place: ``env``, ``label build.args``, ``history 2``, ``cmd``; of a file its path.
        key: the name it stands under, or the line; empty where neither can be told.
        rule: what told that it is one.
        layer: of a file, the layer that brings it, counted from 1, the oldest.
        digest: of that layer.
        gone: the later layer that deletes or replaces the file; None where it still shows.
    """

    place: str
    key: str = ""
    rule: str
    layer: int | None = None
    digest: str = ""
    gone: int | None = None


class ScanFact(Fact):
    """What was looked at in an image's layers in search of secrets, and what was found.

    Attributes:
        layers: how many the image has; a root folder has none.
        unseen: by their number, layers that could not be looked into, with the reason.
        files: how many regular files were met.
        read: how many of them were read; ``bytes``: how much that was.
        skipped: files that were to be read and were not, counted by the reason.
        cut: why the search ended before all was read; empty where it did not.
        secrets: how many secrets of the inventory were looked for.
        closed: how many folders could not be read.
        found: in the order they were met, at most :data:`MOST_FOUND`; ``more`` counts the others,
            less further names of files that were only counted.
    """

    depth: Literal["likely", "all"]
    layers: int = 0
    unseen: dict[int, str] = Field(default_factory=dict)
    files: int = 0
    read: int = 0
    bytes: int = 0
    skipped: dict[str, int] = Field(default_factory=dict)
    cut: str = ""
    closed: int = 0
    secrets: int = 0
    found: tuple[SecretFact, ...] = ()
    more: int = 0


class ImageFact(Fact):
    """What a container's or image's configuration says. Dates are shown, never judged.

    Attributes:
        platform: what it is for; ``asked`` what was looked for, the machine's own where nobody
            said; ``among``: the platforms there were to choose from, where there were several.
        baked: secrets in the configuration; None where nobody looked for them.
        scan: secrets in the layers; None where nobody looked for them.
        way: how an engine's image was read: ``overlay2`` (the folders of its layers), ``api`` (the
            files of a container that was never started) or ``save`` (all of it); empty for what is
            in no engine.
        engine: where the engine listens that it was read from, and what chose that one.
        passed_over: the quicker ways, and why each could not tell.
        variables: its environment, where a container of it was asked; None where nobody asked.
        arguments: the keyed digest of its command, less the entry point; as ``variables``.
    """

    id: str = ""
    user: str = ""
    created: str = ""
    platform: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    asked: str = ""
    among: tuple[str, ...] = ()
    baked: tuple[SecretFact, ...] | None = None
    scan: ScanFact | None = None
    way: str = ""
    engine: str = ""
    passed_over: tuple[str, ...] = ()
    variables: dict[str, EnvValue] | None = None
    arguments: Sha256 | None = None
