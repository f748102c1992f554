"""Whether secret references lead anywhere, told without fetching what they lead to."""

import os
import shlex
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from fleet.inventory.inventory import Inventory
from fleet.inventory.model import SecretRef, Value
from fleet.inventory.problems import Problems


def check_secret(
    reference: SecretRef,
    *,
    environ: Mapping[str, str] | None = None,
    run: Callable[[str], str | None] | None = None,
) -> str | None:
    """Return what is wrong with a reference, None when nothing is known to be.

    A ``cmd:`` is never run here: only its program is looked up, unless the caller hands over
    ``run``, which runs it and returns what went wrong. No value is read into the answer.
    """
    if reference.source == "env":
        value = (os.environ if environ is None else environ).get(reference.argument)
        if value is None:
            return f"the environment variable {reference.argument} is not set"
        return None if value else f"the environment variable {reference.argument} is empty"
    if reference.source == "file":
        return _file(Path(reference.argument))
    return run(reference.argument) if run else _command(reference.argument)


def _file(path: Path) -> str | None:
    try:
        if path.is_dir():
            return f"{path} is a folder"
        with path.open("rb") as stream:
            return None if stream.read(1) else f"the file {path} is empty"
    except OSError as error:
        return f"the file {path} cannot be read: {error.strerror or error}"


def _command(command: str) -> str | None:
    try:
        words = shlex.split(command)
    except ValueError:
        return "the command has an open quote"
    program = next((word for word in words if "=" not in word), "")
    if not program:
        return "the command names no program"
    return None if shutil.which(program) else f"there is no program {program} on the PATH"


def secrets_of(value: Value) -> Iterator[SecretRef]:
    """Yield every reference inside of a value."""
    if isinstance(value, SecretRef):
        yield value
    elif isinstance(value, list | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from secrets_of(item)


def check_secrets(
    inventory: Inventory,
    *,
    environ: Mapping[str, str] | None = None,
    run: Callable[[str], str | None] | None = None,
) -> None:
    """Check every reference of an inventory, as ``fleet inventory check`` does.

    Raises:
        InventoryError: some lead nowhere; all are told, each with its place.
    """
    problems = Problems()
    checked: dict[SecretRef, str | None] = {}
    for target in inventory.targets:
        for value in target.variables.values():
            for reference in secrets_of(value):
                if reference not in checked:
                    checked[reference] = check_secret(reference, environ=environ, run=run)
                what = checked[reference]
                if what:
                    problems.add(f"{reference}: {what}", reference.place)
    problems.settle()
