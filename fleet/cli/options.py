"""The options that commands share, and the one value that a command gets them in."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import TypeAlias, cast

import click

from fleet.cli import completion
from fleet.cli.completion import DEFAULTS
from fleet.cli.places import writable
from fleet.cli.wanted import Wanted, WantedType, sorted_out
from fleet.dataclass import dataclass
from fleet.engine.options import (
    CLUSTERS,
    DASK,
    DEFAULT_JOBS,
    PROCESSES,
    THREADS,
    AuditOptions,
    DeployOptions,
)
from fleet.errors import UsageError
from fleet.facts.request import Depth

PLAIN_FORMATS = ("terminal", "json")  # of what is no run of gates
RUN = "history:"
MOST_JOBS = 256
MOST_SECONDS = 86_400
_PLATFORM = re.compile(r"[a-z0-9]+(/[a-z0-9_]+){1,2}")

Command: TypeAlias = Callable[..., int]


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says, whichever of the shared options the command takes.

    Attributes:
        variables: ``NAME=VALUE`` as given.
        timeout: seconds for one target; None means the job's own default.
        format: the report on stdout, or in ``output``; None where all of them have a file.
        files: the reports that have a file of their own.
        from_run: the run of the history whose facts are judged; empty where none is.
        history: the history's file; None is this platform's place for it.
    """

    inventory: Path | None = None
    variables: tuple[str, ...] = ()
    limit: tuple[str, ...] = ()
    systems: tuple[str, ...] = ()
    require: tuple[str, ...] = ()
    strict: bool = False
    from_dir: Path | None = None
    from_run: str = ""
    history: Path | None = None
    no_history: bool = False
    deep: bool = False
    scan: str = Depth.LIKELY
    platform: str = ""
    jobs: int = DEFAULT_JOBS
    timeout: float | None = None
    executor: str = THREADS
    adopt: bool = False
    prune: bool = False
    yes: bool = False
    diff: bool = True
    format: str | None = "terminal"
    files: tuple[Wanted, ...] = ()
    output: Path | None = None
    verbose: bool = False
    quiet: bool = False

    @property
    def aside(self) -> bool:
        """Whether stdout is for a program, so that what is said to a person goes to stderr."""
        return self.format not in ("terminal", None)

    def source(self) -> Path:
        """Return the inventory: the one that is named, else the one that lies here.

        Raises:
            UsageError: there is none.
        """
        if self.inventory is not None:
            return self.inventory
        for path in DEFAULTS:
            if path.exists():
                return path
        raise UsageError(
            f"there is no inventory: neither ./{DEFAULTS[0]} nor ./{DEFAULTS[1]}",
            hint="name one with -i, or write one with `fleet init`",
        )

    def audit(self) -> AuditOptions:
        """Return the knobs of looking and judging.

        Raises:
            HistoryError: the run whose facts are to be judged cannot be had.
        """
        facts, facts_of = None, ""
        if self.from_run:
            from fleet.cli.keeping import recalled  # noqa: PLC0415 - lazy

            facts, facts_of = recalled(self)
        return AuditOptions(
            jobs=self.jobs,
            timeout=self.timeout,
            strict=self.strict,
            systems=self.systems,
            require=self.require,
            from_dir=self.from_dir,
            facts=facts,
            facts_of=facts_of,
            deep=self.deep,
            scan=Depth(self.scan),
            executor=self.executor,
        )

    def deploy(self) -> DeployOptions:
        """Return the knobs of planning and applying."""
        return DeployOptions(
            jobs=self.jobs,
            timeout=self.timeout or DeployOptions().timeout,
            systems=self.systems,
            adopt=self.adopt,
            prune=self.prune,
            limit=self.limit,
            require=self.require,
            strict=self.strict,
        )


class SavedType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.5
    """Reads a folder that is there, or ``history:RUN``."""

    name = "saved"
    _folder = click.Path(exists=True, file_okay=False, path_type=Path)

    def convert(
        self, value: object, param: click.Parameter | None, ctx: click.Context | None
    ) -> object:
        """Return a folder's path, or the word for a run as it stands.

        Raises:
            click.BadParameter: there is no such folder, or the word names no run.
        """
        if isinstance(value, str) and value.startswith(RUN):
            if value == RUN:
                self.fail("history: names no run; history:last is the last one", param, ctx)
            return value
        return self._folder.convert(cast("str", value), param, ctx)


def _listed(_ctx: click.Context, _param: click.Parameter, values: tuple[str, ...]) -> object:
    return tuple(word for value in values for word in value.split(",") if word)


def _jobs(_ctx: click.Context, _param: click.Parameter, value: int) -> int:
    if not 1 <= value <= MOST_JOBS:
        raise click.BadParameter(f"it takes a number from 1 to {MOST_JOBS}")
    return value


def _seconds(_ctx: click.Context, _param: click.Parameter, value: float | None) -> float | None:
    if value is not None and not 0 < value <= MOST_SECONDS:
        raise click.BadParameter(f"it takes seconds, more than 0 and at most {MOST_SECONDS}")
    return value


def _executor(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if value in (THREADS, PROCESSES) or value.startswith(CLUSTERS):
        return value
    raise click.BadParameter(f"it takes {THREADS}, {PROCESSES} or {DASK}SCHEDULER:PORT")


def _platform(_ctx: click.Context, _param: click.Parameter, value: str) -> str:
    if value and not _PLATFORM.fullmatch(value):
        raise click.BadParameter("it takes a system and a machine, such as linux/arm64")
    return value


OPTIONS: Mapping[str, Callable[[Command], Command]] = {
    "inventory": click.option(
        "-i",
        "--inventory",
        type=click.Path(exists=True, path_type=Path),
        envvar="FLEET_INVENTORY",
        help="Inventory folder or file. [default: ./inventory, else ./fleet.yml]",
    ),
    "variables": click.option(
        "-e",
        "--set",
        "variables",
        metavar="NAME=VALUE",
        multiple=True,
        help="Set a variable, over what the inventory says; a secret as '!secret env:NAME'.",
    ),
    "limit": click.option(
        "--limit",
        metavar="PATTERN",
        multiple=True,
        callback=_listed,
        shell_complete=completion.targets,
        help="Only these targets: a name, a group, a glob; !PATTERN leaves out.",
    ),
    "systems": click.option(
        "--system",
        "systems",
        metavar="SYSTEM",
        multiple=True,
        callback=_listed,
        shell_complete=completion.systems,
        help="Only these systems.",
    ),
    "require": click.option(
        "--require",
        metavar="CAPABILITY",
        multiple=True,
        callback=_listed,
        shell_complete=completion.capabilities,
        help="Require a capability of every target, beside what the inventory requires.",
    ),
    "strict": click.option(
        "--strict",
        is_flag=True,
        help="Let advisory failures and warnings decide the exit code too.",
    ),
    "from_dir": click.option(
        "--from",
        "from_dir",
        metavar="DIR|history:RUN",
        type=SavedType(),
        help="Judge facts saved by `fleet facts -o DIR`, or those of a run in the history;"
        " connects to nothing.",
    ),
    "history": click.option(
        "--history",
        metavar="FILE",
        type=click.Path(path_type=Path),
        envvar="FLEET_HISTORY",
        help="The file that keeps runs.  [default: this platform's folder for state]",
    ),
    "no_history": click.option("--no-history", is_flag=True, help="Do not keep this run."),
    "deep": click.option(
        "--deep",
        is_flag=True,
        help="Run each target's own pi too, against a scratch palace and a fake model; leaves"
        " nothing behind.",
    ),
    "scan": click.option(
        "--scan",
        type=click.Choice([depth.value for depth in Depth]),
        default=Depth.LIKELY.value,
        show_default=True,
        help="Which files of an image's layers are searched for secrets: those that may be"
        " expected to hold some, or all up to 1 MiB each.",
    ),
    "platform": click.option(
        "--platform",
        metavar="OS/MACHINE",
        default="",
        callback=_platform,
        help="Which of a multi-platform image to look at: linux/arm64. [default: this machine's]",
    ),
    "jobs": click.option(
        "-j",
        "--jobs",
        metavar="N",
        type=int,
        callback=_jobs,
        default=DEFAULT_JOBS,
        show_default=True,
        help="How many targets at once.",
    ),
    "timeout": click.option(
        "--timeout",
        metavar="SECONDS",
        type=float,
        callback=_seconds,
        help="The longest one target may take.  [default: 30; to change: 120]",
    ),
    "executor": click.option(
        "--executor",
        metavar="WHERE",
        callback=_executor,
        default=THREADS,
        show_default=True,
        help="Where targets are looked at from: threads, processes, or the workers of a Dask"
        " cluster as dask://SCHEDULER:PORT. What was seen is judged here.",
    ),
    "adopt": click.option(
        "--adopt",
        is_flag=True,
        help="Take over files that stand in the way; a backup of each is kept.",
    ),
    "prune": click.option(
        "--prune",
        is_flag=True,
        help="Also remove what fleet once put there and the inventory no longer declares.",
    ),
    "yes": click.option("--yes", "-y", is_flag=True, help="Do not ask before changing anything."),
    "diff": click.option(
        "--diff/--no-diff", default=True, help="Show what changes inside files.  [default: diff]"
    ),
    "format": click.option(
        "--format",
        type=click.Choice(PLAIN_FORMATS),
        default="terminal",
        show_default=True,
        help="Form of the report.",
    ),
    "formats": click.option(
        "--format",
        "formats",
        type=WantedType(),
        multiple=True,
        help="Form of the report: terminal, json, junit, sarif, markdown, html, github, tap,"
        " prometheus."
        " May be given again, with a file each (FORMAT:>>FILE appends).  [default: terminal]",
    ),
    "output": click.option(
        "-o",
        "--output",
        metavar="FILE",
        type=click.Path(path_type=Path),
        callback=writable,
        help="Write the report to a file, whole or not at all.",
    ),
    "verbose": click.option("-v", "--verbose", is_flag=True, help="Show passes and every name."),
    "quiet": click.option("-q", "--quiet", is_flag=True, help="Show only what decides."),
}
INVENTORY = ("inventory", "variables")
TARGETS = ("limit", "systems")
WORK = ("jobs", "timeout")
KEEP = ("history", "no_history")  # of a command whose run is kept
REPORT = ("format", "output", "verbose", "quiet")
RUN_REPORT = ("formats", "output", "verbose", "quiet", *KEEP)  # of a command that ends in findings


def takes(*names: str) -> Callable[[Command], Command]:
    """Give a command some shared options; it gets them as one ``options``."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def wrapped(**given: object) -> int:
            shared = {name: given.pop(name) for name in names}
            return command(**given, options=_made(shared))

        decorated: Command = wrapped
        for name in reversed(names):
            decorated = OPTIONS[name](decorated)
        return decorated

    return decorate


def _made(shared: Mapping[str, object]) -> Options:
    known = {f.name for f in fields(Options)}
    if shared.get("deep") and shared.get("from_dir"):
        raise UsageError(
            "--deep runs pi on targets, and --from connects to none",
            hint="`fleet facts --deep -o DIR` saves what --from judges",
        )
    if shared.get("verbose") and shared.get("quiet"):
        raise UsageError("--verbose and --quiet contradict each other", hint="give one of them")
    saved = shared.get("from_dir")
    if isinstance(saved, str):
        shared = {**shared, "from_dir": None, "from_run": saved.removeprefix(RUN)}
    if "formats" in shared:
        wanted = cast("tuple[Wanted, ...]", shared["formats"])
        output = cast("Path | None", shared.get("output"))
        form, files = sorted_out(wanted, output)
        shared = {**shared, "format": form, "files": files}
    return Options(**{name: value for name, value in shared.items() if name in known})  # type: ignore[arg-type]  # click has checked every type
