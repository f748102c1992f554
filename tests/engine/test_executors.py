"""The same audit by threads, by processes and by a real Dask cluster: real ssh, real processes."""

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from support.client import Client
from support.dask_cluster import Cluster
from support.homes import CANARY, VARIABLE
from support.http import LoopbackServer, Reply
from support.loopback import free_port
from support.sshd import Sshd

from fleet.connectors.connections import Connections
from fleet.engine import crews, facts, job
from fleet.engine.context import Context, load_context
from fleet.engine.options import AuditOptions
from fleet.engine.pool import Crew
from fleet.engine.secrets import SecretStore
from fleet.errors import FleetError, TargetError, Unreachable

NAMES = tuple(f"host-{n}" for n in range(6))
SECONDS = 120
StartSshd = Callable[..., Sshd]


@dataclass
class Fleet:
    """Hosts, their palace and their inventory.

    Attributes:
        begun: grows by a line for each host that is being looked at.
        go: until this file is there, no host answers; where it is there from the start, all do.
    """

    inventory: Path
    environ: Mapping[str, str]
    palace: LoopbackServer
    begun: Path
    go: Path

    def start(self, *words: str, **environ: str) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "fleet", "audit", "-i", str(self.inventory)]
        return subprocess.Popen(
            [*command, "--format", "json", "--timeout", str(SECONDS), *words],
            env={**os.environ, **self.environ, VARIABLE: CANARY, **environ},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def audit(self, *words: str, **environ: str) -> tuple[int, dict[str, object], str]:
        with self.start(*words, **environ) as process:
            return told(process)

    def busy(self, number: int) -> None:
        """Wait until so many hosts are being looked at."""
        until = time.monotonic() + SECONDS
        while not self.begun.exists() or len(self.begun.read_text().splitlines()) < number:
            assert time.monotonic() < until
            time.sleep(0.02)


def told(process: subprocess.Popen[str]) -> tuple[int, dict[str, object], str]:
    out, err = process.communicate(timeout=SECONDS)
    assert CANARY not in out + err
    if process.returncode == 1:
        return 1, {}, err
    findings = json.loads(out)["findings"]
    assert {f["target"] for f in findings} >= set(NAMES)
    return process.returncode, {"findings": findings}, err


@pytest.fixture
def fleet(client: Client, start_sshd: StartSshd, tmp_path: Path) -> Iterator[Fleet]:
    begun, go = tmp_path / "begun", tmp_path / "go"
    wait = f"echo x >> {begun}; while [ ! -e {go} ]; do sleep 0.05; done"
    server = start_sshd(f'ForceCommand {wait}; eval "$SSH_ORIGINAL_COMMAND"')
    for name in NAMES:
        client.host(name, server)
    client.know(server.known())
    with LoopbackServer(lambda _: Reply(status=401)) as palace:
        inventory = tmp_path / "fleet.yml"
        lines = [f"    {n}: {{ssh: {n}, shell: sh -c, vars: {{device: {n}}}}}" for n in NAMES]
        inventory.write_text(
            f"vars:\n  palace_url: {palace.url}/mcp\n  palace_token: !secret env:{VARIABLE}\n"
            "groups:\n  machines:\n   systems: [env, mempalace-bridge]\n   require: [feed]\n"
            "   hosts:\n" + "\n".join(lines) + "\n"
        )
        yield Fleet(inventory, {"FLEET_SSH_CONFIG": str(client.config)}, palace, begun, go)
    go.touch()  # a host that still waits for it ends


@pytest.fixture
def cluster(fleet: Fleet, tmp_path: Path) -> Iterator[Cluster]:
    pytest.importorskip("distributed")
    environ = {**fleet.environ, VARIABLE: CANARY}
    with Cluster(tmp_path / "cluster", environ) as running:
        yield running.ready()


def bearers(palace: LoopbackServer) -> set[str]:
    return {r.headers.get("authorization", "") for r in palace.requests}


def test_processes_find_what_threads_find(fleet: Fleet) -> None:
    fleet.go.touch()
    expected = fleet.audit()
    fleet.palace.requests.clear()
    found = fleet.audit("--executor", "processes", "-j", "2")
    assert found == expected
    assert expected[0] == 2
    assert f"Bearer {CANARY}" in bearers(fleet.palace), "the token is fetched where it is needed"


def test_a_cluster_finds_what_threads_find_and_keeps_no_secret(
    fleet: Fleet, cluster: Cluster
) -> None:
    fleet.go.touch()
    expected = fleet.audit()
    fleet.palace.requests.clear()
    found = fleet.audit("--executor", cluster.address)
    assert found == expected
    assert f"Bearer {CANARY}" in bearers(fleet.palace)
    assert CANARY not in cluster.log()
    assert len(fleet.begun.read_text().splitlines()) == 2 * len(NAMES)


def test_a_worker_that_is_killed_in_the_middle_loses_nothing(
    fleet: Fleet, cluster: Cluster
) -> None:
    with fleet.start("--executor", cluster.address) as process:
        fleet.busy(4)  # both workers are full
        cluster.kill(0)
        fleet.go.touch()
        found = told(process)
    assert found == fleet.audit()


def test_a_process_that_is_killed_in_the_middle_loses_nothing(fleet: Fleet) -> None:
    with fleet.start("--executor", "processes", "-j", "3") as process:
        fleet.busy(3)
        os.kill(next(iter(looking(process.pid))), signal.SIGKILL)
        fleet.go.touch()
        found = told(process)
    assert found == fleet.audit()


def looking(pid: int) -> Iterator[int]:
    """Yield the processes that look, which the server of processes has started."""
    for child in _children(pid):
        words = Path(f"/proc/{child}/cmdline").read_bytes()
        if b"forkserver" in words:
            yield from _children(child)


def _children(pid: int) -> list[int]:
    return [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_processes_end_with_the_one_that_started_them(fleet: Fleet, number: int) -> None:
    with fleet.start("--executor", "processes", "-j", "3") as process:
        fleet.busy(3)
        workers = [*looking(process.pid)]
        assert workers
        process.send_signal(number)
        out, err = process.communicate(timeout=SECONDS / 2)
    assert (process.returncode, out) == (128 + number, "")
    assert err.strip().splitlines()[-1:] == [
        "interrupted" if number == signal.SIGINT else "ended by SIGTERM"
    ]
    assert "Traceback" not in err
    wait_for_the_end(workers)


def test_processes_do_not_outlive_one_that_is_killed(fleet: Fleet) -> None:
    with fleet.start("--executor", "processes", "-j", "2") as process:
        fleet.busy(2)
        workers = [*looking(process.pid)]
        assert workers
        process.kill()
        process.communicate(timeout=SECONDS)
    wait_for_the_end(workers)


def wait_for_the_end(pids: list[int]) -> None:
    until = time.monotonic() + 60
    while left := [pid for pid in pids if _runs(pid)]:
        assert time.monotonic() < until, left
        time.sleep(0.05)


def _runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_a_worker_without_the_secret_says_so_and_asks_nothing(fleet: Fleet, tmp_path: Path) -> None:
    pytest.importorskip("distributed")
    fleet.go.touch()
    with Cluster(tmp_path / "poor", fleet.environ, workers=1) as poor:
        code, found, _ = fleet.audit("--executor", poor.ready().address)
    findings = json.dumps(found)
    assert f"the worker cannot fetch !secret env:{VARIABLE}" in findings
    assert code == 3
    assert not fleet.palace.requests
    assert not fleet.begun.exists()


def test_without_a_scheduler_it_says_so(fleet: Fleet) -> None:
    pytest.importorskip("distributed")
    port = free_port()
    with fleet.start("--executor", f"dask://127.0.0.1:{port}") as process:
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (1, "")
    first, *rest = err.strip().splitlines()
    assert first.startswith(f"error: no Dask scheduler answers at tcp://127.0.0.1:{port}")
    assert "Traceback" not in err
    assert len(rest) == 1


def test_without_workers_it_says_so(
    fleet: Fleet, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed")
    with (
        Cluster(tmp_path / "empty", {}, workers=0) as empty,
        fleet.start("--executor", empty.address) as process,
    ):
        out, err = process.communicate(timeout=SECONDS)
    assert (process.returncode, out) == (1, "")
    assert "has no workers" in err
    assert "dask worker tcp://127.0.0.1:" in err


@pytest.mark.parametrize(
    ("word", "told_"),
    [
        ("fibres", "it takes threads, processes or dask://SCHEDULER:PORT"),
        ("dask://", "no address of a Dask scheduler"),
        ("dask://here:99999", "no address of a Dask scheduler"),
        ("dask://user@here:8786", "no address of a Dask scheduler"),
    ],
)
def test_what_is_no_executor_is_refused(fleet: Fleet, word: str, told_: str) -> None:
    with fleet.start("--executor", word) as process:
        _, err = process.communicate(timeout=SECONDS)
    assert process.returncode == 1
    assert told_ in err


def test_without_the_extra_it_says_what_to_install(fleet: Fleet, tmp_path: Path) -> None:
    (tmp_path / "distributed.py").write_text("raise ImportError('No module named distributed')\n")
    code, _, err = fleet.audit("--executor", "dask://127.0.0.1:8786", PYTHONPATH=str(tmp_path))
    assert code == 1
    assert "pip install 'mempalace-fleet[dask]'" in err


def test_what_is_kept_is_kept_by_threads(fleet: Fleet) -> None:
    code, _, err = fleet.audit("--executor", "processes", "--keep")
    assert code == 1
    assert "--keep keeps connections in this process" in err


# --- the job itself


@pytest.fixture
def jobs(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> tuple[list[job.Job], Context]:
    """The jobs of an audit, not carried out."""
    monkeypatch.setenv(VARIABLE, CANARY)
    made: list[job.Job] = []

    def noted(crew: object, items: Iterator[job.Job]) -> Iterator[job.Answer]:
        made.extend(items)
        return iter(())

    monkeypatch.setattr(facts, "as_they_come", noted)
    context = load_context(fleet.inventory)
    assert context.inventory is not None
    list(facts.gather(context.inventory.targets, context, AuditOptions(deep=True)))
    assert len(made) == len(NAMES)
    return made, context


def test_a_job_travels_without_any_secret(jobs: tuple[list[job.Job], Context]) -> None:
    made, context = jobs
    assert CANARY in {s.reveal() for s in context.secrets.values.values()}
    travelled = pickle.dumps(made)
    assert CANARY.encode() not in travelled
    assert VARIABLE.encode() in travelled, "the reference does travel"
    assert pickle.loads(travelled) == made  # noqa: S301 - it was made here


def test_another_release_does_no_job(jobs: tuple[list[job.Job], Context]) -> None:
    old = replace(jobs[0][0], version="0.0.1")
    answer = job.carry_out(old, Connections(), SecretStore())
    assert answer.facts is None
    assert "the job is of 0.0.1" in str(answer.trouble)


@pytest.mark.parametrize(
    "error",
    [
        Unreachable("no answer", stage="timeout", where="here", hint="wait"),
        TargetError("it is odd"),
        FleetError("all is odd", where="there"),
    ],
)
def test_an_error_travels_whole(error: FleetError) -> None:
    came = pickle.loads(pickle.dumps(error))  # noqa: S301 - it was made here
    assert type(came) is type(error)
    assert (came.__dict__, str(came), came.args) == (error.__dict__, str(error), error.args)


def test_who_wants_one_at_a_time_gets_one_at_a_time(
    jobs: tuple[list[job.Job], Context],
) -> None:
    crew: Crew[job.Job, job.Answer] = crews.of_threads(AuditOptions(jobs=1), jobs[1])
    assert (crew.at_once, crew.spare) == (1, 0)
