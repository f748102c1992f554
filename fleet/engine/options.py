"""How a job is carried out: the same few knobs for every command."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.dataclass import dataclass
from fleet.facts.request import Depth
from fleet.inventory.model import Kind

if TYPE_CHECKING:
    from fleet.facts.model import Facts

DEFAULT_JOBS = 16
THREADS, PROCESSES, DASK = "threads", "processes", "dask://"
CLUSTERS = (DASK, "dask+tls://")
DEFAULT_SECONDS = {Kind.HOST: 30.0, Kind.CONTAINER: 30.0, Kind.IMAGE: 300.0}


@dataclass(frozen=True, slots=True)
class AuditOptions:
    """Knobs of looking and judging.

    Attributes:
        jobs: how many targets are asked at once.
        timeout: seconds for one target, connection included; None is the default of its kind (an
            image is read whole, which takes longer).
        strict: advisory failures and warnings decide the exit code too.
        systems: only these systems; empty means those of each target.
        require: capabilities required of every target, beside its own.
        from_dir: a folder of saved facts to judge instead of asking anyone.
        facts: facts to judge instead, by target; ``facts_of`` says whose, for messages.
        deep: whether pi itself is run, on the target and against a scratch palace.
        scan: how much of an image's layers is read in search of secrets.
        executor: where targets are looked at from: ``threads``, ``processes``, or the scheduler of
            a cluster as ``dask://HOST:PORT``.
        lean: once a target is judged, of its facts only what the rules of the fleet and reports ask
            is kept, so that thousands take little memory.
    """

    jobs: int = DEFAULT_JOBS
    timeout: float | None = None
    strict: bool = False
    systems: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    from_dir: Path | None = None
    facts: "Mapping[str, Facts] | None" = None
    facts_of: str = ""
    deep: bool = False
    scan: Depth = Depth.LIKELY
    lean: bool = False
    executor: str = THREADS

    @property
    def offline(self) -> bool:
        """Whether nobody is asked: facts that were read before are judged."""
        return self.from_dir is not None or self.facts is not None

    def seconds(self, kind: Kind) -> float:
        """Return how long looking at a target of this kind may take."""
        return self.timeout or DEFAULT_SECONDS[kind]


@dataclass(frozen=True, slots=True)
class DeployOptions:
    """Knobs of planning and applying.

    Attributes:
        adopt: take over files that stand in the way; a backup of each is kept.
        prune: remove what the ledger owns and the inventory no longer declares.
        limit: patterns that narrow a playbook's own targets; empty means all of them.
        probe: whether palaces are asked while looking, because an audit follows.
        require: capabilities that the audit of a playbook's batch requires beside its own.
        strict: whether advisory gates count there too.
        artifacts: by target, the artifacts to deploy as ``system.artifact``; empty means all.
    """

    jobs: int = DEFAULT_JOBS
    timeout: float = 120.0
    systems: tuple[str, ...] = ()
    adopt: bool = False
    prune: bool = False
    limit: tuple[str, ...] = ()
    probe: bool = False
    require: tuple[str, ...] = ()
    strict: bool = False
    artifacts: Mapping[str, frozenset[str]] = field(default_factory=dict)
