"""What surrounds the endpoint: foreign sites, foreign names, and the way there."""

from collections.abc import Set as AbstractSet

from fleet.facts.endpoints import EndpointFact
from fleet.systems.mempalace_serve.asked import cells, heard, is_direct, spoken, views
from fleet.systems.mempalace_serve.server import PINNED, listening_hosts
from fleet.verifier.answers import is_reached, line, placed, short, told, was_sent
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, follows_from, not_checked, passed, warned

PLACES = ("target", "controller")
#: Where no server can ask from; whether it is reached from there is fleet.reach's to tell.
_ELSEWHERE = "container"
_SUCCESS = range(200, 300)
_REFUSED = range(400, 500)


def reach(look: Look) -> Judgement:
    """The palace answers from where it is declared to answer, and from nowhere else."""
    found = heard(look)
    if isinstance(found, Judgement):
        return found
    declared = tuple(look.text("reach_from").replace(",", " ").split())
    odd = [place for place in declared if place not in (*PLACES, _ELSEWHERE)]
    if odd:
        return not_checked(f"reach_from knows target, controller and container, not {odd[0]!r}")
    facts = (found.fact, *found.others)
    reached = {f.place for f in facts if is_reached(f)}
    lines = [line(f) for f in facts]
    if declared:
        here = tuple(place for place in declared if place != _ELSEWHERE)
        if here and not reached and all(map(was_sent, facts)):
            return follows_from("serve.health")
        return _as_declared(look, facts, reached, here)
    if not reached:
        return follows_from("serve.health")
    lost = [f for f in facts if f.place not in reached and was_sent(f)]
    if lost:
        return warned(
            f"answers from the {_listed(reached)}, not from the {_listed({f.place for f in lost})}",
            *lines,
            remedy="declare in `reach_from` where it is to answer, and open the way",
        )
    return passed(f"answers from the {_listed(reached)}", *lines)


def _as_declared(
    look: Look,
    facts: tuple[EndpointFact, ...],
    reached: AbstractSet[str],
    declared: tuple[str, ...],
) -> Judgement:
    lines = [
        f"{placed(f)}: want {'an answer' if f.place in declared else 'none'}, got "
        f"{'an answer' if f.place in reached else short(told(f))}"
        for f in facts
    ]
    sent = {f.place for f in facts if was_sent(f)}
    lost = {p for p in declared if p in sent and p not in reached}
    beside = reached - {*declared}
    if lost:
        return failed(f"does not answer from the {_listed(lost)}", *lines)
    if beside:
        return failed(
            f"answers from the {_listed(beside)} too, which is not declared",
            *lines,
            remedy=f"close the way to {look.text('palace_url')}, or add it to `reach_from`",
        )
    unseen = {*declared} - sent
    if unseen:
        return not_checked(f"it could not be asked from the {_listed(unseen)}", *lines)
    where = f"the {_listed(reached)}" if reached else "neither target nor controller"
    return passed(f"answers from {where}, as declared", *lines)


def _listed(places: AbstractSet[str]) -> str:
    return " and the ".join(place for place in PLACES if place in places)


def origin(look: Look) -> Judgement:
    """A foreign site is turned away, and a foreign name is where the server is on loopback."""
    found = spoken(look)
    if isinstance(found, Judgement):
        return found
    facts = [f for f in views(look) if told(f).trouble is None]
    own = [f for f in facts if is_direct(look, f)]
    hosts = listening_hosts(look)
    pinned = bool(hosts) and hosts <= PINNED
    lines = [*cells(facts, [("foreign-origin", "a foreign Origin", "403")])]
    if hosts:
        want = "403" if pinned else "no 403"
        lines += cells(own, [("foreign-host", "a foreign Host", want)])
    let_in = [f for f in facts if _status(f, "foreign-origin") in _SUCCESS]
    if let_in:
        return warned(
            "lets in a foreign Origin: any web page may ask it",
            *lines,
            remedy="let the proxy pass the Origin header unchanged; update the server",
        )
    if pinned and any(_status(f, "foreign-host") in _SUCCESS for f in own):
        return warned("lets in a foreign Host on loopback: a rebound name reaches it", *lines)
    judged = [f for f in facts if _status(f, "foreign-origin") in _REFUSED]
    if not judged:
        return not_checked("it was not asked as a foreign site", *(lines or map(line, facts)))
    return passed("a foreign Origin is turned away", *lines)


def _status(fact: EndpointFact, name: str) -> int:
    answer = fact.answers.get(name)
    return (answer.status or 0) if answer else 0
