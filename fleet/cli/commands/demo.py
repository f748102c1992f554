"""``fleet demo``."""

from pathlib import Path

import click

from fleet.cli.engine import Engine
from fleet.cli.places import made_folder


@click.command(short_help="Play the whole story on this machine.")
@click.option(
    "--in",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Play it here.  [default: a temporary folder]",
)
@click.option("--keep", is_flag=True, help="Leave the folder behind, to look around.")
@click.pass_obj
def demo(engine: Engine, folder: Path | None, keep: bool) -> int:
    """Play the whole story on this machine: provision, audit, break, uninstall.

    Two homes, three images at three dates of a toolkit, and a real palace, in a scratch folder.
    No Docker, no root. The palace is downloaded from the package index the first time.
    """
    if folder is not None:
        made_folder(folder)
    return engine.demo(folder, keep=keep)
