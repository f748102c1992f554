"""pi's own files against the schema that the installed pi ships."""

import subprocess
import time
from pathlib import Path

import pytest
from support.facts import World, findings, target
from support.living import SYSTEM, Living
from support.probing import shells
from support.tools import PiTool, pi_tool

from fleet.facts.paths import State
from fleet.verifier import shipped_schema
from fleet.verifier.model import Verdict

PROVIDER = {
    "baseUrl": "http://127.0.0.1:1/v1",
    "apiKey": "tok-EXAMPLE-1",
    "api": "openai-completions",
    "models": [{"id": "fake"}],
}


@pytest.fixture(scope="module")
def pi() -> PiTool:
    return pi_tool()


@pytest.fixture
def here(tmp_path: Path, pi: PiTool) -> Living:
    for name in ("tools", "home"):
        (tmp_path / name).mkdir()
    dash = shells(tmp_path / "tools")["dash"]
    return Living(tmp_path / "home", dash).path(pi.bin_dir, SYSTEM)


def test_without_files_there_is_nothing_to_judge(here: Living) -> None:
    assert here.findings()["pi.settings"].verdict is Verdict.NOT_APPLICABLE


def test_files_that_pi_takes(here: Living) -> None:
    here.configure("settings.json", {"defaultProvider": "fake", "theme": "dark"})
    here.configure("keybindings.json", {"app.tools.expand": ["ctrl+o"]})
    here.configure("models.json", {"providers": {"fake": PROVIDER}})
    gate = here.findings()["pi.settings"]
    assert gate.verdict is Verdict.PASS, gate
    assert gate.evidence[0] == "~/.pi/agent/settings.json: as pi 1.6.0 wants it"
    assert len(gate.evidence) == 3
    assert "EXAMPLE" not in str(gate)


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("settings.json", '{"theme": "dark",}', "does not parse (line 1 column 18)"),
        ("settings.json", {"defaultProvider": 42}, "defaultProvider: is no string"),
        ("settings.json", {"defaultThinkingLevel": "enormous"}, "defaultThinkingLevel: is"),
        ("settings.json", [], "the whole: is no object"),
        ("keybindings.json", {"app.tools.expand": 7}, "app.tools.expand"),
        ("models.json", {"providers": {"fake": {**PROVIDER, "models": {}}}}, "is no array"),
        ("models.json", '{"providers": {}, // a\n, }', "line 2, column 1"),
        ("models.json", {"providers": {"fake": {**PROVIDER, "apiKey": 7}}}, "apiKey: is no string"),
        ("settings.json", {"packages": ["npm:pi-none@1"]}, "the package pi-none is not installed"),
        ("settings.json", "[" * 100_000, "nested too deep"),
    ],
)
def test_what_pi_ignores_in_silence_is_told(
    here: Living, name: str, content: object, told: str
) -> None:
    here.configure(name, content)
    gate = here.findings()["pi.settings"]
    assert gate.verdict is Verdict.FAIL, gate
    assert told in " ".join(gate.evidence)
    assert "EXAMPLE" not in str(gate)


def test_packages_that_are_installed(here: Living) -> None:
    for name in ("pi-one", "@team/pi-two"):
        (here.agent / "npm/node_modules" / name).mkdir(parents=True)
    here.configure("settings.json", {"packages": ["npm:pi-one@^1", {"source": "npm:@team/pi-two"}]})
    assert here.findings()["pi.settings"].verdict is Verdict.PASS
    here.configure("settings.json", {"packages": ["npm:pi-three", "npm:@other/pi-two"]})
    gate = here.findings()["pi.settings"]
    assert [line.partition("package ")[2].split()[0] for line in gate.evidence[:2]] == [
        "pi-three",
        "@other/pi-two",
    ]


@pytest.mark.parametrize(
    "content", [{"packages": ["../../src/mine"]}, {"extensions": ["~/src/mine.ts"]}]
)
def test_a_path_that_nobody_looked_at_is_not_checked(here: Living, content: object) -> None:
    here.configure("settings.json", content)
    assert here.findings()["pi.settings"].verdict is Verdict.NOT_CHECKED
    here.configure("settings.json", {"extensions": ["-extensions/a.ts", "!**/b.ts"]})
    assert here.findings()["pi.settings"].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("content", "made", "verdict", "told"),
    [
        ({"extensions": ["extensions/a.ts"]}, "extensions/a.ts", Verdict.PASS, ""),
        ({"extensions": ["./extensions/a.ts"]}, "extensions/b.ts", Verdict.FAIL, "a.ts"),
        ({"skills": ["skills/mine"]}, "skills/mine/SKILL.md", Verdict.PASS, ""),
        ({"skills": ["~/.pi/agent/skills/none"]}, "skills/mine/SKILL.md", Verdict.FAIL, "none"),
        ({"prompts": ["prompts/a.md"]}, "", Verdict.FAIL, "/.pi/agent/prompts/a.md)"),
        ({"themes": ["themes/*.json"]}, "themes/a.json", Verdict.NOT_CHECKED, "themes/*.json"),
        ({"skills": ["skills/a/b"]}, "skills/a/b/SKILL.md", Verdict.NOT_CHECKED, "/skills/a/b)"),
        ({"skills": ["skills/a/b"]}, "skills/c/SKILL.md", Verdict.FAIL, "/skills/a/b)"),
        ({"packages": ["git:git.example.net/me/x@v1"]}, "", Verdict.FAIL, "/git.example.net/me/x)"),
        (
            {"packages": ["https://git.example.net/me/x.git"]},
            "git/other.example.net/me/x/a",
            Verdict.FAIL,
            "/agent/git/git.example.net/me/x)",
        ),
        (
            {"packages": ["git:git@git.example.net:me/x"]},
            "git/git.example.net/me/x/a",
            Verdict.NOT_CHECKED,
            "/agent/git/git.example.net/me/x)",
        ),
        ({"packages": ["me/x"]}, "", Verdict.FAIL, "/agent/me/x)"),
        ({"packages": ["./mine"]}, "mine/package.json", Verdict.PASS, ""),
    ],
)
def test_what_the_settings_name_is_looked_for_where_pi_keeps_it(
    here: Living, content: object, made: str, verdict: Verdict, told: str
) -> None:
    here.configure("settings.json", content)
    if made:
        here.configure(made, "x")
    gate = here.findings()["pi.settings"]
    assert gate.verdict is verdict, gate
    assert told in " ".join(gate.evidence)


def test_a_link_to_nothing_is_not_what_the_settings_name(here: Living) -> None:
    here.configure("settings.json", {"extensions": ["extensions/a.ts"]})
    (here.agent / "extensions").mkdir()
    (here.agent / "extensions/a.ts").symlink_to("gone.ts")
    assert here.findings()["pi.settings"].verdict is Verdict.FAIL


def test_without_a_pi_its_schema_cannot_be_seen(here: Living) -> None:
    here.configure("settings.json", {"theme": "dark"})
    here.path(SYSTEM)
    assert here.findings()["pi.settings"].verdict is Verdict.NOT_CHECKED


def test_a_pi_of_before_ships_no_schema(here: Living, tmp_path: Path) -> None:
    old = tmp_path / "old"
    (old / "bin").mkdir(parents=True)
    (old / "package.json").write_text(
        '{"name": "@earendil-works/pi-coding-agent", "version": "0.87.1"}'
    )
    (old / "bin/pi").write_text("#!/bin/sh\n")
    (old / "bin/pi").chmod(0o755)
    here.path(old / "bin", SYSTEM).configure("settings.json", {"theme": 42})
    gate = here.findings()["pi.settings"]
    assert (gate.verdict, gate.evidence) == (
        Verdict.PASS,
        ("~/.pi/agent/settings.json: parses; pi 0.87.1 ships no schema",),
    )


@pytest.mark.parametrize(
    "schema", ["{ broken", "7", '{"type": 7}', '{"properties": {"a": {"enum": 3}}}']
)
def test_a_schema_that_is_none_is_not_checked(here: Living, tmp_path: Path, schema: str) -> None:
    odd = tmp_path / "odd"
    for folder in ("bin", "schemas"):
        (odd / folder).mkdir(parents=True)
    (odd / "package.json").write_text('{"name": "@earendil-works/pi-coding-agent", "version": "2"}')
    (odd / "schemas/settings.schema.json").write_text(schema)
    (odd / "bin/pi").write_text("#!/bin/sh\n")
    (odd / "bin/pi").chmod(0o755)
    here.path(odd / "bin", SYSTEM).configure("settings.json", {"a": "b"})
    assert here.findings()["pi.settings"].verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (State.DANGLING, Verdict.FAIL),
        (State.LOOP, Verdict.FAIL),
        (State.UNREADABLE, Verdict.NOT_CHECKED),
    ],
)
def test_a_file_that_leads_nowhere(state: State, verdict: Verdict) -> None:
    world = World().broken("~/.pi/agent/settings.json", state).launch()
    assert findings(target("pi"), world)["pi.settings"].verdict is verdict


# --- a schema that a target ships is hostile until bounded --------------------------------------


def violations(document: object, schema: object) -> list[str]:
    return shipped_schema.violations(document, shipped_schema.shipped(schema))


def test_a_regular_expression_of_a_target_does_not_run() -> None:
    started = time.monotonic()
    hostile = {"properties": {"a": {"type": "string", "pattern": "^(a+)+$"}}}
    assert violations({"a": "a" * 60 + "!"}, hostile) == []
    assert time.monotonic() - started < 5


def test_a_reference_leads_nowhere_but_into_the_document() -> None:
    assert violations({"a": 1}, {"$ref": "http://127.0.0.1:1/schema.json"}) == []
    itself = {"$ref": "#/$defs/A", "$defs": {"A": {"properties": {"a": {"$ref": "#/$defs/A"}}}}}
    assert violations({"a": {"a": {}}}, itself) == []


def test_a_schema_that_multiplies_itself_is_refused() -> None:
    names = [f"D{n}" for n in range(40)]
    grown = {
        name: {"anyOf": [{"$ref": f"#/$defs/{after}"}] * 2}
        for name, after in zip(names, [*names[1:], "none"], strict=True)
    }
    with pytest.raises(ValueError, match="too large"):
        violations({}, {"$ref": "#/$defs/D0", "$defs": grown})


def test_masked_strings_are_held_to_be_strings_only() -> None:
    schema = {"properties": {"a": {"type": "string", "enum": ["b"], "minLength": 9}}}
    assert violations({"a": "xxx"}, schema) == []
    assert violations({"a": "c"}, schema) != []
    assert violations({"a": 1}, schema) != []


def test_a_record_of_any_name_is_kept() -> None:
    schema = {"patternProperties": {"^.*$": {"type": "string"}}, "additionalProperties": False}
    assert violations({"any": "x"}, schema) == []
    assert violations({"any": 1}, schema) == ["any: is no string"]
    assert (
        violations({"any": 1}, {"patternProperties": {"^a": {}}, "additionalProperties": False})
        == []
    )


def test_the_real_pi_ignores_settings_that_do_not_parse(here: Living, pi: PiTool) -> None:
    """That is why the gate asks: pi goes on as if there were none, and ends well."""
    here.configure("settings.json", '{"theme": "dark",}')
    ended = subprocess.run(
        [pi.pi_cli, "--offline", "--list-models"],
        env={"HOME": str(here.home), "PATH": f"{pi.bin_dir}:{SYSTEM}"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert ended.returncode == 0


def test_models_may_have_comments_and_trailing_commas_and_settings_may_not(here: Living) -> None:
    here.configure("models.json", '{ // "mine"\n "providers": {}, }')
    assert here.findings()["pi.settings"].verdict is Verdict.PASS
    here.configure("settings.json", '{ // "mine"\n "theme": "dark" }')
    assert here.findings()["pi.settings"].verdict is Verdict.FAIL
