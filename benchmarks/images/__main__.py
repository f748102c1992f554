"""Measure; see the README beside."""

import argparse
import json
import os
import shutil
import sys
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import docker

from benchmarks.images.checks import (
    SYSTEM,
    seen_by_fleet,
    seen_by_structure_test,
    write_structure_test,
    write_system,
)
from benchmarks.images.image import BASE, TAG, TRUTH, build, save, write_layout
from benchmarks.measure import Cost, machine, middle, peak, run

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".cache/bench/images"
RESULTS = Path(__file__).with_name("results.json")
PACKAGE = "container-structure-test"
BY_ENGINE, BY_ARCHIVE = 2.5, 50.0


@dataclass(slots=True)
class Row:
    """One way to run the checks.

    Attributes:
        name: as the table calls it.
        words: the command.
        start: the row that measures its start alone; empty for such a row.
        seen: reads the answers; None for a row without any.
        code: the exit code that a found fault has.
        once: it is too slow to be run more than once.
    """

    name: str
    words: list[str]
    start: str = ""
    seen: Callable[[bytes], dict[str, bool]] | None = None
    code: int = 0
    once: bool = False
    costs: list[Cost] = field(default_factory=list)

    def measure(self, environ: Mapping[str, str], *, count: bool = True) -> None:
        """Run it once, and make sure that it saw what is there to be seen."""
        ended = run(self.words, environ)
        seen = self.seen(ended.output) if self.seen and ended.output else {}
        if ended.code != self.code or (self.seen and seen != TRUTH):
            sys.stderr.buffer.write(ended.errors[-2000:])
            raise SystemExit(f"{self.name}: exit code {ended.code}, and it saw {seen}")
        if count:
            self.costs.append(ended.cost)


def main() -> None:
    """Build, measure, compare, print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.images")
    parser.add_argument("--runs", type=int, default=7, help="of each quick row")
    parser.add_argument("--clean", action="store_true", help="only remove what earlier runs made")
    options = parser.parse_args()
    with closing(docker.from_env(timeout=900)) as engine:
        if options.clean:
            clean(engine)
            return
        image = prepared(engine)
        rows, before = table(), os.getloadavg()
        environ = environment()
        quick = [row for row in rows if not row.once]
        for row in quick:
            row.measure(environ, count=False)  # what is compiled and cached is so for a user too
        for number in range(options.runs):
            print(f"round {number + 1} of {options.runs}", file=sys.stderr, flush=True)
            for row in quick:
                row.measure(environ)
        for row in (row for row in rows if row.once):
            print(f"{row.name}: this takes minutes", file=sys.stderr, flush=True)
            row.measure(environ)
        write(rows, image, engine, before)
    show(rows)


def prepared(engine: docker.DockerClient) -> dict[str, object]:
    """Make the image in its three forms, and the checks of both tools; describe the image."""
    WORK.mkdir(parents=True, exist_ok=True)
    build(engine, WORK)
    found = engine.images.get(TAG)
    mark = WORK / "image.id"
    if not mark.exists() or mark.read_text() != found.id:
        shutil.rmtree(WORK / "layout", ignore_errors=True)
        save(engine, WORK / "image.tar")
        write_layout(WORK / "image.tar", WORK / "layout")
        mark.write_text(str(found.id))
    write_system(WORK / "system")
    write_structure_test(WORK / "structure.json")
    layers = len(found.attrs["RootFS"]["Layers"])
    return {"id": found.id, "bytes": found.attrs["Size"], "layers": layers}


def table() -> list[Row]:
    """Return all rows in the order in which they are measured."""
    fleet = str(Path(sys.executable).with_name("fleet"))
    check = ["--system", SYSTEM, "--format", "json"]
    spec = find_spec(PACKAGE.replace("-", "_"))
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit(f"{PACKAGE} is not installed: pip install -e '.[bench]'")
    theirs = str(shutil.copy(Path(spec.submodule_search_locations[0]) / "bin" / PACKAGE, WORK))
    Path(theirs).chmod(0o755)  # its wheel leaves that to a program in Python, which takes time
    test = ["--config", str(WORK / "structure.json"), "--output", "json"]

    def ours(name: str, address: str, *more: str) -> Row:
        words = [fleet, "check", address, *check, *more]
        return Row(name, words, "fleet --version", seen_by_fleet, 2)

    def of_theirs(name: str, *more: str, once: bool = False) -> Row:
        words = [theirs, "test", *more, *test]
        return Row(name, words, f"{PACKAGE} version", seen_by_structure_test, 1, once)

    return [
        Row("fleet --version", [fleet, "--version"]),
        Row(f"{PACKAGE} version", [theirs, "version"]),
        ours("fleet, the engine's folders", f"docker-daemon:{TAG}", "-e", "image_way=overlay2"),
        ours("fleet, the engine's API", f"docker-daemon:{TAG}", "-e", "image_way=api"),
        ours("fleet, OCI layout", f"oci:{WORK / 'layout'}"),
        ours("fleet, docker archive", f"docker-archive:{WORK / 'image.tar'}"),
        of_theirs(f"{PACKAGE}, docker driver", "--image", TAG),
        of_theirs(
            f"{PACKAGE}, tar driver",
            *("--driver", "tar", "--image", str(WORK / "image.tar")),
            once=True,
        ),
    ]


def environment() -> dict[str, str]:
    """Return an environment as after an ordinary installation, whose modules are compiled."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FLEET_"))}
    return {
        **kept,
        "PYTHONPATH": str(WORK / "system"),
        "PYTHONPYCACHEPREFIX": str(WORK / "compiled"),
    }


def write(
    rows: list[Row],
    image: dict[str, object],
    engine: docker.DockerClient,
    before: tuple[float, float, float],
) -> None:
    """Keep the raw numbers, and how busy the machine was with other work."""
    document = {
        "date": datetime.now(UTC).date().isoformat(),
        "machine": machine(),
        "load": {"before": before, "after": os.getloadavg(), "nice": os.nice(0)},
        "versions": {
            "python": sys.version.split()[0],
            "engine": engine.version()["Version"],
            PACKAGE: version(PACKAGE),
        },
        "image": image,
        "rows": {
            row.name: {"runs": [cost._asdict() for cost in row.costs], "start": row.start}
            for row in rows
        },
    }
    RESULTS.write_text(json.dumps(document, indent=1) + "\n")


def show(rows: list[Row]) -> None:
    """Print the table, and how many times faster fleet is."""
    wall = {row.name: middle(row.costs) for row in rows}
    print(f"\n{'':44}{'median s':>9}{'less start':>11}{'peak MB':>9}")
    for row in rows:
        less = f"{wall[row.name] - wall[row.start]:11.3f}" if row.start else f"{'':11}"
        print(f"{row.name:44}{wall[row.name]:9.3f}{less}{peak(row.costs):9.0f}")
    by_engine = wall[f"{PACKAGE}, docker driver"] / wall["fleet, the engine's folders"]
    by_api = wall[f"{PACKAGE}, docker driver"] / wall["fleet, the engine's API"]
    by_archive = wall[f"{PACKAGE}, tar driver"] / wall["fleet, docker archive"]
    print(
        f"\nwhole commands, times faster: {by_engine:.1f} by the engine's folders"
        f" (wanted {BY_ENGINE:g}), {by_api:.1f} by its API,"
        f" {by_archive:.0f} by the archive (wanted {BY_ARCHIVE:g})"
    )
    if by_engine < BY_ENGINE or by_archive < BY_ARCHIVE:
        raise SystemExit("slower than wanted")


def clean(engine: docker.DockerClient) -> None:
    """Remove images and files of earlier runs."""
    for tag in (TAG, BASE):
        try:
            engine.images.remove(tag, force=True)
        except docker.errors.ImageNotFound:
            continue
    shutil.rmtree(WORK, ignore_errors=True)


main()
