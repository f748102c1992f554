"""The way in: options and fixtures. Everything else is imported only where an option is given."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, NamedTuple

import pytest

if TYPE_CHECKING:
    from fleet.facts.model import Facts
    from fleet.pytest_plugin.session import FleetSession
    from fleet.pytest_plugin.target import FleetTarget

SESSION = "fleet-session"
NO_FLEET = "no fleet to look at: give --fleet-inventory or --fleet-target"


class Option(NamedTuple):
    """One option, of the command line and of the configuration file.

    Attributes:
        name: without ``--fleet-`` and ``fleet_``.
        ini: its type in a configuration file.
        metavar: empty for a flag.
    """

    name: str
    ini: Literal["string", "paths", "args", "linelist", "bool"]
    help: str
    metavar: str = ""
    repeats: bool = False

    @property
    def flag(self) -> str:
        """Return how it is spelled on a command line."""
        return f"--fleet-{self.name}"

    @property
    def key(self) -> str:
        """Return how it is spelled in a configuration file."""
        return f"fleet_{self.name}"


OPTIONS = (
    Option("inventory", "paths", "Every gate of this inventory's targets is a test.", "PATH"),
    Option(
        "target",
        "linelist",
        "A target without an inventory, by address; may be given several times.",
        "ADDRESS",
        repeats=True,
    ),
    Option("system", "args", "Only these systems.", "SYSTEM", repeats=True),
    Option(
        "require",
        "args",
        "Require a capability of every target, beside what the inventory requires.",
        "CAPABILITY",
        repeats=True,
    ),
    Option("set", "linelist", "Set a variable, over the inventory's.", "NAME=VALUE", repeats=True),
    Option(
        "limit", "args", "Only these targets: a name, a group, a glob.", "PATTERN", repeats=True
    ),
    Option("jobs", "string", "How many targets at once (16).", "N"),
    Option("timeout", "string", "The longest one target may take (30).", "SECONDS"),
    Option("from", "paths", "Judge facts saved by `fleet facts -o DIR`.", "DIR"),
    Option("scan", "string", "Which files of images are searched for secrets.", "likely|all"),
    Option("strict", "bool", "Advisory failures and warnings fail too."),
    Option("deep", "bool", "Run each target's own pi too; leaves nothing behind."),
)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options."""
    group = parser.getgroup("fleet", "fleet: gates of machines, containers and images")
    for option in OPTIONS:
        if not option.metavar:
            group.addoption(option.flag, action="store_true", default=None, help=option.help)
        elif option.repeats:
            group.addoption(option.flag, action="append", metavar=option.metavar, help=option.help)
        else:
            group.addoption(option.flag, metavar=option.metavar, help=option.help)
        parser.addini(option.key, option.help, type=option.ini)


def pytest_configure(config: pytest.Config) -> None:
    """Declare the markers, and begin only where there is something to look at."""
    for line in (
        "fleet: a gate of a target (`-m fleet`, `-m 'not fleet'`)",
        "fleet_limit(*patterns): run a test that uses `fleet_target` only on these targets",
        "fleet_read(*paths): files that a test wants to read on its target, with all else",
    ):
        config.addinivalue_line("markers", line)
    given = (config.getoption("fleet_inventory"), config.getoption("fleet_target"))
    if any(given) or config.getini("fleet_inventory") or config.getini("fleet_target"):
        from fleet.pytest_plugin.session import FleetSession  # noqa: PLC0415 - it costs time

        config.pluginmanager.register(FleetSession(config), SESSION)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that uses ``fleet_target`` or ``fleet_facts`` once on every target."""
    session = _session(metafunc.config)
    if session is not None and "fleet_target" in metafunc.fixturenames:
        patterns: Iterable[pytest.Mark] = metafunc.definition.iter_markers("fleet_limit")
        chosen = session.limited([str(p) for mark in patterns for p in mark.args])
        metafunc.parametrize(
            "fleet_target", chosen, indirect=True, ids=[t.id for t in chosen], scope="session"
        )


@pytest.fixture(scope="session")
def fleet_target(request: pytest.FixtureRequest) -> "FleetTarget":
    """A target of the fleet; its facts are read when they are first asked for."""
    if _session(request.config) is None:
        pytest.skip(NO_FLEET)
    target: FleetTarget = request.param
    return target


@pytest.fixture(scope="session")
def fleet_facts(fleet_target: "FleetTarget") -> "Facts":
    """What was read on the target, once a session."""
    return fleet_target.facts


def _session(config: pytest.Config) -> "FleetSession | None":
    found: FleetSession | None = config.pluginmanager.get_plugin(SESSION)
    return found
