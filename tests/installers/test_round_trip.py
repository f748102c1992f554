"""What was brought is there, a second plan is empty, and uninstall leaves no trace."""

from pathlib import Path

import pytest
from support.bench import SHELLS, Bench

from fleet.installers.items import (
    BlockBody,
    FileBody,
    Item,
    LinkBody,
    MergeBody,
    TreeBody,
    TreeFile,
)
from fleet.installers.model import Content

HOSTILE = ("a b", "quo'te", 'dou"ble', "new\nline", "-dash", "ünï", "do$lar", "st*r", "back\\slash")
ODD = b"'\0\xff%d %s \\n\\0 $HOME `id` \r\n\t-\x1b[31m"


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "home", request.param)


def link(path: str, source: str) -> Item:
    return Item("bridge", "link", path, LinkBody(source))


def file(path: str, data: bytes, mode: int = 0o644, name: str = "file") -> Item:
    return Item("bridge", name, path, FileBody(Content(data=data), mode))


def items() -> tuple[Item, ...]:
    return (
        link("~/.pi/agent/extensions/m.ts", "~/src/m.ts"),
        file("~/.config/tool/odd", ODD, 0o640),
        Item("env", "block", "~/.zshrc", BlockBody(Content(data=b". ~/.config/x\n"), 0o644)),
        Item("reg", "merge", "~/.config/opencode.json", MergeBody({"mcp": {"p": {"on": True}}})),
        Item(
            "kit",
            "tree",
            "~/kit",
            TreeBody((TreeFile("bin/run", 0o755, b"#!/bin/sh\n"), TreeFile("doc", link="bin/run"))),
        ),
    )


def furnish(bench: Bench) -> None:
    bench.write("src/m.ts", "// bridge\n")
    bench.write(".zshrc", "alias x=y\n")
    bench.write(".config/opencode.json", '{\n  "theme": "dark" // mine\n}\n')


def test_brings_everything_once_and_takes_it_all_away_again(bench: Bench) -> None:
    furnish(bench)
    before = bench.tree()

    made = bench.bring(*items())

    assert [s.key for s in made.steps] == [i.key for i in items()]
    assert not made.conflicts
    home = bench.home
    assert (home / ".pi/agent/extensions/m.ts").readlink() == home / "src/m.ts"
    assert (home / ".config/tool/odd").read_bytes() == ODD
    assert (home / ".config/tool/odd").stat().st_mode & 0o7777 == 0o640
    assert (home / "kit/bin/run").stat().st_mode & 0o7777 == 0o755
    assert str((home / "kit/doc").readlink()) == "bin/run"
    assert not bench.stray()
    again = bench.plan(*items())
    assert (again.changes, again.unchanged, again.conflicts) == (0, len(items()), ())

    bench.uninstall()

    assert without_times(bench.tree()) == without_times(before)
    untouched = {k: v for k, v in before.items() if k == "src/m.ts"}
    assert untouched.items() <= bench.tree().items()


def without_times(tree: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    return {k: (*v[:2], *v[3:]) if v[0] == "file" else v for k, v in tree.items()}


def test_names_may_hold_any_character(bench: Bench) -> None:
    before = bench.tree()
    wanted = [file(f"~/{name}/{name}", b"x", name=f"f{i}") for i, name in enumerate(HOSTILE)]

    bench.bring(*wanted)

    for name in HOSTILE:
        assert (bench.home / name / name).read_bytes() == b"x"
    assert bench.plan(*wanted).changes == 0
    bench.uninstall()
    assert bench.tree() == before


def test_a_changed_source_changes_the_file_in_place(bench: Bench) -> None:
    bench.bring(file("~/f", b"old\n"))

    made = bench.bring(file("~/f", b"new\n"))

    assert made.steps[0].change == "change"
    assert "-old\n+new\n" in made.steps[0].diff
    assert (bench.home / "f").read_bytes() == b"new\n"
    bench.uninstall()
    assert bench.tree() == {}


def test_a_mode_that_drifted_is_mended(bench: Bench) -> None:
    bench.bring(file("~/f", b"x", 0o600))
    (bench.home / "f").chmod(0o644)

    bench.bring(file("~/f", b"x", 0o600))

    assert (bench.home / "f").stat().st_mode & 0o7777 == 0o600


def test_a_link_to_a_folder_is_replaced_and_not_entered(bench: Bench) -> None:
    for name in ("one", "two"):
        (bench.home / name).mkdir()
    bench.bring(link("~/l", "~/one"))

    bench.bring(link("~/l", "~/two"))

    assert (bench.home / "l").readlink() == bench.home / "two"
    assert not list((bench.home / "one").iterdir())


def test_folders_others_use_meanwhile_stay(bench: Bench) -> None:
    bench.bring(file("~/made/deep/f", b"x"))
    bench.write("made/theirs", "y")

    bench.uninstall()

    assert bench.tree().keys() == {"made", "made/theirs"}


def test_prune_removes_what_is_no_longer_wanted_and_nothing_else(bench: Bench) -> None:
    one, two = file("~/one", b"1", name="one"), file("~/two", b"2", name="two")
    bench.bring(one, two)
    assert bench.plan(one).changes == 0

    made = bench.bring(one, prune=True)

    assert [s.summary for s in made.steps] == ["remove ~/two"]
    assert sorted(p.name for p in bench.home.iterdir()) == [".local", "one"]


def test_uninstalling_one_system_leaves_the_others(bench: Bench) -> None:
    mine, other = file("~/a", b"1"), Item("env", "x", "~/b", FileBody(Content(data=b"2"), 0o644))
    bench.bring(mine, other)

    bench.uninstall(["bridge"])

    assert not (bench.home / "a").exists()
    assert (bench.home / "b").exists()
    assert bench.plan(other).changes == 0
