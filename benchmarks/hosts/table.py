"""From samples to a table, to ratios and to the last line: pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

FLOOR, FLEET = "floor", "fleet"
#: What is no audit is compared with another row of fleet's.
_BESIDE = {"fleet-ten": "fleet-ten", "pyinfra-ten": "fleet-ten"}


@dataclass(frozen=True, slots=True)
class Sample:
    """What one run of a tool cost.

    Attributes:
        wall: seconds.
        client: seconds of processor time of the tool and all that it started.
        server: seconds of processor time of the hosts.
        other: seconds of processor time that the machine spent on neither.
        logins: connections that were logged in to, on all hosts.
        trips: sessions that the hosts' servers ran.
        peak: MB of memory of the tool and all that it started.
    """

    wall: float
    client: float
    server: float
    other: float
    logins: int
    trips: int
    peak: float


@dataclass(frozen=True, slots=True)
class Row:
    """The runs of one tool on some hosts."""

    name: str
    title: str
    hosts: int
    samples: tuple[Sample, ...]

    @property
    def wall(self) -> float:
        """The median of the time on the wall, in seconds."""
        return median(s.wall for s in self.samples)

    @property
    def client(self) -> float:
        """Milliseconds of the client's processor for each host: the median."""
        return median(s.client for s in self.samples) * 1000 / self.hosts

    @property
    def server(self) -> float:
        """Milliseconds of each host's processor: the median."""
        return median(s.server for s in self.samples) * 1000 / self.hosts

    @property
    def peak(self) -> float:
        """The most memory of all runs, in MB."""
        return max(s.peak for s in self.samples)

    @property
    def trips(self) -> float:
        """Sessions for each host."""
        return median(s.trips for s in self.samples) / self.hosts


HEADS = ("", "hosts", "runs", "wall s", "client ms", "server ms", "trips", "peak MB", "x fleet")


def cells(rows: Sequence[Row]) -> list[tuple[str, ...]]:
    """Return the table's rows; the last column is the time on the wall as a multiple of fleet's."""
    ours = [found(rows, _BESIDE.get(row.name, FLEET), row.hosts) for row in rows]
    return [
        (
            row.title,
            str(row.hosts),
            str(len(row.samples)),
            f"{row.wall:.2f}",
            f"{row.client:.1f}",
            f"{row.server:.1f}",
            f"{row.trips:.3g}",
            f"{row.peak:.0f}",
            "" if beside is None or row.hosts == 1 else f"{row.wall / beside.wall:.1f}",
        )
        for row, beside in zip(rows, ours, strict=True)
    ]


def printed(rows: Sequence[Row]) -> str:
    """Return the table for a terminal."""
    lines = [HEADS, *cells(rows)]
    widths = [max(len(line[n]) for line in lines) for n in range(len(HEADS))]
    return "\n".join(
        "  ".join(_fitted(text, widths[n], left=n == 0) for n, text in enumerate(line)).rstrip()
        for line in lines
    )


def _fitted(text: str, width: int, *, left: bool) -> str:
    return text.ljust(width) if left else text.rjust(width)


def marked(rows: Sequence[Row]) -> str:
    """Return the table in Markdown."""
    lines = [HEADS, tuple("---" for _ in HEADS), *cells(rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def found(rows: Iterable[Row], name: str, hosts: int) -> Row | None:
    """Return a tool's row for so many hosts."""
    return next((row for row in rows if (row.name, row.hosts) == (name, hosts)), None)


def beyond_start(rows: Sequence[Row], hosts: int) -> float | None:
    """Return the milliseconds of fleet's own processor time that each further host costs.

    It is what ``hosts`` cost less what one costs, by the hosts in between.
    """
    one, many = found(rows, FLEET, 1), found(rows, FLEET, hosts)
    if one is None or many is None or hosts == 1:
        return None
    return (many.client * hosts - one.client) / (hosts - 1)


def last_line(rows: Sequence[Row], peers: Mapping[str, str]) -> str:
    """Return the one line that a run ends with: of the hosts nearest to a hundred.

    ``peers`` are the tools to compare with, and what to call them.
    """
    counts = {row.hosts for row in rows if row.name == FLEET and row.hosts > 1}
    if not counts:
        return "bench: fleet was not measured"
    hosts = min(counts, key=lambda n: (abs(n - 100), n))
    ours, floor = found(rows, FLEET, hosts), found(rows, FLOOR, hosts)
    told = []
    if ours is not None and floor is not None:
        told.append(f"floor {ours.wall / floor.wall:.1f}x")
    theirs = [row for row in rows if row.hosts == hosts and row.name in peers]
    if ours is not None and theirs:
        quickest = min(theirs, key=lambda row: row.wall)
        slower = quickest.wall / ours.wall
        told.append(f"fastest peer {peers[quickest.name]} {slower:.1f}x slower")
    each = beyond_start(rows, hosts)
    if each is not None:
        told.append(f"client cpu {each:.1f} ms/host")
    return f"bench: N={hosts} {', '.join(told)}"
