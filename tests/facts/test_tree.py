"""Trees are read by the probe's rules: rule by rule, and side by side with the probe itself."""

import os
import posixpath
import shutil
import tempfile
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.probing import NOBODY, NONCE, Shell, need_root
from support.trees import DictTree, asking, paths_from_tree

from fleet.connectors.image_rootfs import RootTree
from fleet.facts.account import owners_of
from fleet.facts.paths import PathFact, State
from fleet.facts.request import CommandQuestion, PathQuestion, Read, Request
from fleet.facts.tree import TreeReader
from fleet.facts.walk import resolve

DASH = Shell((str(shutil.which("sh")),), "/usr/bin:/bin")


def fact(tree: DictTree, path: str, read: Read = Read.STAT, home: str = "/root") -> PathFact:
    return paths_from_tree(tree, asking(PathQuestion(path, read)), home=home).paths[path]


@pytest.mark.parametrize(
    "path, state, at",
    [
        ("/f", State.PRESENT, None),
        ("/none", State.ABSENT, "/none"),
        ("/none/below", State.ABSENT, "/none"),
        ("/f/below", State.ABSENT, "/f"),
        ("/to-f/below", State.DANGLING, "/f"),
        ("/dead", State.DANGLING, "/gone"),
        ("/to-d/none", State.ABSENT, "/d/none"),
        ("/self", State.LOOP, "/self"),
        ("/one", State.LOOP, "/one"),
        ("/up", State.PRESENT, None),
        ("/twice", State.PRESENT, None),
        ("/says-nothing", State.DANGLING, "/says-nothing"),
    ],
)
def test_each_end_is_its_own_state(path: str, state: State, at: str | None) -> None:
    tree = DictTree(
        {
            "/f": b"x",
            "/d/g": b"y",
            "/to-f": "f",
            "/to-d": "/d",
            "/dead": "gone",
            "/self": "self",
            "/one": "two",
            "/two": "one",
            "/up": "../../../d/../../f",
            "/twice": "to-d/../to-d/g",
            "/says-nothing": "",
        }
    )
    found = fact(tree, path)
    assert (found.state, found.at) == (state, at)
    assert (found.final is not None) is (state is State.PRESENT)


def test_more_links_than_the_kernel_follows_are_a_loop() -> None:
    chain = {f"/l{n}": f"l{n + 1}" for n in range(10_000)}
    found = fact(DictTree(chain), "/l0")
    assert (found.state, found.why) == (State.LOOP, "more than 40 links")
    assert len(found.hops) == 40
    forty = {f"/l{n}": f"l{n + 1}" for n in range(40)} | {"/l40": b""}
    assert fact(DictTree(forty), "/l0").state is State.PRESENT


def test_home_is_filled_in_once() -> None:
    tree = DictTree({"/home/dev/.pi/x": b"1", "/x": b"2"})
    assert fact(tree, "~/.pi/x", home="/home/dev").absolute == "/home/dev/.pi/x"
    assert fact(tree, "~/x", home="/").absolute == "/x"
    assert fact(tree, "~", home="/home/dev").kind == "directory"
    assert fact(tree, "x").state is State.UNSUPPORTED


def test_known_content_is_not_sent_and_one_content_once() -> None:
    tree = DictTree({"/a": b"same", "/b": b"same", "/c": b"other"})
    questions = [PathQuestion(path, Read.WHOLE) for path in ("/a", "/b", "/c")]
    paths, contents = paths_from_tree(tree, asking(*questions), home="/")
    assert sorted(contents.values()) == [b"other", b"same"]
    known = frozenset({str(paths["/a"].sha256)})
    again = paths_from_tree(tree, Request("n0", paths=tuple(questions), known=known), home="/")
    assert list(again.contents.values()) == [b"other"]
    assert again.paths == paths


def test_hash_brings_no_bytes_and_stat_reads_none() -> None:
    tree = DictTree({"/a": b"text"})
    assert fact(tree, "/a").sha256 is None
    assert tree.reads == []
    paths, contents = paths_from_tree(tree, asking(PathQuestion("/a", Read.HASH)), home="/")
    assert paths["/a"].sha256
    assert contents == {}


def test_content_over_the_limit_is_not_read() -> None:
    tree = DictTree({"/a": b"12345"})
    paths, contents = paths_from_tree(
        tree, asking(PathQuestion("/a", Read.WHOLE, limit=4)), home="/"
    )
    assert (paths["/a"].state, paths["/a"].why) == (
        State.PRESENT,
        "larger than 4 bytes: not read",
    )
    assert (contents, tree.reads) == ({}, [])


def test_an_env_files_secret_does_not_travel() -> None:
    tree = DictTree({"/e": b"URL=https://x\nTOKEN=tok-EXAMPLE-tree-1\n"})
    question = PathQuestion("/e", Read.ENV, public=("URL",))
    paths, contents = paths_from_tree(tree, asking(question), home="/")
    assert contents == {}
    told = paths["/e"].model_dump_json()
    assert "https://x" in told
    assert "EXAMPLE" not in told
    assert paths["/e"].sha256 is None, "a plain hash would let a guess be tried"


def test_unreadable_content_is_said_and_the_rest_still_told() -> None:
    tree = DictTree({"/a": b"x"}, hidden={"/a"})
    found = fact(tree, "/a", Read.WHOLE)
    assert (found.state, found.at, found.size) == (State.UNREADABLE, "/a", 1)
    assert found.why


def test_names_that_are_no_utf8_are_shown() -> None:
    bad = b"/caf\xe9".decode("utf-8", "surrogateescape")
    tree = DictTree({bad: b"", "/to": bad[1:]})
    entries = fact(tree, "/", Read.LIST).entries or ()
    assert [entry.name for entry in entries] == ["caf\\xe9", "to"]
    assert fact(tree, "/to").final == "/caf\\xe9"
    fact(tree, "/", Read.LIST).model_dump_json()


def command(tree: DictTree, name: str, search: str) -> tuple[str | None, str | None]:
    reader = TreeReader(tree, "n0", "/root")
    question = CommandQuestion(name, manifest=True)
    found = reader.commands([question], search=search, uid=0, folder="/work")[name]
    return (
        found.file.path if found.file else None,
        found.manifest.path if found.manifest else None,
    )


def test_a_command_is_looked_up_in_order_and_its_manifest_is_the_nearest() -> None:
    tree = DictTree(
        {
            "/opt/pi/node_modules/pi/dist/cli.js": b"",
            "/opt/pi/node_modules/pi/package.json": b"{}",
            "/opt/package.json": b"{}",
            "/usr/bin/pi": "../../opt/pi/node_modules/pi/dist/cli.js",
            "/usr/local/bin/pi/a-folder": b"",
            "/bin/sh": b"",
            "/work/here": b"",
        }
    )
    nearest = "/opt/pi/node_modules/pi/package.json"
    assert command(tree, "pi", "/usr/local/bin:/none:/usr/bin") == ("/usr/bin/pi", nearest)
    assert command(tree, "sh", "/usr/bin:/bin") == ("/bin/sh", None)
    assert command(tree, "here", "/usr/bin:") == ("/work/here", None)
    assert command(tree, "pi", "/bin") == (None, None)
    assert command(tree, "here", "") == (None, None)


def test_a_file_that_may_not_be_run_is_no_command(tmp_path: Path) -> None:
    (tmp_path / "pi").write_bytes(b"")
    (tmp_path / "pi").chmod(0o644)
    with closing(RootTree(tmp_path, "rootfs")) as tree:
        reader = TreeReader(tree, "n0", "/")
        question = CommandQuestion("pi")
        assert reader.commands([question], search="/", uid=1000, folder="/")["pi"].file is None
        (tmp_path / "pi").chmod(0o755)
        assert reader.commands([question], search="/", uid=1000, folder="/")["pi"].file


def test_a_root_folder_never_leads_out(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("host")
    root = tmp_path / "root"
    root.mkdir()
    (root / "abs").symlink_to(tmp_path / "secret")
    (root / "up").symlink_to("../secret")
    (root / "folder").symlink_to("/..")
    with closing(RootTree(root, "rootfs")) as tree:
        assert resolve(tree, "/abs").state is State.DANGLING
        assert resolve(tree, "/up").at == "/secret"
        assert resolve(tree, "/folder/secret").state is State.ABSENT
        assert resolve(tree, "/../secret").state is State.ABSENT
        assert resolve(tree, "/folder").final == "/"


NAMES = ["a", "b", "c", "é x"]
PATHS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=3).map("/".join)
TARGETS = st.lists(st.sampled_from([*NAMES, "..", "."]), min_size=1, max_size=4).map("/".join)
MADE = st.one_of(
    st.tuples(PATHS, st.just("folder"), st.just("")),
    st.tuples(PATHS, st.just("file"), st.sampled_from(["", "text\n", "x" * 600])),
    st.tuples(PATHS, st.just("link"), st.tuples(st.booleans(), TARGETS)),
)
ASKED = st.tuples(PATHS, st.sampled_from(["", "/", "/.", "/../a"]), st.sampled_from(list(Read)))


def build(root: Path, made: list[tuple[str, str, object]]) -> None:
    for name, kind, what in made:
        path = root / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            if kind == "folder":
                path.mkdir()
            elif kind == "file":
                path.write_text(str(what))
            elif isinstance(what, tuple):
                path.symlink_to(f"{root}/{what[1]}" if what[0] else str(what[1]))
        except OSError:
            continue


@settings(max_examples=60, deadline=None)
@given(made=st.lists(MADE, max_size=9), asked=st.lists(ASKED, min_size=1, max_size=8))
def test_the_same_facts_as_the_probe(
    made: list[tuple[str, str, object]], asked: list[tuple[str, str, Read]]
) -> None:
    with tempfile.TemporaryDirectory(prefix="fleet-tree-") as folder:
        # So deep that no link leads out of it: what lies around may change meanwhile.
        root = Path(folder).resolve().joinpath(*"123456")
        root.mkdir(parents=True)
        build(root, made)
        questions = {f"{root}/{name}{end}": read for name, end, read in asked}
        request = Request(
            NONCE,
            paths=tuple(PathQuestion(path, read, limit=512) for path, read in questions.items()),
        )
        probed = DASH.facts(request)
        owners = owners_of(Path("/etc/passwd").read_text())
        with closing(RootTree(Path("/"), "rootfs")) as tree:
            answer = paths_from_tree(tree, request, home="/", owners=owners)
        for path in questions:
            assert sorted_entries(answer.paths[path]) == sorted_entries(probed.paths[path])
        assert answer.contents == probed.contents


def sorted_entries(found: PathFact) -> PathFact:
    entries = found.entries and tuple(sorted(found.entries, key=lambda entry: entry.name))
    # Whether a folder may be written in is tried by who is there, and an inode is a running
    # machine's; a tree tells neither.
    untold = {"writable": None, "closed": (), "inode": None}
    return found.model_copy(update={"entries": entries, **untold})


def test_posix_root_is_one_slash() -> None:
    assert fact(DictTree({"/a": b""}), "/").final == posixpath.sep


def test_what_may_not_be_read_is_told_as_the_probe_tells_it() -> None:
    need_root()
    with tempfile.TemporaryDirectory(prefix="fleet-tree-") as folder:
        root = Path(folder).resolve()
        root.chmod(0o755)
        build(
            root,
            [
                ("file", "file", "x"),
                ("listed/a", "file", "x"),
                ("shut/a", "file", "x"),
                ("to", "link", (False, "shut/a")),
            ],
        )
        (root / "file").chmod(0o600)
        (root / "listed").chmod(0o711)
        (root / "shut").chmod(0o700)
        reads = [("file", Read.WHOLE), ("file", Read.STAT), ("listed", Read.LIST)]
        reads += [(name, Read.STAT) for name in ("listed/a", "shut", "shut/a", "to", "shut/none")]
        for name, read in reads:
            question = PathQuestion(f"{root}/{name}", read)
            request = Request(NONCE, paths=(question,))
            probed = DASH.facts(request, uid=NOBODY).paths[question.path]
            owners = owners_of(Path("/etc/passwd").read_text())
            os.seteuid(NOBODY)
            try:
                with closing(RootTree(Path("/"), "rootfs")) as tree:
                    answer = paths_from_tree(tree, request, home="/", owners=owners)
            finally:
                os.seteuid(0)
            assert answer.paths[question.path] == sorted_entries(probed)
