"""Completion of names in a shell: cheap, and never an error.

What is offered comes from files only. A broken inventory offers nothing, and says nothing.
"""

import contextlib
import io
import os
from collections.abc import Callable, Iterable
from pathlib import Path

import click
from click.shell_completion import CompletionItem

from fleet.cli.engine import Engine

DEFAULTS = (Path("inventory"), Path("fleet.yml"))  # where an inventory is looked for

Offer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _quietly(offer: Callable[[click.Context], Iterable[tuple[str, str]]]) -> Offer:
    """Turn names with their explanation into what click asks for; after a comma goes another."""

    def complete(
        context: click.Context, _parameter: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        head, comma, tail = incomplete.rpartition(",")
        negation = "!" if tail.startswith("!") else ""
        with contextlib.suppress(Exception), contextlib.redirect_stderr(io.StringIO()):
            return [
                CompletionItem(head + comma + negation + name, help=about)
                for name, about in offer(context)
                if name.startswith(tail.removeprefix("!"))
            ]
        return []

    return complete


def _inventory(context: click.Context) -> Path | None:
    given = context.params.get("inventory") or os.environ.get("FLEET_INVENTORY")
    if given:
        return Path(str(given))
    return next((path for path in DEFAULTS if path.exists()), None)


def _engine(context: click.Context) -> Engine:
    found = context.find_object(Engine)
    return found if found is not None else Engine()


def _targets(context: click.Context) -> Iterable[tuple[str, str]]:
    source, engine = _inventory(context), _engine(context)
    if source is None:
        return
    chosen = engine.targets(engine.context(source, {}), ())
    groups = dict.fromkeys(group for target in chosen for group in target.groups)
    yield from ((target.name, str(target.address)) for target in chosen)
    yield from ((group, "group") for group in groups)


def _systems(context: click.Context) -> Iterable[tuple[str, str]]:
    for system in _engine(context).catalogue().systems.values():
        yield system.system, system.about


def _capabilities(context: click.Context) -> Iterable[tuple[str, str]]:
    gives = {gate.gives: gate.asks for _, gate in _engine(context).catalogue().gates()}
    return ((name, asks) for name, asks in gives.items() if name)


def _gates(context: click.Context) -> Iterable[tuple[str, str]]:
    from fleet.verifier.fleetwide.rules import SYSTEM  # noqa: PLC0415 - lazy

    for _, gate in _engine(context).catalogue().gates():
        yield gate.id, gate.asks
    yield from ((gate.id, gate.asks) for gate in SYSTEM.gates)


targets = _quietly(_targets)
systems = _quietly(_systems)
capabilities = _quietly(_capabilities)
gates = _quietly(_gates)
