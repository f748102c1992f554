"""Variables as facts: a value only where it is public."""

from support.probing import NONCE

from fleet.facts.environment import digest_bytes, env_value
from fleet.facts.running import EnvValue
from fleet.secrets import keyed_digest


def test_unset_and_empty_are_two_answers() -> None:
    assert env_value(None, nonce=NONCE, public=True) == EnvValue(set=False)
    assert env_value("", nonce=NONCE, public=True) == EnvValue(set=True, value="")
    empty = env_value("", nonce=NONCE, public=False)
    assert empty == EnvValue(set=True, digest=keyed_digest(NONCE, ""))


def test_secret_is_told_by_length_and_digest_only() -> None:
    value = env_value("tok-ÉXAMPLE", nonce=NONCE, public=False)
    assert value.value is None
    assert value.length == 12
    assert value.digest == keyed_digest(NONCE, "tok-ÉXAMPLE")
    assert "XAMPLE" not in value.model_dump_json()


def test_public_value_travels() -> None:
    assert env_value("x", nonce=NONCE, public=True) == EnvValue(set=True, length=1, value="x")
    assert env_value("\udcff", nonce=NONCE, public=True).value == "\\xff"


def test_bytes_are_digested_as_text_is() -> None:
    assert digest_bytes(NONCE, "é".encode()) == keyed_digest(NONCE, "é")
