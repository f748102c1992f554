"""``fleet``: the commands by name, and the way in."""

import atexit
import gc
import sys
from collections.abc import Sequence

import click

from fleet import __version__
from fleet.cli.engine import Engine
from fleet.cli.errors import guarded
from fleet.cli.lazy import GuardedGroup
from fleet.engine.ending import orderly_end

ROOM = "fleet.cli.commands"
COMMANDS = {
    "init": f"{ROOM}.init:init",
    "inventory": f"{ROOM}.inventory:inventory",
    "provision": f"{ROOM}.provision:provision",
    "plan": f"{ROOM}.plan:plan",
    "apply": f"{ROOM}.apply:apply",
    "uninstall": f"{ROOM}.uninstall:uninstall",
    "audit": f"{ROOM}.audit:audit",
    "fix": f"{ROOM}.fix:fix",
    "drift": f"{ROOM}.drift:drift",
    "check": f"{ROOM}.check:check",
    "facts": f"{ROOM}.facts:facts",
    "history": f"{ROOM}.history:history",
    "diff": f"{ROOM}.diff:diff",
    "report": f"{ROOM}.report:report",
    "watch": f"{ROOM}.watch:watch",
    "learn": f"{ROOM}.learn:learn",
    "gates": f"{ROOM}.gates:gates",
    "explain": f"{ROOM}.explain:explain",
    "demo": f"{ROOM}.demo:demo",
    "completion": f"{ROOM}.completion:completion",
}
HELP = """Deploy agent memory onto a fleet, and prove that each copy can do its job.

\b
Begin with one of these:
  fleet init                     write an inventory to fill in
  fleet check ssh://me@laptop    look at one machine, without an inventory
  fleet audit                    look at every target of the inventory
  fleet provision --limit laptop show what would change, ask, change it, verify it"""
#: New objects between two searches for garbage; Python's own 700 costs a tenth of a short command.
YOUNG = 200_000
EXIT_CODES = """\b
Exit codes, the same for every command:
  0  all required gates hold; nothing to change
  1  fleet could not do the job: wrong arguments, wrong inventory
  2  a required gate failed; changes are pending
  3  nothing failed, but something required could not be checked"""


@click.group(
    cls=GuardedGroup,
    help=HELP,
    lazy=COMMANDS,
    guard=guarded,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=EXIT_CODES,
)
@click.version_option(__version__, prog_name="fleet", message="%(prog)s %(version)s")
@click.pass_context
def cli(context: click.Context) -> None:
    """Deploy agent memory onto a fleet, and prove that each copy can do its job."""
    context.ensure_object(Engine)


def main(args: Sequence[str] | None = None) -> None:
    """Run ``fleet``; ends the process with an exit code."""
    gc.set_threshold(YOUNG)
    # Else Python searches all that was made once more as it ends: a fifth of a short command.
    atexit.register(gc.freeze)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    with orderly_end():
        cli.main(args, prog_name="fleet")
