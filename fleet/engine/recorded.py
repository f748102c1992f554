"""Facts that were saved before, taken in place of asking."""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from fleet.engine.context import Context
from fleet.engine.facts import Looked
from fleet.engine.options import AuditOptions
from fleet.errors import FactsError, ProbeError, TargetError, Unreachable
from fleet.facts.model import Facts
from fleet.facts.saved import file_name, loads
from fleet.facts.shared import FOLDER, Shared
from fleet.facts.text import printable
from fleet.inventory.model import Target
from fleet.systems.resolve import resolve


def recorded(
    targets: Sequence[Target],
    context: Context,
    options: AuditOptions,
    shared: Shared | None = None,
) -> Iterator[Looked]:
    """Take saved facts in place of asking; opens no connection.

    Args:
        targets: whose facts.
        context: what the run shares.
        options: where the facts are.
        shared: what facts that were taken before had; by default nothing.
    """
    context.secrets.prepare(targets)
    shared = shared or shared_of(options)
    for target in targets:
        resolved = resolve(context.systems(target), target)
        try:
            facts = _recalled(target, options, shared)
        except TargetError as trouble:
            yield Looked(target, resolved, None, trouble, 0)
        else:
            yield Looked(target, resolved, facts, None, 0)


def shared_of(options: AuditOptions) -> Shared:
    """Return what is to hold what saved facts have alike, which may lie beside them."""
    folder = options.from_dir

    def beside(name: str) -> bytes | None:
        if folder is None:
            return None
        try:
            return (folder / FOLDER / name).read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise ValueError(f"a content cannot be read: {error}") from None

    return Shared(beside)


def _recalled(target: Target, options: AuditOptions, shared: Shared) -> Facts:
    """Return the saved facts of a target.

    Raises:
        TargetError: there are none, or they are not its own, or cannot be used.
    """
    if options.facts is not None:
        where = options.facts_of
        held = options.facts.get(target.name)
        if held is None:
            raise Unreachable(f"{where} has no facts of it", stage="missing", where=target.name)
        facts = held
    else:
        folder = options.from_dir or Path()
        where = os.path.join(folder, file_name(target.name))  # noqa: PTH118 - see _read
        facts = _read(target, folder, where, shared)
    if (facts.target, facts.kind) != (target.name, target.kind.value):
        told = f"the saved facts are those of the {facts.kind} {printable(facts.target)}"
        raise ProbeError(told, where=where)
    return facts


def _read(target: Target, folder: Path, path: str, shared: Shared) -> Facts:
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - a Path takes as long as to read
            return loads(file.read(), where=path, shared=shared)
    except FileNotFoundError:
        raise Unreachable(
            f"no saved facts in {folder}",
            stage="missing",
            where=target.name,
            hint=f"`fleet facts {target.name} -o {folder}` saves them",
        ) from None
    except OSError as error:
        raise Unreachable(f"cannot read {path}: {error}", stage="missing") from None
    except FactsError as error:
        raise ProbeError(
            f"the saved facts cannot be used: {error.what}", where=error.where
        ) from None
