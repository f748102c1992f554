"""What is left of the local palace after the flip: servers under a pi, and late writes."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from support.facts import HOME, World, findings, target
from support.living import Living
from support.probing import Shell, shells
from support.tools import PiTool, pi_tool

from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.facts.running import ProcessFact
from fleet.inventory.model import Target, Value
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
REMOTE = {"MEMPALACE_REMOTE_URL": URL}
NAMED = {
    "HOME": {"set": True, "length": len(HOME), "value": HOME},
    "MEMPALACE_REMOTE_URL": {"set": True, "length": len(URL), "value": URL},
}

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")

#: A pi that starts a server as an extension does: a child of its own.
EXTENSION = """
import { spawn } from "node:child_process";
export default function () { spawn("mempalace-mcp", [], { stdio: ["pipe", "ignore", "ignore"] }); }
"""


@pytest.fixture(scope="module")
def pi() -> PiTool:
    return pi_tool()


@pytest.fixture
def here(tmp_path: Path) -> Living:
    for name in ("tools", "home", "bin"):
        (tmp_path / name).mkdir()
    program = tmp_path / "bin/mempalace-mcp"
    program.write_text("#!/bin/sh\nread line\n")
    program.chmod(0o755)
    dash: Shell = shells(tmp_path / "tools")["dash"]
    return Living(tmp_path / "home", dash, ("mempalace-bridge",))


def no_local(here: Living) -> Finding:
    return here.findings(here.declared(palace_url=URL))["flip.no-local"]


@linux
def test_a_real_pi_that_starts_a_local_palace_beside_a_remote_one_is_half_flipped(
    here: Living, pi: PiTool, tmp_path: Path
) -> None:
    search = {"PATH": f"{tmp_path}/bin:{pi.bin_dir}:/usr/bin:/bin"}
    with here.running(pi, REMOTE) as process:
        good = no_local(here)
    assert (good.verdict, good.required) == (Verdict.PASS, True), good
    here.configure("extensions/local.ts", EXTENSION)
    with here.running(pi, REMOTE | search) as process:
        bad = _until(Verdict.FAIL, here)
    assert bad.verdict is Verdict.FAIL, bad
    assert f"under pi {process.pid}" in bad.evidence[0]
    with here.running(pi, search):
        assert no_local(here).verdict is Verdict.NOT_APPLICABLE
    assert no_local(here).verdict is Verdict.NOT_APPLICABLE


def _until(verdict: Verdict, here: Living) -> Finding:
    """Ask until it is so; pi loads its extensions a moment after it took its name."""
    end = time.monotonic() + 30
    while (gate := no_local(here)).verdict is not verdict and time.monotonic() < end:
        time.sleep(0.2)
    return gate


@contextmanager
def child(program: Path, environment: Mapping[str, str]) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([program], env={**os.environ, **environment}, stdin=subprocess.PIPE)
    try:
        while b"mempalace-mcp" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
            time.sleep(0.01)
        yield process
    finally:
        process.communicate(b"\n")


@linux
def test_a_server_that_pi_started_through_another_is_found_by_its_mark(
    here: Living, tmp_path: Path
) -> None:
    program = tmp_path / "bin/mempalace-mcp"
    own = {"HOME": str(here.home)}
    with child(program, {**REMOTE, **own, "PI_CODING_AGENT": "true"}) as process:
        gate = no_local(here)
        assert gate.verdict is Verdict.FAIL
        assert f"mempalace-mcp {process.pid}, started by a pi" in gate.evidence[0]
    for other in ({"PI_CODING_AGENT": ""}, {"PI_CODING_AGENT": "true", "HOME": "/home/other"}):
        with child(program, {**REMOTE, **own, **other}):
            assert no_local(here).verdict is not Verdict.FAIL


class Processes(World):
    """A world in which processes run."""

    found: Mapping[str, tuple[ProcessFact, ...]] = {}

    def facts(self, target: Target) -> Facts:
        return super().facts(target).model_copy(update={"processes": dict(self.found)})


def from_facts(**found: tuple[ProcessFact, ...]) -> Finding:
    world = Processes()
    world.found = {name.replace("_", "-"): each for name, each in found.items()}
    world.launch(variables=REMOTE)
    return findings(target("mempalace-bridge", palace_url=URL), world)["flip.no-local"]


def process(pid: int, **fields: object) -> ProcessFact:
    return ProcessFact.model_validate({"pid": pid, "user": "u", "variables": NAMED} | fields)


def test_what_cannot_be_seen_of_processes_is_not_checked() -> None:
    assert from_facts().verdict is Verdict.NOT_CHECKED
    hidden = from_facts(pi=(process(1, variables={}),), palace_client=())
    assert hidden.verdict is Verdict.NOT_CHECKED
    other = from_facts(pi=(process(1, variables={}, user="bob"),), palace_client=())
    assert other.verdict is Verdict.NOT_APPLICABLE


def test_containers_are_asked_themselves() -> None:
    inner = process(2, parent=1, contained=True)
    gate = from_facts(pi=(process(1, contained=True),), palace_client=(inner,))
    assert gate.verdict is Verdict.NOT_APPLICABLE


def test_a_server_of_somebody_else_is_no_child() -> None:
    gate = from_facts(pi=(process(1),), palace_client=(process(9, parent=8),))
    assert gate.verdict is Verdict.PASS


# --- the archive -------------------------------------------------------------------------------

STORE = "~/.mempalace/palace/chroma.sqlite3"
ENV = "~/.config/pi/.env"


def written(world: World, path: str, at: int) -> World:
    world.file(path)
    world.paths[path] = world.paths[path].model_copy(update={"mtime": at})
    return world


def archive(world: World, **variables: Value) -> Finding:
    where = target("mempalace-bridge", **({"palace_url": URL} | variables))  # type: ignore[arg-type]  # variables by name
    return findings(where, world.launch(variables=REMOTE))["flip.archive"]


@pytest.mark.parametrize(
    "path",
    [
        STORE,
        f"{STORE}-wal",
        "~/.config/mempalace/palace/chroma.sqlite3",
        "~/.config/mempalace/palace/chroma.sqlite3-wal",
    ],
)
def test_a_local_palace_that_is_written_after_the_flip_is_told(path: str) -> None:
    gate = archive(written(written(World(), ENV, 1000), path, 1001))
    assert (gate.verdict, gate.message) == (Verdict.WARN, "drawers land in the dead archive")
    assert path in gate.evidence[0]
    assert archive(written(written(World(), ENV, 1000), path, 999)).verdict is Verdict.PASS


def test_a_declared_day_counts_before_the_env_file() -> None:
    day = 1_788_220_800  # 2026-09-01
    for at, verdict in ((day + 3600, Verdict.PASS), (day + 2 * 86_400, Verdict.WARN)):
        world = written(written(World(), ENV, day * 2), STORE, at)
        assert archive(world, flipped="2026-09-01").verdict is verdict
    odd = archive(written(World(), STORE, 1), flipped="last summer")
    assert (odd.verdict, "last summer" in odd.message) == (Verdict.NOT_CHECKED, True)


def test_without_a_local_palace_there_is_no_archive() -> None:
    assert archive(World()).verdict is Verdict.PASS
    assert archive(World().broken(STORE, State.UNREADABLE)).verdict is Verdict.NOT_CHECKED


def test_when_it_was_flipped_must_be_known() -> None:
    gate = archive(written(World(), STORE, 1))
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "flipped: DATE" in gate.message


def test_a_palace_that_is_not_remote_or_lies_here_is_no_archive() -> None:
    solitary = findings(target("mempalace-bridge"), World().launch())["flip.archive"]
    assert solitary.verdict is Verdict.NOT_APPLICABLE
    own = archive(World(), palace_path=f"{HOME}/.mempalace/palace")
    assert own.verdict is Verdict.NOT_APPLICABLE
