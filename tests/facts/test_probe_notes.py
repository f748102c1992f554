"""Of a folder of notes travel names, sizes, lines, links and patterns, and nothing they say."""

import os
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probing import NOBODY, NONCE, Shell, answer, need_root

from fleet.connectors.image_rootfs import RootTree
from fleet.errors import ProbeError
from fleet.facts.compile import probe_script
from fleet.facts.notes import (
    CUT,
    MOST_LINKS,
    MOST_NOTES,
    NO_LOOK,
    NOWHERE,
    PATTERNS,
    NoteFact,
    note_of,
)
from fleet.facts.paths import PathFact
from fleet.facts.request import PathQuestion, Read, Request
from fleet.facts.tree import TreeReader

CANARY = "tok-EXAMPLE-canary"
KEY = "sk-EXAMPLE0123456789abcdef"  # the shape of a token, and none
TEXTS: dict[str, tuple[str, tuple[str, ...]]] = {
    "plain": (f"---\ntype: user\n---\n{CANARY}\n", ()),
    "private": (f"x\n <private>{CANARY}</private>\n", ("private",)),
    "private in capitals": ("<PRIVATE reason='x'>", ("private",)),
    "private over two lines": ("<private\n>", ()),
    "privately": ("<privately>", ()),
    "a token": (f"the key is {KEY}.\n", ("token",)),
    "a token that was taken out": ("the key is sk-*** or ghp_***\n", ()),
    "part of a word": ("task-EXAMPLE0123456789abcdef\n", ()),
    "an AWS id": ("AKIAEXAMPLEEXAMPLE12\r\n", ("token",)),
    "a key": ("-----BEGIN OPENSSH PRIVATE KEY-----", ("private-key",)),
    "a public one": ("-----BEGIN PUBLIC KEY-----", ()),
    "a bearer": ("Authorization: Bearer abcdefghijklmnopqrstuv", ("bearer",)),
    "a password": ("- Password: `abcdEFGH1234abcdEFGH`", ("assigned",)),
    "where a password is": ("password: in the vault of the team", ()),
    "an API key": ('"api_key": "abcdEFGH1234abcdEFGH"', ("assigned",)),
    "a login": ("postgres://me:hunter2@db.example.net/x", ("url-login",)),
    "deprecated": ("---\ndeprecated_by: other.md\n---\n", ("deprecated",)),
    "deprecated by nothing": ("deprecated_by: \n", ()),
    "several": (f"{KEY}\n<private>\ndeprecated_by: a\n", ("private", "token", "deprecated")),
    "empty": ("", ()),
    "no line feed at its end": ("a\nb", ()),
    "only line feeds": ("\n\n\n", ()),
}
LINKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "an index": ("- [One](one.md) - x\n- [Two](sub/two.md)\n", ("one.md", "sub/two.md")),
    "several in a line": ("[a](a.md) [b](b.md), [a](a.md)", ("a.md", "b.md")),
    "not notes": ("[a](https://example.net/a.md) [b](b.txt) [c](c.md#x) [d](d e.md) [e](e.md", ()),
    "no word before": ("](a.md)[b](.md)", ("a.md", ".md")),
    "not ascii": ("[é](é.md)", ("é.md",)),
    "brackets": ("[a]((b).md) [c](c(1).md) [d](<d.md>)", ()),
    "over two lines": ("[a](a\n.md)", ()),
    "long": (f"[a]({'a' * 252}.md) [b]({'b' * 253}.md)", ("a" * 252 + ".md",)),
    "lines of windows": ("[a](a.md)\r\n[b](b.md\r\n)", ("a.md",)),
}


def told(shell: Shell, folder: Path, *, uid: int | None = None) -> PathFact:
    fact = shell.path_fact(folder, Read.NOTES, uid=uid)
    assert fact.sha256 is None
    return fact


def read(folder: Path, limit: int = 512 * 1024) -> PathFact:
    with closing(RootTree(folder, "rootfs")) as tree:
        question = PathQuestion("/", Read.NOTES, limit=limit)
        reader = TreeReader(tree, NONCE, "/")
        [fact] = reader.paths([question]).values()
    assert not reader.contents
    return fact


def same(shell: Shell, folder: Path) -> dict[str, NoteFact]:
    """Ask both ways; return what both told."""
    fact = told(shell, folder)
    here = read(folder)
    assert (fact.notes, fact.why) == (here.notes, here.why)
    return {note.name: note for note in fact.notes or ()}


def test_what_the_probe_tells_is_what_is_read_here(shell: Shell, tmp_path: Path) -> None:
    for number, (text, _) in enumerate((*TEXTS.values(), *LINKS.values())):
        (tmp_path / f"{number:02}.md").write_bytes(text.encode())
    found = list(same(shell, tmp_path).values())
    for note, (name, (text, matches)) in zip(found[: len(TEXTS)], TEXTS.items(), strict=True):
        assert (name, note.matches) == (name, matches)
        assert note.size == len(text.encode())
        assert note.lines == len(text.splitlines()) or "\r" in text
    for note, (name, (_, links)) in zip(found[len(TEXTS) :], LINKS.items(), strict=True):
        assert (name, note.links) == (name, links)


def test_nothing_that_a_note_says_travels(shell: Shell, tmp_path: Path) -> None:
    for number, (text, _) in enumerate(TEXTS.values()):
        (tmp_path / f"{number}.md").write_text(text)
    request = Request(NONCE, paths=(PathQuestion(str(tmp_path), Read.NOTES),))
    printed = shell.run(probe_script(request)).stdout
    for secret in (CANARY, KEY, "hunter2", "vault", "abcdEFGH"):
        assert secret.encode() not in printed


def test_folders_below_odd_names_and_what_is_no_note(shell: Shell, tmp_path: Path) -> None:
    for name in (
        "MEMORY.md",
        "a b.md",
        "é.md",
        "-v.md",
        "a:3.md",
        "x*.md",
        "projects/one/MEMORY.md",
        "projects/-home-u/t.md",
        "projects/t.md",
        ".hidden.md",
        ".git/x.md",
        "projects/one/deeper/x.md",
        "projects/one/.obsidian/x.md",
        "note.txt",
        "note.MD",
        ".md",
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("[x](y.md)\n")
    (tmp_path / "folder.md").mkdir()
    (tmp_path / "folder.md" / "in.md").write_text("x")
    (tmp_path / "linked.md").symlink_to("MEMORY.md")
    (tmp_path / "gone.md").symlink_to("nowhere")
    (tmp_path / "round.md").symlink_to("round.md")
    (tmp_path / "elsewhere").symlink_to("projects")
    os.mkfifo(tmp_path / "pipe.md")
    found = same(shell, tmp_path)
    assert set(found) == {
        *("MEMORY.md", "a b.md", "é.md", "-v.md", "a:3.md", "x*.md", "linked.md", "gone.md"),
        *("round.md", "folder.md/in.md", "projects/t.md", "projects/one/MEMORY.md"),
        *("projects/-home-u/t.md", "elsewhere/t.md", "elsewhere/one/MEMORY.md"),
        "elsewhere/-home-u/t.md",
    }
    assert found["gone.md"].why == found["round.md"].why == NOWHERE
    assert found["linked.md"].links == ("y.md",)
    assert [found[name].lines for name in ("-v.md", "a:3.md", "x*.md")] == [1, 1, 1]


def test_an_empty_folder_a_file_and_nothing(shell: Shell, tmp_path: Path) -> None:
    assert same(shell, tmp_path) == {}
    (tmp_path / "file").write_text("x")
    assert told(shell, tmp_path / "file").notes is None
    assert told(shell, tmp_path / "none").notes is None


def test_what_is_no_text_or_too_large_is_not_read(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "binary.md").write_bytes(b"<private>\0[a](a.md)\n")
    (tmp_path / "good.md").write_bytes(b"\xff\xfe [a](a.md)\n")
    (tmp_path / "large.md").write_bytes(b"<private>\n" * 60_000)
    found = same(shell, tmp_path)
    assert (found["binary.md"].why, found["binary.md"].matches) == ("no text: not read", ())
    assert found["good.md"].links == ("a.md",)
    assert found["large.md"].why == "larger than 524288 bytes: not read"
    assert found["large.md"].lines is None


def test_a_name_of_several_lines_is_not_read(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a\nb.md").write_text("x")
    (tmp_path / "c.md").write_text("x")
    found = list(same(shell, tmp_path).values())
    assert [note.lines for note in found] == [None, 1]


def test_what_may_not_be_read_says_so(shell: Shell, open_folder: Path) -> None:
    need_root()
    (open_folder / "mine.md").write_text("x")
    (open_folder / "shut").mkdir(mode=0o700)
    (open_folder / "shut/in.md").write_text("x")
    (open_folder / "good.md").write_text("x")
    (open_folder / "mine.md").chmod(0o600)
    fact = told(shell, open_folder, uid=NOBODY)
    found = {note.name: note for note in fact.notes or ()}
    assert set(found) == {"mine.md", "shut", "good.md"}
    assert found["shut"].why == NO_LOOK
    assert (found["mine.md"].lines, found["good.md"].lines) == (None, 1)


def test_many_notes_and_many_links_are_bounded(dash: Shell, tmp_path: Path) -> None:
    for number in range(1100):
        (tmp_path / f"{number:04}.md").write_text("")
    many = "".join(f"[x]({number}.md)" for number in range(2 * MOST_LINKS))
    (tmp_path / "0000.md").write_text(many)
    found = same(dash, tmp_path)
    assert len(found) == 1000
    assert told(dash, tmp_path).why == CUT
    assert len(found["0000.md"].links) == MOST_LINKS


def test_all_notes_together_are_bounded(dash: Shell, tmp_path: Path) -> None:
    for number in range(40):
        (tmp_path / f"{number:02}.md").write_bytes(b"x" * 512 * 1024)
    found = same(dash, tmp_path)
    assert [note.lines is None for note in found.values()] == [False] * 32 + [True] * 8


def test_a_folder_and_another_question_stay_one_program(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/c.md").write_text("y\nz")
    paths = (
        PathQuestion(str(tmp_path), Read.NOTES),
        PathQuestion(str(tmp_path / "a.md"), Read.WHOLE),
        PathQuestion(str(tmp_path / "b"), Read.NOTES, limit=2),
        PathQuestion(str(tmp_path / "b"), Read.LIST),
    )
    facts = shell.facts(Request(NONCE, paths=paths[:3]))
    assert [note.lines for note in facts.paths[paths[0].path].notes or ()] == [1, 2]
    assert facts.contents
    [note] = facts.paths[paths[2].path].notes or ()
    assert note.why == "larger than 2 bytes: not read"


ALPHABET = st.sampled_from([b"[x](", b"](", b"a.md", b")", b".md)", b"\n", b"\r", b" ", b"\x01"])


@given(pieces=st.lists(ALPHABET | st.binary(max_size=3), max_size=12))
def test_any_bytes_are_taken(pieces: list[bytes]) -> None:
    note = note_of("x.md", b"".join(pieces))
    assert note.why or note.lines is not None


@pytest.mark.parametrize(
    "record",
    [
        "page\tp0\t=a.md\t=1",
        "unread\tp0\t=a.md\t=x\x00",
        "rows\tp0\t=b.md\t=1",
        "hit\tp0\t=a.md\t=99",
        "hit\tp0\t=a.md\t=0",
        "hit\tp0\t=b.md\t=1",
        "ref\tp0\t=b.md\t=c.md",
        "rows\tp0\t=a.md\t=many",
        "pages\tp0",
    ],
)
def test_a_forged_answer_is_refused(dash: Shell, tmp_path: Path, record: str) -> None:
    (tmp_path / "a.md").write_text("x")
    request = Request(NONCE, paths=(PathQuestion(str(tmp_path), Read.NOTES),))
    lines = dash.run(probe_script(request)).stdout.decode().splitlines()
    records = [line.split("\t")[3:-1] for line in lines if line.startswith("@fleet")]
    assert answer(framed(records), request).paths
    at = next(n for n, fields in enumerate(records) if fields[0] == "pages")
    with pytest.raises(ProbeError):
        answer(framed([*records[:at], record.split("\t"), *records[at:]]), request)


@pytest.mark.parametrize(
    "record", ["page\tp0\t=x{}.md\t=1", "unread\tp0\t=x{}.md\t=no", "ref\tp0\t=a.md\t=x{}.md"]
)
def test_more_than_can_be_is_refused(dash: Shell, tmp_path: Path, record: str) -> None:
    (tmp_path / "a.md").write_text("x")
    request = Request(NONCE, paths=(PathQuestion(str(tmp_path), Read.NOTES),))
    lines = dash.run(probe_script(request)).stdout.decode().splitlines()
    records = [line.split("\t")[3:-1] for line in lines if line.startswith("@fleet")]
    at = next(n for n, fields in enumerate(records) if fields[0] == "pages")
    many = [record.format(number).split("\t") for number in range(2 * MOST_NOTES + 1)]
    assert answer(framed([*records[:at], *many[:9], *records[at:]]), request).paths
    with pytest.raises(ProbeError, match="too many"):
        answer(framed([*records[:at], *many, *records[at:]]), request)


def framed(records: list[list[str]]) -> bytes:
    """Number records anew, and let the last one say how many there are."""
    records = [*records[:-1], ["end", f"={len(records) - 1}"]]
    lines = [
        "\t".join(["@fleet", NONCE, str(number), *fields, "."])
        for number, fields in enumerate(records, 1)
    ]
    return "\n".join(lines).encode()


def test_every_pattern_is_tried() -> None:
    assert {name for _, names in TEXTS.values() for name in names} == set(PATTERNS)
