"""Telling people: by apprise (mail, chat, webhook and some hundred more), or by a command.

A destination's address holds its credentials: it is shown nowhere, and is best a ``!secret``.
"""

import json
import logging
import shlex
import subprocess
from collections.abc import Sequence
from typing import Protocol

from fleet.dataclass import dataclass
from fleet.errors import UsageError
from fleet.secrets import Secret
from fleet.watch.transitions import Transition, told_text

COMMAND = "command:"
SECONDS = 60
MOST = 20  # transitions told one by one
FORMAT = "fleet.transitions/1"
TEXT = "text"  # apprise's name of plain text


class Destination(Protocol):
    """Somebody who is told. ``name`` says which, without any of its address."""

    @property
    def name(self) -> str:
        """Return what it is called in messages."""
        ...

    def tell(self, transitions: Sequence[Transition]) -> str:
        """Tell what came to stay; returns why that failed, empty where it went well."""
        ...


def destination(number: int, address: Secret) -> Destination:
    """Return the destination of an address: an apprise URL, or ``command:PROGRAM ARGUMENTS``.

    Raises:
        UsageError: it is none; the address is not repeated.
    """
    text = address.reveal().strip()
    if text.startswith(COMMAND):
        return _command(number, text.removeprefix(COMMAND))
    return _apprise(number, text)


def _command(number: int, text: str) -> Destination:
    try:
        words = tuple(shlex.split(text))
    except ValueError:
        words = ()
    if not words:
        raise UsageError(f"destination {number}: command: names no program that can be run")
    return Command(number, words)


def _apprise(number: int, text: str) -> Destination:
    try:
        import apprise  # type: ignore[import-untyped,unused-ignore]  # noqa: PLC0415 - an extra
    except ImportError:
        raise UsageError(
            f"destination {number} needs apprise, which is not installed",
            hint="pip install 'mempalace-fleet[watch]'; command:PROGRAM needs nothing",
        ) from None
    quiet = logging.getLogger("apprise")  # it logs addresses
    quiet.handlers[:] = [logging.NullHandler()]
    quiet.propagate = False
    found = apprise.Apprise()
    if not found.add(text) or len(found) != 1:
        raise UsageError(
            f"destination {number} is no address that apprise knows",
            hint="such as mailtos://, slack://, matrixs://, json:// or command:PROGRAM",
        )
    return Messenger(number, found, text.partition(":")[0])


class _Notifier(Protocol):
    def notify(self, body: str, title: str, *, body_format: str) -> object: ...


@dataclass(frozen=True, slots=True)
class Messenger:
    """One destination of apprise."""

    number: int
    notifier: _Notifier
    scheme: str

    @property
    def name(self) -> str:
        """Return its number and scheme."""
        return f"destination {self.number} ({self.scheme})"

    def tell(self, transitions: Sequence[Transition]) -> str:
        """Send one message for all of them."""
        title, body = told_text(transitions, MOST)
        try:
            # Said to be plain text, or a mail in HTML would run its lines together and take what a
            # target said for markup.
            sent = self.notifier.notify(_safe(body), title, body_format=TEXT)
        except Exception as error:  # noqa: BLE001 - some hundred services, each with its own
            return f"failed ({type(error).__name__})"
        return "" if sent else "the service did not take it"


@dataclass(frozen=True, slots=True)
class Command:
    """A program that gets one JSON document on its stdin, format ``fleet.transitions/1``."""

    number: int
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return its number."""
        return f"destination {self.number} (command)"

    def tell(self, transitions: Sequence[Transition]) -> str:
        """Run it, at most a minute."""
        title, body = told_text(transitions, MOST)
        told = {
            "format": FORMAT,
            "title": title,
            "text": _safe(body),
            "transitions": [
                {
                    "target": _safe(t.target),
                    "gate": t.gate or None,
                    "before": t.before.value,
                    "after": t.after.value,
                    "since": t.since.isoformat(),
                    "message": _safe(t.message),
                    "remedy": _safe(t.remedy),
                }
                for t in transitions
            ],
        }
        try:
            ended = subprocess.run(
                self.words,
                input=json.dumps(told).encode(),
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"it took more than {SECONDS} s"
        except (OSError, ValueError) as error:
            return getattr(error, "strerror", None) or type(error).__name__
        return "" if ended.returncode == 0 else f"it exited {ended.returncode}"


def _safe(text: str) -> str:
    from fleet.reports.text import printable  # noqa: PLC0415 - lazy

    return "\n".join(printable(line) for line in text.split("\n"))
