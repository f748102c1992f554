"""Looking: one round trip to each target, and the live questions that go with it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from fleet.connectors.registry import bare
from fleet.dataclass import dataclass
from fleet.engine.context import Context
from fleet.engine.crews import crew_of
from fleet.engine.deep import deep_question
from fleet.engine.job import Answer, Job
from fleet.engine.observer import NullObserver, Observer
from fleet.engine.options import AuditOptions
from fleet.engine.palaces import PalaceQuestion, palace_questions
from fleet.engine.pool import as_they_come
from fleet.errors import TargetError
from fleet.facts.model import Facts
from fleet.facts.request import SEPARATORS, KnownSecret, PathQuestion, Request, ScanQuestion
from fleet.inventory.model import SecretRef, Target
from fleet.systems.ask import request_for
from fleet.systems.resolve import Resolved, resolve
from fleet.verifier.look import Expected

LONGEST_LAUNCH = 10  # seconds


@dataclass(frozen=True, slots=True)
class Looked:
    """What looking at one target brought: facts, or why there are none."""

    target: Target
    resolved: tuple[Resolved, ...]
    facts: Facts | None
    trouble: TargetError | None
    milliseconds: int


def gather(
    targets: Sequence[Target],
    context: Context,
    options: AuditOptions,
    observer: Observer | None = None,
    *,
    extra: Mapping[str, tuple[PathQuestion, ...]] | None = None,
    probe: bool = True,
    search: bool = True,
) -> Iterator[Looked]:
    """Look at targets, at most ``options.jobs`` at once; yields each as soon as it was seen.

    A host that is slow to answer makes room for others, so that it costs nobody but itself.

    Args:
        targets: whom to look at.
        context: what the run shares.
        options: how many at once, for how long, and where it is done.
        observer: told as it goes on.
        extra: further path questions by target name, from a planner.
        probe: whether palaces are asked too; a plan needs no answer of theirs.
        search: whether images are searched for secrets, where a system of theirs wants that.

    Raises:
        CatalogueError: a target names a system that is not known.
        PlanError: a system's text cannot be rendered for a target.
        UsageError: what is to do the work cannot be had.
    """
    told = observer or NullObserver()
    context.secrets.prepare(targets)
    context.contents.settle()
    prepared = [(t, resolve(context.systems(t), t)) for t in targets]
    making = _Making(context, options, extra or {}, probe=probe, search=search)

    def jobs() -> Iterator[Job]:
        for number, (target, resolved) in enumerate(prepared):
            told.target_started(target.name, "asking")
            yield making.job(number, target, resolved)

    def looks() -> Iterator[Looked]:
        with crew_of(options, context) as crew:
            for answer in as_they_come(crew, jobs()):
                target, resolved = prepared[answer.number]
                looked = _looked(answer, target, resolved, context)
                note = looked.trouble.what if looked.trouble else ""
                told.target_finished(target.name, looked.trouble is None, note)
                yield looked

    return looks()


def _looked(
    answer: Answer, target: Target, resolved: tuple[Resolved, ...], context: Context
) -> Looked:
    facts = context.contents.complete(answer.facts) if answer.facts else None
    return Looked(target, resolved, facts, answer.trouble, answer.milliseconds)


class _Making:
    """Makes the jobs of one run, each when it is about to begin: by then more is known."""

    def __init__(
        self,
        context: Context,
        options: AuditOptions,
        extra: Mapping[str, tuple[PathQuestion, ...]],
        *,
        probe: bool,
        search: bool,
    ) -> None:
        self._context, self._options, self._extra = context, options, extra
        self._probe, self._search = probe, search
        self._nonce = context.connections.nonce()
        self._scan = ScanQuestion(options.scan, secrets=_known(context, self._nonce))

    def job(self, number: int, target: Target, resolved: tuple[Resolved, ...]) -> Job:
        palaces = palace_questions(resolved, self._context.folder) if self._probe else ()
        return Job(
            number,
            bare(target),
            self._request(target, resolved),
            self._options.seconds(target.kind),
            palaces,
            deep_question(resolved, self._context.catalogue) if self._options.deep else None,
            tuple(dict.fromkeys(self._tokens(palaces))),
        )

    def _tokens(self, palaces: tuple[PalaceQuestion, ...]) -> Iterator[SecretRef]:
        held = self._context.secrets.values
        return (p.token for p in palaces if p.token is not None and p.token in held)

    def _known_of(self, target: Target) -> frozenset[str]:
        if self._options.deep:
            # What a deep check runs is told by what lies there: nothing of it may be left out.
            return frozenset()
        return self._context.contents.known(target.name)

    def _request(self, target: Target, resolved: tuple[Resolved, ...]) -> Request:
        request = request_for(
            target,
            resolved,
            nonce=self._nonce,
            known=self._known_of(target),
            extra=self._extra.get(target.name, ()),
            scan=self._scan,
        )
        limit = self._options.seconds(target.kind)
        request = replace(request, seconds=_patience(limit, len(request.launches)))
        return request if self._search else replace(request, scan=None)


def _known(context: Context, nonce: str) -> tuple[KnownSecret, ...]:
    """Return the secrets that could be fetched, ready to be looked for: never their values."""
    return tuple(
        KnownSecret(
            str(reference),
            expected.length,
            expected.digest,
            word=not set(secret.reveal().encode()) & set(SEPARATORS),
        )
        for reference, secret in context.secrets.values.items()
        for expected in (Expected.of(nonce, secret.reveal()),)
    )


def _patience(limit: float, launches: int) -> int:
    """Return the seconds one launch may take, so that all of them hanging leave time to answer."""
    return max(1, min(LONGEST_LAUNCH, int(limit * 0.8 / max(1, launches))))
