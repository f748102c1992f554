"""What the options come down to: the same choice of targets that the commands make."""

import re
from pathlib import Path

import pytest

from fleet.cli.chosen import addressed, chosen
from fleet.cli.engine import Engine
from fleet.cli.errors import told
from fleet.cli.options import MOST_JOBS, MOST_SECONDS, Options
from fleet.dataclass import dataclass
from fleet.engine.context import Context, narrowed
from fleet.engine.options import DEFAULT_JOBS, AuditOptions
from fleet.errors import FleetError, UsageError
from fleet.facts.request import Depth
from fleet.inventory.model import Target
from fleet.systems.resolve import resolve

#: Options as the commands spell them, where a hint names one.
_OPTION = re.compile(r"(?<![\w`-])--(system|limit|require|set|timeout)\b")


@dataclass(frozen=True, slots=True)
class Chosen:
    """What there is to look at.

    Attributes:
        targets: with the options' systems and requirements applied.
        source: the inventory, None where there is none.
        asked_for: whether the command line, and not only the configuration file, names it.
    """

    context: Context
    targets: tuple[Target, ...]
    options: AuditOptions
    source: Path | None
    asked_for: bool


def choose(config: pytest.Config) -> Chosen:
    """Load what the options name; connects to nothing.

    Raises:
        pytest.UsageError: something is wrong with it; tells all of it, for a person.
    """
    try:
        return _choose(config)
    except FleetError as error:
        text = "\n".join(filter(None, told(error)))
        text = _OPTION.sub(r"--fleet-\1", text.removeprefix("error: "))  # pytest says ERROR itself
        raise pytest.UsageError(text) from None


def _choose(config: pytest.Config) -> Chosen:
    given = _Given(config)
    options = Options(
        inventory=given.path("inventory"),
        variables=given.words("set", split=False),
        limit=given.words("limit"),
        systems=given.words("system"),
        require=given.words("require"),
        strict=given.flag("strict"),
        deep=given.flag("deep"),
        from_dir=given.path("from"),
        scan=given.one_of("scan", [depth.value for depth in Depth]) or Depth.LIKELY.value,
        jobs=int(given.number("jobs", MOST_JOBS, whole=True) or DEFAULT_JOBS),
        timeout=given.number("timeout", MOST_SECONDS),
    )
    if options.deep and options.from_dir:
        raise UsageError("--fleet-deep runs pi on targets, and --fleet-from connects to none")
    addresses = given.addresses()
    engine = Engine()
    if addresses:
        if given.here("limit"):
            raise UsageError("--fleet-limit is for an inventory, and targets are named by address")
        context, targets = addressed(engine, options, addresses)
    else:
        context, targets = chosen(engine, options)
    targets = narrowed(targets, context, systems=options.systems, require=options.require)
    for target in targets:
        resolve(context.systems(target), target)  # what cannot be rendered is told now
    return Chosen(context, targets, options.audit(), options.inventory, given.on_command_line)


class _Given:
    """The options as given: on the command line, else in the configuration file."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self.on_command_line = self.here("inventory") or self.here("target")

    def _option(self, name: str) -> object:
        return self._config.getoption(f"fleet_{name}")

    def _ini(self, name: str) -> object:
        return self._config.getini(f"fleet_{name}")

    def here(self, name: str) -> bool:
        """Tell whether the command line gives an option."""
        return bool(self._option(name))

    def addresses(self) -> tuple[str, ...]:
        """Return addresses; an inventory on the command line outweighs those of a file."""
        if self.here("inventory") and not self.here("target"):
            return ()
        return self.words("target", split=False)

    def words(self, name: str, *, split: bool = True) -> tuple[str, ...]:
        told = self._option(name) or self._ini(name) or ()
        texts = [str(text) for text in told] if isinstance(told, list) else []
        if not split:
            return tuple(texts)
        return tuple(word for text in texts for word in text.split(",") if word)

    def flag(self, name: str) -> bool:
        return bool(self._option(name) or self._ini(name))

    def path(self, name: str) -> Path | None:
        told = self._option(name)
        if isinstance(told, str):
            found = self._config.invocation_params.dir / Path(told).expanduser()
        else:
            paths = self._ini(name)
            if not isinstance(paths, list) or not paths:
                return None
            if len(paths) > 1:
                raise UsageError(f"fleet_{name} takes one path")
            found = Path(paths[0])
        if not found.exists():
            raise UsageError(f"there is no {found}", hint=f"--fleet-{name} names it")
        return found

    def one_of(self, name: str, choices: list[str]) -> str:
        told = str(self._option(name) or self._ini(name) or "")
        if told and told not in choices:
            raise UsageError(f"--fleet-{name} takes {' or '.join(choices)}")
        return told

    def number(self, name: str, most: int, *, whole: bool = False) -> float | None:
        told = self._option(name) or self._ini(name)
        if not told:
            return None
        try:
            value = float(str(told))
        except ValueError:
            value = 0
        if not 0 < value <= most or (whole and value != int(value)):
            kind = "whole number" if whole else "number"
            raise UsageError(f"--fleet-{name} takes a {kind}, more than 0 and at most {most}")
        return value
