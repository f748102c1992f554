"""Very large layers: what is not kept of them changes no answer, and takes few readings."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.layers import tree_of

from fleet.connectors.oci.kept import Kept
from fleet.connectors.oci.layers import MOST_READINGS, LayeredTree
from fleet.connectors.oci.newest import NewestFirst
from fleet.demo.layout import Member
from fleet.errors import ProbeError
from fleet.facts.walk import Node, Unreadable

M = Member
KINDS = ("file", "file", "directory", "link", "hard", "whiteout", "opaque", "unnamed")
NAMES = ("a", "b", "c", "a/b", "b/a", "a/c", "a/b/a", "b/b/a", "c/a", "c/b")
TARGETS = ("b", "a/b", "c", "c/b", "none")


def made(kind: str, path: str, target: str, number: int) -> Member:
    folder, _, name = path.rpartition("/")
    above = f"{folder}/" if folder else ""
    if kind in ("whiteout", "unnamed"):
        return M(f"{above}.wh.{name if kind == 'whiteout' else ''}")
    if kind == "opaque":
        return M(f"{path}/.wh..wh..opq")
    content = b"%d" % number if kind == "file" else b""
    told = target if kind in ("hard", "link") else ""
    return M(path, content, kind=kind, target=told, uid=number)  # type: ignore[arg-type]


MEMBERS = st.builds(
    made,
    st.sampled_from(KINDS),
    st.sampled_from(NAMES),
    st.sampled_from(TARGETS),
    st.integers(1, 9),
)
LAYERS = st.lists(st.lists(MEMBERS, max_size=7), min_size=1, max_size=3)


def told(tree: LayeredTree, path: str) -> list[object]:
    """Return all that a tree says of a path: what is there, its content, its names."""
    answers: list[object] = []
    for ask in (
        tree.lstat,
        lambda path: tree.read(path, 99),
        lambda path: sorted(tree.listdir(path)),
    ):
        try:
            answers.append(ask(path))
        except Unreadable as error:
            answers.append((error.component, error.why))
    return answers


@settings(max_examples=100, deadline=None)
@given(
    layers=LAYERS,
    spare=st.sampled_from([0, 4, 9]),
    kind=st.sampled_from([LayeredTree, NewestFirst]),
    names=st.sampled_from([(), ("a",), ("b", "c")]),
)
def test_what_is_not_kept_changes_no_answer(
    layers: list[list[Member]],
    spare: int,
    kind: type[LayeredTree],
    names: Sequence[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    if kind is NewestFirst:  # what a whiteout without a name makes uncertain depends on its order
        layers = [[m for m in members if not m.path.endswith(".wh.")] for members in layers]
    folder = tmp_path_factory.mktemp("l")
    try:
        whole = tree_of(folder, *layers)
    except ProbeError:
        return  # a link loop holds a member
    for path in ("/", *(f"/{name}" for name in NAMES), "/none"):
        lean = tree_of(folder, *layers, kind=kind, kept=Kept(names, spare=spare))
        assert told(lean, path) == told(whole, path)


FEW = [M("l", kind="link", target="d/of-link"), *(M(f"d/{n}", b"1") for n in "xyz")]


def test_an_image_that_is_kept_whole_is_read_once(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, FEW)
    assert (tree.lstat("/d/x"), tree.lstat("/d/none")) == (Node("file", 0o644, size=1), None)
    assert (sorted(tree.listdir("/d")), tree.passes) == (["x", "y", "z"], 1)


def test_only_a_name_that_may_be_there_takes_another_reading(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, FEW, kept=Kept(["x"], spare=0))
    assert (tree.read("/d/x", 9), tree.lstat("/d/none"), tree.lstat("/none/x")) == (
        b"1",
        None,
        None,
    )
    assert tree.passes == 1
    assert (tree.read("/d/y", 9), tree.passes) == (b"1", 2)
    assert (sorted(tree.listdir("/d")), tree.passes) == (["x", "y", "z"], 3)


def test_what_links_lead_to_takes_one_more_reading_together(tmp_path: Path) -> None:
    files = [M("a-file", b"1"), M("b-file", b"2")]
    links = [M(name, kind="link", target=f"{name}-file") for name in "ab"]
    tree = tree_of(tmp_path, files + links, kept=Kept(["a", "b"], spare=0))
    assert (tree.read("/a-file", 9), tree.read("/b-file", 9), tree.passes) == (b"1", b"2", 2)
    links_first = tree_of(tmp_path, links + files, kept=Kept(["a", "b"], spare=0))
    assert (links_first.read("/a-file", 9), links_first.passes) == (b"1", 1)


def test_a_question_without_end_is_not_answered(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [M(f"d/{number}") for number in range(9)], kept=Kept((), spare=0))
    for number in range(MOST_READINGS - 1):
        assert tree.lstat(f"/d/{number}") is not None
    with pytest.raises(Unreadable, match="not found in 6 readings"):
        tree.lstat("/d/8")
    assert (tree.lstat("/d/0") is None, tree.lstat("/none"), tree.passes) == (False, None, 6)


def test_a_folder_of_too_many_names_is_not_listed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.connectors.oci.diff.MOST_LISTED", 2)
    tree = tree_of(tmp_path, FEW, kept=Kept((), ["/d"], spare=0))
    with pytest.raises(Unreadable, match="more names than are kept"):
        tree.listdir("/d")
    assert (tree.listdir("/"), tree.passes) == (["l", "d"], 1)


@pytest.mark.parametrize(
    "members",
    [
        [M(f"d{number}", kind="directory") for number in range(9)],
        [M(f"l{number}", kind="link", target="x") for number in range(11)],
        [M(f"{number}/passwd") for number in range(9)],
        [M("/".join("deepdeep"))],
        [M(f".wh.passwd{number}") for number in range(11)],
    ],
)
def test_more_than_can_be_kept_is_refused(members: list[Member], tmp_path: Path) -> None:
    names = ["passwd", *(f"passwd{number}" for number in range(11))]
    with pytest.raises(
        ProbeError, match=r"layer 1 cannot be read: .* than 6 folders or 10 links would"
    ):
        tree_of(tmp_path, [], members, kept=Kept(names, spare=0, most=20))


def test_files_that_come_again_in_every_layer_count_once(tmp_path: Path) -> None:
    layer = [M(f"d/{number}") for number in range(8)]
    tree = tree_of(tmp_path, *[layer] * 9, kept=Kept((), spare=30, most=40))
    assert tree.lstat("/d/7") is not None
