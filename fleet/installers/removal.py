"""Taking away what the ledger says fleet put there, and nothing that was edited since."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact
from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import blocked, unedited
from fleet.installers.ground import closed_folder
from fleet.installers.jsonc import Edit, applied, find, remove
from fleet.installers.jsonc_anew import below, digest, no_longer_set
from fleet.installers.jsonc_read import BrokenJson, read_jsonc
from fleet.installers.kinds import compose, config, service
from fleet.installers.kinds.managers import MANAGERS
from fleet.installers.kinds.merge import splices
from fleet.installers.kinds.package import SECONDS
from fleet.installers.ledger import BECOMES, ONCE, Entry, Ledger
from fleet.installers.model import (
    AS_LEFT,
    FOLDER,
    Action,
    Conflict,
    Content,
    EditFile,
    PutBack,
    Run,
    Splice,
    State,
    Step,
    TakeBlock,
    TakePath,
)
from fleet.installers.site import Site, link_state, state_of


@dataclass(frozen=True, slots=True)
class Taken:
    """What becomes of one entry: actions, or why it is left. Neither means it is gone already."""

    actions: tuple[Action, ...] = ()
    left: str = ""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Removal:
    """What taking entries away comes to; ``gone`` are those the ledger is to forget."""

    steps: tuple[Step, ...]
    conflicts: tuple[Conflict, ...]
    gone: tuple[Entry, ...]


def ledger_questions(ledger: Ledger) -> tuple[PathQuestion, ...]:
    """Return what must be seen to tell whether what fleet put there was edited since."""
    return tuple(dict.fromkeys(_question(e) for e in ledger.entries if e.kind in _READS))


_READS = {"link": Read.STAT, "file": Read.HASH, "block": Read.ENV, "merge": Read.WHOLE}


def _question(entry: Entry) -> PathQuestion:
    sealed = entry.kind == "file" and not entry.sha256
    whole = entry.kind == "file" and BECOMES in entry.about
    read = Read.ENV if sealed else Read.WHOLE if whole else _READS[entry.kind]
    return PathQuestion(entry.path, read)


def take_away(site: Site, entries: Iterable[Entry]) -> Removal:
    """Plan the removal of entries, what was put last first, one step an artifact."""
    groups: dict[str, list[Entry]] = {}
    for entry in reversed(list(entries)):
        groups.setdefault(entry.key, []).append(entry)
    steps, conflicts, gone = [], [], []
    for key, group in groups.items():
        actions: list[Action] = []
        notes: list[str] = []
        for entry in group:
            taken = _TAKERS[entry.kind](site, entry)
            shut = closed_folder(site, taken.actions)
            if shut:
                why = f"lies in {site.shown(shut)}, which this user may not write in"
                taken = Taken(left=why)
            if taken.left:
                conflicts.append(_left(site, entry, taken.left))
                continue
            if entry.kind == "merge":
                site.leave(taken.actions)
            actions += taken.actions
            # Two blocks may lie in one file: the second is taken from it as the first left it.
            site.touched.update(a.path for a in taken.actions if not isinstance(a, Run))
            notes += taken.notes
            gone.append(entry)
        actions += _afterwards(group)
        if actions:
            summary = f"remove {_named(site, group)}"
            steps.append(
                Step(
                    key=key,
                    change="remove",
                    summary=summary,
                    actions=tuple(actions),
                    notes=tuple(dict.fromkeys(notes)),
                )
            )
    return Removal(tuple(steps), tuple(conflicts), tuple(gone))


def _named(site: Site, group: Sequence[Entry]) -> str:
    entry = group[-1]
    if entry.kind == "package":
        return f"the {entry.about.get('manager', '')} package {entry.about.get('package', '')}"
    others = len({other.path for other in group}) - 1
    more = f" and {others} more" if others else ""
    shown = site.shown(entry.path)
    if entry.kind == "block":
        return f"the block {entry.key} from {shown}"
    return f"what fleet set in {shown}" if entry.kind == "merge" else shown + more


def _left(site: Site, entry: Entry, why: str) -> Conflict:
    kept = f"; what lay there before is kept as {site.shown(entry.backup)}" if entry.backup else ""
    return Conflict(
        key=entry.key,
        path=entry.path,
        what=f"{site.shown(entry.path)} {why}: it is left alone",
        hint=f"remove it yourself if you do not need it{kept}",
    )


def _take_placed(site: Site, entry: Entry) -> Taken:
    fact = site.seen(entry.path)
    if fact is None:
        return _taken(site, entry, _as_written(entry))
    state = state_of(fact)
    if state == "-":
        if not entry.backup:
            return Taken()
        if fact.blocked:
            return Taken(left=f"cannot be put back: {blocked(site, fact)[0]}")
        return Taken((PutBack(path=entry.path, expect=state, backup=entry.backup),))
    if state is None:
        return Taken(left=f"cannot be seen ({fact.why or fact.state})")
    if not unedited(site, entry, fact):
        if ONCE in entry.about:
            return Taken(notes=(f"{site.shown(entry.path)} was edited since, and stays",))
        return Taken(left="was edited since fleet wrote it")
    return _taken(site, entry, state)


def _as_written(entry: Entry) -> State:
    if entry.kind == "link":
        return link_state(entry.text)
    return f"f{entry.sha256}" if entry.sha256 else f"m{entry.mtime}.{entry.size}"


def _taken(site: Site, entry: Entry, state: State) -> Taken:
    expect = site.expect(entry.path, state)
    if entry.backup:
        action = PutBack(path=entry.path, expect=expect, backup=entry.backup)
        return Taken((action,), notes=(f"puts {site.shown(entry.backup)} back",))
    return Taken((TakePath(path=entry.path, expect=expect),))


def _take_block(site: Site, entry: Entry) -> Taken:
    fact = site.seen(entry.path)
    state = None if fact is None else state_of(fact)
    if state == "-":
        return Taken()
    action = TakeBlock(
        path=entry.path,
        expect=site.expect(entry.path, state or AS_LEFT),
        name=entry.key,
        sha256=entry.sha256,
        created=entry.created,
    )
    return Taken((action,))


def _take_merge(site: Site, entry: Entry) -> Taken:
    fact = site.seen(entry.path)
    content = site.content(fact)
    if fact is not None and state_of(fact) == "-":
        return Taken()
    if fact is None or content is None:
        return Taken(left="was not read")
    if fact.sha256 == entry.sha256:
        if entry.created or entry.backup:
            return _taken(site, entry, f"f{entry.sha256}")
        cut = tuple(
            Splice(offset=i.offset, removed=i.length, insert=Content(data=b""))
            for i in entry.inserted
        )
        if cut:
            return Taken((_edit(site, entry, fact, len(content), cut),))
    return _take_members(site, entry, fact, content)


def _take_members(site: Site, entry: Entry, fact: PathFact, content: bytes) -> Taken:
    """The file was edited since: take out exactly the members that are still as they were set."""
    try:
        text = content.decode()
        root = read_jsonc(text)
        edits = remove(text, _own(text, entry)) or []
    except (UnicodeDecodeError, BrokenJson):
        return Taken(left="is not valid JSON any more")
    for pointer, was in entry.about.items():
        found = find(root, pointer)
        if found is None or digest(found[1].node.plain()) != was:
            return Taken(left=f"sets {pointer} to another value now")
    if not edits or not _still_reads(text, edits):
        return Taken(left="was edited since fleet wrote it")
    return Taken((_edit(site, entry, fact, len(content), splices(text, edits)),))


def _own(text: str, entry: Entry) -> list[str]:
    """Return pointers of what fleet put in, without what others put beside it since."""
    members = [pointer for pointer in entry.members if pointer]
    return [
        pointer
        for pointer in no_longer_set(text, {}, entry)
        if entry.created or any(below(pointer, member) for member in members)
    ]


def _still_reads(text: str, edits: Sequence[Edit]) -> bool:
    try:
        read_jsonc(applied(text, edits))
    except BrokenJson:
        return False
    return True


def _edit(site: Site, entry: Entry, fact: PathFact, size: int, cut: tuple[Splice, ...]) -> EditFile:
    expect = site.expect(entry.path, f"f{fact.sha256}")
    return EditFile(path=entry.path, expect=expect, size=size, splices=cut)


def _take_git(site: Site, entry: Entry) -> Taken:
    fact = site.seen(entry.path)
    if fact is not None and state_of(fact) == "-":
        return Taken()
    return Taken((TakePath(path=entry.path, expect=FOLDER),))


def _take_package(_site: Site, entry: Entry) -> Taken:
    manager = MANAGERS.get(entry.about.get("manager", ""))
    if manager is None or not entry.about.get("package"):
        return Taken(left="is a package of a manager this version does not know")
    former = entry.about.get("former", "")
    words = manager.words(entry.about, former) if former else manager.without(entry.about)
    undo = manager.words(entry.about, entry.about.get("version", ""))
    return Taken((Run(words=words, undo=undo, seconds=SECONDS),))


def _take_compose(_site: Site, entry: Entry) -> Taken:
    def words(*more: str) -> tuple[str, ...]:
        env, project = bool(entry.about.get("env")), entry.about.get("project", "")
        return compose.words(entry.path, project, env=env, more=more)

    down = Run(words=words("down"), undo=words("up", "-d"), seconds=compose.DOWN_SECONDS)
    return Taken((down,), notes=("its volumes stay: they may hold a palace",))


def _take_service(_site: Site, entry: Entry) -> Taken:
    def words(action: str) -> tuple[str, ...]:
        manager, unit = entry.about.get("manager", ""), entry.about.get("unit", "")
        return service.words(manager, action, unit, entry.path)

    return Taken((Run(words=words("stop"), undo=words("start"), seconds=service.SECONDS),))


def _take_config(_site: Site, entry: Entry) -> Taken:
    return Taken((Run(undo=config.words(entry, "load"), seconds=config.SECONDS),))


def _afterwards(group: Sequence[Entry]) -> Iterator[Action]:
    for entry in group:
        if entry.kind == "service":
            manager, unit = entry.about.get("manager", ""), entry.about.get("unit", "")
            yield Run(words=service.words(manager, "reload", unit, entry.path))
        elif entry.kind == "config":
            yield Run(words=config.words(entry, "left"), seconds=config.SECONDS)


_TAKERS: dict[str, Callable[[Site, Entry], Taken]] = {
    "link": _take_placed,
    "file": _take_placed,
    "block": _take_block,
    "merge": _take_merge,
    "git": _take_git,
    "package": _take_package,
    "compose": _take_compose,
    "service": _take_service,
    "config": _take_config,
}
