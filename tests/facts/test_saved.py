"""Facts in files: what was saved is read back, and what is no facts is refused by name."""

import hashlib
import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.probing import NONCE, NOON

from fleet.errors import FactsError
from fleet.facts.model import Facts, Platform
from fleet.facts.paths import PathFact, State
from fleet.facts.saved import dumps, file_name, loads
from fleet.facts.shared import BESIDE, Shared

CONTENT = b"\x00\xff bytes"


def some() -> Facts:
    sha = hashlib.sha256(CONTENT).hexdigest()
    fact = PathFact(path="~/f\n", absolute="/home/u/f\n", state=State.PRESENT, sha256=sha)
    return Facts(
        target="box",
        address="local:",
        kind="host",
        taken_at=NOON,
        nonce=NONCE,
        platform=Platform(home="/home/u", rule="HOME"),
        paths={fact.path: fact},
        contents={sha: CONTENT},
    )


def test_round_trip() -> None:
    assert loads(dumps(some()), where="x") == some()
    assert json.loads(dumps(some()))["format"] == "fleet.facts/1"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "not JSON"),
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "no `format`"),
        ("{}", "no `format`"),
        ('{"format": "fleet.facts/2"}', "'fleet.facts/2'; this fleet reads fleet.facts/1"),
        ('{"format": ["\\u001b"]}', "['\\x1b']"),
        ('{"format": "fleet.facts/1"}', "the field target is wrong"),
    ],
)
def test_what_is_no_facts_is_refused(text: str, told: str) -> None:
    with pytest.raises(FactsError) as caught:
        loads(text, where="some.json")
    assert told in caught.value.what
    assert caught.value.where == "some.json"


def test_a_wrong_field_is_named_and_its_value_is_not_shown() -> None:
    data = json.loads(dumps(some()))
    data["paths"]["~/f\n"]["mode"] = "tok-EXAMPLE-1"
    with pytest.raises(FactsError) as caught:
        loads(json.dumps(data), where="x")
    assert "paths.~/f\\n.mode" in caught.value.what
    assert "tok-EXAMPLE-1" not in str(caught.value)


def test_unknown_fields_are_refused() -> None:
    data = json.loads(dumps(some())) | {"more": 1}
    with pytest.raises(FactsError) as caught:
        loads(json.dumps(data), where="x")
    assert "more" in caught.value.what


def test_contents_are_held_to_their_hashes() -> None:
    facts = some()
    sha = next(iter(facts.contents))
    text = dumps(facts.model_copy(update={"contents": {sha: b"other"}}))
    with pytest.raises(FactsError) as caught:
        loads(text, where="x")
    assert sha in caught.value.what


@given(text=st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(FactsError):
        loads(text, where="x")


def test_plain_names_stay() -> None:
    assert file_name("laptop") == "laptop.facts.json"
    assert file_name("vault-2.example") == "vault-2.example.facts.json"


@given(names=st.lists(st.text(min_size=1), min_size=2, unique=True))
def test_any_target_has_a_safe_file_name_of_its_own(names: list[str]) -> None:
    files = [file_name(name) for name in names]
    assert len({file.lower() for file in files}) == len(names)
    for file in files:
        assert set(file) <= set(string.ascii_letters + string.digits + "_.-")
        assert not file.startswith(".")
        assert len(file) < 120


@pytest.mark.parametrize("name", ["../../etc/passwd", "ssh://a@b:1", ".", "\ud800", "Box", "box"])
def test_names_that_look_like_paths(name: str) -> None:
    assert "/" not in file_name(name)


def test_names_that_differ_in_case_do_not_share_a_file() -> None:
    assert file_name("Box").lower() != file_name("box").lower()


# --- what many have alike -------------------------------------------------------------------------


def test_contents_that_were_read_before_are_the_same_bytes() -> None:
    shared = Shared()
    one, other = (loads(dumps(some()), where="x", shared=shared) for _ in range(2))
    (name,) = one.contents
    assert one == other == some()
    assert one.contents[name] is other.contents[name]


def test_a_name_that_was_proved_is_no_proof_of_another_text() -> None:
    shared = Shared()
    loads(dumps(some()), where="x", shared=shared)
    (name,) = some().contents
    told = json.loads(dumps(some()))
    told["contents"][name] = "b3RoZXI="
    for _ in range(2):
        with pytest.raises(FactsError, match="not what its hash says"):
            loads(json.dumps(told), where="x", shared=shared)
    assert loads(dumps(some()), where="x", shared=shared) == some()


def test_a_text_that_was_proved_is_no_proof_of_another_name() -> None:
    shared = Shared()
    loads(dumps(some()), where="x", shared=shared)
    told = json.loads(dumps(some()))
    told["contents"]["0" * 64] = next(iter(told["contents"].values()))
    with pytest.raises(FactsError, match="not what its hash says"):
        loads(json.dumps(told), where="x", shared=shared)


def test_more_than_is_held_is_read_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fleet.facts.shared.MOST", 1)
    shared = Shared()
    assert [loads(dumps(some()), where="x", shared=shared) for _ in range(2)] == [some()] * 2


def test_contents_that_lie_beside_are_read_once() -> None:
    text = dumps(some(), beside=True)
    assert json.loads(text)["contents"] == dict.fromkeys(some().contents, BESIDE)
    read = dict(some().contents)
    shared = Shared(read.pop)
    one, other = (loads(text, where="x", shared=shared) for _ in range(2))
    assert one == other == some()
    (name,) = one.contents
    assert one.contents[name] is other.contents[name]
    assert loads(dumps(some()), where="x", shared=shared) == some()


def test_a_content_that_does_not_lie_beside_is_told() -> None:
    text = dumps(some(), beside=True)
    for shared in (None, Shared(), Shared(lambda _: None)):
        with pytest.raises(FactsError, match=r"x: the content b00c.* is not in the folder"):
            loads(text, where="x", shared=shared)
    with pytest.raises(FactsError, match=r"x: in the folder .* is not what its name says"):
        loads(text, where="x", shared=Shared(lambda _: b"other"))


@pytest.mark.parametrize("name", ["../x.facts.json", "0" * 63, "0" * 63 + "G", ""])
def test_what_is_no_name_is_not_looked_for_beside(name: str) -> None:
    asked = list[str]()
    told = json.loads(dumps(some(), beside=True)) | {"contents": {name: BESIDE}}
    with pytest.raises(FactsError, match="the field contents"):
        loads(json.dumps(told), where="x", shared=Shared(asked.append))
    assert not asked


def test_bytes_are_read_as_utf_8() -> None:
    assert loads(dumps(some()).encode(), where="x") == some()
    with pytest.raises(FactsError, match="not JSON"):
        loads(dumps(some()).encode("utf-8").replace(b"box", b"\xff"), where="x")


def test_facts_that_spell_out_what_is_not_known_are_read() -> None:
    assert loads(some().model_dump_json(), where="x") == some()
