"""A search that finds very much keeps little of it, and says how much it found."""

import tracemalloc
from pathlib import Path

import pytest
from support.images import as_layout
from support.trees import image

from fleet.connectors.deadline import Deadline
from fleet.connectors.image_overlay_walk import tell_layers, tell_tree
from fleet.connectors.image_rootfs import RootTree
from fleet.connectors.oci.streams import Budget
from fleet.connectors.scan.scan import LayerScan
from fleet.demo.layout import BakedImage, Member, layer
from fleet.engine.audit import audit
from fleet.engine.context import Context
from fleet.engine.options import AuditOptions
from fleet.errors import Unreachable
from fleet.facts.images import MOST_FOUND
from fleet.facts.request import Depth, ScanQuestion
from fleet.inventory.model import Target
from fleet.reports.document import document
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run

TOKEN = b"x ghp_" + b"a1B2" * 9
MEBI = 1024 * 1024
MANY = 2_000


def searching(depth: Depth = Depth.ALL) -> LayerScan:
    scan = LayerScan(ScanQuestion(depth), "n0", Deadline(600))
    scan.layer("sha256:1")
    return scan


def fill(scan: LayerScan, count: int, folder: str = "/srv") -> None:
    for number in range(count):
        scan.entry(f"{folder}/f{number}.env", "file", len(TOKEN), lambda _: TOKEN)


def test_what_is_kept_does_not_grow_with_what_is_found() -> None:
    scan = searching()
    fill(scan, MOST_FOUND * 2)
    tracemalloc.start()
    try:
        fill(scan, MANY, "/more")
        assert tracemalloc.get_traced_memory()[0] < MEBI // 4
    finally:
        tracemalloc.stop()
    fact = scan.fact()
    assert len(fact.found) == MOST_FOUND
    assert len(fact.found) + fact.more == MOST_FOUND * 2 + MANY
    assert fact.files == fact.read == MOST_FOUND * 2 + MANY


def test_paths_of_many_folders_are_kept_in_bounds_too() -> None:
    scan = searching()
    tracemalloc.start()
    try:
        for number in range(150):
            fill(scan, 1, f"/{number}" + "/a" * 2_000)
        assert tracemalloc.get_traced_memory()[1] < 16 * MEBI
    finally:
        tracemalloc.stop()
    fact = scan.fact()
    assert 0 < len(fact.found) < 150
    assert len(fact.found) + fact.more == 150


def test_what_was_kept_is_still_followed_to_where_it_is_deleted() -> None:
    scan = searching()
    fill(scan, MOST_FOUND + 5)
    scan.layer("sha256:2")
    scan.whiteout("/srv/f0.env")
    scan.whiteout(f"/srv/f{MOST_FOUND + 1}.env")
    assert [each.place for each in scan.fact().found if each.gone == 2] == ["/srv/f0.env"]


def judged(target: Target, depth: Depth) -> Run:
    context = Context(load_catalogue())
    return audit([target], context, AuditOptions(systems=("image",), scan=depth))


def layers_gate(run: Run) -> Finding:
    return next(f for f in run.findings if f.gate == "image.layers")


def test_the_report_of_thousands_of_findings_stays_short_and_fails(tmp_path: Path) -> None:
    members = [Member(f"srv/f{number}.txt", TOKEN) for number in range(5_000)]
    target = as_layout(tmp_path / "i", [BakedImage([layer(members)], "palace:1")])
    run = judged(target, Depth.ALL)
    found = layers_gate(run)
    assert found.verdict is Verdict.FAIL
    assert found.message.startswith(f"at least {MOST_FOUND} files hold a secret; read 5000 of 5000")
    assert found.evidence[20:] == (
        f"and {MOST_FOUND - 20} more",
        f"found besides, and only counted: {5_000 - MOST_FOUND}",
    )
    assert len(document(run).model_dump_json()) < 200_000


@pytest.mark.parametrize("depth", Depth)
def test_a_root_folder_is_searched(tmp_path: Path, depth: Depth) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "root/.env").write_bytes(TOKEN)
    (tmp_path / "root/.wh..env").write_bytes(b"")  # hides nothing: there is no other layer
    (tmp_path / "out").symlink_to("/etc")
    for folder in ("proc", "sys", "dev"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / ".env").write_bytes(TOKEN)
    found = layers_gate(judged(image("rootfs", tmp_path), depth))
    assert found.verdict is Verdict.FAIL
    assert found.message == "a file holds a secret; read 1 of 2 files"
    assert found.evidence == ("/root/.env: line 1 (GitHub Token)",)


def test_a_clean_root_folder_says_how_much_was_read(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    (tmp_path / "home/x").write_text("nothing")
    found = layers_gate(judged(image("rootfs", tmp_path), Depth.ALL))
    assert (found.verdict, found.message) == (
        Verdict.PASS,
        "no secret found; read 1 of 1 file",
    )


def test_a_folder_that_cannot_be_read_is_not_called_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    (tmp_path / "b/x").write_text("nothing")
    original = RootTree.parent

    def refusing(self: RootTree, path: str) -> object:
        if path == "/a":
            raise PermissionError(13, "Permission denied")
        return original(self, path)

    monkeypatch.setattr(RootTree, "parent", refusing)
    found = layers_gate(judged(image("rootfs", tmp_path), Depth.ALL))
    assert (found.verdict, found.message) == (Verdict.NOT_CHECKED, "1 folder could not be read")


def test_a_search_that_runs_out_of_time_is_not_called_clean(tmp_path: Path) -> None:
    (tmp_path / "home").mkdir()
    tree = RootTree(tmp_path, "")
    scan = LayerScan(ScanQuestion(Depth.ALL), "n0", Deadline(0))
    tell_tree(tree, scan)
    assert (scan.fact().files, scan.fact().cut) == (0, "0 s had passed")
    budget = Budget(MEBI, Deadline(0), "docker-daemon:x")
    with pytest.raises(Unreachable, match="took longer than 0 s"):
        tell_layers([tree], ["sha256:1"], scan, budget)
    tree.close()


def test_a_root_folder_of_too_many_folders_is_not_called_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.connectors.image_overlay_walk.MOST_FOLDERS", 3)
    for name in "abcd":
        (tmp_path / name).mkdir()
    found = layers_gate(judged(image("rootfs", tmp_path), Depth.ALL))
    assert found.verdict is Verdict.NOT_CHECKED
    assert found.message == "the search ended early, when it had more than 3 folders"
