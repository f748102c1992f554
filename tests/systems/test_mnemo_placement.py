"""Where pi-mnemo lies: once, as declared, whole, and not hidden."""

import json

import pytest
from support.facts import World, findings, target
from support.mnemo import AGENT, GIT, LINKED, NPM, PI, SETTINGS, installed, package

from fleet.facts.paths import State
from fleet.inventory.model import Value
from fleet.testing import judge
from fleet.verifier.model import Finding, Verdict

NAMED_GIT = b'{"packages": [{"source": "https://gitee.com/liubola/pi-mnemo.git"}]}'


def judged(world: World, **variables: Value) -> dict[str, Finding]:
    return judge("pi-mnemo", world, variables=variables)


def placed(world: World, **variables: Value) -> Finding:
    return judged(world, **variables)["mnemo.placed"]


def linked() -> World:
    world = package(World(), LINKED).launch(manifests={"pi": PI})
    return package(world, "/opt/pi-mnemo").folder("/opt/pi-mnemo", "index.ts", "package.json")


def link_to(world: World, place: str) -> World:
    """Let the linked folder be a link, as a look at a real one would tell."""
    world.folder(LINKED, "index.ts", "package.json", "prompts")
    fact = world.paths[LINKED]
    told = {"link": True, "final": place, "hops": ({"path": fact.absolute, "target": place},)}
    world.paths[LINKED] = type(fact).model_validate(fact.model_dump() | told)
    return world


def test_from_npm_it_is_placed_seen_and_whole() -> None:
    found = judged(installed())
    other = [gate for gate in found.values() if gate.verdict is not Verdict.PASS]
    assert all(gate.verdict is Verdict.NOT_APPLICABLE for gate in other), other
    assert found["mnemo.placed"].message == "pi-mnemo 0.1.0, by npm"
    assert found["mnemo.placed"].required


def test_from_git_it_is_known_by_any_spelling() -> None:
    world = package(World(), GIT).file(SETTINGS, NAMED_GIT)
    assert placed(world, mnemo_install="git").verdict is Verdict.PASS
    tagged = placed(world, mnemo_install="git", mnemo_version="main")
    assert tagged.verdict is Verdict.PASS, "a branch is no release that a manifest tells"


def test_by_a_link_it_leads_where_it_is_declared() -> None:
    told = {"mnemo_install": "link", "mnemo_folder": "/opt/pi-mnemo"}
    found = judged(link_to(linked(), "/opt/pi-mnemo"), **told)
    assert found["mnemo.placed"].verdict is Verdict.PASS, found["mnemo.placed"]
    assert found["mnemo.seen"].verdict is Verdict.PASS
    other = placed(link_to(linked(), "/opt/other"), **told)
    assert other.verdict is Verdict.FAIL
    assert "it should lead to /opt/pi-mnemo" in other.message
    assert "not a link" in placed(linked(), **told).message


def without(name: str) -> World:
    return installed().folder(NPM, *sorted({"index.ts", "package.json", "prompts"} - {name}))


@pytest.mark.parametrize(
    ("world", "told"),
    [
        (World().launch(), "is not there"),
        (installed(settings=b"{}"), "does not name it among its packages"),
        (installed(settings=b"{"), "does not name it among its packages"),
        (installed(b"{}"), "names no extension"),
        (installed(b"not json"), "no manifest"),
        (without("index.ts"), "names index.ts, which is not there"),
        (package(installed(), LINKED), "more than once"),
        (World().broken(NPM, State.DANGLING, target="/gone"), "dangling link"),
    ],
)
def test_what_is_wrong_with_its_place_is_told(world: World, told: str) -> None:
    found = placed(world)
    assert found.verdict is Verdict.FAIL
    assert told in found.message, found


def test_another_release_than_the_declared_one_is_told() -> None:
    found = placed(installed(), mnemo_version="0.2.0")
    assert (found.verdict, found.message) == (Verdict.FAIL, "it is 0.1.0, 0.2.0 is declared")


def test_a_copy_that_the_settings_do_not_name_is_no_second_one() -> None:
    assert placed(package(installed(), GIT)).verdict is Verdict.PASS
    both = b'{"packages": ["npm:@qltk/pi-mnemo", "git:gitee.com/liubola/pi-mnemo"]}'
    assert "more than once" in placed(package(installed(settings=both), GIT)).message


def test_an_unknown_way_is_told() -> None:
    assert "none of npm, git, link" in placed(installed(), mnemo_install="brew").message


@pytest.mark.parametrize("path", [NPM, f"{NPM}/package.json", SETTINGS, f"{LINKED}/package.json"])
def test_what_cannot_be_read_is_no_pass(path: str) -> None:
    found = placed(installed().broken(path, State.UNREADABLE, why="permission denied"))
    assert found.verdict in (Verdict.NOT_CHECKED, Verdict.ERROR), found


def test_facts_that_did_not_ask_are_not_checked() -> None:
    found = findings(target("pi-mnemo"), World().launch(), whole=False)
    assert found["mnemo.placed"].verdict is Verdict.NOT_CHECKED
    assert found["mnemo.prompts"].verdict is not Verdict.PASS


@pytest.mark.parametrize(
    ("entry", "verdict"),
    [
        ({}, Verdict.PASS),
        ({"skills": []}, Verdict.PASS),
        ({"extensions": []}, Verdict.FAIL),
        ({"extensions": ["-index.ts"]}, Verdict.FAIL),
        ({"extensions": ["!./index.ts"]}, Verdict.FAIL),
        ({"extensions": ["index.ts"]}, Verdict.PASS),
        ({"extensions": ["-other.ts"]}, Verdict.PASS),
        ({"extensions": ["!*.ts"]}, Verdict.NOT_CHECKED),
        ({"extensions": ["src/*.ts"]}, Verdict.NOT_CHECKED),
    ],
)
def test_a_filter_of_the_settings_may_take_it_away(
    entry: dict[str, object], verdict: Verdict
) -> None:
    packages = {"packages": [{"source": "npm:@qltk/pi-mnemo", **entry}]}
    found = judged(installed(settings=json.dumps(packages).encode()))
    assert found["mnemo.seen"].verdict is verdict, found["mnemo.seen"]


@pytest.mark.parametrize(
    ("path", "content", "told"),
    [
        ("extensions/index.ts", b"//", "extensions/index.ts hides"),
        ("extensions/package.json", b'{"pi": {"extensions": ["./a.ts"]}}', "and not this one"),
        ("extensions/.gitignore", b"pi-mnemo/\n", ".gitignore ignores it"),
        (
            "settings.json",
            b'{"extensions": ["-extensions/pi-mnemo/index.ts"]}',
            "settings.json turns it off",
        ),
    ],
)
def test_what_hides_a_linked_folder_is_told(path: str, content: bytes, told: str) -> None:
    world = package(World(), LINKED).file(f"{AGENT}/{path}", content)
    found = judged(world, mnemo_install="link")["mnemo.seen"]
    assert (found.verdict, told in found.message) == (Verdict.FAIL, True), found


@pytest.mark.parametrize(
    ("version", "verdict"), [("0.80.3", Verdict.FAIL), ("0.80.4", Verdict.PASS)]
)
def test_pi_must_fire_agent_settled(version: str, verdict: Verdict) -> None:
    world = installed()
    manifest = json.dumps({"version": version}).encode()
    found = judged(world.launch(manifests={"pi": manifest}))["mnemo.events"]
    assert (found.verdict, found.required) == (verdict, True)


# --- prompts and the pi of its workers ----------------------------------------------------------


def test_a_missing_prompt_is_named() -> None:
    world = installed().folder(f"{NPM}/prompts", "inject.md", "dream.md")
    found = judged(world)["mnemo.prompts"]
    assert (found.verdict, found.message) == (Verdict.FAIL, "extract.md is not there")
    fact = world.paths[f"{NPM}/prompts"]
    world.paths[fact.path] = fact.model_copy(update={"why": "more than 2000 entries"})
    assert judged(world)["mnemo.prompts"].verdict is Verdict.NOT_CHECKED


def test_prompts_elsewhere_are_looked_at_where_they_are_declared() -> None:
    elsewhere = {"PI_MNEMO_PROMPTS_DIR": "/srv/prompts"}
    world = installed().launch(variables=elsewhere, manifests={"pi": PI})
    assert judged(world)["mnemo.prompts"].verdict is Verdict.NOT_CHECKED
    declared = judged(world, mnemo_prompts_dir="/srv/prompts")["mnemo.prompts"]
    assert declared.verdict is Verdict.FAIL
    world.folder("/srv/prompts", "inject.md", "extract.md", "dream.md")
    assert judged(world, mnemo_prompts_dir="/srv/prompts")["mnemo.prompts"].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("path", "mode", "verdict"),
    [
        ("/opt/pi/bin/pi", 0o755, Verdict.PASS),
        ("/opt/pi/bin/pi", 0o644, Verdict.FAIL),
        ("", 0, Verdict.FAIL),
    ],
)
def test_the_pi_of_workers_is_looked_at(path: str, mode: int, verdict: Verdict) -> None:
    told = {"PI_MNEMO_PI_BIN": "/opt/pi/bin/pi"}
    world = installed().launch(variables=told, manifests={"pi": PI})
    if path:
        world.file(path, b"#!/bin/sh\n", mode=mode)
    found = judged(world, mnemo_pi_bin="/opt/pi/bin/pi")["mnemo.worker"]
    assert (found.verdict, found.required) == (verdict, True), found


def test_a_worker_on_the_path_or_not_looked_at() -> None:
    assert judged(installed())["mnemo.worker"].message == "workers run pi"
    world = installed().launch(variables={"PI_MNEMO_PI_BIN": "pi-nightly"}, manifests={"pi": PI})
    assert judged(world)["mnemo.worker"].verdict is Verdict.NOT_CHECKED
    found = judged(installed().launch())["mnemo.worker"]
    assert (found.verdict, found.evidence) == (Verdict.FAIL, ("bash -lc: pi is not on the PATH",))


def test_background_work_that_is_off_is_told() -> None:
    assert judged(installed())["mnemo.background"].verdict is Verdict.PASS
    world = installed().launch(variables={"PI_MNEMO_DISABLED": "yes"}, manifests={"pi": PI})
    found = judged(world)["mnemo.background"]
    assert (found.verdict, found.required) == (Verdict.WARN, False)
    assert found.evidence == ("bash -lc: PI_MNEMO_DISABLED is yes",)
    world = installed().launch(state="timeout")
    assert judged(world)["mnemo.background"].verdict is Verdict.NOT_CHECKED
