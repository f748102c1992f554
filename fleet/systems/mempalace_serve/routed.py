"""Each further route of the server: present, absent in this release, or blocked on the way.

Nothing is said of the way from one view alone: a route that is not found through the proxy may
never have been in this server. Who was answered by it, from wherever, proves that it is there.
"""

from collections.abc import Iterator
from enum import Enum, auto

from packaging.version import InvalidVersion, Version

from fleet.dataclass import dataclass
from fleet.facts.endpoints import Answer
from fleet.systems.mempalace_serve.asked import is_direct, spoken, views
from fleet.systems.mempalace_serve.routes import ROUTES, Route
from fleet.verifier.answers import UNAUTHORIZED, short, told
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, Verdict, not_checked, passed, warned

_BAD_REQUEST = 400
_NOT_FOUND = 404
_SUCCESS = range(200, 300)
#: What the server itself says of a route for good; all else may be otherwise a moment later.
_PLAIN = (UNAUTHORIZED, _NOT_FOUND)


class _Fate(Enum):
    """What became of a route, the worst first: of several views the worst is told."""

    BLOCKED = auto()
    LACKING = auto()
    OPEN = auto()
    ABSENT = auto()
    PRESENT = auto()


@dataclass(frozen=True, slots=True)
class _Path:
    """A route, what was heard of it past the proxy and through it, and what that means.

    ``proxied`` is by the place it was asked from.
    """

    route: Route
    direct: Answer | None
    proxied: tuple[tuple[str, Answer], ...]
    version: Version | None

    @property
    def is_asked(self) -> bool:
        return self.direct is not None or bool(self.proxied)

    @property
    def fate(self) -> _Fate:
        known = self._known
        if known is None:
            missing = self.direct is None and any(a.status == _NOT_FOUND for _, a in self.proxied)
            return _Fate.ABSENT if missing and self._is_newer else _Fate.OPEN
        fates = {self._compared(known, answer) for _, answer in self.proxied}
        return min(fates or {self._alone(known)}, key=lambda fate: fate.value)

    @property
    def _known(self) -> Answer | None:
        """Return the answer that the others are held against: the server's own, or a good one."""
        direct = self.direct
        if direct is not None and (_is_there(self.route, direct) or direct.status in _PLAIN):
            return direct
        return next((a for _, a in self.proxied if _is_there(self.route, a)), None)

    def _compared(self, known: Answer, proxied: Answer) -> _Fate:
        there = _is_there(self.route, known)
        if not (there or known.status == UNAUTHORIZED):
            return self._alone(known)
        if proxied.status is None:
            return _Fate.OPEN  # it may have been late, or held back: nothing was heard
        same = _is_there(self.route, proxied) or (not there and proxied.status == UNAUTHORIZED)
        return self._alone(known) if same else _Fate.BLOCKED

    def _alone(self, known: Answer) -> _Fate:
        if _is_there(self.route, known):
            return _Fate.PRESENT
        if known.status == _NOT_FOUND:
            return _Fate.ABSENT if self._is_newer else _Fate.LACKING
        return _Fate.OPEN

    @property
    def _is_newer(self) -> bool:
        """Tell whether the running release is known not to have it."""
        if not self.route.since:
            return True
        return self.version is not None and self.version < Version(self.route.since)

    def __str__(self) -> str:
        return f"{self.route.path}: {self._meaning} ({'; '.join(self._cells()) or 'not asked'})"

    def _cells(self) -> Iterator[str]:
        """Return where it was asked, what was expected there, and what came."""
        if self.direct is not None:
            yield f"direct: {self._cell(self.direct)}"
        if len({self._cell(answer) for _, answer in self.proxied}) > 1:
            for place, answer in self.proxied:
                yield f"proxied, from the {place}: {self._cell(answer)}"
        elif self.proxied:
            yield f"proxied: {self._cell(self.proxied[0][1])}"

    def _cell(self, answer: Answer) -> str:
        own = answer.status not in _SUCCESS or answer.detail in ("", self.route.kind)
        return f"want {self._wanted}, got {short(answer)}{'' if own else f' {answer.detail}'}"

    @property
    def _wanted(self) -> str:
        if self._is_newer:
            return str(_NOT_FOUND)
        known = self.version is not None
        return str(self.route.status) + ("" if known else f" since {self.route.since}")

    @property
    def _meaning(self) -> str:
        since = self.route.since
        none = f"no such route in this server: it came with {since}"
        return {
            _Fate.PRESENT: "present",
            _Fate.ABSENT: none if since else "no such route in this server, nor in any release",
            _Fate.BLOCKED: "blocked on the way",
            _Fate.LACKING: f"no such route in this server, though releases have it since {since}",
            _Fate.OPEN: "the server itself did not tell"
            if self.is_untold
            else "absent or blocked: not told apart",
        }[self.fate]

    @property
    def is_untold(self) -> bool:
        """Tell whether the server itself was asked, and answered neither yes nor no."""
        direct = self.direct
        answered = direct is not None and (_is_there(self.route, direct) or direct.status in _PLAIN)
        return self.fate is _Fate.OPEN and direct is not None and not answered


def _is_there(route: Route, answer: Answer) -> bool:
    answers = answer.status in _SUCCESS or answer.status == _BAD_REQUEST
    return answers and answer.detail in ("", route.kind)


def routes(look: Look) -> Judgement:
    """Every route that the running release has is there, and nothing on the way blocks it."""
    found = spoken(look)
    if isinstance(found, Judgement):
        return found
    paths = tuple(_paths(look, found.fact.version))
    if not any(path.is_asked for path in paths):
        return not_checked("its routes were not asked for", found.place)
    fates = {fate: [p for p in paths if p.fate is fate] for fate in _Fate}
    lines = [str(path) for path in paths]
    if fates[_Fate.BLOCKED]:
        names = _named(fates[_Fate.BLOCKED])
        remedy = f"let the proxy pass {names} to the server"
        return warned(f"blocked on the way: {names}", *lines, remedy=remedy)
    if fates[_Fate.LACKING]:
        return warned(f"not in this server: {_named(fates[_Fate.LACKING])}", *lines)
    if fates[_Fate.OPEN]:
        return _untold(fates[_Fate.OPEN], lines)
    there = _named(fates[_Fate.PRESENT])
    return passed(f"nothing is blocked on the way; there are {there or 'none'}", *lines)


def _named(paths: list[_Path]) -> str:
    return ", ".join(path.route.path for path in paths)


def _untold(paths: list[_Path], lines: list[str]) -> Judgement:
    if all(path.is_untold for path in paths):
        told_not = f"the server itself did not tell of {_named(paths)}"
        remedy = "ask again: it may be busy, and gives a few event streams at a time"
        return Judgement(Verdict.NOT_CHECKED, told_not, tuple(lines), remedy)
    told_apart = "declare `direct_url`, which passes no proxy, to tell"
    return not_checked(f"absent in this server or blocked on the way: {told_apart}", *lines)


def _paths(look: Look, running: str) -> Iterator[_Path]:
    facts = [f for f in views(look) if told(f).trouble is None]
    direct = next((f for f in facts if is_direct(look, f)), None)
    proxied = [f for f in facts if not is_direct(look, f)]
    try:
        version = Version(running)
    except InvalidVersion:
        version = None
    for route in ROUTES:
        one = direct.answers.get(route.path) if direct else None
        others = ((f.place, f.answers[route.path]) for f in proxied if route.path in f.answers)
        yield _Path(route, one, tuple(others), version)
