"""What applying a plan brought, read from the target's answer: hostile until it is parsed."""

import re
from collections.abc import Iterable
from typing import Protocol

from fleet.dataclass import dataclass
from fleet.errors import ApplyError, ProbeError, TargetBusy
from fleet.installers.model import Plan
from fleet.secrets import Secret, hidden

MAX_LINES = 20_000
_DETAIL = 400

_REASONS = {
    "changed": "it changed since the plan; plan again",
    "write": "it could not be written",
    "keep": "what lies there could not be kept",
    "place": "it could not be put in its place",
    "journal": "the journal could not be written",
    "markers": "the marks of fleet's block are broken there",
    "run": "the program failed",
    "missing": "the program is not there",
    "slow": "the program took too long",
    "killed": "the program was ended by a signal (is the machine out of memory?)",
}
_REFUSALS = {
    "changed": "the target changed since the plan",
    "state": "fleet's own folder ~/.local/state/fleet could not be written",
    "sha256": "no program that computes sha256 is there",
    "printf": "its shell has no printf of its own",
}


class Outcome(Protocol):
    """What a connector brought of running a program; see ``fleet.connectors.base.Outcome``."""

    @property
    def output(self) -> bytes:
        """Return what it printed."""
        ...

    @property
    def errors(self) -> bytes:
        """Return what it printed to stderr."""
        ...


@dataclass(frozen=True, slots=True)
class Failure:
    """The step that failed, and why."""

    step: str
    reason: str
    detail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying a plan came to.

    Attributes:
        committed: whether all of it was done.
        done: actions that were carried out (and undone again, where it was not committed).
        refused: why nothing was begun; empty where it was.
        failure: the step that failed.
        undone: whether what was done was undone; None where nothing had to be.
        recovered: whether a run that was cut was undone, or cleaned up after: look again.
        cut: whether the answer ends early; the target goes on or undoes it by itself.
        notes: what the reader should know (a block left because it was edited).
    """

    committed: bool = False
    done: int = 0
    refused: str = ""
    changed: tuple[str, ...] = ()
    failure: Failure | None = None
    undone: bool | None = None
    recovered: bool = False
    cut: bool = False
    notes: tuple[str, ...] = ()

    def error(self, target: str) -> ApplyError | None:
        """Return what went wrong as an error; None where nothing did."""
        trouble = self.failure or self.refused or self.cut or self.undone is False
        if self.committed or (self.recovered and not trouble):
            return None
        return ApplyError(self._what(), where=target, hint=self._hint())

    def _what(self) -> str:
        if self.refused:
            return "; ".join([self.refused, *self.changed])
        if self.failure:
            return f"{self.failure.step}: {self.failure.reason}"
        return "the connection was cut in the middle of it" if self.cut else "nothing was applied"

    def _hint(self) -> str:
        lines = list(self.failure.detail) if self.failure else []
        if self.cut:
            lines.append("the target undoes it by itself; look again")
        elif self.undone:
            lines.append("everything was undone; the target is as it was")
        elif self.undone is False:
            lines.append(
                "not everything could be undone: mend the cause, then run it again; "
                "the journal is in ~/.local/state/fleet/journal"
            )
        else:
            lines.append("nothing was changed")
        return "\n  ".join(lines)


def read_outcome(outcome: Outcome, plan: Plan, *, hide: Iterable[Secret] = ()) -> Applied:
    """Read the answer of a plan's program.

    Args:
        outcome: what the connector brought.
        plan: the plan its program was made from; it names the frames and the steps.
        hide: secrets that a program of the target may have printed; shown as ``***``.

    Raises:
        TargetBusy: another operator holds the target.
        ProbeError: it is no answer to this plan.
    """
    reader = _Reader(plan, tuple(hide))
    lines = outcome.output.split(b"\n")
    if len(lines) > MAX_LINES:
        raise ProbeError(f"it printed more than {MAX_LINES} lines", where=plan.target)
    mark = plan.mark.encode() + b" "
    for line in lines:
        if line.startswith(mark):
            reader.read(line[len(mark) :])
    return reader.applied(outcome)


class _Reader:
    """Collects frames; unknown ones are left out, numbers beyond the plan are refused."""

    def __init__(self, plan: Plan, secrets: tuple[Secret, ...]) -> None:
        self.plan, self.secrets = plan, secrets
        self.seen: set[str] = set()
        self.done: set[int] = set()
        self.changed: list[int] = []
        self.notes: list[tuple[int, str]] = []
        self.details: dict[int, list[str]] = {}
        self.failed: tuple[int, str] | None = None
        self.refused = ""
        self.busy: str | None = None

    def read(self, frame: bytes) -> None:
        word, _, rest = frame.decode("utf-8", "replace").partition(" ")
        if word == "busy":
            self.busy = self._clean(rest)
        elif word == "refused":
            self.refused = _REFUSALS.get(rest, "the target refused")
        elif word in _NUMBERED:
            self._numbered(word, rest)
        else:
            self.seen.add(word)

    def _numbered(self, word: str, rest: str) -> None:
        digits, _, text = rest.partition(" ")
        if not re.fullmatch("[0-9]{1,6}", digits) or int(digits) > len(self.plan.actions) + 1:
            raise ProbeError(
                "it answered about a step that the plan does not have", where=self.plan.target
            )
        number = int(digits)
        if word == "done":
            self.done.add(number)
        elif word == "changed":
            self.changed.append(number)
        elif word == "failed":
            self.failed = (number, text)
        elif word == "detail":
            self.details.setdefault(number, []).append(self._clean(text))
        else:
            self.notes.append((number, _NUMBERED[word]))

    def _clean(self, text: str) -> str:
        text = hidden(text, self.secrets)
        shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
        return shown[:_DETAIL]

    def _named(self, number: int) -> str:
        actions = self.plan.actions
        if not 1 <= number <= len(actions):
            return "the ledger" if number else "the start"
        step, action = actions[number - 1]
        path = getattr(action, "path", "")
        return f"{step.key} ({path})" if path else f"{step.key}: {step.summary}"

    def applied(self, outcome: Outcome) -> Applied:
        if self.busy is not None:
            raise TargetBusy(
                f"held by {self.busy}",
                where=self.plan.target,
                hint="wait until that run has ended; a holder that is gone is taken over",
            )
        if "end" not in self.seen and not self.seen and not self.refused and not self.failed:
            raise ProbeError(
                "it did not carry out the program",
                where=self.plan.target,
                hint=self._clean(outcome.errors.decode("utf-8", "replace").strip()[-_DETAIL:]),
            )
        return Applied(
            committed="committed" in self.seen,
            done=len(self.done),
            refused=self._refusal(),
            changed=tuple(dict.fromkeys(self._named(n) for n in self.changed)),
            failure=self._failure(),
            undone=self._undone(),
            recovered=bool(self.seen & {"recovering", "cleaned"}),
            cut="end" not in self.seen,
            notes=self._notes(),
        )

    def _refusal(self) -> str:
        detail = "; ".join(self.details.get(0, []))
        return f"{self.refused}: {detail}" if self.refused and detail else self.refused

    def _failure(self) -> Failure | None:
        if self.failed:
            number, reason = self.failed
            told = _REASONS.get(reason, "it failed")
            return Failure(self._named(number), told, tuple(self.details.get(number, ())))
        if "signal" in self.seen:
            return Failure("the run", "it was told to stop (a signal, or a cut connection)")
        return None

    def _undone(self) -> bool | None:
        if "stuck" in self.seen:
            return False
        return True if "undone" in self.seen else None

    def _notes(self) -> tuple[str, ...]:
        told = []
        for number, text in self.notes:
            more = self.details.get(number, []) if text == _NUMBERED["partly"] else []
            told.append(": ".join([self._named(number), *(more or [text])]))
        return tuple(told)


_NUMBERED = {
    "done": "",
    "changed": "",
    "failed": "",
    "detail": "",
    "stuck-at": "could not be undone",
    "left": "was changed by somebody else meanwhile, and was left alone",
    "edited": "was edited since fleet wrote it, and was left alone",
    "gone": "was not there any more",
    "partly": "could only be placed",
    "unrun": "what a program did could not be undone",
}
