"""``fleet check``."""

import click

from fleet.cli.chosen import addressed
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, RUN_REPORT, WORK, Options, takes

HELP = """Look at targets that need no inventory, and judge them.

\b
ADDRESS is one of
  ssh://user@host:port     a host; HOST alone means ssh://HOST
  local:[HOME]             this machine, or another home on it
  rootfs:DIR               an unpacked root file system
  container:NAME           a running container
  docker-daemon:REF        an image in the engine
  docker://REGISTRY/NAME[:TAG]  an image in a registry, which is named in full
  oci:DIR[:TAG]  oci-archive:FILE[:TAG]  docker-archive:FILE[:REF]

\b
fleet check docker-daemon:pi-devbox:latest --system mempalace-bridge --require feed"""


@click.command(help=HELP)
@click.argument("addresses", metavar="ADDRESS...", nargs=-1, required=True)
@takes(
    *INVENTORY,
    "systems",
    "require",
    "platform",
    "strict",
    "deep",
    "scan",
    *WORK,
    "executor",
    *RUN_REPORT,
)
@click.pass_obj
def check(engine: Engine, addresses: tuple[str, ...], options: Options) -> int:
    """Look at targets that need no inventory, and judge them."""
    from fleet.cli.keeping import keep, keeps  # noqa: PLC0415 - lazy
    from fleet.cli.output import report  # noqa: PLC0415 - lazy
    from fleet.cli.progress import watching  # noqa: PLC0415 - lazy

    context, targets = addressed(engine, options, addresses)
    keeper = engine.keeper(context) if keeps(options) else None
    with watching(len(targets), options) as observer:
        run = engine.audit(targets, context, options.audit(), observer, "check", keeper=keeper)
    keep(run, context, options, keeper=keeper)
    return report(run, options)
