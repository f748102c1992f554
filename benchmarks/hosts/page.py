"""The part of docs/benchmarks.md that tells of many hosts: written from the raw numbers, pure."""

from collections.abc import Mapping, Sequence
from typing import TypedDict

from benchmarks.hosts.table import FLEET, FLOOR, Row, beyond_start, found, last_line, marked

BEGIN, END = "<!-- many hosts: written by `make bench` -->", "<!-- end of many hosts -->"


class Machine(TypedDict):
    """The machine, as :func:`benchmarks.measure.machine` describes it."""

    processors: int
    processor: str
    memory_gb: float
    kernel: str


class Circumstances(TypedDict):
    """When and where the numbers were taken."""

    date: str
    machine: Machine
    load: Mapping[str, Sequence[float]]
    versions: Mapping[str, Sequence[str]]


def replaced(page: str, part: str) -> str:
    """Return a page with another part between the marks; at its end where it has none yet.

    Raises:
        ValueError: one of the marks is missing.
    """
    whole = f"{BEGIN}\n\n{part.strip()}\n\n{END}\n"
    if BEGIN not in page and END not in page:
        return f"{page.rstrip()}\n\n{whole}"
    head, begin, rest = page.partition(BEGIN)
    _, end, tail = rest.partition(f"{END}\n")
    if not begin or not end:
        raise ValueError("docs/benchmarks.md has lost a mark of the part on many hosts")
    return head + whole + tail


def part(rows: Sequence[Row], about: Circumstances, peers: Mapping[str, str]) -> str:
    """Return the part in Markdown."""
    machine, load = about["machine"], about["load"]
    pinned = ", ".join(" ".join(names) for names in about["versions"].values() if names)
    counts = sorted({row.hosts for row in rows if row.name == FLEET and row.hosts > 1})
    told = "\n".join(f"- {line}" for line in _ratios(rows, counts, peers))
    return f"""## Many ssh hosts

`make bench` audits {_listed([str(n) for n in counts])} ssh hosts, of which every second has
something wrong, by `fleet` and by other tools, one after the other. Each sees the same on every
host, or there is no result. How it is done is told in `benchmarks/hosts/README.md`, and the raw
numbers stand beside that page.

Measured on {about["date"]}: {machine["processors"]} processors ({machine["processor"]}),
{machine["memory_gb"]:.0f} GB, Linux {machine["kernel"]}. Client and hosts share them. Load
{load["before"][0]:.1f} before, {load["after"][0]:.1f} after. Versions: {pinned}.

{marked(rows)}

`client` and `server` are milliseconds of processor time for each host, `trips` sessions for each
host, `peak` the memory of all processes of the command together.

{told}

```text
{last_line(rows, peers)}
```"""


def _ratios(rows: Sequence[Row], counts: Sequence[int], peers: Mapping[str, str]) -> Sequence[str]:
    lines = []
    for hosts in counts:
        ours, floor = found(rows, FLEET, hosts), found(rows, FLOOR, hosts)
        if ours is None or floor is None:
            continue
        slower = [
            f"{peers[row.name]} {row.wall / ours.wall:.1f}"
            for row in rows
            if row.hosts == hosts and row.name in peers
        ]
        each = beyond_start(rows, hosts)
        told = f"{hosts} hosts: {ours.wall / floor.wall:.1f} times the floor"
        told += f", {each:.1f} ms of the client's processor for each further host" if each else ""
        told += f"; times slower: {_listed(slower)}" if slower else ""
        lines.append(f"{told}.")
    return lines


def _listed(words: Sequence[str]) -> str:
    return ", ".join(words[:-1]) + f" and {words[-1]}" if len(words) > 1 else "".join(words)
