"""opencode's gates, each way, on files as an audit reads them."""

import json
from collections.abc import Mapping
from dataclasses import replace

import pytest
from support.facts import World, findings, target

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.facts.paths import Entry, State
from fleet.inventory.model import SecretRef, Value
from fleet.secrets import Secret
from fleet.verifier.model import Finding, Verdict

DIR = "~/.config/opencode"
JSON, JSONC = f"{DIR}/opencode.json", f"{DIR}/opencode.jsonc"
URL = "https://palace.example.net/mcp"
TOKEN = SecretRef("env", "TOKEN")
REFERENCE = "Bearer {env:MEMPALACE_REMOTE_TOKEN}"
GOOD: dict[str, object] = {
    "type": "remote",
    "url": URL,
    "headers": {"Authorization": REFERENCE},
    "oauth": False,
    "enabled": True,
}
LOCAL: dict[str, object] = {"type": "local", "command": ["mempalace-mcp"]}
SECRET = "tok-EXAMPLE-9"
MANIFEST = b'{"name": "opencode-ai", "version": "1.18.33"}'
REMOTE: dict[str, Value] = {"palace_url": URL, "palace_token": TOKEN}


def world(
    files: Mapping[str, object],
    exported: Mapping[str, str] | None = None,
    *,
    mode: int = 0o600,
    commands: bool = True,
) -> World:
    programs = {
        "opencode": ("/usr/bin/opencode", b"x"),
        "mempalace-mcp": ("/usr/bin/mempalace-mcp", b"x"),
    }
    held: dict[str, str | Secret] = {"MEMPALACE_REMOTE_TOKEN": Secret(SECRET), **(exported or {})}
    made = World().launch(
        variables=held,
        commands=programs if commands else {},
        manifests={"opencode": b'{"name": "opencode-ai", "version": "1.18.33"}'}
        if commands
        else {},
    )
    made.heard(EndpointFact(url=URL, place="target", answers={"initialize": Answer(status=200)}))
    for path, content in files.items():
        text = content if isinstance(content, str) else json.dumps(content)
        made.file(path, text.encode(), mode=mode)
    return made


def judged(there: World, variables: Mapping[str, Value] | None = None) -> dict[str, Finding]:
    where = replace(target("opencode"), variables=REMOTE if variables is None else variables)
    told = findings(where, there)
    assert SECRET not in str(told)
    return told


def entry(name: str = "mempalace", **fields: object) -> dict[str, object]:
    return {"mcp": {name: {**GOOD, **fields}}}


def local(**fields: object) -> dict[str, object]:
    return {"mcp": {"mempalace": {**LOCAL, **fields}}}


def test_a_registration_as_it_should_be_holds() -> None:
    found = judged(world({JSON: entry()}))
    verdicts = {gate: finding.verdict.value for gate, finding in found.items()}
    assert verdicts == {
        "opencode.program": "pass",
        "opencode.config": "pass",
        "opencode.palace": "pass",
        "opencode.answers": "pass",
        "opencode.command": "not-applicable",
        "opencode.variables": "pass",
        "opencode.token": "pass",
        "opencode.oauth": "pass",
        "opencode.project": "not-applicable",
        "opencode.plugins": "not-applicable",
    }
    assert found["opencode.program"].message == "opencode 1.18.33"


def test_a_solitary_palace_is_started_by_its_program() -> None:
    found = judged(world({JSON: local()}), {})
    assert found["opencode.palace"].verdict is Verdict.PASS
    assert found["opencode.command"].verdict is Verdict.PASS
    assert found["opencode.variables"].verdict is Verdict.NOT_APPLICABLE


def test_programs_that_are_not_on_the_path_fail() -> None:
    there = world({JSON: local()}, commands=False)
    held = there.launches["bash -lc"]
    asked = {name: {"name": name} for name in ("opencode", "mempalace-mcp")}
    there.launches["bash -lc"] = type(held).model_validate(held.model_dump() | {"commands": asked})
    found = judged(there, {})
    assert found["opencode.program"].verdict is Verdict.FAIL
    assert found["opencode.command"].verdict is Verdict.FAIL
    assert found["opencode.command"].evidence == ("bash -lc: mempalace-mcp is not on the PATH",)


def test_programs_that_may_not_be_looked_at_are_not_checked() -> None:
    path = "/opt/own/mempalace-mcp"
    there = world({JSON: local(command=[path])}).broken(path, State.UNREADABLE, why="no leave")
    found = judged(there, {"mempalace_mcp": path})["opencode.command"]
    assert (found.verdict, found.evidence) == (
        Verdict.NOT_CHECKED,
        (f"bash -lc: {path}: no leave",),
    )


def test_programs_nobody_asked_for_are_not_checked() -> None:
    found = judged(world({JSON: local()}, commands=False), {})
    assert found["opencode.program"].verdict is Verdict.NOT_CHECKED
    assert found["opencode.command"].verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("files", "told"),
    [
        ({}, "no file names a server 'mempalace'"),
        ({JSON: {"mcpServers": {"mempalace": GOOD}}}, "`mcpServers` is not read by opencode"),
        ({JSON: entry(url="https://other.example.net/mcp")}, "`url` is 'https://other"),
        ({JSON: entry(enabled=False)}, "turns it off"),
        ({JSON: local()}, "it is 'local', declared is a remote palace"),
        (
            {JSON: entry(), JSONC: '{"mcp": {"mempalace": {"enabled": false,}}} // off'},
            f"{JSONC} turns it off",
        ),
        (
            {JSON: entry(), "~/.opencode/opencode.json": entry(url="http://a.example.net/mcp")},
            "~/.opencode/opencode.json: `url` is",
        ),
    ],
)
def test_what_does_not_lead_to_the_palace_fails(files: dict[str, object], told: str) -> None:
    gate = judged(world(files))["opencode.palace"]
    assert gate.verdict is Verdict.FAIL
    assert told in " ".join(gate.evidence)


def test_another_program_than_the_declared_one_fails() -> None:
    gate = judged(world({JSON: local(command=["uvx", "mempalace"])}), {})["opencode.palace"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == (f"{JSON}: `command` is 'uvx', declared is 'mempalace-mcp'",)


def test_a_palace_that_does_not_answer_fails_with_its_cause() -> None:
    there = world({JSON: entry()})
    refused = Answer(status=401, trouble=Trouble.HTTP, detail="401")
    there.endpoints = [EndpointFact(url=URL, place="target", answers={"initialize": refused})]
    gate = judged(there)["opencode.answers"]
    assert gate.verdict is Verdict.FAIL
    assert gate.remedy
    assert "the same token" in gate.remedy
    there.endpoints = []
    assert judged(there)["opencode.answers"].verdict is Verdict.NOT_CHECKED
    assert judged(there, {})["opencode.answers"].verdict is Verdict.NOT_APPLICABLE


def test_a_second_palace_is_told() -> None:
    files = {JSON: {"mcp": {"mempalace": GOOD, "memory": {**GOOD}}}}
    gate = judged(world(files))["opencode.palace"]
    assert gate.verdict is Verdict.WARN
    assert gate.evidence == (f"{JSON}: memory is a palace too",)
    files = {JSON: {"mcp": {"mempalace": GOOD, "memory": {**GOOD, "enabled": False}}}}
    assert judged(world(files))["opencode.palace"].verdict is Verdict.PASS


def test_what_was_not_seen_decides_nothing() -> None:
    unreadable = world({JSON: entry()}).broken(JSONC, State.UNREADABLE, why="permission denied")
    inline = world({JSON: entry()}, {"OPENCODE_CONFIG_CONTENT": "{}"})
    further = world({JSON: entry()}, {"OPENCODE_CONFIG": "/etc/opencode.json"})
    for there in (unreadable, inline, further, world({JSON: entry(url="{env:URL}")})):
        assert judged(there)["opencode.palace"].verdict is Verdict.NOT_CHECKED
    assert judged(unreadable)["opencode.config"].verdict is Verdict.NOT_CHECKED
    assert judged(unreadable)["opencode.token"].verdict is Verdict.NOT_CHECKED
    declared = {**REMOTE, "opencode_config": "/etc/opencode.json"}
    assert judged(further, declared)["opencode.palace"].verdict is Verdict.PASS


def test_a_url_that_may_hold_credentials_did_not_travel() -> None:
    gate = judged(world({JSON: entry(url=f"https://u:{SECRET}@palace.example.net/mcp")}))
    assert gate["opencode.palace"].verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("exported", "verdict", "told"),
    [
        ({"MEMPALACE_REMOTE_TOKEN": ""}, Verdict.FAIL, "is set but empty"),
        ({}, Verdict.PASS, "bash -lc"),
    ],
)
def test_the_variable_that_the_entry_names(
    exported: dict[str, str], verdict: Verdict, told: str
) -> None:
    gate = judged(world({JSON: entry()}, exported))["opencode.variables"]
    assert gate.verdict is verdict
    assert told in gate.evidence[0]


def test_a_variable_that_no_launch_exports_is_named() -> None:
    there = World().launch()
    there.file(JSON, json.dumps(entry()).encode())
    gate = judged(there)["opencode.variables"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == ("bash -lc: MEMPALACE_REMOTE_TOKEN is not set",)


def test_a_variable_that_nobody_asked_for_is_not_checked() -> None:
    there = world({JSON: entry(headers={"Authorization": "Bearer {env:OTHER}"})})
    gate = judged(there)["opencode.variables"]
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "OTHER" in gate.evidence[0]


@pytest.mark.parametrize("mode", [0o600, 0o644])
def test_a_credential_that_is_written_out_fails(mode: int) -> None:
    literal = {"Authorization": f"Bearer {SECRET}"}
    gate = judged(world({JSON: entry(headers=literal)}, mode=mode))["opencode.token"]
    assert gate.verdict is Verdict.FAIL
    open_to = " (mode 0644: others can read it)" if mode == 0o644 else ""
    told = f"{JSON}: mcp.mempalace.headers.Authorization is written out{open_to}"
    assert gate.evidence == (told,)


def test_a_credential_of_a_file_or_a_harmless_header_is_none() -> None:
    for headers in ({"Authorization": "Bearer {file:~/.token}"}, {"Accept": "text/plain"}):
        gate = judged(world({JSON: entry(headers=headers)}))["opencode.token"]
        assert gate.verdict is Verdict.PASS
    with_env = local(environment={"MEMPALACE_TOKEN": SECRET})
    assert judged(world({JSON: with_env}), {})["opencode.token"].verdict is Verdict.FAIL


def test_oauth_beside_a_static_token() -> None:
    for oauth in ({}, True, {"scope": "a"}):
        gate = judged(world({JSON: entry(oauth=oauth)}))["opencode.oauth"]
        assert gate.verdict is Verdict.WARN
    assert judged(world({JSON: local()}), {})["opencode.oauth"].verdict is Verdict.NOT_APPLICABLE
    hidden = World().launch().broken(JSON, State.UNREADABLE, why="permission denied")
    assert judged(hidden)["opencode.oauth"].verdict is Verdict.NOT_CHECKED


PROJECT = "/work/p/opencode.json"
OTHER = {"mcp": {"chrome": {"type": "local", "command": ["x"]}}}


@pytest.mark.parametrize(
    ("version", "verdict"),
    [("1.18.33", Verdict.PASS), ("1.15.13", Verdict.WARN), ("", Verdict.WARN)],
)
def test_a_projects_servers(version: str, verdict: Verdict) -> None:
    there = world({JSON: entry(), PROJECT: OTHER}, commands=False)
    if version:
        there.launch(
            variables={"MEMPALACE_REMOTE_TOKEN": Secret(SECRET)},
            manifests={"opencode": json.dumps({"version": version}).encode()},
        )
    gate = judged(there, {**REMOTE, "project_dir": "/work/p"})["opencode.project"]
    assert gate.verdict is verdict
    assert gate.evidence[-1] == "looked at as in /work/p"
    assert JSON in gate.evidence[0]
    assert PROJECT in gate.evidence[0]


@pytest.mark.parametrize(
    ("version", "verdict"), [("1.18.33", Verdict.NOT_CHECKED), ("1.15.13", Verdict.WARN)]
)
def test_a_launch_that_was_not_seen_may_show_the_projects_servers_only(
    version: str, verdict: Verdict
) -> None:
    there = world({JSON: entry(), PROJECT: OTHER}, commands=False)
    there.launch(manifests={"opencode": json.dumps({"version": version}).encode()})
    there.launch("zsh -ic", state="timeout")
    variables = {**REMOTE, "project_dir": "/work/p"}
    where = replace(target("opencode", launches=list(there.launches)), variables=variables)
    gate = findings(where, there)["opencode.project"]
    assert gate.verdict is verdict, gate


def test_a_project_that_names_the_palace_itself_hides_nothing() -> None:
    there = world({JSON: entry(), PROJECT: entry()}, commands=False)
    gate = judged(there, {**REMOTE, "project_dir": "/work/p"})["opencode.project"]
    assert gate.verdict is Verdict.PASS
    there = world({JSON: entry()}).broken(PROJECT, State.UNREADABLE, why="permission denied")
    gate = judged(there, {**REMOTE, "project_dir": "/work/p"})["opencode.project"]
    assert gate.verdict is Verdict.NOT_CHECKED


def test_plugins() -> None:
    there = world({JSON: entry()}).folder(f"{DIR}/plugins", "a.ts", "README.md")
    assert judged(there)["opencode.plugins"].evidence == (f"{DIR}/plugins/a.ts",)
    there = world({JSON: entry()}).folder(f"{DIR}/plugin", "opencode-mempalace.js")
    assert judged(there)["opencode.plugins"].verdict is Verdict.WARN
    there = world({JSON: entry()}).folder(f"{DIR}/plugins")
    link = Entry(name="b.ts", kind="link", target="/gone", dangling=True)
    held = there.paths[f"{DIR}/plugins"]
    there.paths[f"{DIR}/plugins"] = held.model_copy(update={"entries": (link,)})
    gate = judged(there)["opencode.plugins"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == (f"{DIR}/plugins/b.ts -> /gone: it leads nowhere",)
    there = world({}).broken(f"{DIR}/plugins", State.UNREADABLE, why="permission denied")
    assert judged(there)["opencode.plugins"].verdict is Verdict.ERROR


def test_the_form_of_a_later_opencode_is_not_known() -> None:
    there = world({JSON: entry()}, commands=False)
    there.launch(manifests={"opencode": b'{"version": "2.0.8"}'})
    gate = judged(there)["opencode.config"]
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "2.0.8" in gate.message


@pytest.mark.parametrize("text", ["[1]", '{"mcp": []}', '{"mcp": {"a": 1}}', '{"a": 1} x'])
def test_what_opencode_refuses_fails(text: str) -> None:
    gate = judged(world({JSON: text}))["opencode.config"]
    assert gate.verdict in (Verdict.FAIL, Verdict.NOT_CHECKED)
    assert (gate.verdict is Verdict.NOT_CHECKED) == text.endswith("x")
