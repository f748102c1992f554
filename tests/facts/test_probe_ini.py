"""Of an INI file the names of its sections travel, and nothing that stands in them."""

from contextlib import closing
from pathlib import Path

import pytest
from support.probing import NONCE, Shell

from fleet.connectors.image_rootfs import RootTree
from fleet.facts.compile import probe_script
from fleet.facts.ini import sections_in
from fleet.facts.request import PathQuestion, Read, Request
from fleet.facts.tree import TreeReader

CANARY = "tok-EXAMPLE-canary"
CASES: dict[str, tuple[str, tuple[str, ...]]] = {
    "credentials": (f"[default]\naws_secret_access_key = {CANARY}\n[work]\n", ("default", "work")),
    "config": ("[profile a b]\nregion=x\n\n[sso-session s]\n", ("profile a b", "sso-session s")),
    "lines of windows": ("[a]\r\nk=v\r\n[b]\r\n", ("a", "b")),
    "no line feed at its end": ("[a]\n[b]", ("a", "b")),
    "blanks and words around": ("  [ a ] ; mine\n\t[b]x\n", ("a", "b")),
    "twice": ("[a]\n[b]\n[a]\n", ("a", "b")),
    "brackets in a value": (f"k = [{CANARY}]\n# [{CANARY}]\n; [{CANARY}]\n", ()),
    "never closed": (f"[{CANARY}\nk=v\n", ()),
    "no name": ("[]\n[ ]\n", ()),
    "control characters": ("[a\x1b]\n[b]\n", ("b",)),
    "empty": ("", ()),
}


@pytest.mark.parametrize("name", CASES)
def test_the_probe_and_the_reader_tell_the_sections_and_no_more(
    shell: Shell, tmp_path: Path, name: str
) -> None:
    text, sections = CASES[name]
    path = tmp_path / "credentials"
    path.write_bytes(text.encode())
    request = Request(NONCE, paths=(PathQuestion(str(path), Read.INI),))

    fact = shell.facts(request).paths[str(path)]

    assert fact.sections == sections == sections_in(text.encode())
    assert fact.sha256 is None
    assert CANARY.encode() not in shell.run(probe_script(request)).stdout
    with closing(RootTree(tmp_path, "rootfs")) as tree:
        [read] = (
            TreeReader(tree, NONCE, "/").paths([PathQuestion("/credentials", Read.INI)]).values()
        )
    assert (read.sections, read.sha256) == (sections, None)


def test_what_is_too_large_is_not_read(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text("[a]\n" * 10)
    question = PathQuestion(str(path), Read.INI, limit=10)
    fact = shell.facts(Request(NONCE, paths=(question,))).paths[str(path)]
    assert (fact.sections, fact.why) == (None, "larger than 10 bytes: not read")


def test_many_sections_are_bounded(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text("".join(f"[s{n}]\n" for n in range(2000)))
    fact = shell.facts(Request(NONCE, paths=(PathQuestion(str(path), Read.INI),))).paths[str(path)]
    assert len(fact.sections or ()) == 500
