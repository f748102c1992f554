"""The unit of work of a run: everything that looking at one target takes, as plain data.

A job may be carried out in this process, in another one, or on another machine. It holds no secret:
who carries it out fetches by reference what it needs to connect and to ask. Judging is no part of
it; facts come back, and are judged in one place.
"""

import time

from fleet import __version__
from fleet.connectors.connections import Connections
from fleet.dataclass import dataclass
from fleet.engine.deep import DeepQuestion, with_deep
from fleet.engine.palaces import PalaceQuestion, with_palaces
from fleet.engine.secrets import SecretStore
from fleet.errors import FleetError, TargetError
from fleet.facts.model import Facts
from fleet.facts.request import Request
from fleet.inventory.model import SecretRef, Target


@dataclass(frozen=True, slots=True)
class Job:
    """A look at one target.

    Attributes:
        number: its place among the jobs of its run.
        target: how it is reached, and no more of it.
        request: what is read there.
        seconds: how long that may take, connecting included.
        palaces: what its systems want to know of their palaces.
        deep: what a deep check runs; None where none is wanted.
        needed: references that its maker could fetch. Who cannot fetch them as well cannot ask as
            it would be asked, so nothing is asked at all.
        version: fleet's, of its maker.
    """

    number: int
    target: Target
    request: Request
    seconds: float
    palaces: tuple[PalaceQuestion, ...] = ()
    deep: DeepQuestion | None = None
    needed: tuple[SecretRef, ...] = ()
    version: str = __version__


@dataclass(frozen=True, slots=True)
class Answer:
    """What a job brought: facts, or why there are none."""

    number: int
    facts: Facts | None
    trouble: TargetError | None = None
    milliseconds: int = 0


def carry_out(job: Job, connections: Connections, secrets: SecretStore) -> Answer:
    """Look at one target. What it can cause is part of the answer."""
    started = time.monotonic()
    facts: Facts | None = None
    trouble: TargetError | None = None
    try:
        _check(job, secrets)
        facts = _looked(job, connections, secrets)
    except TargetError as error:
        trouble = error
    except FleetError as error:
        trouble = TargetError(error.what, where=error.where, hint=error.hint)
    return Answer(job.number, facts, trouble, round((time.monotonic() - started) * 1000))


def _looked(job: Job, connections: Connections, secrets: SecretStore) -> Facts:
    with connections.to(job.target, timeout=job.seconds) as connector:
        facts = connector.collect(job.request)
        if job.palaces:
            facts = with_palaces(facts, job.palaces, connector, secrets)
        if job.deep is not None:
            facts = with_deep(facts, job.target, job.deep, connector, job.seconds)
        return facts


def _check(job: Job, secrets: SecretStore) -> None:
    if job.version != __version__:
        raise TargetError(
            f"the worker has fleet {__version__}, and the job is of {job.version}",
            where=job.target.name,
            hint="install the same release where workers run",
        )
    secrets.prepare_all(job.needed)
    for reference in job.needed:
        if reference in secrets.troubles:
            raise TargetError(
                f"the worker cannot fetch {reference}: {secrets.troubles[reference]}",
                where=job.target.name,
                hint="secrets do not travel: give the worker what the inventory refers to",
            )
