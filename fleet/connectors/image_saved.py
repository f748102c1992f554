"""An engine's image as the archive it saves, kept in a temporary file while it is read."""

from collections.abc import Iterator
from contextlib import closing, contextmanager

from fleet.connectors.engine_http import OK, Answer, EngineHttp, refusal, segment
from fleet.connectors.oci.store import ArchiveStore, fill, spooled
from fleet.connectors.oci.streams import CHUNK, Budget, scratch_file
from fleet.errors import ProbeError


@contextmanager
def saved_by_engine(engine: EngineHttp, image: str, budget: Budget) -> Iterator[ArchiveStore]:
    """Ask an engine for one image, all of it.

    Args:
        engine: has the image.
        image: its id.
        budget: bounds bytes and time.

    Raises:
        Unreachable: no answer in time.
        ProbeError: the engine's answer broke off, or does not fit this machine's disk.
    """
    with closing(scratch_file()) as spool:
        with engine.open("GET", f"/images/{segment(image)}/get") as answer:
            if answer.status != OK:
                raise ProbeError(
                    f"the engine does not save the image: {refusal(answer)}", where=budget.where
                )
            fill(spool, _counted(answer, budget), budget.where)
        yield spooled(spool, budget.where)


def _counted(answer: Answer, budget: Budget) -> Iterator[bytes]:
    """Bound the archive by the same limits as what its layers unpack to."""
    archive = Budget(budget.max_bytes, budget.deadline, budget.where)
    while chunk := answer.read(CHUNK):
        archive.spend(len(chunk))
        yield chunk
