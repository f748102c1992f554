"""What a server's credentials are: tokens, variables that are set, or commands that run."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.facts import World, findings, target
from support.living import Living
from support.mcp_files import ADAPTER, AGENT, SETTINGS, declare, server
from support.places import CASES
from support.probing import shells
from support.tools import pi_tool

from fleet.inventory.model import SecretRef
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
TOKEN = SecretRef("env", "PALACE_TOKEN")


def judged(
    content: Mapping[str, object], *, adapter: bool = True, world: World | None = None
) -> Finding:
    there = world or World().launch(variables={"MEMPALACE_REMOTE_TOKEN": "x"})
    if adapter:
        there.file(SETTINGS, ADAPTER)
    declare(there, AGENT, content)
    return findings(target("pi-mcp", palace_url=URL, palace_token=TOKEN), there)["mcp.values"]


def test_d06_a_token_that_begins_with_an_exclamation_mark_would_be_executed(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "home").mkdir()
    here = Living(tmp_path / "home", shells(tmp_path / "tools")["dash"], ("pi-mcp",))
    here.configure("mcp.json", (CASES / "D06/mcp.json").read_text())
    here.configure("settings.json", ADAPTER.decode())
    gate = here.findings()["mcp.values"]
    assert gate.verdict is Verdict.FAIL
    told = "bearerToken begins with `!` and would be executed as a command"
    assert gate.evidence == (f"server mempalace in ~/.pi/agent/mcp.json: {told}",)
    assert "EXAMPLE" not in str(gate)


@pytest.mark.parametrize(
    ("token", "by_adapter", "by_pi"),
    [
        ("!tok-EXAMPLE-1", Verdict.FAIL, Verdict.FAIL),
        ("!!tok-EXAMPLE-1", Verdict.PASS, Verdict.FAIL),
        ("$!tok-EXAMPLE-1", Verdict.PASS, Verdict.PASS),
        ("!pass show palace", Verdict.PASS, Verdict.PASS),
        ("tok-EXAMPLE-1", Verdict.PASS, Verdict.PASS),
        ("${MEMPALACE_REMOTE_TOKEN}", Verdict.PASS, Verdict.PASS),
        ("Bearer ${MEMPALACE_REMOTE_TOKEN}", Verdict.PASS, Verdict.PASS),
        ("${NOT_ASKED_FOR}", Verdict.NOT_CHECKED, Verdict.NOT_CHECKED),
    ],
)
def test_what_a_credential_is(token: str, by_adapter: Verdict, by_pi: Verdict) -> None:
    in_header = server(url=URL, headers={"X-Key": token})
    in_variable = server(command="mempalace-mcp", env={"KEY": token})
    for content in (in_header, in_variable):
        assert judged(content).verdict is by_adapter
        assert judged(content, adapter=False).verdict is by_pi
    assert judged(server(url=URL, bearerToken=token)).verdict is by_adapter


@pytest.mark.parametrize("name", ["bearerToken", "bearerTokenEnv"])
def test_what_only_the_adapter_knows_is_no_credential_of_pis_own_host(name: str) -> None:
    content = server(url=URL, **{name: "MEMPALACE_REMOTE_TOKEN"})
    assert judged(content).verdict is Verdict.PASS
    gate = judged(content, adapter=False)
    assert gate.verdict is Verdict.FAIL
    told = f"pi's own MCP host does not know {name}, and asks without it"
    assert gate.evidence == (f"server mempalace in {AGENT}: {told}",)


def test_a_type_that_pis_own_host_refuses() -> None:
    content = server(url=URL, type="sse")
    assert judged(content).verdict is Verdict.PASS
    assert "refuses the type sse" in judged(content, adapter=False).evidence[0]


@pytest.mark.parametrize(
    "content",
    [
        server(url=URL, headers={"Authorization": "Bearer ${MEMPALACE_REMOTE_TOKEN}"}),
        server(url=URL, bearerTokenEnv="MEMPALACE_REMOTE_TOKEN"),
    ],
)
def test_a_variable_that_no_launch_exports_is_told(content: dict[str, object]) -> None:
    gate = judged(content, world=World().launch())
    assert gate.verdict is Verdict.FAIL
    assert "bash -lc: MEMPALACE_REMOTE_TOKEN is not set" in gate.evidence[0]
    assert judged(content).verdict is Verdict.PASS
    unseen = judged(content, world=World().launch(state="timeout"))
    assert unseen.verdict is Verdict.NOT_CHECKED


def test_a_disabled_server_is_asked_nothing() -> None:
    content = server(url=URL, bearerToken="!tok-EXAMPLE-1", disabled=True)
    assert judged(content).verdict is Verdict.NOT_APPLICABLE


RESOLVE = """
import { resolveConfigValueOrThrow } from "%s/dist/core/resolve-config-value.js";
try {
  console.log(resolveConfigValueOrThrow(process.argv[1], "it"));
} catch (error) {
  console.log(error.message);
}
"""


@pytest.mark.parametrize(
    ("value", "resolved"),
    [("!echo ran", "ran"), ("$!echo ran", "!echo ran"), ("${KEY}", "k"), ("$KEY", "k")],
)
def test_pis_own_host_takes_values_so(value: str, resolved: str) -> None:
    pi = pi_tool()
    assert said(RESOLVE % pi.package, value) == resolved
    # Two of them are no escape there: the shell gets one, and runs the rest.
    assert said(RESOLVE % pi.package, "!!echo ran") != "!echo ran"


def said(script: str, value: str) -> str:
    ended = subprocess.run(
        [pi_tool().node, "--input-type=module", "-e", script, value],
        env={"PATH": "/usr/bin:/bin", "HOME": "/nonexistent", "KEY": "k"},
        capture_output=True,
        text=True,
        check=True,
    )
    return ended.stdout.strip()
