"""What an unquoted YAML scalar means: YAML 1.2's core schema, made safer in four spots.

A number with leading zeros is a text (``0123`` may be an id or a mode), and so are a number with
an exponent but no point (``12e4567`` may be a commit), an integer of more than 18 digits, and
``.inf`` and ``.nan``, which JSON cannot carry. Numbers print as they were written.
"""

import math
import re

from fleet.inventory.model import Scalar
from fleet.inventory.nodes import WrittenFloat, WrittenInt

_NULLS = frozenset({"", "~", "null", "Null", "NULL"})
_BOOLEANS = {
    "true": True,
    "True": True,
    "TRUE": True,
    "false": False,
    "False": False,
    "FALSE": False,
}
_NUMERIC = frozenset("+-.0123456789")
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]{0,17})|0o[0-7]{1,20}|0x[0-9a-fA-F]{1,15}")
_FLOAT = re.compile(r"[-+]?(0|[1-9][0-9]*)?\.[0-9]+([eE][-+]?[0-9]{1,3})?")


def plain_scalar(text: str) -> Scalar:
    """Return what an unquoted scalar means."""
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    return number(text) if text[0] in _NUMERIC else text


def number(text: str) -> Scalar:
    """Return the number that a text spells, else the text itself."""
    if _INTEGER.fullmatch(text):
        value = WrittenInt(text)
        return int(value) if str(int(value)) == text else value
    if _FLOAT.fullmatch(text):
        real = WrittenFloat(text)
        return real if math.isfinite(real) else text
    return text
