"""The rig of the benchmark comes up, is audited, and leaves nothing."""

import os
import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest
from support.places import ROOT

from benchmarks.hosts import tools
from benchmarks.hosts.faults import FAULTS, GOOD
from benchmarks.hosts.rig import refusal, rig
from benchmarks.hosts.rootfs import root_filesystem
from benchmarks.hosts.state import write_layers
from benchmarks.hosts.truths import differences, expected

pytestmark = pytest.mark.skipif(bool(refusal()), reason=refusal() or "a rig can be built")


def traces(folder: Path, links: Iterable[str]) -> list[str]:
    """What there is of a rig on this machine: interfaces, mounts and processes."""
    told = subprocess.run(
        ["ps", "-axww", "-o", "pid=,args="], capture_output=True, text=True, check=True
    )
    mounts = Path("/proc/mounts").read_text()
    lines = [*mounts.splitlines(), *told.stdout.splitlines()]
    ours = [line for line in lines if f"{folder}/site" in line]
    return [*ours, *(link for link in links if Path("/sys/class/net", link).exists())]


@pytest.fixture(scope="module")
def root() -> Path:
    return root_filesystem(ROOT / ".cache/bench/hosts/root")


def test_hosts_with_every_fault_are_audited_and_nothing_stays(root: Path, tmp_path: Path) -> None:
    write_layers(tmp_path, root)
    with rig(tmp_path, root, ["", *FAULTS], layers=[tmp_path / GOOD], silent=1) as up:
        links = [up.link(host) for host in up.hosts]
        assert len(traces(tmp_path, links)) >= 4
        work = tmp_path / "work"
        work.mkdir()
        tool = tools.fleet()
        spent, counted = up.processor(), up.counted(up.hosts)
        ended = subprocess.run(
            tool.words(up, up.hosts, work),
            env=tool.environment(up),
            capture_output=True,
            check=False,
            timeout=120,
        )
        assert ended.returncode == 2, ended.stderr.decode()
        assert tool.seen is not None
        truths = expected({host.name: host.fault for host in up.hosts})
        assert differences(truths, tool.seen(ended.stdout, work)) == []
        after = up.counted(up.hosts)
        assert (after[0] - counted[0], after[1] - counted[1]) == (len(up.hosts), len(up.hosts))
        assert up.processor() > spent
    assert traces(tmp_path, links) == []


def test_nothing_stays_of_a_rig_whose_maker_was_killed(root: Path, tmp_path: Path) -> None:
    script = (
        "import sys, time\nfrom pathlib import Path\nfrom benchmarks.hosts.rig import rig\n"
        "with rig(Path(sys.argv[1]), Path(sys.argv[2]), ['', '']) as up:\n"
        "    print(*map(up.link, up.hosts), flush=True)\n    time.sleep(600)\n"
    )
    maker = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path), str(root)],
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'tests'}"},
        stdout=subprocess.PIPE,
    )
    with maker:
        assert maker.stdout is not None
        links = maker.stdout.readline().decode().split()
        assert len(traces(tmp_path, links)) >= 4
        maker.kill()
    until = time.monotonic() + 60
    while traces(tmp_path, links) and time.monotonic() < until:
        time.sleep(0.1)
    assert traces(tmp_path, links) == []
