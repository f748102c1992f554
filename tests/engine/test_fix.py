"""The loop closed: what an installer can put right is put right and seen to hold."""

import json

from support.homes import Homes

from fleet.systems.catalogue import load_catalogue

BRIDGE = ".pi/agent/extensions/mempalace.ts"
ENV = ".config/pi/.env"


def test_one_gate_is_fixed_and_nothing_else_is_touched(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    home = homes.home("one")
    link, env = home / BRIDGE, home / ENV
    right = link.readlink()
    link.unlink()
    link.symlink_to(home / "notes")
    env.chmod(0o644)
    code, text = homes.run("fix", "bridge.placed", "--limit", "one", "--yes", "--adopt")
    assert code == 0, text
    assert link.readlink() == right
    assert env.stat().st_mode & 0o777 == 0o644
    assert "env.file" not in text
    assert "no longer wanted" not in text
    assert "the one required gate holds" in text
    code, text = homes.run("fix", "env.mode", "--limit", "one", "--yes")
    assert code == 0, text
    assert env.stat().st_mode & 0o777 == 0o600


def test_what_holds_is_left_alone(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    code, text = homes.run("fix", "env.mode", "--limit", "one", "--yes")
    assert code == 0
    assert "nothing to fix: env.mode does not fail" in homes.printed[-1]
    assert "applied" not in text


def test_what_a_person_has_to_do_is_told(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    (homes.home("one") / ENV).chmod(0o644)
    code, text = homes.run("fix", "--limit", "one", "--yes")
    assert code == 2  # no palace runs
    hand = text.partition("By hand")[2].partition("to change")[0]
    assert "flip.path" in hand
    assert "start the server, and see that it listens" in hand
    assert "env.mode" not in hand
    assert (homes.home("one") / ENV).stat().st_mode & 0o777 == 0o600


def test_a_plan_that_changes_nothing_leaves_it_to_a_person(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    (homes.home("one") / ".profile").unlink(missing_ok=True)
    (homes.home("one") / ".bash_profile").write_text("# nothing\n")
    text = homes.inventory.read_text().replace("vars:\n", "vars:\n  loader: false\n", 1)
    homes.inventory.write_text(text)
    code, text = homes.run("fix", "env.loaded", "--limit", "one", "--yes")
    assert code == 2
    assert "By hand" in text
    assert "source the file where that shell reads it" in text


def test_a_refused_plan_is_no_success_and_changes_nothing(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    link = homes.home("one") / BRIDGE
    link.unlink()
    link.write_text("mine")
    code, text = homes.run("fix", "bridge.placed", "--limit", "one", "--yes")
    assert code == 2
    assert "--adopt" in text
    assert link.read_text() == "mine"


def test_json_is_one_document(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    (homes.home("one") / ENV).chmod(0o644)
    _, text = homes.run("fix", "env.mode", "--limit", "one", "--yes", "--format", "json")
    told = json.loads(text)
    assert told["run"]["command"] == "fix"
    assert [f["verdict"] for f in told["findings"]] == ["pass"]


def test_a_failing_gate_names_the_action(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    (homes.home("one") / ENV).chmod(0o644)
    _, found = homes.audit("--limit", "one")
    assert found["one", "env.mode"]["fixed_by"] == ["file"]
    assert found["one", "env.file"]["fixed_by"] == []  # it holds
    _, text = homes.run("audit", "--limit", "one")
    assert "`fleet fix env.mode`" in text


def test_what_the_target_does_not_have_is_not_promised(homes: Homes) -> None:
    text = homes.inventory.read_text().replace("vars:\n", "vars:\n  loader: false\n", 1)
    homes.inventory.write_text(text)
    homes.run("provision", "--yes", "--limit", "one")
    (homes.home("one") / ".bash_profile").write_text("# nothing\n")
    _, found = homes.audit("--limit", "one")
    assert found["one", "env.loaded"]["verdict"] == "fail"
    assert found["one", "env.loaded"]["fixed_by"] == ["file"]  # and no loader


def test_an_unknown_gate_is_told_its_neighbour(homes: Homes) -> None:
    code, _ = homes.run("fix", "env.mod", "--limit", "one", "--yes")
    assert code == 1
    assert "did you mean `env.mode`?" in homes.printed[-1]


def test_whatever_fixes_a_gate_can_be_deployed() -> None:
    for system, gate in load_catalogue().gates():
        for name in gate.fixed_by:
            other, _, artifact = name.rpartition(".")
            owner = load_catalogue().system(other) if other else system
            assert owner.artifacts[artifact].kind != "observed", gate.id
