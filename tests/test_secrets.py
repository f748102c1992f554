"""A secret prints as stars wherever a value can be printed."""

import copy
import json
import logging
import pickle
import traceback
from collections.abc import Callable

import pytest

from fleet.secrets import MASK, Secret, keyed_digest

CANARY = "tok-EXAMPLE-canary-77aa"


@pytest.mark.parametrize(
    "shown",
    [
        str,
        repr,
        ascii,
        "{}".format,
        "{!r:>9}".format,
        "{:*^30}".format,
        lambda secret: "%s %r" % (secret, secret),  # noqa: UP031 - the formatter under test
        lambda secret: f"{secret}{secret!r}",
        lambda secret: repr({"token": [secret]}),
        lambda secret: json.dumps({"token": secret}, default=str),
        lambda secret: logging.LogRecord("", 0, "", 0, "%s", (secret,), None).getMessage(),
        lambda secret: "".join(traceback.format_exception(ValueError(secret))),
    ],
)
def test_no_formatter_shows_it(shown: Callable[[object], str]) -> None:
    text = shown(Secret(CANARY))
    assert CANARY not in text
    assert MASK in text


@pytest.mark.parametrize("copied", [pickle.dumps, copy.copy, copy.deepcopy])
def test_it_is_not_pickled(copied: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match="not pickled"):
        copied(Secret(CANARY))


def test_it_holds_no_attributes_to_look_into() -> None:
    assert not hasattr(Secret(CANARY), "__dict__")
    assert Secret(CANARY).reveal() == CANARY


def test_equal_values_are_equal_and_text_never_is() -> None:
    assert Secret(CANARY) == Secret(CANARY)
    assert len({Secret(CANARY), Secret(CANARY), Secret("other")}) == 2
    assert Secret(CANARY) != CANARY


def test_a_digest_is_worth_nothing_with_another_nonce() -> None:
    assert keyed_digest("n1", CANARY) == keyed_digest("n1", CANARY)
    assert keyed_digest("n1", CANARY) != keyed_digest("n2", CANARY)
