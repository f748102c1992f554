"""The loader: what scalars mean, what is refused, and that nothing but its own error gets out."""

import json
import pickle

import pytest
import yaml as pyyaml
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import CASES

from fleet.errors import InventoryError, Place
from fleet.inventory import yaml
from fleet.inventory.model import SecretRef
from fleet.inventory.nodes import MapNode, ScalarNode
from fleet.inventory.yaml import MAX_BYTES, MAX_DEPTH, MAX_NODES, load, parse


@pytest.mark.parametrize(
    "text, value",
    [
        ("yes", "yes"),
        ("no", "no"),
        ("on", "on"),
        ("Off", "Off"),
        ("y", "y"),
        ("true", True),
        ("False", False),
        ("~", None),
        ("null", None),
        ("''", ""),
        ("0123", "0123"),
        ("0o17", 15),
        ("0x1F", 31),
        ("1_000", "1_000"),
        ("12", 12),
        ("-7", -7),
        ("8765:55", "8765:55"),
        ("1:30:00", "1:30:00"),
        ("2026-08-12", "2026-08-12"),
        ("1.10", 1.1),
        ("1.10.2", "1.10.2"),
        ("12e4567", "12e4567"),
        ("1234567", 1234567),
        (".inf", ".inf"),
        (".nan", ".nan"),
        ("1.0e999", "1.0e999"),
        ("99999999999999999999", "99999999999999999999"),
        ("'12'", "12"),
        ("!!str 12", "12"),
        ("=", "="),
    ],
)
def test_scalars_mean_what_yaml_1_2_says(text: str, value: object) -> None:
    read = load(text, "f.yml")
    assert read == value
    assert type(read) is type(value) or isinstance(read, type(value))
    assert isinstance(read, bool) == isinstance(value, bool)


@pytest.mark.parametrize("text", ["1.10", "0x1F", "0o17", "+5", "-0", "1.50e3", "3", "-7"])
def test_numbers_print_as_they_were_written(text: str) -> None:
    read = load(text, "f.yml")
    assert str(read) == f"{read}" == text
    assert str(pickle.loads(pickle.dumps(read))) == text  # noqa: S301 - our own pickle


@pytest.mark.parametrize("text", ["1.10: x", "yes: x", "0123: x", "~: x", "8765:55: x"])
def test_keys_are_texts(text: str) -> None:
    assert load(text, "f.yml") == {text.removesuffix(": x"): "x"}


def test_case_c04_ports_are_not_read_in_base_60() -> None:
    read = load((CASES / "C04/docker-compose.yml").read_bytes(), "docker-compose.yml")
    assert isinstance(read, dict)
    services = read["services"]
    assert isinstance(services, dict)
    assert services["p"] == {"image": "e/p:1", "ports": ["8765:55", "49100:22", "8765:60"]}


def test_case_c06_duplicate_keys_are_refused_with_both_lines() -> None:
    with pytest.raises(InventoryError, match="first in line 4, again in line 5") as caught:
        load((CASES / "C06/docker-compose.yml").read_bytes(), "docker-compose.yml")
    assert caught.value.place == Place("docker-compose.yml", 5, 5)
    text = "a:\n  palace: 1\n  b: 2\n  'palace': 3\n"
    with pytest.raises(InventoryError, match="`palace`: first in line 2, again in line 4"):
        load(text, "f.yml")


def test_every_part_knows_its_place() -> None:
    root = parse("a:\n  - {b: é, c: !secret env:TOKEN}\n", "f.yml")
    assert isinstance(root, MapNode)
    pair = root.pairs["a"]
    assert pair.place == Place("f.yml", 1, 1)
    inner = pair.value.items[0]  # type: ignore[union-attr]  # the text above says it is a list
    assert isinstance(inner, MapNode)
    assert inner.place == Place("f.yml", 2, 5)
    assert inner.pairs["c"].place == Place("f.yml", 2, 12)
    secret = inner.pairs["c"].value
    assert isinstance(secret, ScalarNode)
    assert secret.value == SecretRef("env", "TOKEN")
    assert secret.place == Place("f.yml", 2, 15)


def test_an_alias_is_the_same_value_and_merging_lets_own_keys_win() -> None:
    text = "base: &b {p: 1, q: 2}\nmore: &m {q: 3, r: 4}\nx: {<<: [*b, *m], p: 9}\ny: *b\n"
    assert load(text, "f.yml") == {
        "base": {"p": 1, "q": 2},
        "more": {"q": 3, "r": 4},
        "x": {"p": 9, "q": 2, "r": 4},
        "y": {"p": 1, "q": 2},
    }


def test_an_empty_value_is_null() -> None:
    assert load("{a: , b: 1, 'c': }", "f.yml") == {"a": None, "b": 1, "c": None}
    assert load("a:\nb:\n", "f.yml") == {"a": None, "b": None}


def test_an_empty_text_is_null() -> None:
    for text in ("", "# only a comment\n", "---\n"):
        assert load(text, "f.yml") is None


def test_a_byte_order_mark_and_crlf_do_not_show() -> None:
    assert load(b"\xef\xbb\xbfa: 1\r\nb: 2\r\n", "f.yml") == {"a": 1, "b": 2}


def laughs(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]" for i in range(1, levels)]
    return "\n".join(lines)


def test_a_billion_laughs_are_refused_before_they_are_written_out() -> None:
    assert isinstance(load(laughs(4), "f.yml"), dict)
    with pytest.raises(InventoryError, match=f"more than {MAX_NODES}"):
        load(laughs(12), "f.yml")


@pytest.mark.parametrize("deep", [MAX_DEPTH + 1, 900, 100_000])
def test_deep_nesting_is_refused(deep: int) -> None:
    for text in ("[" * deep, "{a: " * deep, "- " * deep):
        with pytest.raises(InventoryError, match=r"nested|deeper"):
            load(text, "f.yml")


def test_deep_nesting_by_aliases_is_refused() -> None:
    half = MAX_DEPTH // 2 + 1
    text = f"a: &a {'[' * half}{']' * half}\nb: {'[' * half}*a{']' * half}\n"
    with pytest.raises(InventoryError, match="deeper"):
        load(text, "f.yml")


@pytest.mark.parametrize(
    "text, value",
    [
        ('"\\ud83d\\ude00"', "\U0001f600"),
        ('"a\\uD83D\\uDE00b\\u00e9"', "a\U0001f600b\u00e9"),
        ('"\\U0000d83d\\U0000de00"', "\U0001f600"),
        ("'\\ud83d\\ude00'", "\\ud83d\\ude00"),
        ("\\ud83d\\ude00", "\\ud83d\\ude00"),
        ('"\\\\ud83d"', "\\ud83d"),
    ],
)
def test_a_pair_of_escapes_is_one_character(text: str, value: str) -> None:
    assert load(f'{{a: {text}, "k": 1}}', "f.yml") == {"a": value, "k": 1}


@settings(max_examples=50, deadline=None)
# YAML reads no more than 1024 characters of a key; an escaped pair takes twelve.
@given(st.dictionaries(st.text(min_size=1, max_size=80), st.text()))
def test_all_of_json_is_read_as_json_means_it(data: dict[str, str]) -> None:
    data.pop("<<", None)
    assert load(json.dumps(data), "f.yml") == data


def test_a_huge_text_is_refused() -> None:
    with pytest.raises(InventoryError, match="larger than 4 MiB"):
        load(b"#" * (MAX_BYTES + 1), "f.yml")


@pytest.mark.parametrize(
    "text, place, says",
    [
        (b"a: 1\nb: \xff", "f.yml:2:4", "byte 0xff is not UTF-8"),
        (b"\xff\xfea\x00", "f.yml:1:1", "UTF-8"),
        ("a: \x00", "f.yml:1:4", "U+0000"),
        ("a: \ud800", "f.yml:1:4", "U+D800"),
        ("a:\n\t- b", "f.yml:2:1", "a tab indents"),
        ("a: b: c", "f.yml:1:5", "second `: `"),
        ("a: `b`", "f.yml:1:4", "cannot begin with '`'"),
        ("a: 'b\nc: d\n", "f.yml:1:4", "does not end"),
        ('a: "\\q"', "f.yml:1:5", "escape"),
        ('a: "\\ud83d"', "f.yml:1:4", "\\ud83d is half of a character"),
        ('a: "\\ude00\\ud83d"', "f.yml:1:4", "\\ude00 is half of a character"),
        ('"\\ud83d": b', "f.yml:1:1", "half of a character"),
        ('a: "\\ud83dx\\ude00"', "f.yml:1:4", "half of a character"),
        ('a: "\\U0000d83d"', "f.yml:1:4", "half of a character"),
        ('a: "\\UFFFFFFFF"', "f.yml:1:7", "of no character"),
        ('a: "\\ud83d\\ude00"\nb: "\\UFFFFFFFF"', "f.yml", "of no character"),
        ('a: "\\ud83d\\ude00"\n b: 1', "f.yml:2:2", "fits nothing above"),
        ("a: [1, 2\nb: 3\n", "f.yml:2:2", "closing bracket is missing (it began in line 1)"),
        ("- a\nb: c\n", "f.yml:2:1", "fits nothing above"),
        ("a: {{ b }}", "f.yml:1:5", "cannot be a key"),
        ("a: {b: one, two}", "f.yml:1:13", "`two` has no `:`"),
        ("a: {b:1}", "f.yml:1:5", "`b:1` has no `:`"),
        (f'a: {{"{"k" * 1100}": 1}}', "f.yml:1:5", "a key of 1102 characters"),
        (f"a: {{{'b' * 200}, c}}", "f.yml:1:5", "`" + "b" * 60 + "…` has no `:`"),
        ("a: *b", "f.yml:1:4", "no anchor `&b`"),
        ("a: &a [*a]", "f.yml:1:8", "inside of what it names"),
        ("a: {<<: 1}", "f.yml:1:5", "merges mappings"),
        ("a: 1\n---\nb: 2", "f.yml:2:1", "second document"),
        ("a: !thing b", "f.yml:1:4", "unknown tag `!thing`"),
        ("a: !!python/name:os.system x", "f.yml:1:4", "unknown tag"),
        ("a: !secret {env: b}", "f.yml:1:4", "unknown tag"),
        ("a: !secret tok-EXAMPLE-1", "f.yml:1:4", "no secret reference"),
        ("a: !secret fiel:x", "f.yml:1:4", "did you mean `file:`"),
        ("a: !secret env:tok-EXAMPLE-1", "f.yml:1:4", "no variable's name"),
        ("tok: !vault |\n  $ANSIBLE", "f.yml:1:6", "`tok` is encrypted with ansible-vault"),
        ("'': a", "f.yml:1:1", "key is missing"),
    ],
)
def test_a_wrong_text_is_told_with_its_place(text: str | bytes, place: str, says: str) -> None:
    with pytest.raises(InventoryError) as caught:
        load(text, "f.yml")
    assert str(caught.value).startswith(f"{place}: ")
    assert says in str(caught.value)


def test_no_message_repeats_what_may_be_the_secret() -> None:
    for text in ("!secret tok-EXAMPLE-1", "!secret tok-EXAMPLE-1:x", "!secret env:tok-EXAMPLE-1"):
        with pytest.raises(InventoryError) as caught:
            load(f"a: {text}", "f.yml")
        assert "tok-EXAMPLE" not in str(caught.value)


def test_both_parsers_of_pyyaml_give_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "a: {b: !secret env:X, c: 1.10}\nd: |\n  e\n  f\n'g': &h [i, yes]\nj: *h\n"
    wrong = ["a:\n\t- b", "a: b: c", "a: [1, 2\nb: 3\n", "- a\nb: c\n", "a: `b`", "a: 'b\nc: d\n"]
    seen = []
    for loader in (pyyaml.CSafeLoader, pyyaml.SafeLoader):
        monkeypatch.setattr(yaml, "_LOADER", loader)
        told = []
        for bad in wrong:
            with pytest.raises(InventoryError) as caught:
                load(bad, "f.yml")
            told.append(caught.value.what)
        seen.append((load(text, "f.yml"), told))
    assert seen[0] == seen[1]


def place_of_refusal(text: str | bytes) -> Place:
    try:
        load(text, "f.yml")
    except InventoryError as error:
        return error.place or Place("")
    return Place("f.yml")


@settings(max_examples=300, deadline=None)
@given(st.text() | st.text("{}[]:,-&*!|>'\"%@`#? \n\tabc0.1~<", max_size=60))
def test_a_text_is_read_or_refused(text: str) -> None:
    assert place_of_refusal(text).file == "f.yml"


@settings(max_examples=200, deadline=None)
@given(st.binary())
def test_bytes_are_read_or_refused(raw: bytes) -> None:
    assert place_of_refusal(raw).file == "f.yml"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**17), 10**17) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(min_size=1), inner),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(json_values)
def test_json_is_read_as_it_is(value: object) -> None:
    text = json.dumps(value)
    if "\\ud" in text or "<<" in text or len(max(text.split('"'), key=len)) > 1000:
        return
    assert load(text, "f.json") == value


def test_what_cannot_stand_in_yaml_is_what_its_specification_does_not_name() -> None:
    named = [(0x20, 0x7E), (0xA0, 0xD7FF), (0xE000, 0xFFFD), (0x10000, 0x10FFFF)]
    printable = {0x09, 0x0A, 0x0D, 0x85, *(n for a, b in named for n in range(a, b + 1))}
    printable -= {0xFEFF}  # a mark of byte order, which stands at the beginning only
    refused = {n for n in range(0x110000) if yaml._UNPRINTABLE.search(chr(n))}
    assert refused == set(range(0x110000)) - printable
