"""Spans of time on the command line: ``90``, ``90s``, ``5m``, ``24h``, ``7d``."""

import re
from datetime import timedelta

import click

_SPAN = re.compile(r"(\d{1,9}(?:\.\d{1,3})?)([smhd]?)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
LONGEST = 100 * 365 * 86_400.0  # seconds; nothing was ever longer ago


def span(seconds: float) -> timedelta:
    """Return a span of time that can be taken from today."""
    return timedelta(seconds=min(seconds, LONGEST))


class DurationType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Reads a span of time, more than none, as seconds."""

    name = "duration"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Read one value of the option.

        Raises:
            click.BadParameter: it is no span of time, or none at all.
        """
        if isinstance(value, float):
            return value
        found = _SPAN.fullmatch(str(value).strip())
        seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
        if not seconds:
            self.fail(f"{value!r} is no span of time; 90s, 5m and 24h are", param, ctx)
        return seconds
