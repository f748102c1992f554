"""``fleet watch``."""

from pathlib import Path

import click

from fleet.cli.duration import DurationType, span
from fleet.cli.engine import Engine
from fleet.cli.options import INVENTORY, KEEP, TARGETS, WORK, Options, takes

EVERY, HOLD = 300.0, 600.0
LISTEN = "127.0.0.1:9469"

HELP = """Audit on a schedule, serve metrics, and tell what changed; goes on until it is stopped.

Serves /metrics for Prometheus and /healthz on a loopback port. The inventory is loaded anew when
it changes; a broken one is told, and the last good one stays. Runs are kept in the history: each
that says something new, and one an hour.

Only what comes to stay is told: a gate or a target that is in another state for --hold, seen twice.
DESTINATION is an address of apprise (mailtos://, slack://, matrixs://, json:// and some hundred
more), or command:PROGRAM, which gets JSON on its stdin. Addresses hold credentials, so give them as
'!secret env:NAME', '!secret file:PATH' or '!secret cmd:COMMAND'.

\b
fleet watch --every 5m --tell '!secret env:FLEET_MAIL'"""


class AddressType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Reads ``PORT``, ``ADDRESS:PORT``, or ``none``."""

    name = "address"

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, int] | None:
        """Return address and port; None where nothing is to be served.

        Raises:
            click.BadParameter: it is neither.
        """
        import ipaddress  # noqa: PLC0415 - lazy

        if value is None or isinstance(value, tuple) or value == "none":
            return value if isinstance(value, tuple) else None
        host, _, port = str(value).rpartition(":")
        host = host.strip("[]").replace("localhost", "127.0.0.1") or "127.0.0.1"
        try:
            ipaddress.ip_address(host)
            number = int(port)
        except ValueError:
            number = -1
        if not 0 <= number < 1 << 16:
            self.fail("it takes a port, ADDRESS:PORT, or none", param, ctx)
        return host, number


@click.command(help=HELP, short_help="Audit on a schedule, serve metrics, and tell what changed.")
@click.option(
    "--every",
    type=DurationType(),
    metavar="TIME",
    default="5m",
    show_default=True,
    help="How often: 60s, 5m, 1h.",
)
@click.option(
    "--listen",
    type=AddressType(),
    metavar="[ADDRESS:]PORT",
    default=LISTEN,
    show_default=True,
    help="Where /metrics and /healthz are served, on loopback only; none serves nothing.",
)
@click.option(
    "--tell",
    "addresses",
    metavar="DESTINATION",
    multiple=True,
    help="Who is told what comes to stay; may be given again.",
)
@click.option(
    "--hold",
    type=DurationType(),
    metavar="TIME",
    default="10m",
    show_default=True,
    help="How long a state lasts before it is told, against what flaps.",
)
@click.option(
    "--memory",
    metavar="FILE",
    type=click.Path(dir_okay=False, path_type=Path),
    help="What is remembered over a restart.  [default: watch.json beside the history]",
)
@click.option(
    "--times", type=click.IntRange(min=1), metavar="N", help="How many rounds, instead of for ever."
)
@takes(*INVENTORY, *TARGETS, "require", "strict", *WORK, *KEEP, "quiet")
@click.pass_obj
def watch(  # noqa: PLR0913, PLR0917 - one for each option of its own
    engine: Engine,
    every: float,
    listen: tuple[str, int] | None,
    addresses: tuple[str, ...],
    hold: float,
    memory: Path | None,
    times: int | None,
    options: Options,
) -> int:
    """Audit on a schedule, serve metrics, and tell what changed."""
    from fleet.cli.keeping import place  # noqa: PLC0415 - lazy
    from fleet.cli.watching import destinations, watched  # noqa: PLC0415 - lazy
    from fleet.watch.loop import Plan  # noqa: PLC0415 - lazy

    plan = Plan(every, span(hold), memory or place(options).with_name("watch.json"), times)
    return watched(engine, options, plan, destinations(addresses), listen)
