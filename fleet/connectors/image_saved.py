"""An engine's image as the archive it saves, kept in a temporary file while it is read."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

import docker
import docker.errors
import requests.exceptions

from fleet.connectors.oci.store import ArchiveStore, fill, spooled
from fleet.connectors.oci.streams import CHUNK, Budget, scratch_file
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, Unreachable

_SHOWN = 8


@contextmanager
def saved_by_engine(reference: str, budget: Budget, timeout: float) -> Iterator[ArchiveStore]:
    """Ask the engine for one image, all of it.

    Raises:
        Unreachable: no engine, no such image in it (tells the tags that are there), or no answer
            in time.
        ProbeError: the engine's answer broke off, or does not fit this machine's disk.
    """
    where = budget.where
    with closing(scratch_file()) as spool:
        with _told(where, timeout), closing(_client(timeout)) as client:
            image = _image_id(client, reference, where)
            chunks = client.api.get_image(image, chunk_size=CHUNK)
            fill(spool, _counted(chunks, budget), where)
        yield spooled(spool, where)


def _client(timeout: float) -> docker.DockerClient:
    return docker.from_env(timeout=max(1, round(timeout)))


@contextmanager
def _told(where: str, timeout: float) -> Iterator[None]:
    """Say what went wrong between this machine and the engine."""
    try:
        yield
    except requests.exceptions.Timeout as error:
        raise Unreachable(
            f"the engine sent nothing for {timeout:g} s",
            stage="timeout",
            where=where,
            hint="it prepares large images before it sends them: raise --timeout",
        ) from error
    except requests.exceptions.ChunkedEncodingError as error:
        raise ProbeError("the engine's answer broke off", where=where) from error
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise _no_engine(error, where) from error


def _no_engine(error: Exception, where: str) -> Unreachable:
    return Unreachable(
        f"the engine refused: {one_line(str(error))}",
        stage="engine",
        where=where,
        hint="is it running, and may this user use it? docker info tells",
    )


def _image_id(client: docker.DockerClient, reference: str, where: str) -> str:
    try:
        return str(client.images.get(reference).id)
    except docker.errors.NotFound as error:
        name = reference.partition("@")[0]
        name = name.rpartition(":")[0] if ":" in name.rpartition("/")[2] else name
        tags = [tag for image in client.api.images() for tag in image.get("RepoTags") or ()]
        same = [tag for tag in tags if tag.rpartition(":")[0] == name] or tags
        shown = ", ".join(one_line(tag, 80) for tag in sorted(same)[:_SHOWN])
        raise Unreachable(
            f"the engine has no image {one_line(reference, 120)}",
            stage="missing",
            where=where,
            hint=f"it has {shown}" if shown else "it has no image with a name",
        ) from error


def _counted(chunks: Iterator[bytes], budget: Budget) -> Iterator[bytes]:
    spool = Budget(budget.max_bytes, budget.deadline, budget.where)
    for chunk in chunks:
        spool.spend(len(chunk))
        yield chunk
