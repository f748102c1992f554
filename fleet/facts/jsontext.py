"""JSON that targets carry, parsed once however many of them carry the same text."""

import json
from functools import lru_cache

LONGEST = 128 * 1024  # of what is remembered; a longer text is parsed each time


def read_json(text: bytes | str) -> object:
    """Return what a JSON text holds; it is shared, so nobody may change it.

    Raises:
        ValueError: it is no JSON.
        RecursionError: it is nested too deep.
    """
    return _remembered(text) if len(text) <= LONGEST else _parsed(text)


def _parsed(text: bytes | str) -> object:
    parsed: object = json.loads(text)
    return parsed


_remembered = lru_cache(maxsize=64)(_parsed)
