"""What pi-mnemo keeps of its own work: its state, the lock of a dream, when the last one was.

How ``.state.json`` is laid out is not published. A dream's time is taken to be a number of
milliseconds under a name that holds "dream"; what a dream writes into its log tells it too.
"""

import json
from collections.abc import Iterator
from datetime import UTC, datetime

from fleet.facts.jsonshape import NOT_JSON
from fleet.facts.paths import PathFact, State
from fleet.facts.running import ProcessFact
from fleet.systems.pi_mnemo.ground import elsewhere, is_disabled
from fleet.systems.pi_mnemo.memory import ROOT, looked_at, scopes
from fleet.systems.pi_mnemo.values import number_in
from fleet.verifier.launches import text
from fleet.verifier.look import NOT_ASKED, Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.moments import SLACK, moment
from fleet.verifier.paths import hidden, missing
from fleet.verifier.processes import PIS, running_pis

_TIMEOUT = 10 * 60 * 1000
_TIMEOUT_NAME = "PI_MNEMO_WORKER_TIMEOUT_MS"
_DAY = 24 * 60 * 60
#: Before pi there was no pi-mnemo, and no number this small is a time in milliseconds.
_FIRST = datetime(2025, 1, 1, tzinfo=UTC).timestamp()


def state(look: Look) -> Judgement:
    """What it keeps of its own work parses."""
    fact = look.artifact("state")
    if fact is None:
        return follows_from("mnemo.settings")
    if fact.state is State.ABSENT:
        return not_applicable("it has not worked here yet")
    document = _document(fact)
    if isinstance(document, Judgement):
        return document
    other = elsewhere(look, fact, ROOT, "mnemo_root", inside=True)
    if other:
        return not_checked(other[0], *other)
    return passed("it can be read", fact.path)


def _document(fact: PathFact) -> Judgement | dict[str, object]:
    """Return what stands in a file of JSON, texts left out; or why that is not known."""
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.shape is None and fact.why != NOT_JSON:
        return not_checked(fact.why or "its content was not read", fact.path)
    try:
        document: object = json.loads(fact.shape or "")
    except (ValueError, RecursionError):
        return failed("is no JSON: what stood in it is lost", fact.path)
    if not isinstance(document, dict):
        return failed("is JSON of another kind than an object", fact.path)
    return document


def lock(look: Look) -> Judgement:
    """Who holds the lock is a pi that runs, and that ran when the lock was written."""
    fact = look.artifact("lock")
    if fact is None:
        return follows_from("mnemo.settings")
    other = elsewhere(look, fact, ROOT, "mnemo_root", inside=True)
    if other:
        return not_checked(other[0], *other)
    if fact.state is State.ABSENT:
        return passed("no dream is running")
    document = _document(fact)
    if isinstance(document, Judgement):
        return document
    pid, since = document.get("pid"), _seconds(document.get("ts"))
    if not isinstance(pid, int) or isinstance(pid, bool) or since is None:
        return failed("names no process: the next dream takes it away", fact.path)
    if not any(kind in look.facts.processes for kind in PIS):
        return not_checked(look.facts.unseen.get("processes", NOT_ASKED), fact.path)
    holder = next((p for p in running_pis(look.facts) if p.pid == pid), None)
    if holder is None and "processes" in look.facts.unseen:
        return not_checked(look.facts.unseen["processes"], fact.path)
    return _held(look, fact, pid, since, holder)


def _held(
    look: Look, fact: PathFact, pid: int, since: float, holder: ProcessFact | None
) -> Judgement:
    written = f"{fact.path}: pid {pid}, {moment(since)}"
    if holder is None:
        return failed(f"held by pid {pid}, which is no pi that runs", written)
    if holder.started is None:
        return not_checked("when its holder started could not be seen", written)
    if holder.started > since + SLACK:
        return failed(
            f"its holder is gone, and pid {pid} is another pi now",
            written,
            f"pi {pid} started at {moment(holder.started)}, after it",
        )
    held = look.facts.taken_at.timestamp() - since
    if held > 2 * _timeout(look):
        return warned(f"held for {_age(held)}: no dream is that long", written)
    return passed(f"a dream is running, of pi {pid}", written)


def _timeout(look: Look) -> float:
    """Return the longest a worker may take on any launch, in seconds."""
    found = [number_in(told) for one in look.launches() if (told := text(one, _TIMEOUT_NAME))]
    return max((ms for ms in found if ms is not None), default=_TIMEOUT) / 1000


def dream(look: Look) -> Judgement:
    """The last dream is not longer ago than is declared."""
    within = number_in(look.text("mnemo_dream_within_days"))
    if within is None or within < 0:
        return not_checked("mnemo_dream_within_days is no number of days")
    if not within:
        return not_applicable("how long ago the last dream may be is not declared")
    if is_disabled(look):
        return not_applicable("background work is turned off")
    found = looked_at(look)
    if isinstance(found, Judgement):
        return found
    fact, notes = found
    other = elsewhere(look, fact, ROOT, "mnemo_root")
    if other:
        return not_checked(other[0], *other)
    last = max(_dreams(look), default=None)
    if last is None:
        topics = any(scope.topics for scope in scopes(notes))
        return _none(look, topics=topics)
    age = look.facts.taken_at.timestamp() - last
    told = f"the last dream was {_age(age)} ago"
    if age > within * _DAY:
        return failed(f"{told}, {within:g} days are declared", moment(last))
    return passed(told, moment(last))


def _none(look: Look, *, topics: bool) -> Judgement:
    for name in ("state", "dream-log"):
        fact = look.artifact(name)
        if fact is not None and hidden(fact):
            return not_checked(f"{fact.path}: {fact.why or fact.state}")
    fact = look.artifact("state")
    if fact is not None and fact.state is State.PRESENT and isinstance(_document(fact), Judgement):
        return follows_from("mnemo.state")
    if not topics:
        return not_applicable("there are no notes yet")
    return warned("no dream has been noted yet")


def _dreams(look: Look) -> Iterator[float]:
    """Yield the times of dreams, in seconds since 1970."""
    now = look.facts.taken_at.timestamp()
    fact = look.artifact("state")
    document = _document(fact) if fact else None
    times = list(_under(document, dreams=False)) if isinstance(document, dict) else []
    log = look.artifact("dream-log")
    times.append(float(log.mtime) if log and log.mtime is not None else None)
    yield from (time for time in times if time is not None and _FIRST < time <= now + _DAY)


def _under(value: object, *, dreams: bool) -> Iterator[float | None]:
    """Yield every number below a name that holds "dream", as a time."""
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _under(inner, dreams=dreams or "dream" in str(name).lower())
    elif isinstance(value, list):
        for inner in value:
            yield from _under(inner, dreams=dreams)
    elif dreams:
        yield _seconds(value)


def _seconds(value: object) -> float | None:
    """Return a time in milliseconds as seconds; None for what is none."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value / 1000 if abs(value) < 1e15 else None  # noqa: PLR2004 - what a date can hold


def _age(seconds: float) -> str:
    hours = seconds / 3600
    if hours < 48:  # noqa: PLR2004 - below two days hours tell more
        return f"{hours:.0f} hours"
    return f"{hours / 24:.0f} days"
