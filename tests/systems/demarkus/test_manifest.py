"""What a package's manifest gives to pi, and whether it is there."""

import json
from pathlib import Path

import pytest
from support.demarkus import KNOWLEDGE, MEMORY, manifest, write_package
from support.facts import World, findings, target
from support.living import Living
from support.probing import shells

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

AT = "/opt/demarkus/pi-memory"


def world(content: object = None) -> World:
    raw = content if isinstance(content, bytes) else json.dumps(content or manifest()).encode()
    made = World().launch().file(f"{AT}/package.json", raw)
    made.folder(AT, "package.json", "src", "skills").folder(f"{AT}/src", "index.ts", "deep").file(
        f"{AT}/src/index.ts", b"export default () => {};"
    )
    return made.folder(f"{AT}/skills", "memory").folder(f"{AT}/skills/memory", "SKILL.md")


def judged(there: World, source: str = AT) -> Finding:
    return findings(target("demarkus", demarkus_memory=source), there)["demarkus.manifest"]


def test_a_whole_package_passes_and_is_required() -> None:
    gate = judged(world())
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.evidence == (
        "demarkus-pi-memory: ./src/index.ts",
        "demarkus-pi-memory: ./skills/memory/SKILL.md",
    )


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (
            manifest(extensions=["./src/index.ts", "./src/old.ts"]),
            "./src/old.ts (pi.extensions) is",
        ),
        (manifest(extensions=["./dist/index.js"]), "./dist/index.js (pi.extensions) is not there"),
        (manifest(extensions=["./src/deep/index.ts"]), None),
        (manifest(extensions=["./src/*.ts"]), "./src/*.ts (pi.extensions) is not there"),
        (manifest(skills=["./skills/soul-memory/SKILL.md"]), "soul-memory/SKILL.md (pi.skills) is"),
        (manifest(extensions=[]), "pi.extensions names nothing"),
        (manifest(skills=[]), "pi.skills names nothing"),
        (manifest(extensions=[7]), "an entry of pi.extensions is no text"),
        ({"name": MEMORY}, "no section `pi`"),
        (b"[]", "no section `pi`"),
        (b"{ cut", "no section `pi`"),
        (b"[" * 100_000, "no section `pi`"),
    ],
)
def test_what_pi_would_drop_without_a_word(content: object, told: str | None) -> None:
    gate = judged(world(content))
    if told is None:
        assert gate.verdict is Verdict.NOT_CHECKED
        assert (
            "whether ./src/deep/index.ts (pi.extensions) is there was not looked at" in gate.message
        )
    else:
        assert gate.verdict is Verdict.FAIL
        assert told in gate.evidence[0]


def test_a_package_that_is_not_there_or_may_not_be_read() -> None:
    gate = judged(World().launch())
    assert (gate.verdict, gate.evidence) == (
        Verdict.FAIL,
        (f"demarkus-pi-memory is not there: {AT}/package.json",),
    )
    hidden = world().broken(f"{AT}/package.json", State.UNREADABLE, why="permission denied")
    assert judged(hidden).verdict is Verdict.ERROR
    unlisted = world().broken(f"{AT}/skills/memory", State.UNSUPPORTED, why="no shell")
    assert judged(unlisted).verdict is Verdict.NOT_CHECKED


def test_where_nothing_is_declared_nothing_is_asked() -> None:
    assert judged(World(), "").verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("source", "folder"),
    [
        ("npm:demarkus-pi-memory@0.13", ".pi/agent/npm/node_modules/demarkus-pi-memory"),
        ("npm:@latebit/pi-memory@1", ".pi/agent/npm/node_modules/@latebit/pi-memory"),
        (
            "git:git.example.net/latebit/pi-memory",
            ".pi/agent/git/git.example.net/latebit/pi-memory",
        ),
        ("git:https://git.example.net/a/b.git@v1", ".pi/agent/git/git.example.net/a/b"),
        ("git:git@git.example.net:a/b", ".pi/agent/git/git.example.net/a/b"),
        ("~/src/demarkus/plugins/pi-memory/", "src/demarkus/plugins/pi-memory"),
    ],
)
def test_a_real_package_is_found_where_pi_keeps_it(
    tmp_path: Path, source: str, folder: str
) -> None:
    (tmp_path / "tools").mkdir()
    machine = Living(tmp_path / "home", shells(tmp_path / "tools")["dash"], ("demarkus",))
    write_package(machine.home / folder)
    where = machine.declared(demarkus_memory=source)
    assert machine.findings(where)["demarkus.manifest"].verdict is Verdict.PASS
    (machine.home / folder / "skills/memory/SKILL.md").unlink()
    assert machine.findings(where)["demarkus.manifest"].verdict is Verdict.FAIL


def test_both_packages_are_told(tmp_path: Path) -> None:
    (tmp_path / "tools").mkdir()
    machine = Living(tmp_path / "home", shells(tmp_path / "tools")["dash"], ("demarkus",))
    write_package(machine.home / "memory")
    write_package(machine.home / "knowledge", KNOWLEDGE)
    where = machine.declared(demarkus_memory="~/memory", demarkus_knowledge="~/knowledge")
    gate = machine.findings(where)["demarkus.manifest"]
    assert gate.verdict is Verdict.PASS
    assert "demarkus-pi-knowledge: ./skills/knowledge-promote/SKILL.md" in gate.evidence
