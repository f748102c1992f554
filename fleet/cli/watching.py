"""What ``fleet watch`` watches with: the inventory, the engine, the history, and a log."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from fleet.cli.chosen import chosen
from fleet.cli.engine import Engine
from fleet.cli.keeping import Spared
from fleet.cli.options import Options
from fleet.dataclass import dataclass
from fleet.engine.contents import ContentStore
from fleet.engine.observer import NullObserver
from fleet.engine.secrets import SecretStore, fetch
from fleet.inventory.tags import secret_reference
from fleet.secrets import Secret
from fleet.watch.loop import Plan, Watch
from fleet.watch.serve import Server
from fleet.watch.tell import Destination, destination

if TYPE_CHECKING:
    from fleet.engine.context import Context
    from fleet.inventory.model import Target
    from fleet.verifier.run import Run

SECRET = "!secret "  # noqa: S105 - the mark of a reference
FLEET = "fleet"  # what findings about all targets name
MOST_FILES = 10_000


def destinations(addresses: Iterable[str]) -> tuple[Destination, ...]:
    """Return whom to tell.

    Raises:
        UsageError: an address is none.
        InventoryError: a reference is none.
        SecretError: a reference has no value.
    """
    found = []
    for number, text in enumerate(addresses, start=1):
        reference = text.startswith(SECRET)
        address = (
            fetch(secret_reference(text.removeprefix(SECRET).strip(), None))
            if reference
            else Secret(text)
        )
        found.append(destination(number, address))
    return tuple(found)


def watched(
    engine: Engine,
    options: Options,
    plan: Plan,
    told: tuple[Destination, ...],
    listen: tuple[str, int] | None,
) -> int:
    """Watch until it is stopped, which is how it ends well.

    Raises:
        FleetError: the inventory is wrong at the start, or the port cannot be had.
    """

    def say(text: str) -> None:
        if not options.quiet:
            click.echo(text)

    watch = Watch(lambda: loaded(engine, options), plan, told, say)
    server: Server | None = None
    try:
        if listen is not None:
            server = Server(*listen, {"/metrics": watch.metrics, "/healthz": watch.health})
            say(f"serving http://{_host(listen[0])}:{server.port}/metrics and /healthz")
        watch.run()
    except KeyboardInterrupt:
        say("stopped")
    finally:
        if server is not None:
            server.close()
    return 0


def _host(host: str) -> str:
    return f"[{host}]" if ":" in host else host


@dataclass(slots=True)
class Loaded:
    """One state of the inventory."""

    engine: Engine
    options: Options
    context: "Context"
    targets: "tuple[Target, ...]"
    spared: Spared
    print_: tuple[tuple[str, int, int, int], ...]

    def changed(self) -> bool:
        """Whether a file of the inventory is another, or came, or went."""
        now = fingerprint(self.options.source())
        if now == self.print_:
            return False
        self.print_ = now  # a broken one is told once
        return True

    def names(self) -> Iterable[str]:
        """Return the names that findings may be about."""
        groups = {group for target in self.targets for group in target.groups}
        return {FLEET, *groups, *(target.name for target in self.targets)}

    def open(self) -> "AbstractContextManager[object]":
        """Keep connections open within the block."""
        return self.engine.keeping(self.context)

    def audit(self) -> "Run":
        """Look at every target once; secrets and the toolkit's clone are read anew."""
        self.context.secrets = SecretStore()
        self.context.toolkits.clear()
        run = self.engine.audit(
            self.targets, self.context, self.options.audit(), NullObserver(), "watch"
        )
        contents = ContentStore()  # of what was seen now, and not of all that ever was
        for result in run.results:
            if result.facts is not None:
                contents.complete(result.facts)
        self.context.contents = contents
        return run

    def keep(self, run: "Run") -> None:
        """Put a run into the history where it says something new."""
        self.spared.keep(run)


def loaded(engine: Engine, options: Options) -> Loaded:
    """Load the inventory.

    Raises:
        FleetError: it is wrong, or has no targets.
    """
    before = fingerprint(options.source())
    context, targets = chosen(engine, options)
    return Loaded(engine, options, context, targets, Spared(context, options), before)


def fingerprint(path: Path) -> tuple[tuple[str, int, int, int], ...]:
    """Return what changes when a file of an inventory does: of each its inode, size and time."""
    try:
        return tuple(sorted(_files(path)))
    except OSError:  # a folder went while it was walked: that is a change too
        return ()


def _files(path: Path) -> Iterator[tuple[str, int, int, int]]:
    beside = (path.parent / name for name in ("group_vars", "host_vars"))
    folders = [path] if path.is_dir() else [path, *(f for f in beside if f.is_dir())]
    left = MOST_FILES
    for folder in folders:
        for file in (folder, *(folder.rglob("*") if folder.is_dir() else ())):
            left -= 1
            if not left:
                return
            try:
                told = file.stat()
            except OSError:
                continue
            yield str(file), told.st_ino, told.st_size, told.st_mtime_ns
