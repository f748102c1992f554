"""Where the history lies when nobody says."""

from pathlib import Path

NAME = "history.db"


def default_place() -> Path:
    """Return the file in this platform's folder for state: ``~/.local/state/fleet/history.db``.

    ``XDG_STATE_HOME`` moves it, and macOS has a folder of its own; platformdirs knows.
    """
    from platformdirs import user_state_path  # noqa: PLC0415 - only who keeps needs it

    return user_state_path("fleet", appauthor=False) / NAME
