"""What plans get from the controller: shipped files, the inventory's own, clear refusals."""

from pathlib import Path

import pytest

from fleet.engine.controller_files import LocalFiles
from fleet.errors import PlanError


def test_the_inventorys_templates_come_before_the_shipped_ones(tmp_path: Path) -> None:
    files = LocalFiles(tmp_path)
    assert "exports" in files.template("env/pi.env.j2")
    (tmp_path / "templates/env").mkdir(parents=True)
    (tmp_path / "templates/env/pi.env.j2").write_text("mine\n")
    assert files.template("env/pi.env.j2") == "mine\n"


@pytest.mark.parametrize(
    ("content", "told"),
    [(b"\0GITCRYPT\0\xff\xfe", "encrypted by git-crypt"), (b"\xff\xfe", "not UTF-8")],
)
def test_a_template_that_is_no_text_says_why(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "templates").mkdir()
    (tmp_path / "templates/x.j2").write_bytes(content)
    with pytest.raises(PlanError, match=told):
        LocalFiles(tmp_path).template("x.j2")


@pytest.mark.parametrize("name", ["none.j2", "../secret", "/etc/passwd"])
def test_a_template_outside_its_folder_is_none(tmp_path: Path, name: str) -> None:
    (tmp_path / "secret").write_text("x")
    with pytest.raises(PlanError, match="no template"):
        LocalFiles(tmp_path).template(name)


def test_a_tree_is_sorted_and_leaves_version_control_out(tmp_path: Path) -> None:
    (tmp_path / "t/.git").mkdir(parents=True)
    (tmp_path / "t/.git/config").write_text("x")
    (tmp_path / "t/b").mkdir()
    (tmp_path / "t/b/run").write_text("#!/bin/sh\n")
    (tmp_path / "t/b/run").chmod(0o700)
    (tmp_path / "t/a").symlink_to("b/run")
    files = LocalFiles(tmp_path).tree("t")
    assert [(f.path, f.mode, f.link) for f in files] == [
        ("a", 0o644, "b/run"),
        ("b/run", 0o755, None),
    ]


def test_what_is_not_there_names_the_path(tmp_path: Path) -> None:
    for ask in (LocalFiles(tmp_path).file, LocalFiles(tmp_path).tree):
        with pytest.raises(PlanError, match="nowhere"):
            ask("nowhere")
