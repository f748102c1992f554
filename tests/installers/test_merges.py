"""Several artifacts in one JSON file: each keeps what the others set, and takes only its own."""

import json
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench

from fleet.facts.request import PathQuestion, Read
from fleet.installers.items import Item, MergeBody
from fleet.installers.planning import further_questions, questions, removal

FILE = ".config/mcp/mcp.json"
BEFORE = '{\n  // mine\n  "mcpServers": {"a": {"url": "x"}}\n}\n'


def sets(name: str, **values: object) -> Item:
    return Item(f"system-{name}", name, f"~/{FILE}", MergeBody(values))


ONE = sets("one", mcpServers={"b": {"command": "b"}})
TWO = sets("two", settings={"scriptMode": False})
THREE = sets("three", mcpServers={"c": {"command": "c"}})


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "home", request.param)


def there(bench: Bench) -> object:
    text = (bench.home / FILE).read_text()
    return json.loads(text.replace("// mine", ""))


def test_all_of_them_are_set_at_once_and_taken_to_the_byte(bench: Bench) -> None:
    bench.write(FILE, BEFORE)
    assert len(bench.bring(ONE, TWO, THREE).steps) == 3
    servers = {"a": {"url": "x"}, "b": {"command": "b"}, "c": {"command": "c"}}
    assert there(bench) == {"mcpServers": servers, "settings": {"scriptMode": False}}
    assert bench.plan(ONE, TWO, THREE).changes == 0
    bench.uninstall()
    assert (bench.home / FILE).read_text() == BEFORE
    assert bench.stray() == []


def test_a_file_that_the_first_makes_is_gone_with_the_last(bench: Bench) -> None:
    bench.bring(ONE, TWO, THREE)
    servers = {"b": {"command": "b"}, "c": {"command": "c"}}
    assert there(bench) == {"mcpServers": servers, "settings": {"scriptMode": False}}
    bench.uninstall()
    assert not (bench.home / FILE).exists()


def test_one_of_them_is_taken_and_the_others_stay(bench: Bench) -> None:
    bench.write(FILE, BEFORE)
    bench.bring(ONE, TWO, THREE)
    bench.uninstall(["system-two"])
    assert there(bench) == {
        "mcpServers": {"a": {"url": "x"}, "b": {"command": "b"}, "c": {"command": "c"}}
    }
    bench.bring(ONE, sets("four", settings={"scriptMode": True}), THREE)
    assert (
        bench.plan(TWO)
        .conflicts[0]
        .what.endswith("sets /settings/scriptMode to another value already")
    )


def test_what_another_sets_to_another_value_is_a_conflict(bench: Bench) -> None:
    made = bench.plan(TWO, sets("other", settings={"scriptMode": True}))
    assert len(made.steps) == 1
    assert made.conflicts[0].key == "system-other.other"


def test_a_link_to_the_file_stays_a_link(bench: Bench) -> None:
    real = bench.write("dots/mcp.json", BEFORE)
    (bench.home / ".config/mcp").mkdir(parents=True)
    (bench.home / FILE).symlink_to(real)
    bench.bring(ONE, TWO)
    assert (bench.home / FILE).is_symlink()
    assert there(bench) == {
        "mcpServers": {"a": {"url": "x"}, "b": {"command": "b"}},
        "settings": {"scriptMode": False},
    }
    bench.uninstall()
    assert real.read_text() == BEFORE


def test_a_file_that_is_asked_for_by_two_spellings(bench: Bench) -> None:
    """The ledger knows its full path; an audit asks below the home, and not for its bytes."""
    bench.bring(ONE)
    bench.bring(ONE, TWO)
    ledger = bench.look(questions())
    asked = [PathQuestion(f"~/{FILE}", Read.JSON), *questions(), *further_questions(ledger)]
    made = removal(bench.look(asked))
    assert made.conflicts == ()
    assert bench.apply(made).committed
    assert not (bench.home / FILE).exists()


@pytest.mark.parametrize(
    "before", [None, "{}\n", BEFORE], ids=["no file", "no object", "an object"]
)
def test_what_others_put_beside_it_since_stays(bench: Bench, before: str | None) -> None:
    if before is not None:
        bench.write(FILE, before)
    bench.bring(ONE)
    text = (bench.home / FILE).read_text().replace("// mine", "")
    held = json.loads(text)
    held["mcpServers"]["later"] = {"url": "z"}
    bench.write(FILE, json.dumps(held, sort_keys=True))
    bench.uninstall()
    del held["mcpServers"]["b"]
    assert there(bench) == held


def test_the_one_that_made_the_file_goes_and_the_other_stays(bench: Bench) -> None:
    bench.bring(ONE, THREE)
    bench.uninstall(["system-one"])
    assert there(bench) == {"mcpServers": {"c": {"command": "c"}}}
    bench.uninstall()
    assert not (bench.home / FILE).exists() or there(bench) in ({}, {"mcpServers": {}})


def test_what_was_there_before_stays_where_the_file_was_edited_since(bench: Bench) -> None:
    bench.write(FILE, '{"settings": {"scriptMode": false}}\n')
    both = sets("both", settings={"scriptMode": False, "namespaceProxyTools": False})
    bench.bring(both)
    held = {"settings": {"namespaceProxyTools": False, "scriptMode": False, "more": 1}}
    bench.write(FILE, json.dumps(held))
    bench.uninstall()
    assert there(bench) == {"settings": {"scriptMode": False, "more": 1}}
