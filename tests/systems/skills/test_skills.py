"""The palace's skill: deployed by link and by copy, judged, and loaded by the real pi."""

import json
from pathlib import Path

import pytest
from support.facts import World, findings, target
from support.homes import Homes
from support.http import FakeModel
from support.pi import PiHome
from support.places import ROOT
from support.tools import pi_tool

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

PATH = "~/.agents/skills/mempalace/SKILL.md"
BRIDGE = "~/.pi/agent/extensions/mempalace.ts"
SKILL = (ROOT / "toolkit/skills/mempalace/SKILL.md").read_bytes()


def judged(world: World, **variables: object) -> Finding:
    return findings(target("skills", **variables), world)["skills.mempalace"]  # type: ignore[arg-type]  # as an inventory has them


def test_the_toolkits_skill_is_one_that_loads() -> None:
    gate = judged(World().file(PATH, SKILL))
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.evidence == (PATH,)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has no front matter, so no agent loads it"),
        (b"# Memory\n", "it has no front matter, so no agent loads it"),
        (b"---\nname: mempalace\n---\n", "it has no description, so no agent loads it"),
        (b"---\ndescription: ' '\n---\n", "it has no description, so no agent loads it"),
        (b"---\n- description\n---\n", "it has no description, so no agent loads it"),
        (b"---\ndescription: [\n---\n", "its front matter does not parse"),
        (b"---\ndescription: cut", "it has no front matter, so no agent loads it"),
    ],
)
def test_a_skill_that_no_agent_loads(content: bytes, message: str) -> None:
    gate = judged(World().file(PATH, content))
    assert gate.verdict is Verdict.FAIL
    assert gate.message.startswith(message)


def test_what_is_not_there_and_what_was_not_seen() -> None:
    assert judged(World()).verdict is Verdict.FAIL
    assert judged(World().broken(PATH, State.DANGLING)).verdict is Verdict.FAIL
    assert judged(World().broken(PATH, State.UNREADABLE)).verdict is Verdict.ERROR
    assert judged(World().broken(PATH, State.UNSUPPORTED)).verdict is Verdict.NOT_CHECKED
    unread = World().file(PATH, SKILL)
    unread.contents.clear()
    assert judged(unread).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("code", "verdict"),
    [
        (b'const s = "~/.agents/skills/mempalace/SKILL.md";', Verdict.PASS),
        (b'const s = "Read ~/.agents/skills/mempalace/SKILL.md first.";', Verdict.PASS),
        (b'const s = "~/.pi/skills/mempalace/SKILL.md";', Verdict.FAIL),
        (b"// ~/.pi/skills/mempalace/SKILL.md\n", Verdict.PASS),
        (b"", Verdict.PASS),
    ],
)
def test_the_wake_up_refers_to_one_place(code: bytes, verdict: Verdict) -> None:
    gate = judged(World().file(PATH, SKILL).file(BRIDGE, code))
    assert gate.verdict is verdict
    if verdict is Verdict.FAIL:
        assert gate.evidence[0].endswith("/.pi/skills/mempalace/SKILL.md")
    moved = World().file("~/own/mempalace/SKILL.md", SKILL).file(BRIDGE, code)
    named = b".agents" in code or verdict is Verdict.FAIL
    assert (judged(moved, skills_dir="~/own").verdict is Verdict.FAIL) is named


@pytest.fixture
def homes(tmp_path: Path) -> Homes:
    """One empty home, and an inventory that a test writes."""
    (tmp_path / "one").mkdir()
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


@pytest.mark.parametrize("copied", [False, True])
def test_it_is_deployed_and_taken_away_again(homes: Homes, copied: bool) -> None:
    home = homes.home("one")
    told = {"toolkit": "~/kit", "toolkit_source": "builtin", "skill_copy": copied}
    # The link leads into the toolkit, which comes with the bridge.
    systems = ["skills"] if copied else ["mempalace-bridge", "skills"]
    one = {"local": str(home), "systems": systems, "vars": told}
    homes.inventory.write_text(json.dumps({"hosts": {"one": one}}))
    code, output = homes.run("apply", "--yes")
    assert code == 0, output
    skill = home / PATH[2:]
    assert skill.read_bytes() == SKILL
    assert skill.is_symlink() is not copied
    code, output = homes.run("plan")
    assert (code, "nothing to change" in output) == (0, True), output
    _code, found = homes.audit("--system", "skills")
    assert found["one", "skills.mempalace"]["verdict"] == "pass"
    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert not (home / ".agents").exists()


@pytest.mark.parametrize(("content", "loaded"), [(SKILL, True), (b"# Memory\n", False)])
def test_the_real_pi_loads_what_passes(tmp_path: Path, content: bytes, loaded: bool) -> None:
    pi = PiHome(tmp_path / "home", pi_tool())
    skill = pi.home / PATH[2:]
    skill.parent.mkdir(parents=True)
    skill.write_bytes(content)
    with FakeModel() as model:
        ended = pi.run(model, "hi", options=("--no-session",))
    assert ended.returncode == 0, ended.stderr
    told = json.dumps(model.bodies[-1]["messages"])
    assert ("skills/mempalace/SKILL.md" in told) is loaded
    assert (judged(World().file(PATH, content)).verdict is Verdict.PASS) is loaded
