"""The probe follows paths hop by hop, under every shell and set of tools."""

import hashlib
import os
from pathlib import Path

import pytest
from support.probing import NOBODY, NONCE, Shell, build_case, need_root

from fleet.facts.compile import probe_script
from fleet.facts.paths import Hop, State
from fleet.facts.request import PathQuestion, Read, Request

BRIDGE = "root/.pi/agent/extensions/mempalace.ts"
ODD_NAMES = ["a b", "it's", 'say "so"', "two\nlines", "-n", "end\n", "été", "$HOME `id` \\", "#x"]


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_a03_chain_of_relative_and_absolute_links(shell: Shell, tmp_path: Path) -> None:
    root = build_case("A03", tmp_path / "r")
    question = PathQuestion(str(root / BRIDGE), Read.WHOLE)
    facts = shell.facts(Request(NONCE, paths=(question,)))
    fact = facts.paths[question.path]
    folder = str((root / BRIDGE).parent)
    assert fact.state is State.PRESENT
    assert fact.link
    assert fact.hops == (
        Hop(path=f"{folder}/mempalace.ts", target="abs.ts"),
        Hop(path=f"{folder}/abs.ts", target=f"{root}/opt/toolkit/mempalace.ts"),
    )
    assert fact.final == f"{root}/opt/toolkit/mempalace.ts"
    assert facts.content(fact) == Path(fact.final).read_bytes()


def test_a04_loop(shell: Shell, tmp_path: Path) -> None:
    root = build_case("A04", tmp_path / "r")
    fact = shell.path_fact(root / BRIDGE, Read.WHOLE)
    assert fact.state is State.LOOP
    assert fact.at == str(root / BRIDGE)
    assert len(fact.hops) == 1
    assert fact.final is None


def test_loops_of_two_and_loops_that_grow(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "one").symlink_to("two")
    (tmp_path / "two").symlink_to("one")
    (tmp_path / "grows").symlink_to("grows/x")
    assert shell.path_fact(tmp_path / "one").state is State.LOOP
    grown = shell.path_fact(tmp_path / "grows")
    assert grown.state is State.LOOP
    assert len(grown.hops) == 40


def test_a05_other_checkout_is_told_as_it_is(shell: Shell, tmp_path: Path) -> None:
    root = build_case("A05", tmp_path / "r", "old")
    fact = shell.path_fact(root / BRIDGE, Read.HASH)
    assert fact.final == f"{root}/home/u/src/toolkit/mempalace.ts"
    assert fact.sha256 == digest(root / "home/u/src/toolkit/mempalace.ts")
    assert fact.sha256 != digest(root / "opt/toolkit/mempalace.ts")


def test_a08_regular_file_is_no_link(shell: Shell, tmp_path: Path) -> None:
    root = build_case("A08", tmp_path / "r")
    fact = shell.path_fact(root / BRIDGE, Read.HASH)
    assert (fact.state, fact.link, fact.hops, fact.kind) == (State.PRESENT, False, (), "file")


def test_a16_link_in_a_parent_is_reported(shell: Shell, tmp_path: Path) -> None:
    root = build_case("A16", tmp_path / "r")
    fact = shell.path_fact(root / "root/.pi/agent/extensions/user.ts", Read.HASH)
    assert fact.hops == (
        Hop(path=f"{root}/root/.pi/agent/extensions", target="../../dots/pi/extensions"),
    )
    assert not fact.link
    assert fact.final == f"{root}/root/dots/pi/extensions/user.ts"
    absent = shell.path_fact(root / BRIDGE)
    assert absent.state is State.ABSENT
    assert absent.at == f"{root}/root/dots/pi/extensions/mempalace.ts"


def test_dangling_names_the_missing_component(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("gone/deep/file.ts")
    fact = shell.path_fact(tmp_path / "link", Read.WHOLE)
    assert fact.state is State.DANGLING
    assert fact.link
    assert fact.at == str(tmp_path / "gone")
    assert fact.final is None
    assert shell.path_fact(tmp_path / "nothing").state is State.ABSENT


def test_what_a_link_behind_a_link_misses_is_dangling_too(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "real/there").mkdir(parents=True)
    (tmp_path / "mid").symlink_to("real")
    (tmp_path / "gone").symlink_to("mid/deep")
    (tmp_path / "here").symlink_to("mid/there")
    gone = shell.path_fact(tmp_path / "gone/x")
    assert (gone.state, gone.at, gone.link) == (State.DANGLING, f"{tmp_path}/real/deep", False)
    here = shell.path_fact(tmp_path / "here/x")
    assert (here.state, here.at) == (State.ABSENT, f"{tmp_path}/real/there/x")


def test_a_link_through_a_file_is_dangling(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    (tmp_path / "link").symlink_to("file/x")
    (tmp_path / "slash").symlink_to("file/")
    for name in ("link", "slash"):
        fact = shell.path_fact(tmp_path / name)
        assert (fact.state, fact.at) == (State.DANGLING, str(tmp_path / "file"))
        assert fact.why == "it is not a folder"
    assert shell.path_fact(tmp_path / "file/x").state is State.ABSENT


def test_paths_asked_together_are_told_as_each_alone(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d/e/f").write_text("x")
    (tmp_path / "l").symlink_to("d")
    # Its path holds that of the link, between two line feeds.
    told = Path(f"{tmp_path}/x\n{tmp_path}/l\n")
    told.mkdir(parents=True)
    (told / "f").write_text("y")
    names = ["d/e/f", "d/e/g", "d/e", "d/e/", "d//e/./f", "d/e/../e/f", "d/no/f", "d/e/f/g"]
    names += [f"x\n{tmp_path}/l\n/f", "l/e/f", "l/e/f", "l/e", "l/no", "d/e/f"]
    questions = tuple(PathQuestion(f"{tmp_path}/{name}", Read.HASH) for name in names)
    together = shell.facts(Request(NONCE, paths=questions)).paths
    for question in questions:
        alone = shell.facts(Request(NONCE, paths=(question,))).paths[question.path]
        assert together[question.path] == alone
    assert together[f"{tmp_path}/l/e/f"].hops == (Hop(path=f"{tmp_path}/l", target="d"),)


@pytest.mark.parametrize("odd", ["line\nfeed", "\nfirst", "last\n", "two\n\nof them", "-n", "a  b"])
@pytest.mark.parametrize("turned", [False, True])
def test_links_that_are_read_together_lead_where_each_does(
    shell: Shell, tmp_path: Path, odd: str, *, turned: bool
) -> None:
    targets = ("plain", odd, "end") if turned else (odd, "end")
    for number, target in enumerate(targets):
        (tmp_path / f"to {number}").symlink_to(target)
    names = [str(tmp_path / f"to {number}") for number in range(len(targets))]
    for some in (names, names[::-1], names[:2]):
        facts = shell.facts(Request(NONCE, paths=tuple(map(PathQuestion, some)))).paths
        for name, target in zip(names[: len(some)], targets, strict=False):
            assert facts[name].hops == (Hop(path=name, target=target),)
            assert (facts[name].state, facts[name].link) == (State.DANGLING, True)


def test_dots_and_slashes(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "f").write_text("x")
    (tmp_path / "to").symlink_to("d/e")
    fact = shell.path_fact(f"{tmp_path}//./to/..//../f", Read.HASH)
    assert fact.final == str(tmp_path / "f")
    assert shell.path_fact("/").final == "/"
    for name, at in (
        ("d/.//no/x", "d/no"),
        ("to/../no", "d/no"),
        ("d/é/x/", "d/é"),
        ("no//", "no"),
    ):
        fact = shell.path_fact(f"{tmp_path}/{name}")
        assert (fact.state, fact.at) == (State.ABSENT, f"{tmp_path}/{at}")
        assert fact.absolute == f"{tmp_path}/{name}"


def test_odd_names(shell: Shell, tmp_path: Path) -> None:
    for name in ODD_NAMES:
        (tmp_path / name).write_text(name)
        (tmp_path / f"to {name}").symlink_to(name)
    questions = [PathQuestion(str(tmp_path / f"to {name}"), Read.WHOLE) for name in ODD_NAMES]
    listing = PathQuestion(str(tmp_path), Read.LIST)
    facts = shell.facts(Request(NONCE, paths=(*questions, listing)))
    for name, question in zip(ODD_NAMES, questions, strict=True):
        fact = facts.paths[question.path]
        assert fact.state is State.PRESENT
        assert fact.hops == (Hop(path=question.path, target=name),)
        assert fact.final == str(tmp_path / name)
        assert fact.size == len(name.encode())
        assert facts.content(fact) == name.encode()
    entries = facts.paths[listing.path].entries or ()
    assert {(entry.name, entry.target) for entry in entries} == {
        *((name, None) for name in ODD_NAMES),
        *((f"to {name}", name) for name in ODD_NAMES),
    }


def test_bytes_that_are_no_utf8(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("x\udcff")
    fact = shell.path_fact(tmp_path / "link")
    assert fact.state is State.DANGLING
    assert fact.hops[0].target == "x\\xff"


def test_stat(shell: Shell, tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_bytes(b"12345")
    file.chmod(0o6751)
    os.utime(file, (1_700_000_000, 1_700_000_000))
    fact = shell.path_fact(file)
    assert fact.kind == "file"
    assert fact.mode == 0o6751
    assert fact.size == 5
    assert fact.mtime == 1_700_000_000
    assert fact.inode in (None, file.stat().st_ino)  # `ls` alone does not tell it
    assert fact.uid == os.getuid()
    assert fact.owner == file.owner()
    assert fact.sha256 is None
    tmp_path.chmod(0o1777)
    assert shell.path_fact(tmp_path).mode == 0o1777
    assert shell.path_fact("/dev/null").kind == "other"


def test_many_paths_keep_their_own_answers(shell: Shell, tmp_path: Path) -> None:
    files = [tmp_path / f"f{number}" for number in range(130)]
    for number, file in enumerate(files):
        file.write_text(str(number))
    request = Request(NONCE, paths=tuple(PathQuestion(str(f), Read.WHOLE) for f in files))
    facts = shell.facts(request)
    for number, file in enumerate(files):
        assert facts.content(facts.paths[str(file)]) == str(number).encode()


def test_content_travels_once_and_never_when_known(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(bytes(range(256)))
    (tmp_path / "b").write_bytes(bytes(range(256)))
    (tmp_path / "empty").write_bytes(b"")
    paths = tuple(PathQuestion(str(tmp_path / n), Read.WHOLE) for n in ("a", "b", "empty"))
    facts = shell.facts(Request(NONCE, paths=paths))
    assert facts.paths[paths[0].path].sha256 == facts.paths[paths[1].path].sha256
    assert sorted(facts.contents.values()) == [b"", bytes(range(256))]
    again = shell.facts(Request(NONCE, paths=paths, known=frozenset(facts.contents)))
    assert again.contents == {}
    assert again.paths == facts.paths


def test_contents_of_many_bytes_together_are_all_sent(shell: Shell, tmp_path: Path) -> None:
    held = {tmp_path / n: n.encode() * 600_000 for n in ("a", "b", "c")}
    for file, content in held.items():
        file.write_bytes(content)
    paths = tuple(PathQuestion(str(file), Read.WHOLE, limit=700_000) for file in held)
    facts = shell.facts(Request(NONCE, paths=paths))
    assert {facts.content(facts.paths[str(file)]) for file in held} == set(held.values())


def test_large_content_is_not_read_and_says_so(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"x" * 11)
    question = PathQuestion(str(tmp_path / "f"), Read.WHOLE, limit=10)
    fact = shell.facts(Request(NONCE, paths=(question,))).paths[question.path]
    assert fact.state is State.PRESENT
    assert fact.size == 11
    assert fact.sha256 is None
    assert fact.why == "larger than 10 bytes: not read"


def test_list(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / ".gitignore").write_text("x")
    (tmp_path / "sub").mkdir()
    (tmp_path / "gone.ts").symlink_to("nowhere")
    os.mkfifo(tmp_path / "pipe")
    entries = shell.path_fact(tmp_path, Read.LIST).entries or ()
    assert {(e.name, e.kind, e.target, e.dangling) for e in entries} == {
        (".gitignore", "file", None, False),
        ("sub", "directory", None, False),
        ("gone.ts", "link", "nowhere", True),
        ("pipe", "other", None, False),
    }
    assert shell.path_fact(tmp_path / "sub", Read.LIST).entries == ()


def test_list_is_bounded(dash: Shell, tmp_path: Path) -> None:
    for number in range(2005):
        (tmp_path / str(number)).touch()
    fact = dash.path_fact(tmp_path, Read.LIST)
    assert len(fact.entries or ()) == 2000
    assert "2000" in (fact.why or "")


def test_f02_not_readable_is_not_absent(shell: Shell, open_folder: Path) -> None:
    need_root()
    root = build_case("F02", open_folder)
    behind = shell.path_fact(root / "closed/f", Read.HASH, uid=NOBODY)
    assert (behind.state, behind.at) == (State.UNREADABLE, str(root / "closed"))
    assert "permission" in (behind.why or "")
    file = shell.path_fact(root / "f", Read.HASH, uid=NOBODY)
    assert (file.state, file.at, file.mode) == (State.UNREADABLE, str(root / "f"), 0o640)
    assert file.sha256 is None
    assert shell.path_fact(root / "f", Read.STAT, uid=NOBODY).state is State.PRESENT
    folder_fact = shell.path_fact(root / "closed", Read.LIST, uid=NOBODY)
    assert folder_fact.state is State.UNREADABLE
    env = shell.path_fact(root / "f", Read.ENV, uid=NOBODY)
    assert (env.state, env.env) == (State.UNREADABLE, None)


def test_each_path_tells_the_folders_that_may_not_be_written_in(
    shell: Shell, open_folder: Path
) -> None:
    need_root()
    shut, wide = open_folder / "shut", open_folder / "wide"
    for folder, mode in ((shut, 0o755), (wide, 0o777)):
        folder.mkdir()
        folder.chmod(mode)
    (shut / "f").touch()
    (wide / "link").symlink_to(shut / "f")
    wanted = {wide / "a": (), shut / "f": (shut,), wide / "b": (), shut / "g": (shut,)}
    wanted[wide / "link"] = (shut,)
    request = Request(NONCE, paths=tuple(PathQuestion(str(path)) for path in wanted))
    facts = shell.facts(request, uid=NOBODY)
    told = {path: facts.paths[str(path)].closed for path in wanted}
    assert told == {path: tuple(map(str, folders)) for path, folders in wanted.items()}


def test_home(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("x")
    request = Request(NONCE, paths=(PathQuestion("~/f", Read.HASH), PathQuestion("~")))
    facts = shell.facts(request, home=tmp_path)
    assert (facts.platform.home, facts.platform.rule) == (str(tmp_path), "HOME")
    assert facts.paths["~/f"].absolute == str(tmp_path / "f")
    assert facts.paths["~"].kind == "directory"
    no_home = shell.facts(Request(NONCE), more={"HOME": ""})
    assert no_home.platform.rule == "passwd"
    assert no_home.platform.home == str(Path("~").expanduser())
    ended = shell.run(probe_script(request), more={"HOME": "nowhere"})
    assert ended.stdout.splitlines()[-1].split(b"\t")[3] == b"end"


def test_one_path_asked_twice_has_one_fact_of_both(dash: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").write_text("A=1\n")
    path = str(tmp_path / "f")
    asked = (PathQuestion(path, Read.ENV, public=("A",)), PathQuestion(path, Read.WHOLE))
    fact = dash.facts(Request(NONCE, paths=asked)).paths[path]
    assert fact.env is not None
    assert fact.sha256 == digest(tmp_path / "f")


def test_the_inode_is_told(dash: Shell, tmp_path: Path) -> None:
    (tmp_path / "f").touch()
    assert dash.path_fact(tmp_path / "f").inode == (tmp_path / "f").stat().st_ino


def test_b15_mode_is_told(shell: Shell, tmp_path: Path) -> None:
    root = build_case("B15", tmp_path / "r")
    fact = shell.path_fact(root / "token.env", Read.ENV)
    assert fact.mode == 0o644
    assert fact.env is not None
    assert fact.env.lines[0].text == "TOKEN=xxx-xxxxxxx-0"


FAKES = {
    "a stat of BSD": (
        "stat",
        """[ "$1 $2" = "-f %Mp%Lp %u %z %m %i %Su" ] || exit 1
shift 2; exec /usr/bin/stat -c "%04a %u %s %Y %i %U" "$@" """,
    ),
    "a base64 without -w": (
        "base64",
        "[ $# = 0 ] || exit 1\nexec /usr/bin/base64 -w 20",
    ),
    "no base64": ("base64", "exit 127"),
    "no readlink": ("readlink", "exit 127"),
    "a readlink of one name": ("readlink", '[ $# = 1 ] || exit 1\nexec /usr/bin/readlink "$1"'),
    "a readlink of the first name": ("readlink", 'exec /usr/bin/readlink "$1"'),
    "a sha256sum that lacks /dev/fd": (
        "sha256sum",
        """[ $# -gt 0 ] || exec /usr/bin/sha256sum
for f; do case $f in /dev/fd/*) bad=1 ;; *) /usr/bin/sha256sum "$f" ;; esac; done
[ -z "$bad" ]""",
    ),
    "a sha256sum that prints nothing": ("sha256sum", "exit 0"),
    "a sha256sum that lies": ("sha256sum", "echo 0123456789abcdef"),
    "a date that knows no files": ("date", "exit 1"),
}


@pytest.mark.parametrize("fake", FAKES)
def test_other_tools_give_the_same_facts(dash: Shell, tmp_path: Path, fake: str) -> None:
    name, script = FAKES[fake]
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / name).write_text(f"#!/bin/sh\n{script}\n")
    (tmp_path / "bin" / name).chmod(0o755)
    target = tmp_path / "a file"
    target.write_bytes(bytes(range(256)) * 4)
    target.chmod(0o4750)
    (tmp_path / "link -> x").symlink_to("a file")
    (tmp_path / "link").symlink_to("a file")
    (tmp_path / "env").write_text("A='x'\nB=y # z\nC=d\n")
    links = (PathQuestion(str(tmp_path / name), Read.WHOLE) for name in ("link -> x", "link"))
    request = Request(NONCE, paths=(*links, PathQuestion(str(tmp_path / "env"), Read.ENV)))
    other = Shell(dash.words, f"{tmp_path}/bin:{dash.path}")
    assert other.facts(request) == dash.facts(request)


def test_without_any_sha256_the_answer_says_so(dash: Shell, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    for name in ("sha256sum", "shasum", "openssl", "sha256"):
        (tmp_path / "bin" / name).write_text("#!/bin/sh\nexit 127\n")
        (tmp_path / "bin" / name).chmod(0o755)
    (tmp_path / "f").write_text("A=1\n")
    poor = Shell(dash.words, f"{tmp_path}/bin:{dash.path}")
    fact = poor.path_fact(tmp_path / "f", Read.HASH)
    assert (fact.state, fact.sha256) == (State.UNSUPPORTED, None)
    assert fact.why == "no tool for sha256 on this machine"
    env = poor.path_fact(tmp_path / "f", Read.ENV).env
    assert env is not None
    assert env.lines[0].raw is None
