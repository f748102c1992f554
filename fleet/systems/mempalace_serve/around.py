"""What surrounds the endpoint: foreign sites, foreign names, further routes, and the way there.

Nothing is said of the way from one view alone: a route that is not found through the proxy may
never have been in this server.
"""

from collections.abc import Iterator
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from enum import Enum, auto

from packaging.version import InvalidVersion, Version

from fleet.facts.model import Answer, EndpointFact
from fleet.systems.mempalace_serve.asked import cells, heard, is_direct, spoken, views
from fleet.systems.mempalace_serve.routes import ROUTES, Route
from fleet.systems.mempalace_serve.server import PINNED, listening_hosts
from fleet.verifier.answers import (
    UNAUTHORIZED,
    is_reached,
    line,
    placed,
    short,
    told,
    was_sent,
)
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, follows_from, not_checked, passed, warned

PLACES = ("target", "controller")
#: Where no server can ask from; whether it is reached from there is fleet.reach's to tell.
_ELSEWHERE = "container"
_FORBIDDEN = 403
_NOT_FOUND = 404
_SUCCESS = range(200, 300)
_REFUSED = range(400, 500)
_BAD_REQUEST = 400


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


class _Fate(Enum):
    PRESENT = auto()
    ABSENT = auto()
    BLOCKED = auto()
    LACKING = auto()
    OPEN = auto()


@dataclass(frozen=True, slots=True)
class _Path:
    """A route, what was heard of it past the proxy and through it, and what that means."""

    route: Route
    direct: Answer | None
    proxied: Answer | None
    version: Version | None

    @property
    def fate(self) -> _Fate:
        if self.direct is not None and self.direct.status is not None:
            return self._compared(self.direct)
        if self.proxied is not None and _is_there(self.route, self.proxied):
            return _Fate.PRESENT
        if self.proxied is not None and self.proxied.status == _NOT_FOUND and self._is_newer:
            return _Fate.ABSENT
        return _Fate.OPEN

    def _compared(self, direct: Answer) -> _Fate:
        there = _is_there(self.route, direct)
        if self.proxied is not None and (there or direct.status == UNAUTHORIZED):
            if self.proxied.status is None:
                return _Fate.OPEN  # it may have been late, or held back: nothing was heard
            same = _is_there(self.route, self.proxied) or (
                not there and self.proxied.status == UNAUTHORIZED
            )
            if not same:
                return _Fate.BLOCKED
        if there:
            return _Fate.PRESENT
        if direct.status == _NOT_FOUND:
            return _Fate.ABSENT if self._is_newer else _Fate.LACKING
        return _Fate.OPEN

    @property
    def _is_newer(self) -> bool:
        """Tell whether the running release is known not to have it."""
        if not self.route.since:
            return True
        return self.version is not None and self.version < Version(self.route.since)

    def __str__(self) -> str:
        seen = ", ".join(
            f"{how} {short(answer)}"
            for how, answer in (("direct", self.direct), ("proxied", self.proxied))
            if answer is not None
        )
        return f"{self.route.path}: {self._meaning} ({seen or 'not asked'})"

    @property
    def _meaning(self) -> str:
        since = self.route.since
        none = f"no such route in this server: it came with {since}"
        return {
            _Fate.PRESENT: "present",
            _Fate.ABSENT: none if since else "no such route in this server, nor in any release",
            _Fate.BLOCKED: "blocked on the way",
            _Fate.LACKING: f"no such route in this server, though releases have it since {since}",
            _Fate.OPEN: "absent or blocked: not told apart",
        }[self.fate]


def _is_there(route: Route, answer: Answer) -> bool:
    answers = answer.status in _SUCCESS or answer.status == _BAD_REQUEST
    return answers and answer.detail in ("", route.kind)


def routes(look: Look) -> Judgement:
    """Every route that the running release has is there, and nothing on the way blocks it."""
    found = spoken(look)
    if isinstance(found, Judgement):
        return found
    paths = tuple(_paths(look, found.fact.version))
    if not any(p.direct or p.proxied for p in paths):
        return not_checked("its routes were not asked for", found.place)
    fates = {fate: [p for p in paths if p.fate is fate] for fate in _Fate}
    lines = [str(path) for path in paths]
    wrong = [*fates[_Fate.BLOCKED], *fates[_Fate.LACKING]]
    if fates[_Fate.BLOCKED]:
        names = ", ".join(p.route.path for p in fates[_Fate.BLOCKED])
        remedy = f"let the proxy pass {names} to the server"
        return warned(f"blocked on the way: {names}", *lines, remedy=remedy)
    if wrong:
        return warned(f"not in this server: {', '.join(p.route.path for p in wrong)}", *lines)
    if fates[_Fate.OPEN]:
        told_apart = "declare `direct_url`, which passes no proxy, to tell"
        return not_checked(f"absent in this server or blocked on the way: {told_apart}", *lines)
    there = ", ".join(path.route.path for path in fates[_Fate.PRESENT])
    return passed(f"nothing is blocked on the way; there are {there or 'none'}", *lines)


def _paths(look: Look, running: str) -> Iterator[_Path]:
    facts = [f for f in views(look) if told(f).trouble is None]
    direct = next((f for f in facts if is_direct(look, f)), None)
    proxied = next((f for f in facts if not is_direct(look, f)), None)
    try:
        version = Version(running)
    except InvalidVersion:
        version = None
    for route in ROUTES:
        one = direct.answers.get(route.path) if direct else None
        other = proxied.answers.get(route.path) if proxied else None
        yield _Path(route, one, other, version)
