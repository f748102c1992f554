"""Real failures of links and content, each built as a tree and judged as an unpacked root."""

import shutil
from pathlib import Path

import pytest
from support.cases import audited, built, with_root_user
from support.places import CASES

from fleet.engine.toolkit import read_toolkit
from fleet.verifier.model import Verdict


def in_toolkit(root: Path, folder: str = "opt/toolkit") -> Path:
    """Move a case's bridge to where a toolkit carries it, so that it can be declared."""
    place = root / folder / "extensions/pi"
    place.mkdir(parents=True)
    (root / folder / "mempalace.ts").rename(place / "mempalace.ts")
    return root


def relink(root: Path, name: str, text: str) -> None:
    path = root / "root/.pi/agent/extensions" / name
    path.unlink()
    path.symlink_to(text)


def test_a03_a_relative_link_to_an_absolute_link(tmp_path: Path) -> None:
    root = in_toolkit(built("A03", tmp_path))
    relink(root, "abs.ts", "/opt/toolkit/extensions/pi/mempalace.ts")
    placed = audited(root, toolkit="/opt/toolkit")["bridge.placed"]
    assert placed.verdict is Verdict.PASS
    assert placed.evidence[1:] == (
        "/root/.pi/agent/extensions/mempalace.ts -> abs.ts",
        "/root/.pi/agent/extensions/abs.ts -> /opt/toolkit/extensions/pi/mempalace.ts",
    )


def test_a04_a_link_loop(tmp_path: Path) -> None:
    found = audited(built("A04", tmp_path), toolkit="/opt/toolkit")
    assert found["bridge.placed"].verdict is Verdict.FAIL
    assert found["bridge.placed"].message == "link loop"


def test_a05_right_bytes_in_the_wrong_place(tmp_path: Path) -> None:
    for variant, words in (("equal", ()), ("old", ("old",))):
        root = in_toolkit(built("A05", tmp_path / variant, *words))
        found = audited(root, toolkit="/opt/toolkit")
        assert found["bridge.placed"].verdict is Verdict.FAIL
        assert found["bridge.placed"].message == "leads to another place"
        feed = Verdict.PASS if variant == "equal" else Verdict.FAIL
        assert found["bridge.feed"].verdict is feed


def test_a08_a_regular_file_where_the_link_should_be(tmp_path: Path) -> None:
    root = built("A08", tmp_path)
    source = root / "opt/toolkit/extensions/pi/mempalace.ts"
    source.parent.mkdir(parents=True)
    source.write_text("// the toolkit's\n")
    found = audited(root, toolkit="/opt/toolkit")
    assert found["bridge.placed"].message == "is a regular file, not a link"
    assert found["bridge.feed"].verdict is Verdict.PASS


def test_a14_empty_and_cut_files(tmp_path: Path) -> None:
    for name, message in (("empty.ts", "is empty"), ("cut.ts", "is cut off or broken")):
        place = tmp_path / name / "root/.pi/agent/extensions"
        place.mkdir(parents=True)
        shutil.copy(CASES / "A14" / name, place / "mempalace.ts")
        found = audited(with_root_user(tmp_path / name))
        assert (found["bridge.whole"].verdict, found["bridge.whole"].message) == (
            Verdict.FAIL,
            message,
        )
        assert found["bridge.feed"].verdict is not Verdict.PASS


def test_a16_the_extensions_folder_is_itself_a_link(tmp_path: Path) -> None:
    root = built("A16", tmp_path)
    bridge = root / "opt/toolkit/extensions/pi/mempalace.ts"
    bridge.parent.mkdir(parents=True)
    bridge.write_text("const f = process.env.MEMPALACE_FEED;\nexport default function (pi) {}\n")
    (root / "root/dots/pi/extensions/mempalace.ts").symlink_to(
        "/opt/toolkit/extensions/pi/mempalace.ts"
    )
    found = audited(root, toolkit="/opt/toolkit")
    for gate in ("bridge.placed", "bridge.seen", "bridge.feed"):
        assert found[gate].verdict is Verdict.PASS, found[gate]
    assert any("extensions -> ../../dots" in line for line in found["bridge.placed"].evidence)


def test_a12_git_refuses_a_tree_of_somebody_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = in_toolkit(built("A12", tmp_path))
    place = root / "root/.pi/agent/extensions"
    place.mkdir(parents=True)
    (place / "mempalace.ts").symlink_to("/opt/toolkit/extensions/pi/mempalace.ts")
    monkeypatch.setenv("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
    monkeypatch.setenv("HOME", str(tmp_path))
    history = read_toolkit(str(root / "opt/toolkit"))
    found = audited(root, history=history, toolkit="/opt/toolkit")
    assert found["bridge.commit"].verdict is Verdict.NOT_CHECKED
    assert found["bridge.commit"].message == "commit unknown (git refused: ownership)"
    assert not found["bridge.commit"].required
    assert found["bridge.feed"].verdict is Verdict.PASS
    assert "commit unknown (git refused: ownership)" in found["bridge.feed"].evidence
    assert not (tmp_path / ".gitconfig").exists()
