"""What else is measured: plans, ten files, kept connections, hosts that never answer, the start."""

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from statistics import median

from benchmarks.hosts import tools
from benchmarks.hosts.installed import programs
from benchmarks.hosts.rig import Host, Rig, RigError
from benchmarks.hosts.sampling import measure, sample, say
from benchmarks.hosts.state import write_inventory
from benchmarks.hosts.table import Row, Sample
from benchmarks.hosts.tools import FLEET, JOBS, Tool
from benchmarks.hosts.truths import differences, expected, seen_by_fleet
from fleet.demo.bake import bake
from fleet.demo.history import bridge_of

#: More hosts than this tell nothing new of these.
MOST = 100
REPEATS = 5
SILENT = 5
FILES = tuple(f"f{number:02d}.conf" for number in range(1, 11))
_SYSTEM = "ten-files"


def more_rows(up: Rig, runs: int, failed: dict[str, str], *, venvs: Path | None) -> list[Row]:
    """Measure what is no single audit; with ``venvs`` pyinfra changes the ten files too.

    What has no result is left out, and ``failed`` says why.
    """
    hosts = up.hosts[:MOST]
    good = [host for host in hosts if not host.fault]
    makers: dict[str, Callable[[], Row]] = {
        "plan": lambda: measure(up, _plan(), good, runs),
        "fleet-ten": lambda: _ten(up, _fleet_ten(up.folder), good, runs),
        "kept": lambda: _kept(up, hosts),
        "silent": lambda: measure(up, _silent(up), hosts, 1),
        "version": lambda: measure(up, _version(), hosts[:1], runs),
        "check": lambda: measure(up, _check(up.folder), hosts[:1], runs),
    }
    if venvs is not None:
        makers["pyinfra-ten"] = lambda: _ten(up, _pyinfra_ten(venvs), good, 1)
    rows = []
    for name, make in makers.items():
        try:
            rows.append(make())
        except RigError as error:
            failed[name] = str(error)
            say(f"no result: {error}")
    return rows


def _plan() -> Tool:
    def words(_: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        file = write_inventory(folder / "plan.yml", [(h.name, h.address) for h in hosts])
        return [FLEET, "plan", "-i", str(file), "-j", str(JOBS)]

    return Tool("plan", "fleet plan, nothing to do", words)


def _silent(up: Rig) -> Tool:
    """Return an audit of hosts of which some never answer, those in front."""

    def words(_: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        named = [(f"silent{n}", address) for n, address in enumerate(up.silent)]
        named += [(h.name, h.address) for h in hosts]
        file = write_inventory(folder / "silent.yml", named)
        return [FLEET, "audit", "-i", str(file), "--format", "json", "-j", str(JOBS)]

    def wrong(_: Rig, hosts: Sequence[Host], output: bytes) -> list[str]:
        reached = [t["name"] for t in json.loads(output)["targets"] if t["reachable"]]
        told = sorted(reached) == sorted(host.name for host in hosts)
        return [] if told else [f"{len(reached)} hosts answered"]

    title = f"fleet audit, {len(up.silent)} more never answer"
    return Tool("silent", title, words, codes=frozenset({2, 3}), wrong=wrong)


# --- connections that are kept -------------------------------------------------------------------


def _kept(up: Rig, hosts: Sequence[Host]) -> Row:
    """Return what an audit costs that finds its connections open."""

    def repeated(times: int) -> tuple[Tool, list[bytes]]:
        outputs: list[bytes] = []

        def words(_: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
            file = write_inventory(folder / "kept.yml", [(h.name, h.address) for h in hosts])
            again = ["--times", str(times), "--every", "1s"]
            given = ["-i", str(file), "--format", "json", "-j", str(JOBS)]
            return [FLEET, "audit", *given, *again]

        def wrong(_: Rig, hosts: Sequence[Host], output: bytes) -> list[str]:
            outputs.append(output)
            told = [len(run["targets"]) for run in documents(output)]
            if told != [len(hosts)] * times:
                return [f"it audited {told}"]
            saw = [seen_by_fleet(json.dumps(run).encode()) for run in documents(output)]
            truths = expected({host.name: host.fault for host in hosts})
            return [wrong for seen in saw for wrong in differences(truths, seen)]

        tool = Tool("kept", "fleet audit again, kept", words, codes=frozenset({0, 2}), wrong=wrong)
        return tool, outputs

    first, _ = repeated(1)
    more, outputs = repeated(REPEATS + 1)
    one, all_of_them = sample(up, first, hosts), sample(up, more, hosts)
    walls = [_seconds(run["run"]) for run in documents(outputs[0])[1:]]
    each = Sample(
        round(median(walls), 4),
        round((all_of_them.client - one.client) / REPEATS, 4),
        round((all_of_them.server - one.server) / REPEATS, 4),
        all_of_them.other,
        all_of_them.logins - one.logins,
        round((all_of_them.trips - one.trips) / REPEATS),
        all_of_them.peak,
    )
    return Row(first.name, first.title, len(hosts), (each,))


def documents(output: bytes) -> list[dict[str, dict[str, str]]]:
    """Return the reports that stand one after the other."""
    text, decoder = output.decode(), json.JSONDecoder()
    found, at = [], 0
    while at < len(text):
        document, at = decoder.raw_decode(text, at)
        found.append(document)
        at += len(text[at:]) - len(text[at:].lstrip())
    return found


def _seconds(run: dict[str, str]) -> float:
    begun, ended = (datetime.fromisoformat(run[name]) for name in ("started", "finished"))
    return (ended - begun).total_seconds()


# --- ten files -----------------------------------------------------------------------------------


def _ten(up: Rig, tool: Tool, hosts: Sequence[Host], runs: int) -> Row:
    """Return what a change of ten files costs; the first time they are made, which is not counted.

    Each time they get other contents: the number of a release.
    """
    samples = tuple(sample(up, _released(tool, release), hosts) for release in range(1, runs + 2))
    return Row(tool.name, tool.title, len(hosts), samples[1:])


def _released(tool: Tool, release: int) -> Tool:
    def words(up: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        for name in FILES:
            (folder / name).write_text(f"release = {release}\nname = {name}\n")
        return tool.words(up, hosts, folder)

    def wrong(up: Rig, hosts: Sequence[Host], _: bytes) -> list[str]:
        wanted = {name: f"release = {release}\nname = {name}\n" for name in FILES}
        return [
            f"{host.name}: {name} is not that of release {release}"
            for host in hosts
            for name, text in wanted.items()
            if not _holds(up.root(host) / f"root/{tool.name}/{name}", text)
        ]

    return replace(tool, words=words, wrong=wrong)


def _holds(file: Path, text: str) -> bool:
    return file.is_file() and file.read_text() == text


def _fleet_ten(folder: Path) -> Tool:
    name = "fleet-ten"
    path = folder / "system"
    _write_system(path, name)

    def words(_: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        lines = "".join(f"      {h.name}: {{ssh: root@{h.address}}}\n" for h in hosts)
        file = folder / "ten.yml"
        file.write_text(f"groups:\n  machines:\n    systems: [{_SYSTEM}]\n    hosts:\n{lines}")
        return [FLEET, "provision", "-i", str(file), "--yes", "--no-diff", "-j", str(JOBS)]

    environ = {"PYTHONPATH": str(path)}
    codes = frozenset({3})  # no gate is asked of such files, and nothing checked is no success
    return Tool(name, "fleet provision, ten files", words, codes=codes, environ=environ)


def _write_system(path: Path, name: str) -> None:
    """Write a package with a system of ten files, so that it is found on the Python path."""
    package, described = path / "ten_files", path / "ten_files-1.dist-info"
    for each in (package, described):
        each.mkdir(parents=True)
    artifacts = {
        file.removesuffix(".conf"): {"kind": "copy", "path": f"~/{name}/{file}", "source": file}
        for file in FILES
    }
    system = {"system": _SYSTEM, "about": "Ten files of a benchmark.", "artifacts": artifacts}
    (package / "__init__.py").write_text('"""A system for a benchmark."""\n')
    (package / "system.yml").write_text(json.dumps(system, indent=2))
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: ten-files\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[fleet.systems]\n{_SYSTEM} = ten_files\n")


def _pyinfra_ten(venvs: Path) -> Tool:
    name = "pyinfra-ten"
    program = programs(venvs, "pyinfra") / "pyinfra"

    def words(up: Rig, hosts: Sequence[Host], folder: Path) -> list[str]:
        inventory = tools.write_pyinfra_inventory(up, hosts, folder)
        script = str(tools.PEERS / "pyinfra_ten.py")
        return [str(program), "-y", "--parallel", "50", str(inventory), script]

    environ = {"BENCH_FILES": " ".join(FILES), "BENCH_FOLDER": f"/root/{name}"}
    return Tool(name, "pyinfra, ten files", words, environ=environ)


# --- the start -----------------------------------------------------------------------------------


def _version() -> Tool:
    return Tool("version", "fleet --version", lambda *_: [FLEET, "--version"])


def _check(folder: Path) -> Tool:
    archive = folder / "image.tar"
    bake(archive, bridge_of("2026-08-25.ts"), date="2026-08-25")
    words = [FLEET, "check", f"oci-archive:{archive}", "--system", "mempalace-bridge"]
    return Tool("check", "fleet check oci-archive:", lambda *_: words, codes=frozenset({0, 2, 3}))
