"""Moments as a report tells them."""

from datetime import UTC, datetime

#: A process's start is told in whole seconds, from a boot time that is itself rounded.
SLACK = 2


def moment(seconds: float) -> str:
    """Return seconds since 1970 as a date and a time; as a number where they are no date."""
    try:
        return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    except (OverflowError, OSError, ValueError):
        return f"second {seconds:.0f}"
