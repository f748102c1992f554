"""One endpoint, asked from every place: the controller, hosts, and containers."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

from fleet.dataclass import dataclass
from fleet.facts.endpoints import EndpointFact
from fleet.inventory.model import Kind, Target
from fleet.verifier.answers import is_reached, short, told, was_sent
from fleet.verifier.fleetwide.member import BRIDGE, FLEET, Member, Told
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.palace import without_credentials

SERVE = "mempalace-serve"
ANSWER, NONE = "an answer", "none"
_KINDS = (Kind.HOST, Kind.CONTAINER)
_PLACES = ("controller", "host", "container")
_UNASKED = {
    "controller": "no target of this run serves it",
    "host": "no host of this run is its client",
    "container": "no container of this run is its client",
}


@dataclass(frozen=True, slots=True)
class Cell:
    """What one target tells of one place: what is wanted there, and what came.

    Attributes:
        who: the target that was asked from; empty where only the controller asked.
        want: ``an answer``, ``none``, or empty where nothing is declared.
        fact: what came; a text where nothing was seen, which says why.
    """

    place: str
    who: str
    want: str
    fact: EndpointFact | str

    @property
    def got(self) -> str:
        """Return what came in a few words."""
        if isinstance(self.fact, str):
            return f"not seen: {self.fact}"
        return ANSWER if told(self.fact).trouble is None else short(told(self.fact))

    @property
    def is_as_wanted(self) -> bool:
        """Tell whether what was seen is what is wanted; what was not seen contradicts nothing."""
        if isinstance(self.fact, str) or not self.want:
            return True
        return is_reached(self.fact) is (self.want == ANSWER)


def reach(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:
    """The same endpoint is asked from the controller, from hosts and from containers.

    It answers clients wherever they are, and elsewhere as ``reach_from`` of its server declares.
    """
    groups: dict[str, list[Member]] = defaultdict(list)
    for member in members:
        if _asks(member.target):
            groups[_url(member.target)].append(member)
    tables = {url: _cells(url, group) for url, group in groups.items() if len(group) > 1}
    tables = {u: cells for u, cells in tables.items() if len({c.place for c in cells}) > 1}
    if not tables:
        return ()
    cells = [cell for table in tables.values() for cell in table]
    asked = sum(len(groups[url]) for url in tables)
    every = sum(_asks(t) and _url(t) in tables for t in fleet)
    rows = [row for url, table in tables.items() for row in _rows(url, table)]
    return (Told(FLEET, _whole(_judged(cells, rows), cells, asked, every)),)


def _whole(found: Judgement, cells: Sequence[Cell], asked: int, every: int) -> Judgement:
    """Keep the rule from holding where a place was not seen, or a target is not in this run."""
    if found.verdict is not Verdict.PASS:
        return found
    seen = sum(isinstance(cell.fact, EndpointFact) for cell in cells)
    if seen < len(cells):
        return not_checked(f"seen from {seen} of {len(cells)} places", *found.evidence)
    if asked < every:
        of = f"{asked} of its {every} targets are in this run"
        return not_applicable(f"is asked of the whole fleet; {of}", *found.evidence)
    return found


def _judged(cells: Sequence[Cell], rows: Sequence[str]) -> Judgement:
    wrong = [cell for cell in cells if not cell.is_as_wanted]
    if wrong and not any(isinstance(c.fact, EndpointFact) and is_reached(c.fact) for c in cells):
        return not_checked("answers nowhere; flip.symptom or serve.health tells why", *rows)
    lost = {cell.place for cell in wrong if cell.want == ANSWER}
    if lost:
        return failed(f"is not reached from every {_listed(lost)} that should", *rows)
    if wrong:
        beside = _listed({cell.place for cell in wrong})
        return failed(f"answers the {beside} too, which is not declared", *rows)
    return passed("answers as declared from every place", *rows)


def _listed(places: set[str]) -> str:
    return " and ".join(place for place in _PLACES if place in places)


def _asks(target: Target) -> bool:
    """Tell whether a target is a client of a palace, or serves one."""
    return (
        target.kind in _KINDS
        and not {BRIDGE, SERVE}.isdisjoint(target.systems)
        and bool(_url(target))
    )


def _url(target: Target) -> str:
    url = target.variables.get("palace_url")
    return without_credentials(url).rstrip("/") if isinstance(url, str) else ""


def _cells(url: str, group: Sequence[Member]) -> list[Cell]:
    cells = [cell for member in group for cell in _of(member, url)]
    wanted = {place for member in group for place in _declared(member)}
    if "container" in wanted and not any(cell.place == "container" for cell in cells):
        cells.append(Cell("container", "", ANSWER, "no container of this run asks it"))
    return cells


def _of(member: Member, url: str) -> Iterator[Cell]:
    """Yield the cells that a member fills: its own, and a server's machine the controller's."""
    declared = _declared(member)
    is_client = BRIDGE in member.target.systems
    own = ANSWER if is_client else _want("target", declared)
    yield Cell(member.target.kind.value, member.name, own, _heard(member, url, "target"))
    if SERVE in member.target.systems:
        want = _want("controller", declared)
        yield Cell("controller", "", want, _heard(member, url, "controller"))


def _declared(member: Member) -> tuple[str, ...]:
    if SERVE not in member.target.systems:
        return ()
    return tuple(str(member.target.variables.get("reach_from") or "").replace(",", " ").split())


def _want(place: str, declared: Sequence[str]) -> str:
    if not declared:
        return ""
    return ANSWER if place in declared else NONE


def _heard(member: Member, url: str, place: str) -> EndpointFact | str:
    if member.facts is None:
        return member.trouble or "it was not asked"
    found = (e for e in member.facts.endpoints if e.url.rstrip("/") == url and e.place == place)
    fact = next(found, None)
    if fact is None:
        return "the endpoint was not asked from there"
    return fact if was_sent(fact) else told(fact).detail or "it could not be asked from there"


def _rows(url: str, cells: Sequence[Cell]) -> Iterator[str]:
    """Yield a small table: a row for each place, those who agree in one."""
    of: dict[tuple[str, str, str], list[str]] = defaultdict(list)
    for cell in sorted(cells, key=lambda c: (_PLACES.index(c.place), c.who)):
        of[cell.place, cell.want or "not declared", cell.got].append(cell.who)
    yield url
    for (place, want, got), names in of.items():
        who = f" {', '.join(names)}" if any(names) else ""
        yield f"{place}{who}: want {want}, got {got}"
    for place, why in _UNASKED.items():
        if all(cell.place != place for cell in cells):
            yield f"{place}: not asked, {why}"
