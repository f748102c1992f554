"""An image that can be asked now, whatever it lies in, and the ways to come to one."""

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import StrEnum

from fleet.connectors.oci.documents import Configuration
from fleet.connectors.scan.configuration import baked_in, labels_to_show
from fleet.connectors.scan.scan import LayerScan
from fleet.dataclass import dataclass
from fleet.facts.images import ImageFact
from fleet.facts.request import PathQuestion
from fleet.facts.walk import Tree


class Way(StrEnum):
    """How an engine's image can be read, the quickest first."""

    OVERLAY = "overlay2"  # the folders in which the engine keeps its layers
    API = "api"  # the files of a container that is made of it and never started
    SAVE = "save"  # the whole of it, as the engine saves it


class Declined(Exception):
    """This way cannot tell, and another one can; the text says why, in one line."""


def _as_it_is(_questions: Sequence[PathQuestion], _home: str) -> None:
    """Prepare nothing."""


@dataclass(slots=True)
class Opened:
    """A file system that can be asked now, and the configuration it came with, if any.

    Attributes:
        flaws: parts of it that mean nothing, one line each.
        prepare: hears all questions and what ``~`` stands for, before the first is asked.
        later: tells what ``image`` would, where only the questions decide how much is read.
        scan: has looked through the files of what is no image.
    """

    tree: Tree
    configuration: Configuration | None = None
    image: ImageFact | None = None
    flaws: list[str] = field(default_factory=list)
    prepare: Callable[[Sequence[PathQuestion], str], None] = _as_it_is
    later: Callable[[], ImageFact] | None = None
    scan: LayerScan | None = None

    def told(self) -> ImageFact | None:
        """Return what is known of the image, now that all questions were asked."""
        return self.later() if self.later else self.image


def image_fact(
    identity: str, configuration: Configuration, raw: bytes, scan: LayerScan | None
) -> ImageFact:
    """Return what a configuration says of its image, and what a search found.

    Args:
        identity: the image's id.
        configuration: of it.
        raw: the same as JSON, with the history.
        scan: has looked through the layers; None where nobody asked.
    """
    return ImageFact(
        id=identity,
        user=configuration.config.User,
        created=configuration.created,
        platform=str(configuration),
        labels=labels_to_show(configuration.config.Labels),
        volumes=tuple(sorted(configuration.config.Volumes)),
        baked=baked_in(raw, scan.rules) if scan else None,
        scan=scan.fact() if scan else None,
    )
