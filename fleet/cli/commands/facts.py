"""``fleet facts``."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli import completion
from fleet.cli.chosen import chosen
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, WORK, Options, takes

if TYPE_CHECKING:
    from fleet.engine.facts import Looked
    from fleet.facts.model import Facts

PRIVATE = 0o600
UNSEEN = 3


@click.command()
@click.argument("patterns", metavar="[PATTERN]...", nargs=-1, shell_complete=completion.targets)
@click.option(
    "-o",
    "--output",
    "folder",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Save one file a target here, and what they have alike once, in the folder `contents`;"
    " `fleet audit --from DIR` judges them.",
)
@takes(*INVENTORY, "systems", "deep", "scan", *WORK, "executor", "quiet")
@click.pass_obj
def facts(engine: Engine, patterns: tuple[str, ...], folder: Path | None, options: Options) -> int:
    """Read what an audit would read, and judge nothing.

    Without -o the facts are printed, one JSON document a line, each whole by itself. They hold no
    secret's value.
    """
    from dataclasses import replace  # noqa: PLC0415 - lazy

    from fleet.cli.places import made_folder  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy
    from fleet.facts.shared import FOLDER  # noqa: PLC0415 - lazy

    limit = tuple(word for pattern in patterns for word in pattern.split(",") if word)
    context, targets = chosen(engine, replace(options, limit=limit))
    if folder is not None:
        for each in (folder, folder / FOLDER):
            made_folder(each, 0o700)
    with watching(len(targets), options) as observer:
        looked = list(engine.facts(targets, context, options.audit(), observer))
    return _saved(looked, folder, quiet=options.quiet)


def _saved(looked: "Iterable[Looked]", folder: Path | None, *, quiet: bool) -> int:
    from fleet.cli.output import write  # noqa: PLC0415 - lazy
    from fleet.facts.saved import dumps, file_name  # noqa: PLC0415 - lazy
    from fleet.facts.shared import FOLDER  # noqa: PLC0415 - lazy
    from fleet.reports.text import printable  # noqa: PLC0415 - lazy

    code = 0
    for one in looked:
        name = printable(one.target.name)
        if one.facts is None:
            why = one.trouble.what if one.trouble else "nothing was seen"
            click.echo(f"{name}: {printable(why)}", err=True)
            code = UNSEEN
        elif folder is None:
            click.echo(one.facts.model_dump_json())
        else:
            path = folder / file_name(one.target.name)
            _put(one.facts, folder / FOLDER)
            write(path, dumps(one.facts, beside=True), PRIVATE)
            if not quiet:
                click.echo(f"{name}: {printable(str(path))}")
    return code


def _put(facts: "Facts", folder: Path) -> None:
    """Lay contents where they do not lie whole; their names are what they hold."""
    from fleet.cli.output import write  # noqa: PLC0415 - lazy

    for name, content in facts.contents.items():
        path = folder / name
        if not path.is_file() or path.read_bytes() != content:
            write(path, content, PRIVATE)
