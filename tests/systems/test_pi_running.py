"""Running copies of pi: the environment they were given, and the code they loaded."""

import os
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from support.facts import HOME, NONCE, World, findings, target
from support.living import Living
from support.probing import NOBODY, Shell, need_root, shells
from support.tools import PiTool, pi_tool

from fleet.facts.model import Facts
from fleet.facts.running import EnvValue, ProcessFact
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret, keyed_digest
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
TOKEN = Secret("tok-EXAMPLE-1")
REF = SecretRef("env", "PALACE_TOKEN")
TODAY = {"MEMPALACE_REMOTE_URL": URL, "MEMPALACE_REMOTE_TOKEN": TOKEN.reveal()}
BRIDGE = "extensions/mempalace.ts"
FACTORY = "export default function (pi) {}\n"

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture(scope="module")
def pi() -> PiTool:
    return pi_tool()


@pytest.fixture
def here(tmp_path: Path) -> Living:
    (tmp_path / "tools").mkdir()
    (tmp_path / "home").mkdir()
    dash: Shell = shells(tmp_path / "tools")["dash"]
    return Living(tmp_path / "home", dash, ("pi", "mempalace-bridge"))


def judged(here: Living, *, uid: int | None = None) -> Finding:
    declared = here.declared(palace_url=URL, palace_token=REF)
    return here.findings(declared, secrets={REF: TOKEN}, uid=uid)["pi.running"]


@linux
def test_a_real_pi_of_today_passes_until_its_code_is_written_again(
    here: Living, pi: PiTool
) -> None:
    bridge = here.configure(BRIDGE, FACTORY)
    long_ago = time.time() - 3600
    os.utime(bridge, (long_ago, long_ago))
    here.path(pi.bin_dir, "/usr/bin", "/bin")
    assert judged(here).verdict is Verdict.NOT_APPLICABLE
    with here.running(pi, TODAY) as process:
        good = judged(here)
        assert (good.verdict, good.required) == (Verdict.PASS, True), good
        assert str(process.pid) in good.evidence[0]
        later = time.time() + 60
        os.utime(bridge, (later, later))
        stale = judged(here)
    assert stale.verdict is Verdict.FAIL
    assert "mempalace.ts was written" in stale.evidence[0]
    assert stale.remedy == "restart pi"


@linux
@pytest.mark.parametrize(
    ("environment", "told"),
    [
        ({}, "MEMPALACE_REMOTE_URL is not set"),
        ({**TODAY, "MEMPALACE_REMOTE_TOKEN": "tok-EXAMPLE-0"}, "TOKEN is not the declared value"),
        ({**TODAY, "MEMPALACE_REMOTE_URL": "https://old.example.net/mcp"}, "old.example.net"),
    ],
)
def test_a_real_pi_with_the_environment_of_yesterday_is_stale(
    here: Living, pi: PiTool, environment: dict[str, str], told: str
) -> None:
    here.path(pi.bin_dir)
    with here.running(pi, environment) as process:
        gate = judged(here)
    assert gate.verdict is Verdict.FAIL
    assert gate.message == "the running pi is stale"
    assert told in " ".join(gate.evidence)
    assert f"pi {process.pid}" in gate.evidence[0]
    assert "EXAMPLE-0" not in str(gate)


@linux
def test_a_pi_of_another_agent_folder_is_not_judged(here: Living, pi: PiTool) -> None:
    here.path(pi.bin_dir)
    with here.running(pi, {"PI_CODING_AGENT_DIR": str(here.home / "other")}):
        assert judged(here).verdict is Verdict.NOT_APPLICABLE


@linux
def test_the_pi_of_another_user_is_not_judged(here: Living, pi: PiTool) -> None:
    need_root()
    with here.running(pi, {}):
        assert judged(here, uid=NOBODY).verdict is Verdict.NOT_APPLICABLE


# --- what cannot be arranged on every machine, from facts -------------------------------------


class Running(World):
    """A world in which processes run."""

    def __init__(self, *processes: ProcessFact) -> None:
        super().__init__()
        self.processes = processes

    def facts(self, target: Target) -> Facts:
        found = super().facts(target)
        return found.model_copy(update={"processes": {"pi": self.processes, "pi-rpc": ()}})


def process(**fields: object) -> ProcessFact:
    digest = keyed_digest(NONCE, TOKEN.reveal())
    variables = {
        "HOME": EnvValue(set=True, value=HOME),
        "MEMPALACE_REMOTE_URL": EnvValue(set=True, value=URL),
        "MEMPALACE_REMOTE_TOKEN": EnvValue(set=True, length=13, digest=digest),
    }
    told: dict[str, object] = {"pid": 7, "user": "u", "started": 100, "variables": variables}
    return ProcessFact.model_validate({**told, **fields})


def from_facts(world: World, *, troubles: dict[SecretRef, str] | None = None) -> Finding:
    declared: dict[str, Value] = {"palace_url": URL, "palace_token": REF}
    where = replace(target("pi", "mempalace-bridge"), variables=declared)
    secrets = {} if troubles else {REF: TOKEN}
    return findings(where, world, secrets=secrets, troubles=troubles)["pi.running"]


def test_pi_itself_updated_after_the_start_is_stale() -> None:
    world = Running(process(started=-100)).launch(manifests={"pi": b"{}"})
    launched = world.launches["bash -lc"]
    pi = launched.commands["pi"]
    assert pi.manifest
    dated = pi.model_copy(update={"manifest": pi.manifest.model_copy(update={"mtime": 500})})
    world.launches["bash -lc"] = launched.model_copy(update={"commands": {"pi": dated}})
    gate = from_facts(world)
    assert gate.verdict is Verdict.FAIL
    assert "pi itself was written at 1970-01-01 00:08:20 UTC" in gate.evidence[0]


@pytest.mark.parametrize(
    "unseen",
    [
        process(variables={}),
        process(started=None),
        process(variables={"HOME": {"set": 1, "value": HOME}}),
    ],
)
def test_what_cannot_be_seen_of_a_process_is_not_checked(unseen: ProcessFact) -> None:
    assert from_facts(Running(unseen)).verdict is Verdict.NOT_CHECKED


def test_a_secret_that_cannot_be_fetched_is_not_checked() -> None:
    gate = from_facts(Running(process()), troubles={REF: "PALACE_TOKEN is not set"})
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "PALACE_TOKEN is not set" in gate.message


def test_processes_that_nobody_could_list_are_not_checked() -> None:
    assert from_facts(World()).verdict is Verdict.NOT_CHECKED


def test_a_pi_in_a_container_is_asked_there_and_not_here() -> None:
    stale = process(contained=True, variables={"HOME": {"set": True, "value": HOME}})
    assert from_facts(Running(stale)).verdict is Verdict.NOT_APPLICABLE


def test_one_of_two_is_counted() -> None:
    other = process(
        pid=8, variables={**process().variables, "MEMPALACE_REMOTE_URL": {"set": False}}
    )
    gate = from_facts(Running(process(), other))
    assert (gate.verdict, gate.message) == (Verdict.FAIL, "1 of 2 running pi is stale")
