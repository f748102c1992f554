"""The palace's registration in clients that read a JSON file, each way."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from support.facts import World, findings, target

from fleet.facts.endpoints import Answer, EndpointFact
from fleet.facts.paths import State
from fleet.inventory.model import SecretRef, Value
from fleet.secrets import Secret
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
SECRET = "tok-EXAMPLE-9"
TOKEN = SecretRef("env", "TOKEN")
REMOTE: dict[str, Value] = {"palace_url": URL, "palace_token": TOKEN}
ENV, PLAIN = "Bearer ${env:MEMPALACE_REMOTE_TOKEN}", "Bearer ${MEMPALACE_REMOTE_TOKEN}"

#: By client: its file, where servers stand in it, and the palace as it wants it.
GOOD: dict[str, tuple[str, str, dict[str, object]]] = {
    "generic": (
        "~/.config/mcp/mcp.json",
        "mcpServers",
        {"url": URL, "headers": {"Authorization": PLAIN}},
    ),
    "cursor": (
        "~/.cursor/mcp.json",
        "mcpServers",
        {"url": URL, "headers": {"Authorization": ENV}},
    ),
    "vscode": (
        "~/.config/Code/User/mcp.json",
        "servers",
        {"type": "http", "url": URL, "headers": {"Authorization": ENV}},
    ),
    "windsurf": (
        "~/.codeium/windsurf/mcp_config.json",
        "mcpServers",
        {"serverUrl": URL, "headers": {"Authorization": ENV}},
    ),
    "gemini": (
        "~/.gemini/settings.json",
        "mcpServers",
        {"httpUrl": URL, "headers": {"Authorization": PLAIN}},
    ),
    "claude-code": (
        "~/.claude.json",
        "mcpServers",
        {"type": "http", "url": URL, "headers": {"Authorization": PLAIN}},
    ),
}
DESKTOP = "~/.config/Claude/claude_desktop_config.json"


def world(files: Mapping[str, object], *, mode: int = 0o600, token: str = SECRET) -> World:
    made = World().launch(
        variables={"MEMPALACE_REMOTE_TOKEN": Secret(token)},
        commands={"mempalace-mcp": ("/usr/bin/mempalace-mcp", b"x")},
    )
    made.heard(EndpointFact(url=URL, place="target", answers={"initialize": Answer(status=200)}))
    for path, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        made.file(path, text.encode(), mode=mode)
    return made


def judged(
    client: str, there: World, variables: Mapping[str, Value] | None = None
) -> dict[str, Finding]:
    system = "claude-code" if client == "claude-code" else "mcp-clients"
    told: dict[str, Value] = dict(REMOTE if variables is None else variables)
    where = replace(target(system), variables={**told, "mcp_clients": client})
    found = {gate.split(".")[1]: finding for gate, finding in findings(where, there).items()}
    assert SECRET not in str(found)
    return found


def declared(client: str, name: str = "mempalace", **fields: object) -> dict[str, object]:
    path, key, good = GOOD[client]
    return {path: {key: {name: {**good, **fields}}}}


def without(client: str, field: str, **fields: object) -> dict[str, object]:
    path, key, good = GOOD[client]
    kept = {name: value for name, value in good.items() if name != field}
    return {path: {key: {"mempalace": {**kept, **fields}}}}


@pytest.mark.parametrize("client", GOOD)
def test_each_client_has_its_own_form(client: str) -> None:
    found = judged(client, world(declared(client)))
    verdicts = {gate: finding.verdict.value for gate, finding in found.items()}
    assert verdicts == {
        "form": "pass",
        "palace": "pass",
        "answers": "pass",
        "command": "not-applicable",
        "variables": "pass",
        "token": "pass",
    }


@pytest.mark.parametrize("client", GOOD)
def test_the_form_of_another_client_is_told(client: str) -> None:
    path, key, good = GOOD[client]
    other = "servers" if key == "mcpServers" else "mcpServers"
    elsewhere = judged(client, world({path: {other: {"mempalace": good}}}))
    assert elsewhere["palace"].verdict is Verdict.FAIL
    assert f"`{other}` is not read; `{key}` is" in str(elsewhere["palace"].evidence)
    own = next(name for name in ("url", "serverUrl", "httpUrl") if name in good)
    for wrong in {"url", "serverUrl", "httpUrl"} - {own}:
        gate = judged(client, world(without(client, own, **{wrong: URL})))["form"]
        assert gate.verdict is Verdict.FAIL
        assert f"`{wrong}` is not read by" in str(gate.evidence)
        assert f"`{own}` is meant" in str(gate.evidence)


@pytest.mark.parametrize(
    ("client", "fields", "told"),
    [
        ("cursor", {"type": "local"}, "`type` is 'local'"),
        ("cursor", {"type": "stdio"}, "`type` is 'stdio', and `url` is set"),
        ("cursor", {"command": "x"}, "both `url` and `command` are set"),
        ("cursor", {"command": ["x"]}, "`command` is no text"),
        ("cursor", {"environment": {}}, "`env` is meant"),
        ("vscode", {"type": "streamable-http"}, "`type` is 'streamable-http'"),
    ],
)
def test_what_is_written_wrong_is_named(client: str, fields: dict[str, object], told: str) -> None:
    path, key, good = GOOD[client]
    gate = judged(client, world({path: {key: {"mempalace": {**good, **fields}}}}))["form"]
    assert gate.verdict is Verdict.FAIL
    assert told in str(gate.evidence)


@pytest.mark.parametrize("client", ["claude-code", "vscode"])
def test_a_remote_server_without_a_type_is_taken_for_a_program(client: str) -> None:
    gate = judged(client, world(without(client, "type")))["form"]
    assert gate.verdict is Verdict.FAIL
    assert "`type` is missing" in gate.evidence[0]


def test_an_entry_that_says_nothing_fails() -> None:
    gate = judged("generic", world({GOOD["generic"][0]: {"mcpServers": {"mempalace": {}}}}))
    assert gate["form"].evidence[0].endswith("neither a URL nor a `command` is set")


def test_comments_are_for_those_who_take_them() -> None:
    path, key, good = GOOD["cursor"]
    text = json.dumps({key: {"mempalace": good}}) + " // mine"
    assert judged("cursor", world({path: text}))["form"].verdict is Verdict.PASS
    path, key, good = GOOD["generic"]
    text = json.dumps({key: {"mempalace": good}}) + " // mine"
    gate = judged("generic", world({path: text}))["form"]
    assert gate.verdict is Verdict.FAIL
    assert "comments and last commas are not taken" in gate.evidence[0]
    for broken in ("{", "[]"):
        assert judged("generic", world({path: broken}))["form"].verdict is Verdict.FAIL


def test_what_does_not_lead_to_the_palace_fails() -> None:
    for files in (
        {},
        declared("cursor", "other"),
        declared("cursor", url="https://other.example.net/mcp"),
        declared("cursor", disabled=True),
        {GOOD["cursor"][0]: {"mcpServers": {"mempalace": {"command": "mempalace-mcp"}}}},
    ):
        assert judged("cursor", world(files))["palace"].verdict is Verdict.FAIL, files


def test_more_than_one_registration_is_told() -> None:
    path, key, good = GOOD["cursor"]
    gate = judged("cursor", world({path: {key: {"mempalace": good, "memory": good}}}))["palace"]
    assert gate.verdict is Verdict.WARN
    assert gate.evidence == (f"{path}: memory is a palace too",)
    project = {**declared("cursor"), "/w/.cursor/mcp.json": {key: {"mempalace": good}}}
    gate = judged("cursor", world(project), {**REMOTE, "project_dir": "/w"})["palace"]
    assert gate.verdict is Verdict.WARN
    assert gate.evidence == (f"Cursor: /w/.cursor/mcp.json goes over {path}",)


def test_what_was_not_seen_is_not_checked() -> None:
    there = world({}).broken(GOOD["cursor"][0], State.UNREADABLE, why="permission denied")
    found = judged("cursor", there)
    for gate in ("form", "token"):
        assert found[gate].verdict is Verdict.NOT_CHECKED
    assert found["palace"].follows == "clients.form"
    inner = declared("cursor", url=f"https://u:{SECRET}@palace.example.net/mcp")
    assert judged("cursor", world(inner))["palace"].verdict is Verdict.NOT_CHECKED
    assert judged("cursor", world(declared("cursor", url="${env:URL}")))["palace"].verdict is (
        Verdict.NOT_CHECKED
    )
    asked = judged("cursor", World().launch())
    assert asked["answers"].verdict is Verdict.NOT_CHECKED


def test_an_unknown_client_is_named() -> None:
    gate = judged("emacs", world({}))["form"]
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "'emacs'" in gate.message
    assert judged("", world({}))["form"].verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(("mode", "verdict"), [(0o644, Verdict.FAIL), (0o600, Verdict.WARN)])
def test_a_token_that_is_written_out(mode: int, verdict: Verdict) -> None:
    headers = {"Authorization": f"Bearer {SECRET}"}
    gate = judged("cursor", world(declared("cursor", headers=headers), mode=mode))["token"]
    assert gate.verdict is verdict
    assert "mempalace.headers.Authorization" in gate.evidence[0]


def test_a_token_that_is_not_exported() -> None:
    gate = judged("cursor", world(declared("cursor"), token=""))["variables"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == ("bash -lc: MEMPALACE_REMOTE_TOKEN is set but empty",)


def test_a_program_of_the_desktop_needs_its_path() -> None:
    local = {DESKTOP: {"mcpServers": {"mempalace": {"command": "mempalace-mcp"}}}}
    found = judged("claude-desktop", world(local), {})
    assert found["palace"].verdict is Verdict.PASS
    assert found["command"].verdict is Verdict.NOT_CHECKED
    assert "declare an absolute path" in found["command"].message
    shared = {GOOD["generic"][0]: {"mcpServers": {"mempalace": {"command": "mempalace-mcp"}}}}
    assert judged("generic", world(shared), {})["command"].verdict is Verdict.PASS


def test_a_client_that_only_starts_programs_is_not_seen_to_reach_a_remote_palace() -> None:
    local = {DESKTOP: {"mcpServers": {"mempalace": {"command": "npx"}}}}
    assert judged("claude-desktop", world(local))["palace"].verdict is Verdict.NOT_CHECKED
    gate = judged("claude-desktop", world({}))["palace"]
    assert gate.verdict is Verdict.FAIL
    assert "leave it out of mcp_clients" in gate.evidence[0]
    remote = {DESKTOP: {"mcpServers": {"mempalace": {"url": URL}}}}
    gate = judged("claude-desktop", world(remote))["form"]
    assert gate.verdict is Verdict.FAIL
    assert "it only starts programs" in gate.evidence[0]


def test_a_project_of_claude_code_goes_over_the_users_servers() -> None:
    path, key, good = GOOD["claude-code"]
    other = {**good, "url": "https://other.example.net/mcp"}
    held = {key: {"mempalace": good}, "projects": {"/w": {key: {"mempalace": other}}}}
    assert judged("claude-code", world({path: held}))["palace"].verdict is Verdict.PASS
    gate = judged("claude-code", world({path: held}), {**REMOTE, "project_dir": "/w"})["palace"]
    assert gate.verdict is Verdict.FAIL
    assert "~/.claude.json (projects, /w)" in gate.evidence[0]
    user = {key: {"mempalace": good}}
    own = {**user, "projects": {"/w": user}}
    offered = {"/w/.mcp.json": {key: {"mempalace": other}}}
    there = {**REMOTE, "project_dir": "/w"}
    gate = judged("claude-code", world({path: own, **offered}), there)["palace"]
    assert gate.verdict is Verdict.WARN, "the user's own for the project decides"
    for held_by_user in (user, {}):
        gate = judged("claude-code", world({path: held_by_user, **offered}), there)["palace"]
        assert gate.verdict is Verdict.NOT_CHECKED
        assert "asks its user first" in gate.message
    same = {"/w/.mcp.json": user}
    gate = judged("claude-code", world({path: user, **same}), there)["palace"]
    assert gate.verdict is Verdict.WARN, "both lead to the same palace"
