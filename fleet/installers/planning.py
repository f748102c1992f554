"""The plan: what must change on one target, worked out from what is desired and what was seen."""

import posixpath
from collections.abc import Collection, Iterable, Mapping, Sequence

from fleet.errors import PlanError, SecretError
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact
from fleet.facts.paths import State as Seen
from fleet.facts.request import PathQuestion, Read
from fleet.installers import ledger as ledgers
from fleet.installers.decision import Decision, unseen
from fleet.installers.ground import check_ledger, closed_conflict, closed_folder, real_parent
from fleet.installers.items import Item, MergeBody, PackageBody
from fleet.installers.kinds import KINDS
from fleet.installers.kinds.service import links
from fleet.installers.ledger import Entry, Ledger, read_ledger
from fleet.installers.model import Conflict, Plan, Run, Step
from fleet.installers.removal import Removal, ledger_questions, take_away
from fleet.installers.site import Site, state_of, trail
from fleet.inventory.model import SecretRef
from fleet.secrets import Secret


def questions(items: Iterable[Item] = ()) -> tuple[PathQuestion, ...]:
    """Return what a plan must see: the ledger, a cut run's traces, and what each item asks."""
    own = [
        PathQuestion(ledgers.PATH, Read.WHOLE, limit=LEDGER_LIMIT),
        PathQuestion(ledgers.HOLDER, Read.WHOLE),
        *(PathQuestion(path) for path in ledgers.JOURNALS),
    ]
    asked = (question for item in items for question in KINDS[type(item.body)].questions(item))
    return tuple(dict.fromkeys([*own, *asked]))


LEDGER_LIMIT = 8 * 1024 * 1024


def further_questions(
    facts: Facts, blobs: Mapping[str, bytes] | None = None
) -> tuple[PathQuestion, ...]:
    """Return what an uninstall or a prune must see beside: all that the ledger names.

    A plan made without these answers takes it that nothing was edited; the target then refuses
    what was.

    Raises:
        PlanError: the ledger cannot be read.
    """
    return ledger_questions(_site(facts, blobs=blobs).ledger)


def plan(
    items: Sequence[Item],
    facts: Facts,
    *,
    adopt: bool = False,
    prune: bool = False,
    secrets: Mapping[SecretRef, Secret] | None = None,
    blobs: Mapping[str, bytes] | None = None,
    scope: Collection[str] | None = None,
) -> Plan:
    """Plan what brings a target from what was seen to what is desired.

    Args:
        items: from :func:`fleet.installers.desired.desired`.
        facts: must answer :func:`questions`.
        adopt: take over what fleet did not put there; it is kept beside.
        prune: remove what fleet put there and is not desired any more.
        secrets: values at hand; they tell what is unchanged, and stand in no plan.
        blobs: contents the controller held before, by sha256.
        scope: systems that ``prune`` may touch; None means all.

    Raises:
        PlanError: the ledger cannot be read, or was not looked at.
    """
    site = _site(facts, adopt=adopt, secrets=secrets, blobs=blobs)
    if _was_cut(site):
        return _recovery(site)
    decided: list[tuple[Item, Decision]] = []
    for item in _in_order(items):
        stuck = {other.key for other, decision in decided if decision.conflicts}
        decided.append((item, _decide(item, site, stuck)))
    unwanted = _unwanted(site, decided, scope)
    removal = take_away(site, unwanted) if prune else Removal((), (), ())
    notes = [note for _, decision in decided for note in decision.notes]
    if unwanted and not prune:
        notes.append(f"{_things(len(unwanted))} no longer wanted; --prune removes what is")
    return _plan(
        site,
        steps=[*(s for _, d in decided for s in d.steps), *removal.steps],
        conflicts=[*(c for _, d in decided for c in d.conflicts), *removal.conflicts],
        entries=_entries(site, decided, removal),
        unchanged=sum(not d.steps and not d.conflicts for _, d in decided),
        notes=notes,
    )


def removal(
    facts: Facts,
    systems: Collection[str] | None = None,
    *,
    blobs: Mapping[str, bytes] | None = None,
) -> Plan:
    """Plan an uninstall: all that the ledger owns, or what it owns of some systems.

    Raises:
        PlanError: the ledger cannot be read, or was not looked at.
    """
    site = _site(facts, blobs=blobs)
    if _was_cut(site):
        return _recovery(site)
    doomed = [e for e in site.ledger.entries if systems is None or e.system in systems]
    made = take_away(site, doomed)
    return _plan(
        site,
        steps=list(made.steps),
        conflicts=list(made.conflicts),
        entries=_entries(site, [], made),
        unchanged=0,
        notes=[] if site.ledger.entries else ["fleet put nothing here"],
    )


def _in_order(items: Iterable[Item]) -> list[Item]:
    """Put packages of pi behind all else: pi rewrites its settings, which others may edit too."""
    first: list[Item] = []
    last: list[Item] = []
    for item in items:
        of_pi = isinstance(item.body, PackageBody) and item.body.manager == "pi"
        behind = of_pi or any(other.key in item.needs for other in last)
        (last if behind else first).append(item)
    return [*first, *last]


def _things(count: int) -> str:
    return "one thing fleet put here is" if count == 1 else f"{count} things fleet put here are"


def _site(
    facts: Facts,
    *,
    adopt: bool = False,
    secrets: Mapping[SecretRef, Secret] | None = None,
    blobs: Mapping[str, bytes] | None = None,
) -> Site:
    site = Site(facts, Ledger(), adopt=adopt, secrets=secrets or {}, blobs=blobs or {})
    fact = site.seen(ledgers.PATH)
    if fact is None:
        raise PlanError("the ledger was not looked at", where=facts.target)
    # The ledger's own folders are made before anything else: no step makes them again.
    site.folders.update(dict.fromkeys(_state_folders(site, fact)))
    if fact.state is Seen.ABSENT:
        return site
    content = site.content(fact)
    if content is None:
        what, hint = unseen(site, fact)
        raise PlanError(
            f"the ledger {ledgers.PATH} {what}",
            where=facts.target,
            hint=f"{hint}; nothing was changed",
        )
    site.ledger = read_ledger(content, where=facts.target)
    return site


def _was_cut(site: Site) -> bool:
    return any(
        fact is not None and fact.state is Seen.PRESENT
        for fact in (site.seen(path) for path in ledgers.JOURNALS)
    )


def _recovery(site: Site) -> Plan:
    holder = site.content(site.seen(ledgers.HOLDER))
    who = _holder(holder) if holder else ""
    note = "an earlier run was cut before it ended" + (f" ({who})" if who else "")
    return _plan(
        site,
        steps=[],
        conflicts=[],
        entries=list(site.ledger.entries),
        unchanged=0,
        notes=[f"{note}: it is undone first, then the target is looked at again"],
        recover=True,
    )


def _holder(content: bytes) -> str:
    lines = content.decode("utf-8", "replace").splitlines()
    text = lines[3] if len(lines) > 3 else ""  # noqa: PLR2004 - pid, host, start, then the text
    return "".join(c for c in text if c.isprintable())[:200]


def _decide(item: Item, site: Site, stuck: Collection[str]) -> Decision:
    if item.problem:
        what, hint = item.problem
        conflict = Conflict(key=item.key, path=_place(item, site), what=what, hint=hint)
        return Decision(conflicts=(conflict,))
    folders = dict(site.folders)
    try:
        decision = KINDS[type(item.body)].decide(item, site)
    except SecretError as error:
        conflict = Conflict(
            key=item.key, path=site.absolute(item.path), what=error.what, hint=error.hint
        )
        decision = Decision(conflicts=(conflict,))
    actions = [action for step in decision.steps for action in step.actions]
    shut = closed_folder(site, actions)
    if shut:
        conflict = closed_conflict(item.key, site, site.absolute(item.path) or shut, shut)
        decision = Decision(conflicts=(conflict,))
    needed = [key for key in item.needs if key in stuck]
    if needed and decision.steps:
        decision = Decision(conflicts=(_waits(item, site, needed[0]),))
    if decision.conflicts:
        site.folders = folders
    for step in decision.steps:
        site.touched.update(a.path for a in step.actions if not isinstance(a, Run))
        if isinstance(item.body, MergeBody):
            site.leave(step.actions)
    return decision


def _place(item: Item, site: Site) -> str:
    """Return where an item goes: its path, or of a package its name."""
    package = item.body.package if isinstance(item.body, PackageBody) else ""
    return site.absolute(item.path) or package


def _waits(item: Item, site: Site, needed: str) -> Conflict:
    path = site.absolute(item.path)
    return Conflict(
        key=item.key,
        path=path,
        what=f"{site.shown(path)} is left as it is: it needs {needed}, which cannot be brought",
        hint=f"put {needed} right first",
    )


def _unwanted(
    site: Site, decided: Sequence[tuple[Item, Decision]], scope: Collection[str] | None
) -> list[Entry]:
    """Return what the ledger owns and nothing desires; what stands in conflict is left out."""
    wanted = {entry.place for _, decision in decided for entry in decision.entries}
    stuck = {item.key for item, decision in decided if decision.conflicts}
    return [
        entry
        for entry in site.ledger.entries
        if entry.place not in wanted
        and entry.key not in stuck
        and (scope is None or entry.system in scope)
    ]


def _entries(site: Site, decided: Sequence[tuple[Item, Decision]], removed: Removal) -> list[Entry]:
    entries = {entry.place: entry for entry in site.ledger.entries}
    for entry in removed.gone:
        entries.pop(entry.place, None)
    for _, decision in decided:
        entries.update({entry.place: entry for entry in decision.entries})
    return list(entries.values())


def _plan(
    site: Site,
    *,
    steps: list[Step],
    conflicts: list[Conflict],
    entries: list[Entry],
    unchanged: int,
    notes: list[str],
    recover: bool = False,
) -> Plan:
    fact = site.seen(ledgers.PATH)
    if fact is not None and steps:
        check_ledger(site, fact)
    state_folders = _state_folders(site, fact)
    folders = dict.fromkeys([*site.ledger.folders, *state_folders, *site.folders])
    gone = _gone(site, folders, entries)
    return Plan(
        target=site.facts.target,
        nonce=site.facts.nonce,
        taken_at=site.facts.taken_at,
        home=site.home,
        steps=tuple(steps),
        conflicts=tuple(conflicts),
        unchanged=unchanged,
        notes=tuple(dict.fromkeys(notes)),
        ledger=Ledger(entries=tuple(entries), folders=tuple(f for f in folders if f not in gone)),
        ledger_expect=(state_of(fact) if fact else None) or "-",
        state_folders=state_folders,
        gone=gone,
        recover=recover,
    )


def _state_folders(site: Site, fact: PathFact | None) -> tuple[str, ...]:
    """Return the folders of the ledger that are not there, or that a cut run left without one."""
    if fact is None or fact.state is not Seen.ABSENT:
        return ()
    return trail(fact).missing or (site.absolute(ledgers.STATE),)


def _gone(site: Site, folders: Iterable[str], entries: Sequence[Entry]) -> tuple[str, ...]:
    """Return folders fleet made that nothing of fleet's is in any more, innermost first."""
    used = [entry.path for entry in entries]
    used += [entry.backup for entry in entries if entry.backup]
    used += [link for entry in entries if entry.kind == "service" for link in links(entry)]
    if entries:
        used.append(site.absolute(ledgers.PATH))
    real = [posixpath.join(real_parent(site, path), posixpath.basename(path)) for path in used]
    unused = [
        folder
        for folder in folders
        if not any(path.startswith(f"{folder}/") for path in (*used, *real))
    ]
    return tuple(sorted(unused, key=lambda folder: folder.count("/"), reverse=True))
