"""Layers on top of each other: rule by rule, and against a naive model."""

import posixpath
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.layers import listed, tree_of

from fleet.connectors.oci.layers import LayeredTree
from fleet.connectors.oci.newest import NewestFirst
from fleet.demo.layout import Compression, Member
from fleet.facts.walk import Unreadable, resolve

M = Member


RULES = {
    "a file is deleted": (
        [M("d/a", b"1"), M("d/b", b"2")],
        [M("d/.wh.a")],
        {"/d": None, "/d/b": b"2"},
    ),
    "a folder is deleted with all below it": (
        [M("d/e/f", b"1"), M("x", b"2")],
        [M(".wh.d")],
        {"/x": b"2"},
    ),
    "an opaque folder keeps what its own layer brings, whatever the order": (
        [M("d/a", b"1"), M("d/b", b"2")],
        [M("d/b", b"3"), M("d/.wh..wh..opq"), M("d/c", b"4")],
        {"/d": None, "/d/b": b"3", "/d/c": b"4"},
    ),
    "a whiteout hides lower layers only": (
        [M("a", b"old")],
        [M("a", b"new"), M(".wh.a")],
        {"/a": b"new"},
    ),
    "only the very name is opaque": (
        [M("etc/a", b"1")],
        [M("etc/.wh..wh..opqX"), M("etc/.wh..wh.plnk/1", b"x"), M(".wh..wh.aufs")],
        {"/etc": None, "/etc/a": b"1"},
    ),
    "a file takes a folder's place": ([M("a/b", b"1")], [M("a", b"2")], {"/a": b"2"}),
    "a folder takes a file's place": (
        [M("a", b"1")],
        [M("a", kind="directory"), M("a/b", b"2")],
        {"/a": None, "/a/b": b"2"},
    ),
    "a folder takes a link's place": (
        [M("real/x", b"1"), M("a", kind="link", target="real")],
        [M("a/b", b"2")],
        {"/real": None, "/real/x": b"1", "/a": None, "/a/b": b"2"},
    ),
    "a link in the same layer is followed": (
        [M("real", kind="directory")],
        [M("real", kind="directory"), M("a", kind="link", target="/real"), M("a/b", b"2")],
        {"/real": None, "/real/b": b"2", "/a": "/real"},
    ),
    "an absolute link in the same layer is followed from the root": (
        [M("real", kind="directory"), M("d/a", kind="link", target="/real"), M("d/a/b", b"2")],
        [M("e/a", kind="link", target="../real"), M("e/a/c", b"3")],
        {"/real": None, "/real/b": b"2", "/real/c": b"3", "/d": None, "/d/a": "/real"}
        | {"/e": None, "/e/a": "../real"},
    ),
    "a whiteout of nothing is nothing": ([M("a", b"1")], [M(".wh.b")], {"/a": b"1"}),
    "the last of two members of one name counts": (
        [M("a", b"1"), M("a", b"2")],
        [],
        {"/a": b"2"},
    ),
    "a hard link in its layer": (
        [M("a", b"1"), M("b", kind="hard", target="a")],
        [M(".wh.a")],
        {"/b": b"1"},
    ),
    "a hard link to a lower layer": (
        [M("d/a", b"1")],
        [M("b", kind="hard", target="d/a"), M("d/.wh.a")],
        {"/d": None, "/b": b"1"},
    ),
    "a hard link keeps what its name was when it was made": (
        [M("a", b"1"), M("b", kind="hard", target="/a"), M("a", b"2")],
        [],
        {"/a": b"2", "/b": b"1"},
    ),
    "a hard link to a later member": (
        [M("b", kind="hard", target="./a"), M("a", b"1")],
        [],
        {"/a": b"1", "/b": b"1"},
    ),
    "absolute and climbing names stay inside": (
        [M("/abs", b"1"), M("../../up", b"2"), M("d/../../e", b"3"), M("./f", b"4")],
        [],
        {"/abs": b"1", "/up": b"2", "/e": b"3", "/f": b"4"},
    ),
    "names of every length": (
        [M("l" * 120 + "/" + "m" * 200, b"1"), M("n", kind="link", target="t" * 300)],
        [],
        {"/" + "l" * 120: None, "/" + "l" * 120 + "/" + "m" * 200: b"1", "/n": "t" * 300},
    ),
}


@pytest.mark.parametrize("kind", [LayeredTree, NewestFirst])
@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
@pytest.mark.parametrize("rule", RULES)
def test_rule(rule: str, compression: Compression, kind: type[LayeredTree], tmp_path: Path) -> None:
    lower, upper, wanted = RULES[rule]
    tree = tree_of(tmp_path, lower, upper, compression=compression, kind=kind)
    assert listed(tree) == wanted


def test_marks_in_the_lowest_layer_do_not_survive(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [M(".wh.a"), M("d/.wh..wh..opq"), M("d/b", b"1")])
    assert listed(tree) == {"/d": None, "/d/b": b"1"}


def test_a_whiteout_without_a_name_makes_lower_names_uncertain(tmp_path: Path) -> None:
    lower = [M("a/keep", b"1"), M("b/keep", b"2")]
    tree = tree_of(tmp_path, lower, [M("a/.wh."), M("a/own", b"3")], [M("a/late", b"4")])
    assert tree.flaws == ["layer 1 holds a whiteout without a name in /a"]
    with pytest.raises(Unreadable, match="without a name"):
        tree.lstat("/a/keep")
    with pytest.raises(Unreadable):
        tree.listdir("/a")
    assert (tree.read("/a/own", 9), tree.read("/a/late", 9)) == (b"3", b"4")
    assert tree.read("/b/keep", 9) == b"2"
    assert tree.lstat("/a/none") is None


def test_a_later_layer_settles_an_uncertain_name(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [M("a/f", b"1")], [M("a/.wh.")], [M("a/f", b"2")])
    assert listed(tree) == {"/a": None, "/a/f": b"2"}
    tree = tree_of(tmp_path, [M("a/f", b"1")], [M("a/.wh.")], [M("a/.wh..wh..opq")])
    assert listed(tree) == {"/a": None}


def test_a_hard_links_other_name_stays_certain(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [M("a/f", b"1"), M("g", kind="hard", target="a/f")], [M("a/.wh.")])
    assert tree.read("/g", 9) == b"1"


def test_a_hard_link_to_nothing_is_unreadable_not_absent(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [M("b", kind="hard", target="none"), M("c", kind="hard", target=".")])
    assert resolve(tree, "/b").state == "unreadable"
    assert "which is in no layer" in str(resolve(tree, "/b").why)
    assert resolve(tree, "/c").state == "unreadable"


def test_devices_are_neither_files_nor_whiteouts(tmp_path: Path) -> None:
    tree = tree_of(tmp_path, [M("a", b"1")], [M("dev/null", kind="device")])
    node = tree.lstat("/dev/null")
    assert node is not None
    assert node.kind == "other"
    with pytest.raises(Unreadable):
        tree.read("/dev/null", 9)


def test_metadata_is_the_upper_layers_and_implied_folders_change_none(tmp_path: Path) -> None:
    lower = [M("d", kind="directory", mode=0o1700, uid=5), M("d/f", b"1", mode=0o600)]
    tree = tree_of(tmp_path, lower, [M("d/f", b"22", mode=0o4755, uid=7, gid=8, mtime=99)])
    folder, file = tree.lstat("/d"), tree.lstat("/d/f")
    assert folder
    assert file
    assert (folder.mode, folder.uid) == (0o1700, 5)
    assert (file.mode, file.uid, file.gid, file.size, file.mtime) == (0o4755, 7, 8, 2, 99)


@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
def test_a_layer_is_read_once_where_names_tell_and_never_more_than_twice(
    compression: Compression, tmp_path: Path
) -> None:
    members = [M(f"d/f{n}", bytes([n]) * 9000) for n in range(40)]
    tree = tree_of(tmp_path, members, compression=compression, names=["f1", "f2"])
    tree.prefetch(["/d/f1", "/d/f2"])
    assert tree.read("/d/f1", 9000) == b"\1" * 9000
    assert tree.passes == 1
    tree.prefetch([f"/d/f{n}" for n in range(40)])
    assert [tree.read(f"/d/f{n}", 9000) for n in range(40)] == [m.content for m in members]
    assert tree.passes == (1 if compression == "plain" else 2)


NAMES = st.sampled_from(["a", "b", "c"])
PATHS = st.lists(NAMES, min_size=1, max_size=3).map("/".join)
STEPS = st.one_of(
    st.tuples(st.just("file"), PATHS),
    st.tuples(st.just("folder"), PATHS),
    st.tuples(st.just("link"), PATHS),
    st.tuples(st.just("delete"), PATHS),
    st.tuples(st.just("opaque"), PATHS),
)
Model = dict[str, bytes | str | None]


EVERY = ["/" + "/".join(parts) for n in (1, 2, 3) for parts in product("abc", repeat=n)]


def below(model: Model, path: str) -> list[str]:
    return [name for name in model if name.startswith(path + "/")]


def put(model: Model, path: str, value: bytes | str | None) -> None:
    """Put one entry as unpacking would: parents are made, what is in the way is replaced."""
    parts = path.split("/")[1:]
    for depth in range(1, len(parts)):
        above = "/" + "/".join(parts[:depth])
        if model.get(above, b"") is not None:
            model[above] = None
    if value is not None or model.get(path, b"") is not None:
        for name in below(model, path):
            del model[name]
    model[path] = value


def unambiguous(steps: list[tuple[str, str]]) -> list[tuple[str, str]]:
    """Leave out steps below a file or link of the same layer: no builder writes them."""
    kept: list[tuple[str, str]] = []
    solid: set[str] = set()
    folders: set[str] = set()
    for kind, name in steps:
        parents = {"/".join(name.split("/")[:n]) for n in range(1, name.count("/") + 1)}
        if parents & solid or (kind in ("opaque", "folder") and name in solid):
            continue
        if kind in ("file", "link") and name in folders:
            continue
        folders |= parents | ({name} if kind in ("folder", "opaque") else set())
        solid |= {name} if kind in ("file", "link") else set()
        kept.append((kind, name))
    return kept


@settings(max_examples=200, deadline=None)
@given(layers=st.lists(st.lists(STEPS, max_size=6).map(unambiguous), min_size=1, max_size=4))
def test_any_layers_equal_a_naive_model(
    layers: list[list[tuple[str, str]]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    model: Model = {}
    written = []
    for number, steps in enumerate(layers):
        for kind, name in steps:
            hidden = below(model, f"/{name}")
            if kind == "delete":
                hidden.append(f"/{name}")
            for path in hidden if kind in ("delete", "opaque") else ():
                model.pop(path, None)
        for kind, name in steps:
            if kind in ("delete", "opaque"):
                parent = f"/{name}/x" if kind == "opaque" else f"/{name}"
                put_parents(model, parent)
        members: list[Member] = []
        for kind, name in steps:
            members.append(member(kind, name, number, len(members)))
            if kind in ("file", "folder", "link"):
                last = members[-1]
                value = {"file": last.content, "folder": None, "link": last.target}[kind]
                put(model, f"/{name}", value)
        written.append(members)
    folder = tmp_path_factory.mktemp("layers")
    assert listed(tree_of(folder, *written)) == model
    newest = tree_of(folder, *written, kind=NewestFirst)
    assert not [name for name in EVERY if name not in model and newest.lstat(name)]
    assert listed(newest) == model


def put_parents(model: Model, path: str) -> None:
    """A mark stands in a folder, which it implies."""
    parts = path.split("/")[1:]
    for depth in range(1, len(parts)):
        put(model, "/" + "/".join(parts[:depth]), None)


def member(kind: str, name: str, number: int, count: int) -> Member:
    head, _, tail = name.rpartition("/")
    if kind == "delete":
        return M(posixpath.join(head, f".wh.{tail}"))
    if kind == "opaque":
        return M(f"{name}/.wh..wh..opq")
    if kind == "folder":
        return M(name, kind="directory")
    if kind == "link":
        return M(name, kind="link", target="/nowhere")
    return M(name, f"{number} {count}".encode())
