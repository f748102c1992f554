"""An engine's image as the archive it saves, kept in a temporary file while it is read."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING

from fleet.connectors.engine import Endpoint, client, engine_faults
from fleet.connectors.oci.store import ArchiveStore, fill, spooled
from fleet.connectors.oci.streams import CHUNK, Budget, scratch_file
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, Unreachable

if TYPE_CHECKING:
    from docker import DockerClient

_SHOWN = 8


@contextmanager
def saved_by_engine(reference: str, budget: Budget, at: Endpoint) -> Iterator[ArchiveStore]:
    """Ask an engine for one image, all of it.

    Raises:
        Unreachable: no engine, no such image in it (tells the tags that are there), or no answer
            in time.
        ProbeError: the engine's answer broke off, or does not fit this machine's disk.
    """
    with closing(scratch_file()) as spool:
        with closing(client(budget.deadline.left(), at=at)) as engine:
            chunks = _counted(_saved(engine, at, reference, budget), budget)
            fill(spool, chunks, budget.where)
        yield spooled(spool, budget.where)


def _saved(engine: "DockerClient", at: Endpoint, reference: str, budget: Budget) -> Iterator[bytes]:
    with engine_faults(at, where=budget.where):
        image = _image_id(engine, reference, budget.where)
        with _streaming(budget):
            yield from engine.api.get_image(image, chunk_size=CHUNK)


@contextmanager
def _streaming(budget: Budget) -> Iterator[None]:
    """Tell an answer that stops coming from an engine that is not there."""
    import requests  # noqa: PLC0415 - slow, and only an engine's image needs it

    try:
        yield
    except requests.exceptions.Timeout as error:
        raise Unreachable(
            f"the engine sent nothing more within {budget.deadline.seconds:g} s",
            stage="timeout",
            where=budget.where,
            hint="it prepares a large image before it sends it: raise --timeout",
        ) from error
    except (
        requests.exceptions.ConnectionError,
        requests.exceptions.ChunkedEncodingError,
    ) as error:
        raise ProbeError("the engine's answer broke off", where=budget.where) from error


def _image_id(engine: "DockerClient", reference: str, where: str) -> str:
    import docker  # noqa: PLC0415 - slow, and only an engine's image needs it

    try:
        return str(engine.images.get(reference).id)
    except docker.errors.NotFound as error:
        shown = ", ".join(_tags_like(reference, engine))
        raise Unreachable(
            f"the engine has no image {one_line(reference, 120)}",
            stage="missing",
            where=where,
            hint=f"it has {shown}" if shown else "it has no image with a name",
        ) from error


def _tags_like(reference: str, engine: "DockerClient") -> list[str]:
    """Return tags of the same name, else any; a few."""
    last = reference.rpartition("/")[2]
    name = reference.rpartition(":")[0] if ":" in last else reference
    tags = sorted(tag for image in engine.images.list() for tag in image.tags)
    same = [tag for tag in tags if tag.rpartition(":")[0] == name]
    return [one_line(tag, 80) for tag in (same or tags)[:_SHOWN]]


def _counted(chunks: Iterator[bytes], budget: Budget) -> Iterator[bytes]:
    """Bound the archive by the same limits as what its layers unpack to."""
    archive = Budget(budget.max_bytes, budget.deadline, budget.where)
    for chunk in chunks:
        archive.spend(len(chunk))
        yield chunk
