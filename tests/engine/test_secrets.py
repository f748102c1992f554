"""Secrets come by reference, and nothing told about them holds a value."""

from pathlib import Path

import pytest

from fleet.engine.secrets import SecretStore, fetch
from fleet.errors import SecretError
from fleet.inventory.address import parse_address
from fleet.inventory.model import SecretRef, Target

CANARY = "tok-EXAMPLE-canary"


def test_each_source_gives_its_value_without_the_line_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_TEST_SECRET", CANARY)
    (tmp_path / "token").write_text(CANARY + "\n")
    for source, argument in [
        ("env", "FLEET_TEST_SECRET"),
        ("file", str(tmp_path / "token")),
        ("cmd", f"cat {tmp_path}/token"),
    ]:
        assert fetch(SecretRef(source, argument)).reveal() == CANARY


@pytest.mark.parametrize(
    ("source", "argument", "told"),
    [
        ("env", "FLEET_TEST_UNSET", "is not set"),
        ("env", "FLEET_TEST_EMPTY", "set but empty"),
        ("file", "/no/such/file", "cannot read"),
        ("cmd", "no-such-program-here", "cannot run"),
        ("cmd", "sh -c 'echo tok-EXAMPLE-canary; echo tok-EXAMPLE-canary >&2; exit 3'", "code 3"),
        ("cmd", "'open quote", "cannot run"),
        ("cmd", "", "cannot run"),
    ],
)
def test_what_has_no_value_says_which_and_why(
    source: str, argument: str, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLEET_TEST_EMPTY", "")
    with pytest.raises(SecretError) as caught:
        fetch(SecretRef(source, argument))
    assert told in str(caught.value)


def test_a_store_fetches_once_and_remembers_what_failed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "log"
    good = SecretRef("cmd", f"sh -c 'echo x >> {log}; echo {CANARY}'")
    bad = SecretRef("env", "FLEET_TEST_UNSET")
    target = Target("t", parse_address("local:"), variables={"a": good, "b": [{"c": bad}]})
    store = SecretStore()
    store.prepare([target, target])
    assert store.reveal(good).reveal() == CANARY
    assert log.read_text() == "x\n"
    with pytest.raises(SecretError, match="FLEET_TEST_UNSET"):
        store.reveal(bad)
