"""The strip of a target's last runs, as one inline SVG: a bar a run, told by its shape."""

from collections.abc import Sequence

from fleet.dataclass import dataclass
from fleet.reports.matrix import Mark
from fleet.reports.page.grid import look, word
from fleet.reports.past import STRIP, Then
from fleet.reports.text import count

STEP, BAR, TALL = 5, 4, 16  # units from bar to bar, of a bar's width, of the tallest bar
_UNSEEN = (Mark.NOT_CHECKED, Mark.UNREACHABLE, Mark.ERROR)
_CALM = (Mark.PASS, Mark.WAIVED, Mark.NOT_APPLICABLE)
_HELD = (*_CALM, Mark.WARN, Mark.ADVISORY)  # nothing required failed, or was not seen


@dataclass(frozen=True, slots=True)
class Strip:
    """A strip ready to be drawn.

    Attributes:
        paths: style and path data; one path for all bars of one style.
        told: the same in words, for those who do not see it.
        short: the same in a few characters, beside the drawing.
    """

    paths: tuple[tuple[str, str], ...]
    told: str
    short: str
    width: int = STRIP * STEP
    height: int = TALL


def strip(runs: Sequence[Then]) -> Strip:
    """Draw the last runs, the newest at the right end."""
    last = runs[-STRIP:]
    paths: dict[str, list[str]] = {}
    for place, then in enumerate(last, start=STRIP - len(last)):
        style = "none" if then.mark is None else look(then.mark)
        paths.setdefault(style, []).append(_bar(place * STEP, then.mark))
    marks = [then.mark for then in last if then.mark]
    counted = ", ".join(f"{marks.count(one)} {word(one)}" for one in reversed(Mark) if one in marks)
    held = sum(one in _HELD for one in marks)
    return Strip(
        paths=tuple((style, "".join(bars)) for style, bars in paths.items()),
        told=f"the last {count(len(last), 'run')}, oldest first: {counted or 'nothing asked'}",
        short=f"{held} of {len(last)} held",
    )


def _bar(left: int, mark: Mark | None) -> str:
    """Return a bar as path data: full height for a failure, hollow for what was not seen."""
    if mark is None:
        return f"M{left} {TALL - 1}h{BAR}v1h-{BAR}z"
    if mark in _CALM:
        return _box(left, TALL // 3)
    if mark in _UNSEEN:
        tall = TALL * 3 // 4
        inner = f"M{left + 1} {TALL - 1}v-{tall - 2}h{BAR - 2}v{tall - 2}z"
        return _box(left, tall) + inner
    return _box(left, TALL if mark is Mark.FAIL else TALL * 2 // 3)


def _box(left: int, tall: int) -> str:
    return f"M{left} {TALL - tall}h{BAR}v{tall}h-{BAR}z"
