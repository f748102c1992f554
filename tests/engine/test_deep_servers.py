"""Deep checks of registered servers: programs are started and URLs asked as the clients do it."""

import json
import pickle
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from support.facts import target
from support.homes import CANARY, VARIABLE, Homes
from support.mcp_server import ScriptedMcpServer, palace_rules
from support.places import CASES
from support.tools import mempalace_tool, opencode_tool, pi_tool

from fleet.demo.stage import snapshot
from fleet.engine.deep import deep_question
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve

pytestmark = [pytest.mark.network, pytest.mark.timeout(300)]

GATES = {
    "opencode": "opencode.initialize",
    "claude-code": "claude-code.initialize",
    "mcp-clients": "clients.initialize",
    "pi-mcp": "mcp.initialize",
}
Declare = Callable[..., dict[str, dict[str, object]]]


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    monkeypatch.setenv(VARIABLE, CANARY)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "one").mkdir()
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


@pytest.fixture
def checked(homes: Homes) -> Declare:
    """What deploys systems in a home, checks them deeply, and sees that nothing is left behind."""

    def check(*systems: str, **variables: object) -> dict[str, dict[str, object]]:
        home = homes.home("one")
        # pi 0.84, which has no MCP host of its own, is not what is asked for here.
        folders = (pi_tool().bin_dir, opencode_tool())
        path = ":".join(map(str, (home / "bin", *folders)))
        (home / ".profile").write_text(
            f"PATH={path}:$PATH\nexport MEMPALACE_REMOTE_TOKEN={CANARY}\n"
        )
        one = {"local": str(home), "shell": "bash -lc", "systems": list(systems), "vars": variables}
        text = json.dumps({"hosts": {"one": one}})
        homes.inventory.write_text(text.replace('"SECRET"', f"!secret env:{VARIABLE}"))
        code, output = homes.run("apply", "--yes")
        assert code == 0, output
        before = {name: told.split()[:3] for name, told in snapshot(home).items()}
        _, found = homes.audit("--deep", "--timeout", "60")
        assert {name: told.split()[:3] for name, told in snapshot(home).items()} == before
        assert all(CANARY not in printed for printed in homes.printed)
        return {gate: finding for (_, gate), finding in found.items()}

    return check


def program(homes: Homes, text: str) -> str:
    path = homes.home("one") / "bin/mempalace-mcp"
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def evidence(finding: dict[str, object]) -> str:
    return f"{finding['message']}\n" + "\n".join(map(str, finding["evidence"]))  # type: ignore[call-overload]


ALL = {"mcp_register": True, "mcp_clients": ["cursor"]}


def test_a_real_palace_answers_each_client(homes: Homes, checked: Declare) -> None:
    found = checked(*GATES, mempalace_mcp=str(mempalace_tool() / "mempalace-mcp"), **ALL)
    for gate in GATES.values():
        assert found[gate]["verdict"] == "pass", evidence(found[gate])
        assert "mempalace 3.11" in evidence(found[gate])
    assert found["opencode.resolved"]["verdict"] == "pass", evidence(found["opencode.resolved"])


def test_d10_a_program_that_starts_and_is_no_server_fails(homes: Homes, checked: Declare) -> None:
    path = homes.home("one") / "bin/mempalace-mcp"
    path.parent.mkdir()
    shutil.copy(CASES / "D10/bin/mempalace", path)
    found = checked(*GATES, mempalace_mcp=str(path), **ALL)
    for gate in GATES.values():
        assert found[gate]["verdict"] == "fail", evidence(found[gate])
        assert "it ended with status 2, without an answer" in evidence(found[gate])
        assert "it said: usage: mempalace {init,mine,search,status}" in evidence(found[gate])


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (f'echo "token {CANARY} is wrong" >&2; exit 1', "it said: token *** is wrong"),
        ("kill -9 $$", "it ended by SIGKILL"),
        ("read line; echo '[]'; echo no; exec sleep 60", "no answer within"),
        (
            """read line; echo '{"id":1,"error":{"code":-1,"message":"no palace"}}'; sleep 60""",
            "it answers with an error: no palace",
        ),
        ("""read line; echo '{"id":1,"result":{}}'; sleep 60""", "what it answers is no MCP"),
    ],
)
def test_what_a_program_does_instead_is_told(
    homes: Homes, checked: Declare, text: str, told: str
) -> None:
    found = checked("claude-code", mempalace_mcp=program(homes, text))
    finding = found["claude-code.initialize"]
    assert finding["verdict"] == "fail", evidence(finding)
    assert told in evidence(finding)


def test_a_palace_that_is_started_is_not_the_real_one(homes: Homes, checked: Declare) -> None:
    path = program(
        homes,
        'echo "$PWD $HOME $MEMPALACE_PALACE_PATH $MEMPALACE_REMOTE_TOKEN $*" >&2; exit 3',
    )
    entry = {"type": "stdio", "command": path, "args": ["--palace", "/real/palace"]}
    (homes.home("one") / ".claude.json").write_text(
        json.dumps({"mcpServers": {"mempalace": entry}})
    )
    found = checked("claude-code", mempalace_mcp=path)
    [said] = [
        line for line in evidence(found["claude-code.initialize"]).split("\n") if "said" in line
    ]
    folder = "<scratch>/trials/0"
    assert said == f"it said: {folder}/work {folder}/home {folder}/palace  --palace {folder}/palace"


def test_a_url_is_asked_with_the_credential_that_the_client_sends(
    homes: Homes, checked: Declare
) -> None:
    with ScriptedMcpServer(palace_rules(CANARY)) as server:
        found = checked(*GATES, palace_url=server.url, palace_token="SECRET", **ALL)
        for gate in GATES.values():
            assert found[gate]["verdict"] == "pass", evidence(found[gate])
        assert found["opencode.resolved"]["verdict"] == "pass", evidence(found["opencode.resolved"])
        (homes.home("one") / ".config/opencode/opencode.json").unlink()
    with ScriptedMcpServer(palace_rules("tok-EXAMPLE-another")) as server:
        found = checked("opencode", "claude-code", palace_url=server.url, palace_token="SECRET")
        for gate in ("opencode.initialize", "claude-code.initialize"):
            assert found[gate]["verdict"] == "fail", evidence(found[gate])
            assert "it answers HTTP 401" in evidence(found[gate])
    found = checked("claude-code", palace_url=server.url, palace_token="SECRET")
    assert "it cannot be reached: ECONNREFUSED" in evidence(found["claude-code.initialize"])


def test_opencode_itself_tells_what_its_files_come_to(homes: Homes, checked: Declare) -> None:
    project = homes.home("one") / "project"
    (project / ".opencode").mkdir(parents=True)
    other = {"mcp": {"mempalace": {"type": "local", "command": ["elsewhere"]}}}
    (project / ".opencode/opencode.json").write_text(json.dumps(other))
    path = program(homes, "exit 1")
    found = checked("opencode", mempalace_mcp=path, project_dir=str(project))
    finding = found["opencode.resolved"]
    assert finding["verdict"] == "fail", evidence(finding)
    assert f"`command` is 'elsewhere', declared is {path!r}" in evidence(finding)
    (project / ".opencode/opencode.json").write_text('{"mcp": {"mempalace": {"type": "stdio"}}}')
    found = checked("opencode", mempalace_mcp=path, project_dir=str(project))
    assert "opencode refuses its configuration" in evidence(found["opencode.resolved"])


def test_what_is_tried_may_be_tried_by_another_process() -> None:
    where = target("claude-code", "opencode", "pi-mcp", "mempalace-bridge", mempalace_mcp="/opt/m")
    catalogue = load_catalogue()
    question = deep_question(
        resolve([catalogue.system(n) for n in where.systems], where), catalogue
    )
    assert question is not None
    again = pickle.loads(pickle.dumps(question))  # noqa: S301 - our own bytes
    assert again == question
    assert again.agent_dir == "~/.pi/agent"
    assert [r.system.system for _, r in again.trying] == ["claude-code", "opencode", "pi-mcp"]


def test_without_node_nothing_was_tried(homes: Homes, checked: Declare) -> None:
    path = program(homes, "exit 1")
    checked(*GATES, mempalace_mcp=path, **ALL)
    (homes.home("one") / ".profile").write_text(f"PATH={opencode_tool()}\n")
    _, found = homes.audit("--deep")
    for gate in (*GATES.values(), "opencode.resolved"):
        finding = found["one", gate]
        assert (finding["verdict"], "there is no node" in evidence(finding)) == (
            "not-checked",
            True,
        ), gate
    _, found = homes.audit()
    assert not {gate for _, gate in found} & {*GATES.values(), "opencode.resolved"}
