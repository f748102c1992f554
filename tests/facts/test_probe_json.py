"""A JSON file's structure travels, and of its values only what holds no secret."""

import json
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.probing import NONCE, Shell

from fleet.connectors.image_rootfs import RootTree
from fleet.facts.jsonshape import NOT_JSON, json_shape
from fleet.facts.request import PathQuestion, Read, Request
from fleet.facts.tree import TreeReader

TOKEN = "tok-EXAMPLE-canary"
PUBLIC = ("url", "command", "exposure", "directTools")

SERVERS = {
    "mcpServers": {
        "mempalace": {
            "url": "https://palace.example.net/mcp",
            "headers": {"Authorization": f"Bearer {TOKEN}", "X-Team": "${TEAM}"},
            "bearerToken": f"!{TOKEN}",
            "other": "Bearer ${PALACE_TOKEN}",
            "directTools": ["a", "b"],
            "timeout": 1.5e3,
            "ok": [True, None],
        },
        "local": {"command": "mempalace-mcp", "args": ["--token", TOKEN, "--x"]},
    }
}
CASES = {
    "servers": json.dumps(SERVERS, indent=2),
    "one line": json.dumps(SERVERS),
    "blanks round the colon": '{"url"\t :\n "https://a.example.net/mcp" ,"token" : "a"}\r\n',
    "credentials in a url": '{"url": "https://me:tok-EXAMPLE-canary@palace.example.net/mcp"}',
    "a query in a url": '{"url": "https://palace.example.net/mcp?key=tok-EXAMPLE-canary"}',
    "after an object in a list": '{"command": [{"url": "u"}, "tok-EXAMPLE-canary"]}',
    "a key that looks like a value": '["url", ":tok-EXAMPLE-canary", "x:"]',
    "escapes": '{"token": "a\\"b\\\\", "url": "c\\u00e9\\"d", "t": "\\\\", "v": "e"}',
    "not ascii": '{"né": "tok-é", "url": "é"}',
    "a line feed in a string": '{"token": "a\nb"}',
    "keys that are patterns": '{".*": "tok-EXAMPLE-canary", "ur": "tok-EXAMPLE-canary"}',
    "empty": "",
    "no object": "12",
    "a comma too many": '{"url": "u",}',
    "references": json.dumps(
        {
            "a": ["{env:A}", "${env:B_2}", "${input:c}", "Bearer {env:A}", "{file:~/.t/x-1}"],
            "b": "{env:A} tok-EXAMPLE-canary",
            "c": "{file:a b}",
            "url": ["{env:A}", "tok-EXAMPLE-canary"],
        }
    ),
    "a list after a public key": '{"command": ["sh", "tok-EXAMPLE-canary"], "url": "u"}',
    "comments": '{ // tok-EXAMPLE-canary "x"\r\n"url": /* } " */ "http://a/*b*/", /**/\n'
    '"t": "// tok-EXAMPLE-canary", /* * tok-EXAMPLE-canary\n ***/ } // end',
    "a comment at the end": '{"a": 1} // tok-EXAMPLE-canary',
    "public, private, public": '{"directTools": ["a@b", "c"], "x": "y", "url": "z"}',
}
NOT = {
    "a comment without end": '{"a": 1} /* tok-EXAMPLE-canary *',
    "a comment between key and colon": '{"url" /* a */ : "tok-EXAMPLE-canary"}',
    "a stray slash": '{"a": 1 / "tok-EXAMPLE-canary"}',
    "an end that is missing": '{"token": "tok-EXAMPLE-canary',
    "a start that is missing": '{"token": tok-EXAMPLE-canary"}',
    "a public one without end": '{"url":"https://a, tok-EXAMPLE-canary',
    "words": "TOKEN=tok-EXAMPLE-canary",
    "a mark at the start": '\ufeff{"a": 1}',
    "control characters": '{"a\x01": "b"}',
    "a nul": '{"a": "b\0"}',
}


def shape(shell: Shell, path: Path) -> tuple[str | None, str | None]:
    fact = shell.path_fact(path, Read.JSON, public=PUBLIC)
    assert fact.sha256 is None
    return fact.shape, fact.why


@pytest.mark.parametrize("name", CASES)
def test_what_the_probe_tells_is_what_is_read_here(shell: Shell, tmp_path: Path, name: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(CASES[name].encode())
    told, why = shape(shell, path)
    assert (told, why) == (json_shape(path.read_bytes(), PUBLIC), None)
    assert told is not None
    assert TOKEN not in told


@pytest.mark.parametrize("name", NOT)
def test_what_is_no_json_is_not_told(shell: Shell, tmp_path: Path, name: str) -> None:
    path = tmp_path / "mcp.json"
    path.write_bytes(NOT[name].encode())
    assert shape(shell, path) == (None, NOT_JSON)
    assert json_shape(path.read_bytes(), PUBLIC) is None


def test_structure_and_public_values_are_kept() -> None:
    told = json.loads(json_shape(CASES["servers"].encode(), PUBLIC) or "")
    server = told["mcpServers"]["mempalace"]
    assert server["url"] == "https://palace.example.net/mcp"
    assert server["directTools"] == ["a", "x"]
    assert server["timeout"] == 1.5e3
    assert server["headers"] == {"Authorization": "xxxxxx " + "x" * 18, "X-Team": "${TEAM}"}
    assert server["bearerToken"] == "!" + "x" * len(TOKEN)
    assert server["other"] == "Bearer ${PALACE_TOKEN}"
    assert told["mcpServers"]["local"] == {
        "command": "mempalace-mcp",
        "args": ["x" * 7, "x" * 18, "x" * 3],
    }
    with_user = json_shape(CASES["credentials in a url"].encode(), PUBLIC) or ""
    assert "EXAMPLE" not in with_user


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=6) | st.just("${A}"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["url", "token", "a b", 'q"', "\\"]), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(value=VALUES, indent=st.sampled_from([None, 1]), ascii_only=st.booleans())
def test_any_json_keeps_its_structure(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    told = json_shape(text.encode("utf-8", "surrogatepass"), PUBLIC)
    if any(sign in text for sign in "\0\1\2"):
        return
    assert told is not None
    assert _same(json.loads(told), value)


def _same(told: object, value: object) -> bool:
    if isinstance(value, dict):
        return isinstance(told, dict) and all(map(_same, told.values(), value.values()))
    if isinstance(value, list):
        return isinstance(told, list) and all(map(_same, told, value))
    return isinstance(told, str) if isinstance(value, str) else told == value


def test_a_file_over_the_limit_is_not_told(shell: Shell, tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(SERVERS))
    question = PathQuestion(str(path), Read.JSON, limit=10)
    fact = shell.facts(Request(NONCE, paths=(question,))).paths[str(path)]
    assert (fact.shape, fact.why) == (None, "larger than 10 bytes: not read")


def test_a_tree_tells_it_too(tmp_path: Path) -> None:
    path = tmp_path / "mcp.json"
    path.write_text(json.dumps(SERVERS))
    (tmp_path / "bad.json").write_text("x")
    with closing(RootTree(Path("/"), "rootfs")) as tree:
        reader = TreeReader(tree, NONCE, "/")
        names = [str(path), str(tmp_path / "bad.json")]
        good, bad = reader.paths(
            [PathQuestion(n, Read.JSON, public=PUBLIC) for n in names]
        ).values()
    assert good.shape == json_shape(path.read_bytes(), PUBLIC)
    assert (bad.shape, bad.why) == (None, NOT_JSON)
    assert not reader.contents
