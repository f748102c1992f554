"""The report in the Test Anything Protocol, version 14.

A point that is ``not ok`` without a directive is what makes fleet's exit code 2 or 3. A waived
failure and an advisory one are ``not ok # TODO``, which a harness shows and does not count; what
does not apply, and what could not be seen and decides nothing, is ``ok # SKIP``.
"""

import json
from collections.abc import Iterator

from fleet.reports.points import Outcome, Point, numbered, suites
from fleet.reports.text import printable
from fleet.reports.view import View
from fleet.verifier.run import Run, conclude

DIRECTIVES = {
    Outcome.ADVISORY: "TODO advisory, does not decide",
    Outcome.WAIVED: "TODO waived",
    Outcome.UNCHECKED: "SKIP not checked",
    Outcome.NOT_APPLICABLE: "SKIP not applicable",
}
OK = (Outcome.HELD, Outcome.WARNED, Outcome.UNCHECKED, Outcome.NOT_APPLICABLE)


def render(run: Run, _view: View) -> str:
    """Render a run as TAP 14 in UTF-8."""
    return "".join(f"{line}\n" for line in _lines(run))


def _lines(run: Run) -> Iterator[str]:
    found = suites(run)
    yield "TAP version 14"
    yield f"1..{sum(len(suite.points) for suite in found)}"
    for number, point in numbered(found):
        yield from _point(number, point)
    conclusion = conclude(run)
    yield f"# exit {conclusion.code}: {printable(conclusion.reason)}"


def _point(number: int, point: Point) -> Iterator[str]:
    ok = "ok" if point.outcome in OK else "not ok"
    directive, told = DIRECTIVES.get(point.outcome, ""), f": {point.message}"
    if directive.startswith("SKIP"):
        directive, told = directive + told, ""
    ends = f" # {_escaped(directive)}" if directive else ""
    yield f"{ok} {number} - {_escaped(f'{point.target} {point.name}{told}')}{ends}"
    if point.outcome is not Outcome.HELD:
        yield from _diagnosis(point)


def _escaped(text: str) -> str:
    r"""Escape what TAP escapes, and ``#`` so that readers that know no ``\#`` see no directive."""
    return text.replace("#", "\\x23").replace("\\", "\\\\")


def _diagnosis(point: Point) -> Iterator[str]:
    """Tell more as YAML; every value is written as JSON, which is YAML on one line."""
    yield "  ---"
    yield f"  verdict: {_quoted(point.word)}"
    yield f"  message: {_quoted(point.message)}"
    if point.details:
        yield "  details:"
        yield from (f"    - {_quoted(line)}" for line in point.details)
    yield "  ..."


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
