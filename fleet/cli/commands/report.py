"""``fleet report``."""

import click

from fleet.cli.options import Options, takes

HELP = """Report a run of the history, in any form.

RUN is an id or the beginning of one, `last`, or `last~1` for the one before it; `fleet history`
lists them. The page of `--format html` also tells what the runs before it said: the last 30 of each
target, since when a gate fails, and what differed in the facts since it held.

Exits as the run did.

\b
fleet report last --format html -o fleet.html"""


@click.command(help=HELP, short_help="Report a run of the history again, in any form.")
@click.argument("run", default="last")
@takes("history", "formats", "output", "verbose", "quiet")
def report(run: str, options: Options) -> int:
    """Report a run of the history, in any form."""
    from fleet.cli.keeping import kept  # noqa: PLC0415 - lazy
    from fleet.cli.output import report as delivered  # noqa: PLC0415 - lazy
    from fleet.errors import UsageError  # noqa: PLC0415 - lazy

    with kept(options) as history:
        whole = history.load(run)
        if not whole.results:
            raise UsageError(
                f"the run {whole.id} ({whole.command}) judged nothing",
                hint=f"`fleet history show {whole.id}` tells what it changed",
            )
    return delivered(whole, options)
