"""Markers: words whose presence as code proves a capability.

In a script a marker is a run of words and signs (``Type.Unsafe(``), or a string literal that is
exactly the marker. In plain text it is a substring of a line outside comments.
"""

import re
from dataclasses import dataclass

from fleet.verifier.code import Code, Token

_WORD = re.compile(r"[A-Za-z_$][\w$]*|\d[\w.]*|\S")


@dataclass(frozen=True, slots=True)
class Sighting:
    """Where a marker stands as code: the first line, or None when it does not."""

    marker: str
    line: int | None

    @property
    def found(self) -> bool:
        """Tell whether the marker stands in the code."""
        return self.line is not None


def sight(code: Code, marker: str) -> Sighting:
    """Look for one marker in code."""
    if not code.script:
        return Sighting(marker, next((n for n, line in code.lines if marker in line), None))
    wanted = _WORD.findall(marker)
    return Sighting(marker, _in_tokens(code.tokens, marker, wanted))


def _in_tokens(tokens: tuple[Token, ...], marker: str, wanted: list[str]) -> int | None:
    for index, token in enumerate(tokens):
        if token.literal:
            if token.text == marker:
                return token.line
        elif token.text == wanted[0] and _run(tokens, index, wanted):
            return token.line
    return None


def _run(tokens: tuple[Token, ...], start: int, wanted: list[str]) -> bool:
    end = start + len(wanted)
    run = tokens[start:end]
    return len(run) == len(wanted) and all(
        not t.literal and t.text == w for t, w in zip(run, wanted, strict=True)
    )
