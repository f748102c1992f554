"""Measure; see the README beside."""

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

from benchmarks.hosts import tools
from benchmarks.hosts.faults import GOOD, planted
from benchmarks.hosts.installed import PINNED
from benchmarks.hosts.modes import SILENT, more_rows
from benchmarks.hosts.page import Circumstances, part, replaced
from benchmarks.hosts.rig import Rig, RigError, refusal, rig
from benchmarks.hosts.rootfs import root_filesystem
from benchmarks.hosts.sampling import measure, sample, say
from benchmarks.hosts.state import write_layers
from benchmarks.hosts.table import FLEET, Row, Sample, last_line, printed
from benchmarks.hosts.tools import Tool
from benchmarks.measure import machine

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".cache/bench/hosts"
RESULTS = Path(__file__).with_name("results.json")
PAGE = ROOT / "docs/benchmarks.md"
#: A tool whose run took longer than this is not run again for the same hosts.
LONG = 20.0
COUNTS = (20, 100, 300)
NAMES = {
    "pyinfra": "pyinfra",
    "ansible-task": "Ansible (one task)",
    "ansible": "Ansible",
    "testinfra": "testinfra",
}


def main() -> None:
    """Build the rig, measure, compare, print."""
    options = _options()
    why = refusal()
    if why:
        raise SystemExit(f"bench: {why}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        rows, failed = measured(options.hosts, options.peers, options.runs)
    except RigError as error:
        raise SystemExit(f"bench: {error}") from None
    except KeyboardInterrupt:
        print("bench: stopped; the rig is down", file=sys.stderr)
        raise SystemExit(128 + signal.SIGINT) from None
    print(f"\n{printed(rows)}\n")
    for why in failed.values():
        print(f"no result: {why}\n")
    print(last_line(rows, NAMES))
    sys.exit(1 if failed else 0)


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


def measured(
    counts: Sequence[int], peers: Sequence[str], runs: int
) -> tuple[list[Row], dict[str, str]]:
    """Measure everything on one rig.

    Returns:
        The rows in the order of the table; and by name of a peer, or of what else is measured, why
        it has no result.

    Raises:
        RigError: the rig cannot be built, or `fleet` or the floor has no result.
    """
    made, failed = _made(peers), dict[str, str]()
    root = root_filesystem(WORK / "root")
    with tempfile.TemporaryDirectory(prefix="fleet-bench-") as scratch:
        folder = Path(scratch)
        write_layers(folder, root)
        before = os.getloadavg()
        with rig(folder, root, planted(max(counts)), layers=[folder / GOOD], silent=SILENT) as up:
            say(f"{len(up.hosts)} hosts are up")
            rows = _rows(up, made, counts, runs, failed)
            venvs = WORK / "venvs" if "pyinfra" in peers else None
            rows += more_rows(up, runs, failed, venvs=venvs)
        whole = tuple(counts) == COUNTS and tuple(peers) == tuple(NAMES) and not failed
        write(rows, before, publish=whole)
    return rows, failed


def _made(peers: Sequence[str]) -> list[Tool]:
    venvs = WORK / "venvs"
    makers: dict[str, Callable[[], Tool]] = {
        "pyinfra": lambda: tools.pyinfra(venvs),
        "ansible-task": lambda: tools.ansible(venvs, single=True),
        "ansible": lambda: tools.ansible(venvs, single=False),
        "testinfra": lambda: tools.testinfra(venvs),
    }
    return [tools.floor(), tools.fleet(), *(makers[name]() for name in peers)]


def _rows(
    up: Rig, made: Sequence[Tool], counts: Sequence[int], runs: int, failed: dict[str, str]
) -> list[Row]:
    rows = [measure(up, tool, up.hosts[:1], runs) for tool in made if tool.name == FLEET]
    for count in counts:
        chosen = [tool for tool in made if count <= tool.most or count == min(counts)]
        rows += rounds(up, chosen, count, runs, failed)
    return rows


def rounds(
    up: Rig, chosen: Sequence[Tool], count: int, runs: int, failed: dict[str, str]
) -> list[Row]:
    """Run the tools one after the other, round after round; a peer that failed is not run again."""
    samples: dict[str, list[Sample]] = {tool.name: [] for tool in chosen}
    for number in range(runs):
        for tool in chosen:
            held = samples[tool.name]
            slow = bool(held) and held[-1].wall > LONG
            if slow or tool.name in failed or (tool.runs and number >= tool.runs):
                continue
            try:
                held.append(sample(up, tool, up.hosts[: min(count, tool.most)]))
            except RigError as error:
                if tool.name not in NAMES:
                    raise
                failed[tool.name] = str(error)
                say(f"no result: {error}")
    return [
        Row(tool.name, tool.title, min(count, tool.most), tuple(samples[tool.name]))
        for tool in chosen
        if tool.name not in failed
    ]


def write(rows: Sequence[Row], before: Sequence[float], *, publish: bool) -> None:
    """Keep the raw numbers; those of a whole run beside this file, and in the documentation."""
    described = machine()
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": described,
        "load": {"before": before, "after": os.getloadavg()},
        "versions": dict(PINNED),
        "python": sys.version.split()[0],
        "rows": [asdict(row) for row in rows],
    }
    text = json.dumps(document, indent=1) + "\n"
    (WORK / "results.json").write_text(text)
    if publish:
        RESULTS.write_text(text)
        written = part(rows, cast("Circumstances", document), NAMES)
        PAGE.write_text(replaced(PAGE.read_text(), written))


main()
