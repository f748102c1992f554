"""What pi-mnemo makes of the text of each of its variables, and what a bad one costs.

It never refuses a value: what it does not understand is replaced by a default, and but for the time
zone nothing says so. From ``src/config.ts`` of pi-mnemo 0.1.0.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias
from zoneinfo import available_timezones

from fleet.verifier.launches import Unseen

PREFIX = "PI_MNEMO_"
OFF_WORDS = ("1", "true", "yes")
_ON_WORDS = ("", "0", "false", "no")
_DAY = 24 * 60 * 60 * 1000
#: The shortest limit in milliseconds that can be meant: no model answers faster.
_SHORTEST = 1000
_TIME = re.compile(r"([0-9]{1,2}):([0-9]{2})")
_OFFSET = re.compile(r"[+-]([01][0-9]|2[0-3])(:?[0-5][0-9])?")
_DECIMAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_RADIX = {"0x": 16, "0o": 8, "0b": 2}
_BLANKS = " \t\n\v\f\r\ufeff\u00a0"
_WRITERS = ("write", "edit", "bash")

#: Yields a line for each thing that is wrong with a value; none where it is taken as it is meant.
Rule: TypeAlias = Callable[[str], Iterator[str]]


def complaints(name: str, text: str) -> list[str]:
    """Return what is wrong with the value of a variable, each with what it costs."""
    rule = RULES.get(name.removeprefix(PREFIX))
    if rule is None:
        return [f"{name} is none of its variables: nothing reads it"]
    return [
        type(line)(f"{name} {line}") if isinstance(line, Unseen) else f"{name} {line}"
        for line in rule(text)
    ]


def is_off(text: str) -> bool:
    """Tell whether a value of ``PI_MNEMO_DISABLED`` turns background work off."""
    return text in OFF_WORDS


def number_in(text: str) -> float | None:
    """Return the number that JavaScript reads in a text; None where it reads none that is finite.

    Blanks around it do not count, and nothing but blanks reads 0.
    """
    bare = text.strip(_BLANKS)
    if not bare:
        return 0.0
    radix = _RADIX.get(bare[:2].lower())
    if radix:
        digits = bare[2:]
        try:
            return float(int(digits, radix)) if digits.isalnum() and digits.isascii() else None
        except (ValueError, OverflowError):
            return None
    if not _DECIMAL.fullmatch(bare):
        return None
    value = float(bare)
    return value if abs(value) != float("inf") else None


def _number(default: int, below: str, *, least: float = 0) -> Rule:
    def rule(text: str) -> Iterator[str]:
        value = number_in(text)
        if text == "":
            yield f"is empty: the default of {default} counts"
        elif value is None:
            yield f"is {text[:40]!r}, no number: the default of {default} counts"
        elif value < least:
            yield f"is {text.strip()[:40]}: {below}"

    return rule


def _window(text: str) -> Iterator[str]:
    """Empty turns the window off on purpose; what is no time turns it off all the same."""
    found = _TIME.fullmatch(text.strip(_BLANKS))
    if text and not (found and int(found[1]) <= 23 and int(found[2]) <= 59):  # noqa: PLR2004 - hours and minutes
        yield f"is {text[:40]!r}, no time (HH:MM): the window is off, and dreams run all day"


def _zone(text: str) -> Iterator[str]:
    if not text or _OFFSET.fullmatch(text):
        return
    known = _zones()
    if not known:
        yield Unseen(f"is {text[:40]!r}; the controller has no list of time zones to look it up in")
    elif text.lower() not in known:
        yield f"is {text[:40]!r}, no time zone: the window is kept in that of the machine"


@lru_cache(maxsize=1)
def _zones() -> frozenset[str]:
    return frozenset(name.lower() for name in available_timezones())


def _off(text: str) -> Iterator[str]:
    if not is_off(text) and text not in _ON_WORDS:
        yield f"is {text[:40]!r}, none of {', '.join(OFF_WORDS)}: background work stays on"


def _own(text: str) -> Iterator[str]:
    if text == "1":
        yield "is 1: pi-mnemo takes every pi for a worker of its own, and does nothing at all"


def _folder(instead: str) -> Rule:
    def rule(text: str) -> Iterator[str]:
        if text.startswith("~"):
            yield f"is {text[:80]!r}: nobody expands the `~`, {instead}"
        elif text and not text.startswith("/"):
            yield f"is {text[:80]!r}, a relative path: {instead}"

    return rule


def _program(text: str) -> Iterator[str]:
    if text.startswith("~"):
        yield f"is {text[:80]!r}: nobody expands the `~`, and no worker starts"
    elif "/" in text and not text.startswith("/"):
        yield f"is {text[:80]!r}, a relative path: where pi was started decides"


def _model(text: str) -> Iterator[str]:
    provider, slash, name = text.partition("/")
    if text and not (provider.strip() and slash and name.strip()):
        yield f"is {text[:80]!r}, not PROVIDER/ID: workers get what pi makes of it"


def _models(text: str) -> Iterator[str]:
    for part in filter(None, (each.strip() for each in text.split(","))):
        yield from _model(part)


def _tools(text: str) -> Iterator[str]:
    named = {part.strip() for part in text.split(",")}
    if text and not named.intersection(_WRITERS):
        yield f"is {text[:80]!r}: workers have no tool that writes, and no memory is kept"


_AT_ONCE = "every time pi settles a worker starts"
RULES: Mapping[str, Rule] = {
    "ROOT": _folder("the memory is another one in each folder that pi is started in"),
    "PROMPTS_DIR": _folder("the prompts are looked for in the folder that pi is started in"),
    "PI_BIN": _program,
    "DISABLED": _off,
    "WORKER": _own,
    "EXTRACT_MODEL": _model,
    "DREAM_MODEL": _model,
    "MODEL_FALLBACK": _models,
    "WORKER_TOOLS": _tools,
    "DREAM_WINDOW_START": _window,
    "DREAM_WINDOW_END": _window,
    "DREAM_TZ": _zone,
    "DREAM_INTERVAL_MS": _number(_DAY, f"less than nothing; {_AT_ONCE}"),
    "DREAM_BACKLOG_DAYS": _number(2, "less than nothing; every dream counts as overdue"),
    "DREAM_BACKLOG_PER_IDLE": _number(1, "less than nothing; no overdue dream is made up for"),
    "EXTRACT_MIN_NEW_MESSAGES": _number(5, f"less than nothing; {_AT_ONCE}"),
    "EXTRACT_MIN_INTERVAL_MS": _number(30 * 60 * 1000, f"less than nothing; {_AT_ONCE}"),
    "WORKER_TIMEOUT_MS": _number(
        10 * 60 * 1000,
        "milliseconds, less than a second; every worker is ended before it is done",
        least=_SHORTEST,
    ),
    "PRUNE_AGE_DAYS": _number(30, "less than nothing; every topic is old enough to be pruned"),
    "COLD_START_DAYS": _number(14, "less than nothing; counts of use are trusted at once"),
    "TOPIC_SOFT_MAX_KB": _number(8, "less than nothing; every topic is too large"),
    "LOG_MAX_BYTES": _number(1024 * 1024, "less than nothing; no line of the log is kept"),
}
