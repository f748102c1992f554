"""Layers read from the newest down: how far a question goes, and that it changes no answer."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.layers import tree_of

from fleet.connectors.oci.layers import LayeredTree
from fleet.connectors.oci.newest import NewestFirst
from fleet.demo.layout import Member
from fleet.facts.walk import Unreadable

M = Member
LAYERS = (
    [M("etc", kind="directory"), M("etc/passwd", b"root"), M("etc/old", b"0")],
    [M("opt", kind="directory", mode=0o700), M("opt/a", b"1"), M("opt/b", b"1"), M("low", b"1")],
    [M("opt", kind="directory"), M("opt/a", b"2"), M("opt/.wh.b"), M("bare/x", b"2")],
    [M("new", b"3"), M("d", kind="directory"), M("d/.wh..wh..opq"), M("d/l", kind="link")],
)


@pytest.mark.parametrize(
    "path, passes",
    [
        ("/", 0),
        ("/new", 1),
        ("/new/below/a/file", 1),
        ("/d", 1),
        ("/d/l", 1),
        ("/d/none", 1),
        ("/opt/a", 2),
        ("/opt/b", 2),
        ("/bare/x", 2),
        ("/opt", 2),
        ("/low", 3),
        ("/etc/passwd", 4),
        ("/bare", 4),
        ("/none", 4),
        ("/opt/none", 4),
    ],
)
def test_no_layer_is_read_below_the_one_that_answers(
    path: str, passes: int, tmp_path: Path
) -> None:
    tree = tree_of(tmp_path, *LAYERS, kind=NewestFirst)
    tree.lstat(path)
    assert tree.passes == passes


def test_a_folders_content_takes_every_layer_unless_it_hides_them(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, *LAYERS, kind=NewestFirst)
    assert (tree.listdir("/d"), tree.passes) == (["l"], 1)
    assert tree.listdir("/opt") == ["a"]
    assert tree.passes == 4


def test_a_hard_link_out_of_its_layer_is_followed(tmp_path: Path) -> None:
    layers = ([M("a", b"old")], [M("a", b"1")], [M("b", kind="hard", target="a")], [M("a", b"2")])
    tree = tree_of(tmp_path, *layers, kind=NewestFirst)
    assert (tree.read("/a", 9), tree.passes) == (b"2", 1)
    assert tree.read("/b", 9) == b"1"
    assert sorted(tree.listdir("/")) == ["a", "b"]


# No whiteout without a name: what one makes uncertain depends on how far down was looked.
KINDS = ("file", "directory", "link", "hard", "whiteout", "opaque")
NAMES = ["a", "b", "a/b", "b/a", "a/b/a", "b/b/a"]


def made(kind: str, path: str, number: int) -> Member:
    head, _, tail = path.rpartition("/")
    folder = f"{head}/" if head else ""
    if kind == "whiteout":
        return M(f"{folder}.wh.{tail}")
    if kind == "opaque":
        return M(f"{path}/.wh..wh..opq")
    target = {"hard": "a/b", "link": "t"}.get(kind, "")
    content = b"%d" % number if kind == "file" else b""
    return M(path, content, kind=kind, target=target, uid=number)  # type: ignore[arg-type]


MEMBERS = st.tuples(st.sampled_from(KINDS), st.sampled_from(NAMES), st.integers(1, 99))


def said(tree: LayeredTree, path: str) -> object:
    try:
        return tree.lstat(path)
    except Unreadable as error:
        return (error.component, error.why)


@settings(max_examples=150, deadline=None)
@given(layers=st.lists(st.lists(MEMBERS.map(lambda t: made(*t)), max_size=4), max_size=4))
def test_the_order_of_reading_changes_no_answer(
    layers: list[list[Member]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("l")

    whole = tree_of(folder, *layers)
    for path in ["/" + name for name in NAMES]:
        assert said(tree_of(folder, *layers, kind=NewestFirst), path) == said(whole, path)
