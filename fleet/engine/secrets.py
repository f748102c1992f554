"""Fetching secrets by reference, on the controller, once a run."""

import os
import shlex
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import field
from pathlib import Path
from threading import Lock

from fleet.dataclass import dataclass
from fleet.errors import SecretError
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret

COMMAND_SECONDS = 30


@dataclass(slots=True)
class SecretStore:
    """Values and troubles of references, fetched on first use and kept for the run.

    Preparing is safe from many threads, and fetches each reference once.
    """

    values: dict[SecretRef, Secret] = field(default_factory=dict)
    troubles: dict[SecretRef, str] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock, repr=False, compare=False)

    def prepare(self, targets: Iterable[Target]) -> None:
        """Fetch every reference that the targets name; what fails is remembered, not raised."""
        self.prepare_all(r for t in targets for r in references(t))

    def prepare_all(self, wanted: Iterable[SecretRef]) -> None:
        """Fetch references; what fails is remembered, not raised."""
        with self._lock:
            for reference in dict.fromkeys(wanted):
                if reference in self.values or reference in self.troubles:
                    continue
                try:
                    self.values[reference] = fetch(reference)
                except SecretError as error:
                    self.troubles[reference] = error.what

    def reveal(self, reference: SecretRef) -> Secret:
        """Return a secret for the one place that writes it.

        Raises:
            SecretError: it could not be fetched.
        """
        if reference not in self.values and reference not in self.troubles:
            self.values[reference] = fetch(reference)
        if reference in self.troubles:
            raise SecretError(
                self.troubles[reference], where=str(reference.place or reference), hint=_hint()
            )
        return self.values[reference]


def references(target: Target) -> Iterator[SecretRef]:
    """Yield every secret reference among a target's variables."""
    for value in target.variables.values():
        yield from _within(value)


def _within(value: Value) -> Iterator[SecretRef]:
    if isinstance(value, SecretRef):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _within(item)
    elif isinstance(value, dict):
        for item in value.values():
            yield from _within(item)


def fetch(reference: SecretRef) -> Secret:
    """Fetch one secret.

    Raises:
        SecretError: there is no value, or an empty one; the message never holds any of it.
    """
    where = str(reference.place) if reference.place else ""
    value = _FETCHERS[reference.source](reference.argument, where).rstrip("\r\n")
    if not value:
        raise SecretError(f"{reference} is set but empty", where=where, hint=_hint())
    return Secret(value)


def _hint() -> str:
    return "give it a value, or change the reference in the inventory"


def _from_env(name: str, where: str) -> str:
    value = os.environ.get(name)
    if value is None:
        raise SecretError(
            f"the environment variable {name} is not set", where=where, hint=f"export {name}=…"
        )
    return value


def _from_file(name: str, where: str) -> str:
    try:
        return Path(name).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise SecretError(f"cannot read the secret's file {name}: {reason}", where=where) from None


def _from_command(line: str, where: str) -> str:
    try:
        words = shlex.split(line)
        ended = subprocess.run(
            words,
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, ValueError, IndexError) as error:
        told = f"cannot run the secret's command {line!r}: {error}"
        raise SecretError(told, where=where) from None
    except subprocess.TimeoutExpired:
        told = f"the secret's command {line!r} did not end within {COMMAND_SECONDS} s"
        raise SecretError(told, where=where) from None
    if ended.returncode:
        told = f"the secret's command {line!r} ended with exit code {ended.returncode}"
        raise SecretError(told, where=where, hint="run it by hand to see why")
    return ended.stdout


_FETCHERS = {"env": _from_env, "file": _from_file, "cmd": _from_command}
