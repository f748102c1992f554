"""Measure; see the README beside."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.judging.fleet import expected, names, write_fleet
from benchmarks.judging.host import environment, fleet, good
from benchmarks.measure import Cost, Ended, machine, middle, peak, run

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".cache/bench/judging"
RESULTS = Path(__file__).with_name("results.json")
FAILED = 2
SECONDS, MEGABYTES = 10.0, 500.0  # wanted of the terminal's report on 10,000 targets
WANTED_AT = 10_000


def main() -> None:
    """Write a fleet, judge it, compare what is told with what was planted, print the cost."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.judging")
    parser.add_argument("words", metavar="N=HOSTS", nargs="*", help="how many hosts (N=10000)")
    parser.add_argument("--runs", type=int, default=3, help="of each report")
    parser.add_argument("--clean", action="store_true", help="only remove what earlier runs made")
    options = parser.parse_args()
    if options.clean:
        shutil.rmtree(WORK, ignore_errors=True)
        return
    hosts = int(dict(word.split("=", 1) for word in options.words).get("N", WANTED_AT))
    folder = written(hosts)
    before = os.getloadavg()
    check(folder, hosts)
    costs = {name: measured(folder, name, options.runs) for name in ("terminal", "json")}
    start = [judged(folder, "terminal", "--limit", names(1)[0]).cost for _ in range(options.runs)]
    write(hosts, {**costs, "one host": start}, before)
    show(hosts, costs, start)


def written(hosts: int) -> Path:
    """Return the folder of a fleet of so many hosts, which is written where it is not there."""
    folder = WORK / str(hosts)
    done = folder / "complete"
    if not done.exists():
        print(f"writing the facts of {hosts} hosts", file=sys.stderr, flush=True)
        write_fleet(good(WORK / "host"), folder, hosts)
        done.touch()
    return folder


def judged(folder: Path, form: str, *more: str) -> Ended:
    """Judge the fleet, by a whole command."""
    named = ["-i", str(folder / "fleet.yml"), "--from", str(folder / "facts"), "--no-history"]
    report = ["--format", f"{form}:{folder / 'report'}"]
    return run(fleet("audit", *named, *report, *more), environment())


def check(folder: Path, hosts: int) -> None:
    """Make sure that every planted fault is told, and nothing else that is required."""
    ended = judged(folder, "json")
    if ended.code != FAILED:
        raise SystemExit(f"exit code {ended.code}: {ended.errors[-2000:].decode()}")
    document = json.loads((folder / "report").read_text())
    wanted = expected(hosts)
    wrong = {
        (f["target"], f["gate"]): f["verdict"]
        for f in document["findings"]
        if f["required"] and f["verdict"] not in ("pass", "warn", "not-applicable")
    }
    missed = {key for key, verdict in wanted.items() if wrong.get(key) != verdict}
    faulty = {target for target, _ in wanted} | {"fleet"}
    invented = {key for key in wrong if key[0] not in faulty}
    if missed or invented:
        raise SystemExit(f"not told: {sorted(missed)[:5]}; not planted: {sorted(invented)[:5]}")
    targets = document["summary"]["targets"]
    if targets["total"] != hosts:
        raise SystemExit(f"{targets} of {hosts}")


def measured(folder: Path, form: str, runs: int) -> list[Cost]:
    """Judge so many times."""
    costs = []
    for number in range(runs):
        print(f"{form}: run {number + 1} of {runs}", file=sys.stderr, flush=True)
        ended = judged(folder, form)
        if ended.code != FAILED:
            raise SystemExit(f"exit code {ended.code}: {ended.errors[-2000:].decode()}")
        costs.append(ended.cost)
    return costs


def write(hosts: int, costs: dict[str, list[Cost]], before: tuple[float, float, float]) -> None:
    """Keep the raw numbers, and how busy the machine was with other work."""
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "load": {"before": before, "after": os.getloadavg(), "nice": os.nice(0)},
        "python": sys.version.split()[0],
        "hosts": hosts,
        "rows": {name: [cost._asdict() for cost in of] for name, of in costs.items()},
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")


def show(hosts: int, costs: dict[str, list[Cost]], start: Sequence[Cost]) -> None:
    """Print the table; exit with 1 where it is slower or larger than wanted."""
    print(f"\n{hosts} targets{'':14}{'wall s':>9}{'CPU s':>9}{'ms/target':>11}{'peak MB':>9}")
    for name, of in costs.items():
        processor = sorted(cost.processor for cost in of)[len(of) // 2]
        each = (processor - min(cost.processor for cost in start)) / hosts * 1000
        print(f"{name:27}{middle(of):9.2f}{processor:9.2f}{each:11.2f}{peak(of):9.0f}")
    wall, held = middle(costs["terminal"]), peak(costs["terminal"])
    print(
        f"\njudging: N={hosts} {wall:.1f} s, {held:.0f} MB"
        f" (wanted of {WANTED_AT}: {SECONDS:g} s, {MEGABYTES:g} MB)"
    )
    share = hosts / WANTED_AT
    if share >= 1 and (wall > SECONDS * share or held > MEGABYTES):
        raise SystemExit("slower or larger than wanted")


main()
