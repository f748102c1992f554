"""Files and links that fleet owns whole: one rule for what may be replaced."""

from collections.abc import Iterable

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact
from fleet.facts.request import PathQuestion, Read
from fleet.installers.content import OTHERS, masked
from fleet.installers.decision import (
    Decision,
    Standing,
    as_put,
    backup_path,
    became,
    described,
    in_the_way,
    standing,
    where_written,
)
from fleet.installers.diff import diff, env_lines, lines_diff
from fleet.installers.items import Item
from fleet.installers.ledger import BECOMES, Entry
from fleet.installers.model import (
    ABSENT,
    Action,
    Conflict,
    Content,
    PutFile,
    PutLink,
    SetMode,
    State,
    Step,
)
from fleet.installers.site import Site, file_state, state_of, trail

READABLE = 0o044
EXECUTABLE = 0o111
PRIVATE = 0o700
PUBLIC = 0o755


@dataclass(frozen=True, slots=True)
class Placed:
    """What bringing one file or link comes to.

    Attributes:
        actions: none when it is as it should be.
        entry: what the ledger is to say; None where what lies there is not fleet's.
    """

    actions: tuple[Action, ...] = ()
    conflict: Conflict | None = None
    entry: Entry | None = None
    diff: str = ""
    notes: tuple[str, ...] = ()
    new: bool = False

    def decision(self, item: Item, site: Site) -> Decision:
        """Return the decision for an item that is this one file or link."""
        if self.conflict:
            return Decision(conflicts=(self.conflict,))
        entries = (self.entry,) if self.entry else ()
        if not self.actions:
            return Decision(entries=entries, notes=self.notes)
        shown = site.shown(site.absolute(item.path))
        verb = "create" if self.new else "change"
        link = self.entry.text if self.entry and self.entry.kind == "link" else ""
        what = f"{shown} -> {site.shown(link)}" if link else shown
        step = Step(
            key=item.key,
            change="create" if self.new else "change",
            summary=f"{verb} {what}",
            actions=self.actions,
            diff=self.diff,
            notes=self.notes,
        )
        return Decision(steps=(step,), entries=entries)


def questions(path: str, *, env: bool = False, whole: bool = False) -> Iterable[PathQuestion]:
    """Return what must be seen of a path before something is put there."""
    yield PathQuestion(path, Read.ENV if env else Read.WHOLE if whole else Read.HASH)


def place_file(
    item: Item, site: Site, path: str, content: Content, mode: int, *, becomes: str = ""
) -> Placed:
    """Bring a file; ``becomes`` as of :class:`fleet.installers.items.TreeFile`."""
    path = site.absolute(path)
    entry, fact = site.entry(item.key, "file", path), site.seen(path)
    same = fact is not None and (
        site.holds(fact, content) is True or _made_of_it(site, entry, fact, becomes)
    )
    wrong_mode = fact is not None and same and _mode_matters(fact, content, mode, entry)
    found = standing(site, path, entry, same=same and not (wrong_mode and entry is None))
    conflict = in_the_way(item, site, path, found, entry)
    if conflict or fact is None:
        return Placed(conflict=conflict)
    state = state_of(fact) or ABSENT
    if found is Standing.SAME:
        if entry is None or not wrong_mode or fact.mode is None:
            return Placed(entry=entry)
        action = SetMode(path=path, expect=site.expect(path, state), mode=mode, former=fact.mode)
        made = entry.model_copy(update={"mode": mode})
        return Placed((action,), entry=made, notes=_leaked(fact, content))
    kept = _kept(found, path, state, entry)
    data = site.fill(content)
    made = Entry(
        path=path,
        kind="file",
        system=item.system,
        artifact=item.artifact,
        sha256="" if content.sealed else file_state(data)[1:],
        mode=mode,
        mtime=site.now if content.sealed else None,
        size=len(data) if content.sealed else None,
        backup=(entry.backup if entry else "") or kept,
        about={BECOMES: becomes} if becomes else {},
        when=site.facts.taken_at,
    )
    put = PutFile(
        path=path,
        expect=site.expect(path, state),
        content=content,
        mode=mode,
        backup=kept,
        mtime=made.mtime,
    )
    way = site.make_way(fact, PRIVATE if content.sealed else PUBLIC)
    told = (*where_written(site, path), *_told_backup(site, kept), *_leaked(fact, content))
    return Placed(
        (*way, put),
        entry=made,
        diff=_file_diff(site, path, fact, content),
        notes=(*told, *site.told_secrets(content, fact)),
        new=found is Standing.FREE,
    )


def _made_of_it(site: Site, entry: Entry | None, fact: PathFact, becomes: str) -> bool:
    """Tell whether the program that owns a file has made what is wanted there of it."""
    return not (entry and as_put(entry, fact)) and became(site, fact, becomes)


def place_link(item: Item, site: Site, path: str, text: str) -> Placed:
    """Bring a symbolic link."""
    path = site.absolute(path)
    entry, fact = site.entry(item.key, "link", path), site.seen(path)
    same = fact is not None and fact.link and text in (trail(fact).text, fact.final)
    found = standing(site, path, entry, same=same)
    conflict = in_the_way(item, site, path, found, entry)
    if conflict or fact is None:
        return Placed(conflict=conflict)
    if found is Standing.SAME:
        return Placed(entry=entry)
    state = state_of(fact) or ABSENT
    kept = _kept(found, path, state, entry)
    made = Entry(
        path=path,
        kind="link",
        system=item.system,
        artifact=item.artifact,
        text=text,
        backup=(entry.backup if entry else "") or kept,
        when=site.facts.taken_at,
    )
    link = PutLink(path=path, expect=site.expect(path, state), text=text, backup=kept)
    before = [] if found is Standing.FREE else [described(fact)]
    return Placed(
        (*site.make_way(fact), link),
        entry=made,
        diff=lines_diff(before, [f"a link to {text}"], path, old=bool(before)),
        notes=(*where_written(site, path), *_told_backup(site, kept)),
        new=found is Standing.FREE,
    )


def _kept(found: Standing, path: str, state: State, entry: Entry | None) -> str:
    """Return the backup's path where something that is not as fleet put it is adopted."""
    adopted = found in (Standing.FOREIGN, Standing.EDITED)
    return backup_path(path, state, entry) if adopted else ""


def _told_backup(site: Site, kept: str) -> tuple[str, ...]:
    return (f"what lies there now is kept as {site.shown(kept)}",) if kept else ()


def _mode_matters(fact: PathFact, content: Content, mode: int, entry: Entry | None) -> bool:
    """Tell whether a file of the right content has a mode that must be mended.

    What fleet put there gets its mode back. Of another's file only rights too wide for a secret
    and a missing or needless executable bit matter.
    """
    if fact.mode is None or fact.mode == mode:
        return False
    if entry is not None:
        return True
    return bool(content.sealed and fact.mode & OTHERS) or bool((fact.mode ^ mode) & EXECUTABLE)


def _leaked(fact: PathFact, content: Content) -> tuple[str, ...]:
    """Warn of a secret that others could read before (cases B15)."""
    if not content.sealed or fact.kind != "file" or not (fact.mode or 0) & READABLE:
        return ()
    told = f"{fact.path} was readable by others (mode {fact.mode:04o})"
    return (f"{told}: consider the secrets in it leaked, and rotate them",)


def _file_diff(site: Site, path: str, fact: PathFact, content: Content) -> str:
    shown = masked(content)
    if fact.link or fact.kind != "file":
        before = [] if fact.kind is None and not fact.link else [described(fact)]
        after = shown.decode("utf-8", "backslashreplace").splitlines()
        return lines_diff(before, after, path, old=bool(before))
    if fact.env is not None:
        wanted = site.env_shape(site.fill(content), fact.env)
        return lines_diff(*env_lines(fact.env, wanted, shown), path)
    held = site.content(fact)
    if held is None or content.sealed:
        return f"{path}: {fact.size} bytes there, {len(shown)} wanted; the old ones were not read\n"
    return diff(held, shown, path)
