"""Whether pi loads a package that lies there."""

import json
from collections.abc import Sequence

import pytest
from support.demarkus import MEMORY, manifest
from support.facts import HOME, World, findings, target
from support.mcp_files import SETTINGS, unreadable

from fleet.facts.paths import Entry
from fleet.verifier.model import Finding, Verdict

AT = "/opt/demarkus/pi-memory"
NPM = f"~/.pi/agent/npm/node_modules/{MEMORY}"
GIT = f"~/.pi/agent/git/git.example.net/me/{MEMORY}"
EXTENSIONS = "~/.pi/agent/extensions"


def world(packages: object = None, *, at: str = AT) -> World:
    made = World().launch().file(f"{at}/package.json", json.dumps(manifest()).encode())
    made.folder(at, "src", "skills").folder(f"{at}/src", "index.ts")
    made.file(f"{at}/src/index.ts", b"export default () => {};")
    made.folder(f"{at}/skills", "memory").folder(f"{at}/skills/memory", "SKILL.md")
    if packages is not None:
        made.file(SETTINGS, json.dumps({"packages": packages}).encode())
    return made


def linked(there: World, link: str, *names: str) -> World:
    there.folder(EXTENSIONS, *names)
    fact = there.paths[EXTENSIONS]
    entry = Entry(name="notes", kind="link", target=link)
    update = {"entries": (*(fact.entries or ()), entry)}
    there.paths[EXTENSIONS] = fact.model_copy(update=update)
    return there


def judged(there: World, source: str = AT) -> Finding:
    return findings(target("demarkus", demarkus_memory=source), there)["demarkus.placed"]


@pytest.mark.parametrize(
    ("packages", "source", "at"),
    [
        ([AT], AT, AT),
        ([{"source": AT}], AT, AT),
        (["../../../../opt/demarkus/pi-memory"], AT, AT),
        (["npm:demarkus-pi-memory@0.13"], f"npm:{MEMORY}", NPM),
        (
            ["npm:other", f"git:git.example.net/me/{MEMORY}@v1"],
            f"git:git.example.net/me/{MEMORY}",
            GIT,
        ),
    ],
)
def test_a_package_that_the_settings_name_is_loaded(
    packages: Sequence[object], source: str, at: str
) -> None:
    gate = judged(world(packages, at=at), source)
    assert (gate.verdict, gate.required) == (Verdict.PASS, True), gate


@pytest.mark.parametrize(
    ("packages", "told"),
    [
        (None, "settings.json does not name it, and no link leads to it"),
        ([], "settings.json does not name it, and no link leads to it"),
        (["npm:demarkus-pi-memory"], "does not name it"),
        ("npm:demarkus-pi-memory", "does not name it"),
        ([{"source": AT, "extensions": []}], "settings.json turns its extensions off"),
        ([{"source": AT, "autoload": False}], "settings.json turns its extensions off"),
    ],
)
def test_a_package_that_pi_does_not_load_fails(packages: object, told: str) -> None:
    gate = judged(world(packages))
    assert gate.verdict is Verdict.FAIL
    assert told in gate.evidence[0]
    assert gate.fixed_by == ("memory-link",)  # what the target has


def test_a_link_among_the_extensions_is_loaded() -> None:
    assert judged(linked(world(), AT)).verdict is Verdict.PASS
    assert judged(linked(world(), "../../../../../opt/demarkus/pi-memory")).verdict is Verdict.PASS
    assert judged(linked(world(), f"{HOME}/elsewhere")).verdict is Verdict.FAIL


def test_a_link_that_is_hidden_is_not_loaded() -> None:
    gate = judged(linked(world(), AT, "index.ts"))
    assert gate.verdict is Verdict.FAIL
    assert "extensions/index.ts hides every other file" in gate.evidence[0]
    ignored = linked(world(), AT).file(f"{EXTENSIONS}/.gitignore", b"notes\n")
    assert judged(ignored).verdict is Verdict.FAIL


def test_what_could_not_be_seen_is_not_judged() -> None:
    assert judged(unreadable(world(), SETTINGS)).verdict is Verdict.NOT_CHECKED
    some = world([{"source": AT, "extensions": ["src/*"]}])
    assert judged(some).verdict is Verdict.NOT_CHECKED
    hidden = unreadable(linked(world(), AT), f"{EXTENSIONS}/.ignore")
    assert judged(hidden).verdict is Verdict.NOT_CHECKED


def test_settings_that_do_not_parse_name_nothing() -> None:
    assert judged(world().file(SETTINGS, b"{ cut")).verdict is Verdict.FAIL
