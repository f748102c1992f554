"""Reading an inventory's files: bounded, as UTF-8, with errors that name the file."""

from pathlib import Path

from fleet.errors import InventoryError, Place
from fleet.inventory.problems import nearest
from fleet.inventory.tags import vaulted
from fleet.inventory.yaml import MAX_BYTES, decoded


def read_text(file: Path) -> str:
    """Return a file's text, at most a byte more than a loader takes.

    Raises:
        InventoryError: it is not there, cannot be read, is no UTF-8, or is encrypted.
    """
    name = str(file)
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise InventoryError(
            "there is no such file", place=Place(name), hint=_near(file)
        ) from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise InventoryError(f"cannot be read: {reason}", place=Place(name)) from error
    except ValueError as error:  # a NUL in the name
        raise InventoryError(f"cannot be read: {error}", place=Place(repr(name))) from error
    if len(raw) > MAX_BYTES:
        what = f"the file is larger than {MAX_BYTES // 1024**2} MiB"
        raise InventoryError(what, place=Place(name))
    if raw.startswith(b"$ANSIBLE_VAULT"):
        raise vaulted(Place(name, 1, 1))
    return decoded(raw, name).removeprefix("\ufeff")


def _near(file: Path) -> str:
    try:
        close = nearest(file.name, [entry.name for entry in file.parent.iterdir()])
    except OSError:
        return f"nor is there a folder {file.parent}"
    return f"did you mean {file.parent / close}?" if close else ""
