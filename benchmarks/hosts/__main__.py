"""Measure; see the README beside."""

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.hosts import tools
from benchmarks.hosts.installed import PINNED
from benchmarks.hosts.rig import Host, Rig, RigError, refusal, rig
from benchmarks.hosts.rootfs import root_filesystem
from benchmarks.hosts.state import GOOD, planted, write_layers
from benchmarks.hosts.table import FLEET, Row, Sample, last_line, printed
from benchmarks.hosts.tools import Tool
from benchmarks.hosts.truths import differences, expected
from benchmarks.measure import machine
from benchmarks.tree import run_whole

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".cache/bench/hosts"
#: A tool whose run took longer than this is not run again for the same hosts.
LONG = 20.0
COUNTS = (20, 100, 300)
NAMES = {
    "pyinfra": "pyinfra",
    "ansible-task": "Ansible (one task)",
    "ansible": "Ansible",
    "testinfra": "testinfra",
}
_MOST_TOLD = 8


def main() -> None:
    """Build the rig, measure, compare, print."""
    options = _options()
    why = refusal()
    if why:
        raise SystemExit(f"bench: {why}")
    try:
        rows = measured(options.hosts, options.peers, options.runs)
    except RigError as error:
        raise SystemExit(f"bench: {error}") from None
    print(f"\n{printed(rows)}\n")
    print(last_line(rows, NAMES))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.hosts")
    numbers = " ".join(map(str, COUNTS))
    parser.add_argument("--hosts", type=_numbers, default=COUNTS, help=f"how many: {numbers!r}")
    parser.add_argument("--peers", type=_peers, default=tuple(NAMES), help=" ".join(NAMES))
    parser.add_argument("--runs", type=int, default=3, help="of each quick tool")
    return parser.parse_args()


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(sorted({int(word) for word in text.replace(",", " ").split()})) or COUNTS


def _peers(text: str) -> tuple[str, ...]:
    words = text.replace(",", " ").split()
    unknown = set(words) - {*NAMES, "all", "none"}
    if unknown:
        raise argparse.ArgumentTypeError(f"no such peer: {', '.join(sorted(unknown))}")
    return tuple(NAMES) if "all" in words or not words else tuple(w for w in words if w != "none")


def measured(counts: Sequence[int], peers: Sequence[str], runs: int) -> list[Row]:
    """Measure everything on one rig; returns the rows in the order of the table."""
    made = _made(peers)
    root = root_filesystem(WORK / "root")
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as scratch:
        folder = Path(scratch)
        write_layers(folder, root)
        before = os.getloadavg()
        with rig(folder, root, planted(max(counts)), layers=[folder / GOOD]) as up:
            say(f"{len(up.hosts)} hosts are up")
            rows = _rows(up, made, counts, runs)
        write(rows, before)
    return rows


def _made(peers: Sequence[str]) -> list[Tool]:
    venvs = WORK / "venvs"
    makers: dict[str, Callable[[], Tool]] = {
        "pyinfra": lambda: tools.pyinfra(venvs),
        "ansible-task": lambda: tools.ansible(venvs, single=True),
        "ansible": lambda: tools.ansible(venvs, single=False),
        "testinfra": lambda: tools.testinfra(venvs),
    }
    return [tools.floor(), tools.fleet(), *(makers[name]() for name in peers)]


def _rows(up: Rig, made: Sequence[Tool], counts: Sequence[int], runs: int) -> list[Row]:
    rows = [measure(up, tool, up.hosts[:1], runs) for tool in made if tool.name == FLEET]
    for count in counts:
        chosen = [tool for tool in made if count <= tool.most or count == min(counts)]
        rows += rounds(up, chosen, count, runs)
    return rows


def rounds(up: Rig, chosen: Sequence[Tool], count: int, runs: int) -> list[Row]:
    """Run the tools one after the other, round after round."""
    samples: dict[str, list[Sample]] = {tool.name: [] for tool in chosen}
    for number in range(runs):
        for tool in chosen:
            held = samples[tool.name]
            slow = bool(held) and held[-1].wall > LONG
            if slow or (tool.runs and number >= tool.runs):
                continue
            held.append(sample(up, tool, up.hosts[: min(count, tool.most)]))
    return [
        Row(tool.name, tool.title, min(count, tool.most), tuple(samples[tool.name]))
        for tool in chosen
    ]


def measure(up: Rig, tool: Tool, hosts: Sequence[Host], runs: int) -> Row:
    """Run one tool alone, so often."""
    samples = tuple(sample(up, tool, hosts) for _ in range(runs))
    return Row(tool.name, tool.title, len(hosts), samples)


def sample(up: Rig, tool: Tool, hosts: Sequence[Host]) -> Sample:
    """Run a tool once, and make sure that it saw what is there to be seen.

    Raises:
        RigError: it did not, or not in time.
    """
    folder = up.folder / tool.name
    folder.mkdir(exist_ok=True)
    words = tool.words(up, hosts, folder)
    logins, trips = up.counted(hosts)
    server, busy = up.processor(), _busy()
    whole = run_whole(words, tool.environment(up), seconds=tool.seconds, folder=folder)
    time.sleep(0.3)  # the servers are still closing sessions
    server, busy = up.processor() - server, _busy() - busy
    after = up.counted(hosts)
    if whole.late or whole.code not in tool.codes:
        told = (whole.output[-1500:] + whole.errors[-1500:]).decode(errors="replace")
        late = f" (ended after {tool.seconds:g} s)" if whole.late else ""
        raise RigError(f"{tool.title}: exit code {whole.code}{late}\n{told}")
    if tool.seen is not None:
        _compare(tool, hosts, whole.output, folder)
    made = Sample(
        whole.wall,
        whole.processor,
        round(server, 3),
        round(max(0.0, busy - server - whole.processor), 3),
        after[0] - logins,
        after[1] - trips,
        round(whole.peak * 1024 / 1_000_000, 1),
    )
    say(
        f"{tool.title}, {len(hosts)}: {made.wall:.2f} s, client {made.client:.2f} s,"
        f" server {made.server:.2f} s, other {made.other:.2f} s"
    )
    return made


def _compare(tool: Tool, hosts: Sequence[Host], output: bytes, folder: Path) -> None:
    seen = tools.addressed(tool.seen(output, folder), hosts) if tool.seen else {}
    wrong = differences(expected({host.name: host.fault for host in hosts}), seen)
    if wrong:
        rest = [f"... and {len(wrong) - _MOST_TOLD} more"] if len(wrong) > _MOST_TOLD else []
        raise RigError(
            "\n  ".join([f"{tool.title} saw something else:", *wrong[:_MOST_TOLD], *rest])
        )


def _busy() -> float:
    """Return the seconds of processor time that this machine has spent."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def write(rows: Sequence[Row], before: tuple[float, float, float]) -> None:
    """Keep the raw numbers."""
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "load": {"before": before, "after": os.getloadavg()},
        "versions": {"python": sys.version.split()[0], **{n: list(p) for n, p in PINNED.items()}},
        "rows": [asdict(row) for row in rows],
    }
    WORK.mkdir(parents=True, exist_ok=True)
    (WORK / "results.json").write_text(json.dumps(document, indent=1) + "\n")


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr, flush=True)


main()
