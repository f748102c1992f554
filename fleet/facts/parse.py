"""Read a target's answer: hostile until it is parsed."""

from datetime import datetime

from pydantic import ValidationError

from fleet.errors import ProbeError
from fleet.facts import parse_network, parse_running
from fleet.facts.frames import Answer, not_understood, read_records
from fleet.facts.model import Facts, Platform
from fleet.facts.parse_paths import PathReader
from fleet.facts.request import Request

UNKEYED = frozenset({"platform", "absent", "data", "unseen", "listeners", "interfaces", "crontab"})
PARTS = frozenset({"launches", "processes", "listeners", "interfaces", "containers", "crontab"})


def parse_answer(
    output: bytes, request: Request, *, target: str, address: str, kind: str, taken_at: datetime
) -> Facts:
    """Return the facts that a probe's output holds.

    Args:
        output: all that the target printed; lines that are not the probe's are skipped.
        request: the request that was sent; each of its questions must be answered, no other.
        target: the target's name.
        address: the target's address.
        kind: ``host``, ``container`` or ``image``.
        taken_at: when the answer was taken, with a time zone.

    Raises:
        ProbeError: the answer was cut, forged, too large or not understood.
    """
    try:
        answer = Answer.of(read_records(output, request.nonce), UNKEYED)
        facts = _facts(answer, request)
        answer.finish()
        return Facts.model_validate(
            {
                "target": target,
                "address": address,
                "kind": kind,
                "taken_at": taken_at,
                "nonce": request.nonce,
                **facts,
            }
        )
    except ProbeError as error:
        raise ProbeError(error.what, where=target, hint=error.hint) from None
    except ValidationError as error:
        places = {".".join(map(str, problem["loc"])) for problem in error.errors()}
        raise ProbeError(
            f"its answer holds what cannot be: {', '.join(sorted(places))}", where=target
        ) from None


def _facts(answer: Answer, request: Request) -> dict[str, object]:
    platform = _platform(answer)
    unseen = _unseen(answer)
    paths = PathReader(answer, request, platform.home)
    facts = {
        "platform": platform,
        "paths": paths.questions(request.paths),
        "launches": {
            question.launch: paths.launch(f"l{number}", question)
            for number, question in enumerate(request.launches)
        },
        "processes": _processes(answer, request, unseen),
        "containers": _containers(answer, request, unseen),
        "checks": {
            question.name: parse_running.check(answer.one("check", f"k{number}"))
            for number, question in enumerate(request.checks)
        },
        "listeners": None,
        "interfaces": None,
    }
    if request.listeners and "listeners" not in unseen:
        facts["listeners"] = parse_network.listeners(answer.one("listeners"), platform.machine)
    if request.interfaces and "interfaces" not in unseen:
        facts["interfaces"] = parse_network.interfaces(answer.one("interfaces"))
    if request.crontab and "crontab" not in unseen:
        facts["crontab"] = answer.one("crontab").number(0)
    return {**facts, "contents": paths.contents, "unseen": unseen}


def _platform(answer: Answer) -> Platform:
    record = answer.one("platform")
    return Platform(
        os=record.maybe(0) or "",
        machine=record.maybe(1) or "",
        hostname=record.maybe(2) or "",
        user=record.maybe(3) or "",
        uid=record.number(4),
        home=record.text(5),
        rule=record.text(6),
    )


def _unseen(answer: Answer) -> dict[str, str]:
    unseen: dict[str, str] = {}
    for record in answer.many("unseen"):
        part, why = record.text(0), record.text(1)
        if part not in PARTS:
            raise record.wrong("there is no such part of a request")
        unseen.setdefault(part, why)
    return unseen


def _processes(answer: Answer, request: Request, unseen: dict[str, str]) -> dict[str, object]:
    facts: dict[str, object] = {}
    for number, question in enumerate(request.processes):
        found = parse_running.processes(answer, f"r{number}", question)
        whole = answer.maybe("processes", f"r{number}") is not None
        if not whole and "processes" not in unseen:
            raise not_understood("a question about processes has no answer")
        if found or "processes" not in unseen:
            facts[question.name] = found
    return facts


def _containers(answer: Answer, request: Request, unseen: dict[str, str]) -> dict[str, object]:
    facts: dict[str, object] = {}
    for number, question in enumerate(request.containers):
        found = parse_running.containers(answer, f"c{number}", question)
        whole = answer.maybe("containers", f"c{number}") is not None
        if not whole and "containers" not in unseen:
            raise not_understood("a question about containers has no answer")
        if whole:
            facts[question.project] = found
    return facts
