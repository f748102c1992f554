"""Values set in a JSON file that others own; every other byte of it stays."""

import json
from collections.abc import Iterable, Mapping, Sequence

from fleet.facts.jsonshape import json_shape
from fleet.facts.paths import PathFact
from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision, Standing, backup_path, in_the_way, standing
from fleet.installers.diff import diff
from fleet.installers.items import Item, MergeBody
from fleet.installers.jsonc import Edit, Merged, applied, escaped, leaves, merge
from fleet.installers.jsonc_anew import below, digest, merge_anew, no_longer_set
from fleet.installers.jsonc_read import BrokenJson
from fleet.installers.ledger import Entry, Inserted
from fleet.installers.model import (
    Conflict,
    Content,
    EditFile,
    PutFile,
    Splice,
    Step,
)
from fleet.installers.site import Site, file_state, state_of


class MergeKind:
    """Sets values in one JSON file."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the bytes of every file it may go to: the edit is worked out from them."""
        for path in (*_body(item).instead, item.path):
            yield PathQuestion(path, Read.WHOLE)

    def decide(self, item: Item, site: Site) -> Decision:
        """Set what is not set yet."""
        body = _body(item)
        chosen = site.first_there(body.instead, item.path)
        fact = site.seen(chosen)
        values = body.values
        path = site.absolute(chosen)
        if fact is not None and state_of(fact) == "-" and not fact.blocked:
            return _create(item, site, path, fact, values)
        real = _real(fact, path)
        text = None if fact is None else _text(site.content(fact))
        if fact is None or text is None:
            return Decision(conflicts=(_unreadable(item, site, path, fact),))
        entry = site.entry(item.key, "merge", real)
        try:
            gone = no_longer_set(text, values, entry) if entry else []
            merged = merge_anew(text, values, gone) if gone else merge(text, values)
        except ValueError as error:
            return Decision(conflicts=(_broken(item, site, path, error),))
        if not merged.edits:
            return Decision(entries=(entry,) if entry else ())
        return _change(item, site, _Found(real, fact, text, merged, entry, gone), values)


class _Found:
    """What lies there, and what setting the values comes to."""

    def __init__(
        self,
        path: str,
        fact: PathFact,
        text: str,
        merged: Merged,
        entry: Entry | None,
        gone: Sequence[str],
    ) -> None:
        self.path, self.fact, self.text = path, fact, text
        self.merged, self.entry, self.gone = merged, entry, gone

    @property
    def foreign(self) -> list[str]:
        """Values that would be replaced and that fleet did not set."""
        ours = self.entry.about if self.entry else {}
        return [r.pointer for r in self.merged.replaced if ours.get(r.pointer) != digest(r.was)]


def _body(item: Item) -> MergeBody:
    if not isinstance(item.body, MergeBody):
        raise TypeError(f"{item.key} is no merge")
    return item.body


def _real(fact: PathFact | None, path: str) -> str:
    """Return the file itself: a link to it stays a link."""
    return fact.final if fact is not None and fact.final else path


def _text(content: bytes | None) -> str | None:
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return None


def _create(
    item: Item, site: Site, path: str, fact: PathFact, values: Mapping[str, object]
) -> Decision:
    content = Content(data=json.dumps(values, indent=2, ensure_ascii=False).encode() + b"\n")
    put = PutFile(path=path, expect=site.expect(path, "-"), content=content, mode=0o644)
    entry = Entry(
        path=path,
        kind="merge",
        system=item.system,
        artifact=item.artifact,
        sha256=file_state(content.data)[1:],
        created=True,
        members=tuple(f"/{escaped(name)}" for name in values),
        about={pointer: digest(value) for pointer, value in leaves(values)},
        when=site.facts.taken_at,
    )
    step = Step(
        key=item.key,
        change="create",
        summary=f"create {site.shown(path)}",
        actions=(*site.make_way(fact), put),
        diff=diff(None, content.data, path),
    )
    return Decision(steps=(step,), entries=(entry,))


def _change(item: Item, site: Site, found: _Found, values: Mapping[str, object]) -> Decision:
    shown = site.shown(found.path)
    if found.foreign and not site.adopt:
        conflict = Conflict(
            key=item.key,
            path=found.path,
            what=f"{shown} sets {', '.join(found.foreign)} to another value already",
            hint="change it there, or use --adopt: the file is kept beside, and uninstall puts it "
            "back",
            adoptable=True,
        )
        return Decision(conflicts=(conflict,))
    whole = found.text.encode()
    expect = file_state(whole)
    backup = backup_path(found.path, expect, found.entry) if found.foreign else ""
    new = applied(found.text, found.merged.edits).encode()
    edit = EditFile(
        path=found.path,
        expect=site.expect(found.path, expect),
        size=len(whole),
        splices=splices(found.text, found.merged.edits),
        backup=backup,
    )
    step = Step(
        key=item.key,
        change="change",
        summary=_summary(found, shown),
        actions=(edit,),
        diff=diff(_shown(item, whole), _shown(item, new), found.path, context=0),
        notes=_notes(site, found, backup),
    )
    entry = _entry(item, site, found, new, backup)
    about = {pointer: digest(value) for pointer, value in leaves(values)}
    return Decision(steps=(step,), entries=(entry.model_copy(update={"about": about}),))


def _summary(found: _Found, shown: str) -> str:
    if found.gone:
        return f"set anew in {shown}, without {', '.join(found.gone)}"
    edits = len(found.merged.edits)
    return f"set {'a value' if edits == 1 else f'{edits} values'} in {shown}"


def _shown(item: Item, content: bytes) -> bytes:
    """Return a file as a diff may show it: a line may hold more than what is set there."""
    shape = None if item.shown is None else json_shape(content, item.shown)
    if item.shown is None or shape is not None:
        return content if shape is None else shape.encode()
    return b"(what is no plain JSON is not shown)\n"


def _notes(site: Site, found: _Found, backup: str) -> tuple[str, ...]:
    notes = [f"what lies there now is kept as {site.shown(backup)}"] if backup else []
    if found.fact.hops:
        notes.append(f"{site.shown(found.fact.absolute)} leads to {site.shown(found.path)}")
    return tuple(notes)


def splices(text: str, edits: Sequence[Edit]) -> tuple[Splice, ...]:
    """Turn edits of a text into splices of its UTF-8 bytes."""
    return tuple(
        Splice(
            offset=len(text[: edit.start].encode()),
            removed=len(text[edit.start : edit.end].encode()),
            insert=Content(data=edit.new.encode()),
        )
        for edit in edits
    )


def _entry(item: Item, site: Site, found: _Found, new: bytes, backup: str) -> Entry:
    former = found.entry
    whole = found.text.encode()
    made = splices(found.text, found.merged.edits)
    exact = former is None or former.sha256 == file_state(whole)[1:]
    if former and found.gone:  # bytes of others may be in between
        exact = exact and all(_within(splice, former.inserted) for splice in made)
    kept = list(former.inserted) if former and exact else []
    inserted = moved(kept, made) if exact and not (former and former.created) else ()
    return Entry(
        path=found.path,
        kind="merge",
        system=item.system,
        artifact=item.artifact,
        sha256=file_state(new)[1:],
        created=former.created if former else False,
        backup=(former.backup if former else "") or backup,
        inserted=inserted,
        members=_members(former, found),
        when=site.facts.taken_at,
    )


def _within(splice: Splice, ranges: Sequence[Inserted]) -> bool:
    end = splice.offset + splice.removed
    return any(r.offset <= splice.offset and end <= r.offset + r.length for r in ranges)


def _members(former: Entry | None, found: _Found) -> tuple[str, ...]:
    """Return what uninstall takes out: what was put in, without what stands below another."""
    held = former.members if former else ()
    members = [m for m in held if not any(below(m, gone) for gone in found.gone)]
    fresh = [m for m in found.merged.inserted if not any(below(m, other) for other in members)]
    return (*members, *fresh)


def moved(kept: Sequence[Inserted], made: Sequence[Splice]) -> tuple[Inserted, ...]:
    """Say where everything that was put in stands after further splices."""
    ranges: list[Inserted] = []
    for old in kept:
        offset, length = old.offset, old.length
        for splice in made:
            grown = len(splice.insert.data) - splice.removed
            if splice.offset + splice.removed <= old.offset:
                offset += grown
            elif splice.offset < old.offset + old.length:
                length += grown
        ranges.append(Inserted(offset=offset, length=length))
    shift = 0
    for splice in made:
        inside = any(o.offset < splice.offset < o.offset + o.length for o in kept)
        if not splice.removed and not inside:
            ranges.append(Inserted(offset=splice.offset + shift, length=len(splice.insert.data)))
        shift += len(splice.insert.data) - splice.removed
    return tuple(sorted(ranges, key=lambda r: r.offset))


def _unreadable(item: Item, site: Site, path: str, fact: PathFact | None) -> Conflict:
    found = standing(site, path, None, same=False)
    if found is Standing.FOREIGN:
        return Conflict(
            key=item.key,
            path=path,
            what=f"{site.shown(path)} could not be read as text"
            + (f": {fact.why}" if fact is not None and fact.why else ""),
            hint="it is left alone; set the values by hand",
        )
    seen = in_the_way(item, site, path, found)
    return seen or Conflict(key=item.key, path=path, what="it was not read", hint="look again")


def _broken(item: Item, site: Site, path: str, error: ValueError) -> Conflict:
    kind = "is not valid JSON" if isinstance(error, BrokenJson) else "cannot be merged"
    return Conflict(
        key=item.key,
        path=path,
        what=f"{site.shown(path)} {kind}: {error}",
        hint="it is left alone; mend it, then plan again",
    )
