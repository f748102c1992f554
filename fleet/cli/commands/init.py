"""``fleet init``."""

from pathlib import Path

import click

from fleet.cli.engine import Engine
from fleet.cli.places import made_folder, written
from fleet.errors import UsageError

FOLDER = Path("inventory")


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), default=FOLDER)
@click.pass_obj
def init(engine: Engine, folder: Path) -> int:
    """Write a commented inventory to fill in.

    FOLDER is made where it is missing; ./inventory where you name none. Nothing is overwritten.
    """
    files = {folder / name: text for name, text in engine.starter().items()}
    for place in files:
        if place.is_symlink() or place.exists():
            hint = "name another folder, or change that file"
            raise UsageError(
                "there is an inventory already, and it stays", where=str(place), hint=hint
            )
    made_folder(folder)
    for place, text in files.items():
        with written(place), place.open("x", encoding="utf-8") as stream:
            stream.write(text)
        click.echo(f"wrote {place}")
    click.echo("  fill it in, then: fleet inventory check, fleet plan, fleet provision")
    return 0
