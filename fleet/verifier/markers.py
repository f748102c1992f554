"""Markers: words whose presence as code proves a capability.

In a script a marker is a run of words and signs (``Type.Unsafe(``), or a string literal that is
exactly the marker. In plain text it is a substring of a line outside comments.
"""

import re
from typing import NamedTuple

from fleet.verifier.code import Code

_WORD = re.compile(r"[A-Za-z_$][\w$]*|\d[\w.]*|\S")


class Sighting(NamedTuple):
    """Where a marker stands as code: the first line, or None when it does not."""

    marker: str
    line: int | None

    @property
    def found(self) -> bool:
        """Tell whether the marker stands in the code."""
        return self.line is not None


def sight(code: Code, marker: str) -> Sighting:
    """Look for one marker in code."""
    if marker not in code.sighted:  # many targets carry the same code
        code.sighted[marker] = _line(code, marker)
    return Sighting(marker, code.sighted[marker])


def _line(code: Code, marker: str) -> int | None:
    if not code.script:
        return next((n for n, line in code.lines if marker in line), None)
    wanted = _WORD.findall(marker)
    whole = (i for i in code.places.get(marker, ()) if code.tokens[i].literal)
    runs = (i for i in code.places.get(wanted[0], ()) if _run(code, i, wanted))
    found = [index for index in (next(whole, None), next(runs, None)) if index is not None]
    return code.tokens[min(found)].line if found else None


def _run(code: Code, start: int, wanted: list[str]) -> bool:
    run = code.tokens[start : start + len(wanted)]
    return len(run) == len(wanted) and all(
        not t.literal and t.text == w for t, w in zip(run, wanted, strict=True)
    )
