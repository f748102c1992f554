"""What fleet did not put there is never overwritten, unless told to adopt; then it is kept."""

import subprocess
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench, snapshot
from support.places import CASES

from fleet.installers.items import BlockBody, FileBody, Item, LinkBody, TreeBody, TreeFile
from fleet.installers.model import Content


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "home", request.param)


def link(path: str = "~/.pi/agent/extensions/mempalace.ts", source: str = "~/src/m.ts") -> Item:
    return Item("mempalace-bridge", "bridge", path, LinkBody(source))


def file(path: str, data: bytes = b"x\n", mode: int = 0o644) -> Item:
    return Item("kit", "file", path, FileBody(Content(data=data), mode))


def made_by(case: str, tmp_path: Path, *arguments: str) -> Path:
    """Build a case's tree; the home is its ``root`` folder."""
    root = tmp_path / case
    root.mkdir()
    subprocess.run(["sh", str(CASES / case / "make.sh"), str(root), *arguments], check=True)
    return root / "root"


def test_a08_a_regular_file_in_the_links_place_is_refused_and_all_else_is_brought(
    tmp_path: Path,
) -> None:
    bench = Bench(made_by("A08", tmp_path))
    there = bench.home / ".pi/agent/extensions/mempalace.ts"
    edited = there.read_bytes()
    bench.write("src/m.ts", "// bridge\n")

    made = bench.bring(link(), file("~/other"))

    assert there.read_bytes() == edited
    assert (bench.home / "other").exists()
    [conflict] = made.conflicts
    assert conflict.what == (
        "~/.pi/agent/extensions/mempalace.ts is a regular file that fleet did not put there"
    )
    assert conflict.adoptable
    assert "--adopt" in conflict.hint


def test_a08_adopting_keeps_the_file_and_uninstall_puts_it_back(tmp_path: Path) -> None:
    bench = Bench(made_by("A08", tmp_path))
    bench.write("src/m.ts", "// bridge\n")
    before = bench.tree()

    made = bench.bring(link(), adopt=True)

    there = bench.home / ".pi/agent/extensions/mempalace.ts"
    assert there.is_symlink()
    [kept] = there.parent.glob("*.before-fleet-*")
    assert "local edit, keep me" in kept.read_text()
    assert any(kept.name in note for note in made.steps[0].notes)
    bench.uninstall()
    assert bench.tree() == before


def test_a16_a_linked_folder_is_kept_and_written_into(tmp_path: Path) -> None:
    bench = Bench(made_by("A16", tmp_path))
    bench.write("src/m.ts", "// bridge\n")
    before = bench.tree()

    made = bench.bring(link())

    folder = bench.home / ".pi/agent/extensions"
    assert str(folder.readlink()) == "../../dots/pi/extensions"
    assert sorted(p.name for p in folder.iterdir()) == ["mempalace.ts", "user.ts"]
    assert any("~/dots/pi/extensions" in note for note in made.steps[0].notes)
    assert bench.plan(link()).changes == 0
    bench.uninstall()
    assert bench.tree() == before


def test_a16_a_subfolder_is_made_inside_the_real_folder(tmp_path: Path) -> None:
    bench = Bench(made_by("A16", tmp_path))
    before = bench.tree()

    bench.bring(file("~/.pi/agent/extensions/deep/er/f"))

    assert (bench.home / "dots/pi/extensions/deep/er/f").exists()
    bench.uninstall()
    assert bench.tree() == before


@pytest.mark.parametrize("old", ["", "old"])
def test_a05_a_link_to_another_checkout_is_a_conflict(tmp_path: Path, old: str) -> None:
    bench = Bench(made_by("A05", tmp_path, old))
    source = str(tmp_path / "A05/opt/toolkit/mempalace.ts")

    [conflict] = bench.plan(link(source=source)).conflicts

    assert "a link to /home/u/src/toolkit/mempalace.ts" in conflict.what
    bench.bring(link(source=source), adopt=True)
    assert str((bench.home / ".pi/agent/extensions/mempalace.ts").readlink()) == source


def test_a04_a_link_loop_can_be_adopted(bench: Bench) -> None:
    bench.write("src/m.ts", "x")
    loop = bench.home / ".pi/agent/extensions/mempalace.ts"
    loop.parent.mkdir(parents=True)
    loop.symlink_to("mempalace.ts")

    [conflict] = bench.plan(link()).conflicts
    assert "a loop" in conflict.what

    bench.bring(link(), adopt=True)
    assert loop.read_text() == "x"
    bench.uninstall()
    assert str(loop.readlink()) == "mempalace.ts"


def test_a_link_to_nothing_is_never_made(bench: Bench) -> None:
    [conflict] = bench.plan(link(), adopt=True).conflicts

    assert "would lead to nothing" in conflict.what
    assert not conflict.adoptable


def test_b11_an_encrypted_file_is_not_linked(bench: Bench) -> None:
    bench.write("dots/.env", (CASES / "B11/locked.env").read_bytes())
    item = Item("env", "file", "~/.config/pi/.env", LinkBody("~/dots/.env"), env=True)

    [conflict] = bench.plan(item, adopt=True).conflicts

    assert conflict.what == "~/dots/.env is encrypted by git-crypt and was not unlocked"
    assert "git-crypt unlock" in conflict.hint


def test_what_was_edited_since_is_left_by_plan_prune_and_uninstall(bench: Bench) -> None:
    bench.bring(file("~/f", b"one\n"))
    bench.write("f", "mine\n")

    [conflict] = bench.plan(file("~/f", b"two\n")).conflicts
    assert "edited since fleet wrote it" in conflict.what
    [left] = bench.plan(prune=True).conflicts
    assert "left alone" in left.what
    [left] = bench.uninstall().conflicts
    assert "left alone" in left.what

    assert (bench.home / "f").read_text() == "mine\n"


def test_the_same_edit_can_be_adopted_again_and_again(bench: Bench) -> None:
    bench.bring(file("~/f", b"one\n"))
    for text in ("mine\n", "mine\n", "other\n", "other\n", "mine\n"):
        bench.write("f", text)
        bench.bring(file("~/f", b"one\n"), adopt=True)
        assert (bench.home / "f").read_text() == "one\n"
    bench.uninstall()
    assert (bench.home / "f").read_text() == "mine\n"


def test_an_edited_file_can_be_adopted_and_its_edit_survives(bench: Bench) -> None:
    bench.bring(file("~/f", b"one\n"))
    bench.write("f", "mine\n")

    bench.bring(file("~/f", b"two\n"), adopt=True)
    bench.uninstall()

    assert (bench.home / "f").read_text() == "mine\n"
    assert bench.tree().keys() == {"f"}


def test_a_folder_in_the_way_is_never_replaced(bench: Bench) -> None:
    (bench.home / "f").mkdir()

    [conflict] = bench.plan(file("~/f"), adopt=True).conflicts

    assert conflict.what == "~/f is a folder"


def test_what_is_already_right_is_not_made_fleets_own(bench: Bench) -> None:
    bench.write("f", "x\n")
    before = bench.tree()

    made = bench.plan(file("~/f"))

    assert (made.changes, made.unchanged, made.conflicts) == (0, 1, ())
    assert bench.tree() == before


def test_a_file_changed_between_plan_and_apply_is_refused(bench: Bench) -> None:
    bench.write("other", "kept\n")
    made = bench.plan(file("~/f"), Item("kit", "two", "~/g", FileBody(Content(data=b"g"), 0o644)))
    bench.write("g", "somebody was quicker\n")
    before = bench.tree()

    applied = bench.apply(made)

    assert not applied.committed
    assert applied.refused == "the target changed since the plan"
    assert applied.changed == (f"kit.two ({bench.home}/g)",)
    assert bench.tree() == before
    error = applied.error("box")
    assert error is not None
    assert "nothing was changed" in str(error)


def test_of_many_files_all_that_changed_are_told_before_anything_is_done(bench: Bench) -> None:
    names = ["a", "b c", "back\\slash", "-d", "$e", "gone", "linked"]
    old, new = (
        [Item("kit", f"n{at}", f"~/{name}", FileBody(Content(data=data), 0o644)) for at, name in n]
        for data, n in ((b"old", [*enumerate(names)]), (b"new", [*enumerate(names)]))
    )
    bench.bring(*old)
    made = bench.plan(*new)
    for name in ("b c", "back\\slash", "$e"):
        bench.write(name, "theirs")
    (bench.home / "gone").unlink()
    (bench.home / "linked").unlink()
    (bench.home / "linked").symlink_to("a")
    before = bench.tree()

    applied = bench.apply(made)

    assert applied.refused == "the target changed since the plan"
    touched = {1: "b c", 2: "back\\slash", 4: "$e", 5: "gone", 6: "linked"}
    wanted = {f"kit.n{at} ({bench.home}/{name})" for at, name in touched.items()}
    assert set(applied.changed) == wanted
    assert bench.tree() == before


def test_an_adopted_link_to_a_dotfile_comes_back(bench: Bench) -> None:
    bench.write("dots/f", "dots\n")
    (bench.home / "f").symlink_to("dots/f")
    before = bench.tree()

    bench.bring(file("~/f"), adopt=True)

    assert (bench.home / "dots/f").read_text() == "dots\n"
    assert not (bench.home / "f").is_symlink()
    bench.uninstall()
    assert bench.tree() == before


def test_a_tree_in_conflict_does_not_take_its_folders_with_it(bench: Bench) -> None:
    bench.write("t/b", "theirs")
    tree = TreeBody((TreeFile("new/a", data=b"a"), TreeFile("b", data=b"b")))

    made = bench.bring(Item("kit", "tree", "~/t", tree), file("~/t/new/c"))

    assert [c.path for c in made.conflicts] == [f"{bench.home}/t/b"]
    assert sorted(p.name for p in (bench.home / "t/new").iterdir()) == ["c"]


# --- blocks in files that others own ---


def block(text: str = ". ~/x\n", path: str = "~/.zshrc", *instead: str) -> Item:
    return Item("env", "loader", path, BlockBody(Content(data=text.encode()), 0o644, instead))


@pytest.mark.parametrize(
    "there",
    [None, b"", b"alias a=b\n", b"export A='tok-EXAMPLE-1'", b"\n\n", b"a\r\nb\r\n", b"\x1b[0m\n"],
)
def test_a_block_is_added_renewed_and_taken_out_byte_for_byte(
    bench: Bench, there: bytes | None
) -> None:
    if there is not None:
        bench.write(".zshrc", there, 0o640)

    bench.bring(block())
    assert bench.plan(block()).changes == 0
    bench.bring(block("other\n"))
    text = (bench.home / ".zshrc").read_bytes()
    assert text.startswith(there or b"")
    assert text.count(b"other\n") == 1
    assert b". ~/x" not in text
    bench.uninstall()

    if there is None:
        assert bench.tree() == {}
    else:
        assert (bench.home / ".zshrc").read_bytes() == there
        assert (bench.home / ".zshrc").stat().st_mode & 0o777 == 0o640
        assert bench.tree().keys() == {".zshrc"}


def test_what_others_add_around_a_block_stays(bench: Bench) -> None:
    bench.write(".zshrc", "first")
    bench.bring(block())
    with (bench.home / ".zshrc").open("a") as rc:
        rc.write("last\n")

    assert bench.plan(block()).changes == 0
    bench.uninstall()

    assert (bench.home / ".zshrc").read_text() == "first\nlast\n"


def test_a_block_somebody_edited_is_left(bench: Bench) -> None:
    bench.bring(block())
    rc = bench.home / ".zshrc"
    rc.write_text(rc.read_text().replace(". ~/x", "# . ~/x"))
    before = rc.read_bytes()

    [conflict] = bench.plan(block()).conflicts
    assert "not as fleet wrote it" in conflict.what
    bench.uninstall()

    assert rc.read_bytes() == before


def test_a_linked_rc_file_stays_a_link(bench: Bench) -> None:
    bench.write("dots/zshrc", "x\n")
    (bench.home / ".zshrc").symlink_to("dots/zshrc")

    made = bench.bring(block())

    assert str((bench.home / ".zshrc").readlink()) == "dots/zshrc"
    assert ". ~/x" in (bench.home / "dots/zshrc").read_text()
    assert any("dots/zshrc" in note for note in made.steps[0].notes)
    bench.uninstall()
    assert (bench.home / "dots/zshrc").read_text() == "x\n"


def test_a_block_in_a_home_that_is_a_link_stays_wanted(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "home").symlink_to("real")
    bench = Bench(tmp_path / "home")
    bench.bring(block())
    again = bench.plan(block(), prune=True)
    assert (again.changes, again.notes) == (0, ())
    bench.uninstall()
    assert not list((tmp_path / "real").iterdir())


def test_the_first_existing_file_is_used_instead(bench: Bench) -> None:
    bench.write(".bash_profile", "x\n")

    bench.bring(block(". ~/x\n", "~/.profile", "~/.bash_profile", "~/.bash_login"))

    assert not (bench.home / ".profile").exists()
    assert ". ~/x" in (bench.home / ".bash_profile").read_text()


def test_the_rest_of_an_rc_file_never_leaves_the_target(bench: Bench) -> None:
    bench.write(".zshrc", "export TOKEN=tok-EXAMPLE-1\n# tok-EXAMPLE-2\n")

    made = bench.plan(block())

    assert "tok-EXAMPLE" not in made.to_json()
    assert snapshot(bench.home)
