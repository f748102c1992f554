"""Drift: every side of what belongs together, looked at and laid out in one table.

An audit asks each target once. Here more is asked where it shows another side: an engine for the
containers of an image and the image of a container, and the engine's machine for the compose file
that a container comes from and the folder that its bridge is mounted from.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime

from fleet.connectors.engine import Endpoint, endpoint
from fleet.connectors.engine_search import EngineSearch, Held
from fleet.dataclass import dataclass
from fleet.engine.audit import gates_of
from fleet.engine.context import Context, narrowed
from fleet.engine.facts import Looked, gather
from fleet.engine.judging import Standards, judged, member
from fleet.engine.observer import Observer
from fleet.engine.options import AuditOptions
from fleet.engine.recorded import recorded
from fleet.errors import InventoryError, TargetError
from fleet.facts.model import Facts
from fleet.facts.request import PathQuestion, Read, Request
from fleet.facts.text import printable
from fleet.inventory.address import ad_hoc_target
from fleet.inventory.model import Address, Kind, Scheme, Target
from fleet.verifier.compose_running import full_name
from fleet.verifier.fleetwide.compose_reading import first_questions, further_questions, is_path
from fleet.verifier.fleetwide.families import relatives, repository
from fleet.verifier.fleetwide.member import BRIDGE, Beside, Member, mounted_path
from fleet.verifier.fleetwide.rules import judge_fleet
from fleet.verifier.fleetwide.table import tables
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run
from fleet.verifier.waivers import waived

#: Gates that tell of drift. Those of the second row decide the exit code of `fleet drift`.
ADVISORY = frozenset({"bridge.commit"})
DECIDING = frozenset({"bridge.fresh", "fleet.baked", "fleet.composed", "serve.compose"})


def drift(
    targets: Sequence[Target],
    context: Context,
    options: AuditOptions,
    observer: Observer | None = None,
) -> Run:
    """Look at targets, at what belongs to them, and hold all sides against each other.

    Args:
        targets: whom to look at; one without systems is looked at for its bridge.
        context: what the run shares.
        options: how it is carried out. With saved facts nothing is looked for beyond the facts.
        observer: told as it goes on.

    Raises:
        CatalogueError: a system is not known.
        PlanError: a system's text cannot be rendered for a target.
    """
    started = datetime.now(UTC)
    fleet = context.inventory.targets if context.inventory else ()
    systems = options.systems or (BRIDGE,)
    wanted = [t if t.systems else replace(t, systems=systems) for t in relatives(targets, fleet)]
    chosen = narrowed(wanted, context, systems=options.systems, require=options.require)
    look = _Look(context, options, observer, {t.address: t for t in fleet})
    looked = look.at(chosen)
    members = look.beside([look.member(one) for one in looked])
    today = started.date()
    declared = {t.name for t in fleet}
    whole = [*fleet, *(m.target for m in members if m.name not in declared)]
    standards = Standards(context, today)
    results = [judged(one, standards) for one in looked]
    fleetwide = waived(judge_fleet(members, whole), context.waivers, today)
    return Run(
        id=started.strftime("%Y%m%dT%H%M%S.%fZ"),
        command="drift",
        started=started,
        finished=datetime.now(UTC),
        results=tuple(replace(r, findings=tuple(_decided(r.findings))) for r in results),
        strict=options.strict,
        fleetwide=tuple(_decided(fleetwide)),
        gates=gates_of(one.resolved for one in looked),
        drift=tables(members, whole, look.notes),
    )


def _decided(findings: Iterable[Finding]) -> list[Finding]:
    """Keep what tells of drift, and let it decide: whoever asks for drift requires the answer."""
    return [
        f._replace(required=f.gate in DECIDING or f.verdict is Verdict.UNREACHABLE)
        for f in findings
        if f.gate in ADVISORY | DECIDING
    ]


@dataclass(slots=True)
class _Look:
    """One run's looking, and what it was told on the way.

    Attributes:
        declared: targets of the inventory by their address.
        notes: what was found and not looked at, by target.
        called: names that an engine tells of containers, by target.
    """

    context: Context
    options: AuditOptions
    observer: Observer | None
    declared: Mapping[Address, Target] = field(default_factory=dict)
    notes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    called: dict[str, frozenset[str]] = field(default_factory=dict)
    searches: dict[str, EngineSearch] = field(default_factory=dict)

    def at(self, targets: Sequence[Target]) -> list[Looked]:
        """Look at targets, at the containers of images and then at the images of containers."""
        if self.options.offline:
            return list(recorded(targets, self.context, self.options))
        found = [*targets, *self._containers(targets)]
        looked = self._gathered(found)
        return [*looked, *self._gathered(self._images(looked))]

    def member(self, looked: Looked) -> Member:
        """Return a target as the rules of the fleet see it."""
        called = self.called.get(looked.target.name, frozenset())
        return replace(member(looked, self.context), called=called)

    def _gathered(self, targets: Sequence[Target]) -> list[Looked]:
        told = gather(targets, self.context, self.options, self.observer, probe=False, search=False)
        return list(told)

    def _containers(self, targets: Sequence[Target]) -> list[Target]:
        """Return the running containers of images in an engine that are no targets yet."""
        named = [t for t in targets if t.address.scheme is Scheme.CONTAINER]
        made: list[Target] = []
        for image in targets:
            if image.address.scheme is not Scheme.DOCKER_DAEMON:
                continue
            for held in self._held(image):
                known = [t for t in (*named, *made) if held.is_called(t.address.name)]
                if known:
                    called = frozenset({held.image, repository(image.address.name)})
                    self.called.update(dict.fromkeys((t.name for t in known), called))
                elif held.state != "running":
                    self._note(image, f"container {held.name} is {held.state}")
                elif target := self._belonging(f"container:{held.name}", image):
                    made.append(target)
        return made

    def _belonging(self, address: str, other: Target) -> Target | None:
        """Return the inventory's target of an address, or make one like another target."""
        try:
            made = ad_hoc_target(address, systems=other.systems, variables=other.variables)
        except InventoryError:
            return None  # a name that no address can spell
        return self.declared.get(made.address, made)

    def _images(self, looked: Sequence[Looked]) -> list[Target]:
        """Return the images that containers were made of, where no target is one of them yet."""
        known = {
            full_name(one.target.address.name)
            for one in looked
            if one.target.address.scheme is Scheme.DOCKER_DAEMON
        }
        ids = {
            one.facts.image.id for one in looked if _is_image(one) and one.facts and one.facts.image
        }
        made: list[Target] = []
        for one in looked:
            container = one.facts.container if one.facts else None
            if container is None or not container.image_name or container.image_now in ids:
                continue
            name = full_name(container.image_name)
            if name in known or container.image_name.startswith("sha256:"):
                continue
            target = self._belonging(f"docker-daemon:{container.image_name}", one.target)
            if target is not None:
                known.add(name)
                made.append(target)
        return made

    def _held(self, image: Target) -> tuple[Held, ...]:
        try:
            search = self._search(image)
            return search.made_of(image.address.name)
        except TargetError as error:
            self._note(image, f"containers could not be listed: {error.what}")
            return ()

    def _search(self, target: Target) -> EngineSearch:
        at = _endpoint(target)
        return self.searches.setdefault(
            at.url, EngineSearch(at, self.options.seconds(Kind.CONTAINER))
        )

    def _note(self, target: Target, text: str) -> None:
        self.notes[target.name] = (*self.notes.get(target.name, ()), printable(text))

    def beside(self, members: Sequence[Member]) -> list[Member]:
        """Read what belongs to containers on their engine's machine: twice at most in all."""
        if self.options.offline:
            return list(members)
        first = {m.name: _first(m) for m in members}
        read = self._read(members, first)
        further = {
            m.name: further_questions(m.facts.container, there)
            for m in members
            if m.facts and m.facts.container and isinstance(there := read.get(m.name), Facts)
        }
        again = self._read([m for m in members if further.get(m.name)], further)
        return [_completed(m, read.get(m.name), again.get(m.name)) for m in members]

    def _read(
        self, members: Sequence[Member], questions: Mapping[str, tuple[PathQuestion, ...]]
    ) -> dict[str, Facts | str]:
        """Answer questions on this machine: one look for all containers of one nonce."""
        told: dict[str, Facts | str] = {}
        by_nonce: dict[str, list[Member]] = {}
        for each in members:
            if not questions.get(each.name) or each.facts is None:
                continue
            away = _away(each.target)
            if away:
                told[each.name] = away
            else:
                by_nonce.setdefault(each.facts.nonce, []).append(each)
        for nonce, asking in by_nonce.items():
            paths = {q.path: q for m in asking for q in questions[m.name]}
            answer = self._local(Request(nonce, paths=tuple(paths.values())))
            told.update(dict.fromkeys((m.name for m in asking), answer))
        return told

    def _local(self, request: Request) -> Facts | str:
        here = Target("the engine's machine", Address(Scheme.LOCAL, ""))
        request = replace(request, known=self.context.contents.known())
        try:
            with self.context.connections.to(
                here, timeout=self.options.seconds(Kind.HOST)
            ) as connector:
                return self.context.contents.complete(connector.collect(request))
        except TargetError as error:
            return error.what


def _endpoint(target: Target) -> Endpoint:
    named = target.variables.get("docker_host")
    return endpoint(named if isinstance(named, str) else "")


def _away(target: Target) -> str:
    """Say why what lies beside a container cannot be read from here; empty where it can."""
    try:
        at = _endpoint(target)
    except TargetError as error:
        return error.what
    return "" if at.local else f"it lies on the machine of the engine at {at}"


def _is_image(looked: Looked) -> bool:
    return looked.target.kind is Kind.IMAGE


def _first(each: Member) -> tuple[PathQuestion, ...]:
    container = each.facts.container if each.facts else None
    if container is None:
        return ()
    mounted = mounted_path(each)
    told = (PathQuestion(mounted, Read.WHOLE),) if is_path(mounted) else ()
    return (*first_questions(container), *told)


def _completed(each: Member, first: Facts | str | None, again: Facts | str | None) -> Member:
    if first is None:
        return each
    if isinstance(first, str):
        return replace(each, beside=Beside(None, first))
    if isinstance(again, Facts):
        paths = {**first.paths, **again.paths}
        first = first.model_copy(update={"paths": paths})
    return replace(each, beside=Beside(first))
