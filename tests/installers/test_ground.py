"""Where nothing can be put is told by the plan, before anything is changed."""

import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench
from support.probing import NOBODY, need_root

from fleet.errors import PlanError
from fleet.installers.items import (
    BlockBody,
    Body,
    FileBody,
    GitBody,
    Item,
    LinkBody,
    MergeBody,
    TreeBody,
    TreeFile,
)
from fleet.installers.model import Content

PATH = "~/.config/pi/x"
BODIES: dict[str, Body] = {
    "file": FileBody(Content(data=b"x\n"), 0o644),
    "link": LinkBody("~/there"),
    "block": BlockBody(Content(data=b". ~/x\n"), 0o644),
    "merge": MergeBody({"a": 1}),
    "tree": TreeBody((TreeFile("a", data=b"a"),)),
    "git": GitBody("https://git.example.net/x.git", ""),
}


def a_file(config: Path) -> None:
    config.write_text("mine\n")


def a_dangling_link(config: Path) -> None:
    config.symlink_to("nowhere")


def a_loop(config: Path) -> None:
    config.symlink_to(".config")


def a_link_to_a_file(config: Path) -> None:
    config.symlink_to("there")


WAYS: tuple[tuple[Callable[[Path], None], str, str], ...] = (
    (a_file, "~/.config is not a folder", "move ~/.config away"),
    (a_dangling_link, "a link to nothing (~/nowhere does not exist)", "make the folder ~/nowhere"),
    (a_loop, "a link loop (~/.config)", "take the link ~/.config away"),
    (a_link_to_a_file, "~/.config leads to ~/there, which is not", "move ~/.config away"),
)


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "home", request.param)


@pytest.mark.parametrize("kind", BODIES)
@pytest.mark.parametrize(("make", "what", "hint"), WAYS)
def test_what_is_no_folder_on_the_way_is_a_conflict_of_the_plan(
    bench: Bench, kind: str, make: Callable[[Path], None], what: str, hint: str
) -> None:
    bench.write("there")
    make(bench.home / ".config")
    before = bench.tree()

    made = bench.plan(Item("kit", kind, PATH, BODIES[kind]), adopt=True)

    assert (made.steps, bench.tree()) == ((), before)
    [conflict] = made.conflicts
    assert what in conflict.what
    assert hint in conflict.hint
    assert not conflict.adoptable


def test_what_is_beside_such_a_path_is_brought(bench: Bench) -> None:
    a_file(bench.home / ".config")

    made = bench.bring(
        Item("kit", "file", PATH, BODIES["file"]), Item("kit", "other", "~/o", BODIES["file"])
    )

    assert [c.key for c in made.conflicts] == ["kit.file"]
    assert (bench.home / "o").exists()
    assert (bench.home / ".config").read_text() == "mine\n"


def test_a_ledger_that_cannot_be_kept_is_told_by_the_plan(bench: Bench) -> None:
    a_file(bench.home / ".local")

    with pytest.raises(PlanError) as caught:
        bench.plan(Item("kit", "file", "~/o", BODIES["file"]))

    assert "cannot keep its ledger" in caught.value.what
    assert "~/.local is not a folder" in caught.value.what


def test_what_was_put_in_a_folder_that_is_none_any_more_keeps_no_uninstall_back(
    bench: Bench,
) -> None:
    bench.bring(Item("kit", "file", PATH, BODIES["file"]))
    (bench.home / ".config/pi/x").unlink()
    (bench.home / ".config/pi").rmdir()
    (bench.home / ".config").rmdir()
    a_file(bench.home / ".config")

    assert bench.uninstall().conflicts == ()
    assert (bench.home / ".config").read_text() == "mine\n"


# --- folders that may not be written in; only another user than root meets them ---


@pytest.fixture
def nobody() -> Iterator[Bench]:
    """Yield a home of a user who is not root."""
    need_root()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        shell = folder / "shell"
        drop = f"--reuid={NOBODY} --regid={NOBODY} --clear-groups"
        shell.write_text(f'#!/bin/sh\nexec setpriv {drop} dash "$@"\n')
        shell.chmod(0o755)
        bench = Bench(folder / "home", str(shell))
        os.chown(bench.home, NOBODY, NOBODY)
        yield bench


@pytest.mark.parametrize("kind", [kind for kind in BODIES if kind != "tree"])
@pytest.mark.parametrize("there", [False, True], ids=["missing", "there"])
def test_a_folder_that_may_not_be_written_in_is_a_conflict(
    nobody: Bench, kind: str, there: bool
) -> None:
    nobody.write("there")
    nobody.write(".config/other")
    if there and kind in ("block", "merge"):
        nobody.write(".config/pi/x", "{}\n")
    before = nobody.tree()

    made = nobody.plan(Item("kit", kind, PATH, BODIES[kind]))

    [conflict] = made.conflicts
    assert "which this user may not write in" in conflict.what
    assert "become" in conflict.hint
    assert (made.steps, nobody.tree()) == ((), before)


def test_a_linked_rc_file_in_a_closed_folder_is_a_conflict(nobody: Bench) -> None:
    nobody.write("dots/zshrc", "x\n", 0o666)
    (nobody.home / ".zshrc").symlink_to("dots/zshrc")

    [conflict] = nobody.plan(Item("kit", "rc", "~/.zshrc", BODIES["block"])).conflicts

    assert "~/dots, which this user may not write in" in conflict.what


def test_what_lies_in_a_closed_folder_is_left_by_uninstall(nobody: Bench) -> None:
    nobody.bring(Item("kit", "file", "~/deep/x", BODIES["file"]))
    os.chown(nobody.home / "deep", 0, 0)

    [conflict] = nobody.uninstall().conflicts

    assert "~/deep, which this user may not write in" in conflict.what
    assert (nobody.home / "deep/x").exists()


def test_a_ledger_in_a_closed_folder_is_told_by_the_plan(nobody: Bench) -> None:
    (nobody.home / ".local").mkdir()

    with pytest.raises(PlanError, match=r"may not write in ~/\.local"):
        nobody.plan(Item("kit", "file", "~/o", BODIES["file"]))
