"""A container without a shell: what cannot be seen in it is said to be so, gate by gate."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from support.containers import PREFIX, Engine, Root, base
from support.places import ROOT

from fleet.cli.main import cli

pytestmark = pytest.mark.e2e

URL = "https://palace.example.net/mcp"
SECRET = "tok-EXAMPLE-unseen-1"
AGENT = "/home/dev/.pi/agent"
ENVIRONMENT = {"MEMPALACE_REMOTE_URL": URL, "MEMPALACE_REMOTE_TOKEN": SECRET}

Found = dict[str, dict[str, object]]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    made = Engine()
    yield made
    made.close()


def with_bridge(root: Root) -> Root:
    for path in ("/home/dev", "/home/dev/.pi", AGENT, f"{AGENT}/extensions"):
        root.folder(path, uid=1000)
    bridge = (ROOT / "toolkit/extensions/pi/mempalace.ts").read_bytes()
    root.file(f"{AGENT}/extensions/mempalace.ts", bridge, uid=1000)
    return root


@pytest.fixture(scope="module")
def bare(engine: Engine) -> str:
    """A container without a shell, created with all that a client needs."""
    image = engine.image("unseen", with_bridge(base(shell=False)), ("USER dev",))
    return engine.run(image, name="unseen", environment=ENVIRONMENT)


SYSTEMS = "pi, env, mempalace-bridge, mempalace-serve"
CLIENTS = "opencode, claude-code, mcp-clients"


def audited(
    name: str,
    folder: Path,
    launches: str,
    *,
    systems: str = SYSTEMS,
    more: str = "",
    token: str = "",
) -> Found:
    """Audit a container; findings by gate. Without its ``token`` that is not known here."""
    inventory = folder / "fleet.yml"
    require = "feed" if "mempalace-bridge" in systems else ""
    inventory.write_text(
        f"vars:\n  palace_url: {URL}\n  palace_token: !secret env:FLEET_TEST_TOKEN\n{more}"
        f"containers:\n  bare:\n    container: {name}\n"
        f"    systems: [{systems}]\n    require: [{require}]\n    shell: [{launches}]\n"
    )
    words = ["audit", "-i", str(inventory), "--format", "json"]
    known = {"FLEET_TEST_TOKEN": token or None}
    result = CliRunner().invoke(cli, words, env=known)
    assert result.stdout, result.output
    assert SECRET not in result.output
    return {f["gate"]: f for f in json.loads(result.stdout)["findings"]}


def verdicts(found: Found, *gates: str) -> dict[str, object]:
    return {gate: found[gate]["verdict"] for gate in gates}


def test_what_a_shell_or_the_token_would_show_is_not_checked(bare: str, tmp_path: Path) -> None:
    found = audited(bare, tmp_path, "container, bash -lc")
    by_shell = ("bridge.fallback", "bridge.notify-path", "env.url", "flip.no-local", "pi.running")
    assert verdicts(found, *by_shell) == dict.fromkeys(by_shell, "not-checked")
    for gate in by_shell:
        assert "the container has no shell" in str(found[gate]["message"]), found[gate]
    beside = ("env.container", "env.loaded", "serve.bind", "serve.health")
    assert verdicts(found, *beside) == dict.fromkeys(beside, "not-checked")
    assert "FLEET_TEST_TOKEN is not set" in str(found["env.container"]["message"])


def test_nobody_can_ask_a_palace_from_there(bare: str, tmp_path: Path) -> None:
    found = audited(bare, tmp_path, "container", token=SECRET)
    sure = ("env.container", "env.loaded", "env.url", "bridge.feed", "pi.writable")
    assert verdicts(found, *sure) == dict.fromkeys(sure, "pass")
    assert found["flip.path"]["verdict"] == "not-checked"
    assert "could not be asked as the client asks" in str(found["flip.path"]["message"])
    assert found["flip.symptom"]["verdict"] == "not-checked"
    assert found["flip.symptom"]["follows"] == "flip.path"


def test_nobody_can_ask_for_a_client_either(bare: str, tmp_path: Path) -> None:
    more = "  mcp_clients: cursor\n"
    found = audited(bare, tmp_path, "container", systems=CLIENTS, more=more, token=SECRET)
    for gate in ("opencode.answers", "claude-code.answers", "clients.answers"):
        assert found[gate]["verdict"] == "not-checked", found[gate]
        assert "was not asked from there" in str(found[gate]["message"])


def test_what_it_was_created_without_is_told_without_a_shell(bare: str, tmp_path: Path) -> None:
    found = audited(bare, tmp_path, "container", more="  device: box\n", token=SECRET)
    assert found["env.container"]["verdict"] == "fail"
    assert "MEMPALACE_PI_DEVICE is not set" in str(found["env.container"]["evidence"])


@pytest.mark.parametrize(("hours", "verdict"), [("0", "pass"), ("8", "warn")])
def test_the_hours_that_a_palace_s_container_was_given_are_read(
    engine: Engine, bare: str, tmp_path: Path, hours: str, verdict: str
) -> None:
    idle = {"MEMPALACE_MCP_IDLE_HOURS": hours}
    name = engine.run(f"{PREFIX}:unseen", environment=idle)
    stays = audited(name, tmp_path, "container")["serve.stays"]
    assert stays["verdict"] == verdict, stays
