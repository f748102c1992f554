"""Where the files that fleet ships lie: templates, playbooks, inventory, toolkit, monitoring."""

from pathlib import Path
from typing import Literal

from fleet.errors import FleetError

Room = Literal["templates", "playbooks", "inventory", "toolkit", "monitoring"]
_PACKAGE = Path(__file__).parent


def shipped(room: Room) -> Path:
    """Return a shipped folder: inside the wheel when installed, else in the checkout.

    Raises:
        FleetError: the installation is not whole.
    """
    for base in (_PACKAGE / "_data", _PACKAGE.parent):
        folder = base / room
        if folder.is_dir():
            return folder
    raise FleetError(
        f"the shipped {room} are missing", where=str(_PACKAGE), hint="install fleet again"
    )
