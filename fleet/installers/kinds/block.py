"""Marked blocks in files that others own, a shell's rc file for one.

Such a file may export secrets of others, so it is read as an env file is: its structure, and no
value. The block is found by the masked shape of its lines, and put in place on the target.
"""

import hashlib
import posixpath
from collections.abc import Iterable, Sequence

from fleet.facts.paths import EnvFile, EnvLine, PathFact
from fleet.facts.paths import State as Seen
from fleet.facts.request import PathQuestion, Read
from fleet.installers.content import masked
from fleet.installers.decision import Decision, Standing, in_the_way, standing
from fleet.installers.diff import lines_diff
from fleet.installers.items import BlockBody, Item
from fleet.installers.ledger import Entry
from fleet.installers.model import ABSENT, Conflict, Content, PutBlock, Step
from fleet.installers.site import Site, state_of, trail


def markers(name: str) -> tuple[str, str, str]:
    """Return a block's first line, its spelling where the file had no final newline, its last."""
    return (
        f"# >>> fleet: {name} >>>",
        f"# >>> fleet: {name} (joined) >>>",
        f"# <<< fleet: {name} <<<",
    )


class BlockKind:
    """Keeps one marked block."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the structure of every file it may go to."""
        for path in (*_body(item).instead, item.path):
            yield PathQuestion(path, Read.ENV)

    def decide(self, item: Item, site: Site) -> Decision:
        """Put the block where it is missing or differs."""
        body = _body(item)
        path = site.first_there(body.instead, item.path)
        fact = site.seen(path)
        found = standing(site, path, None, same=False)
        if fact is not None and fact.link and fact.state is Seen.PRESENT and fact.kind == "file":
            found = Standing.FOREIGN
        if fact is None or found in (Standing.UNSEEN, Standing.FOLDER):
            conflict = in_the_way(item, site, path, found)
            return Decision(conflicts=(conflict,) if conflict else ())
        # A folder on the way may be a link: the ledger names the file by the same path ever after.
        real = fact.final or posixpath.join(trail(fact).parent, posixpath.basename(path))
        entry = site.entry(item.key, "block", real)
        lines = block_lines(body.content)
        state = _there(site, fact, item.key, body.content)
        if state == "same" or (state == "unseen" and entry and entry.sha256 == lines):
            return Decision(entries=(entry,) if entry else ())
        if state == "other" and not site.adopt and (entry is None or entry.sha256 == lines):
            return Decision(conflicts=(_edited(item, site, real),))
        return _put(item, site, real, fact, entry)


def _body(item: Item) -> BlockBody:
    if not isinstance(item.body, BlockBody):
        raise TypeError(f"{item.key} is no block")
    return item.body


def block_lines(content: Content) -> str:
    """Return the sha256 of a block's lines, its markers left out."""
    return hashlib.sha256(content.data).hexdigest()


def _there(site: Site, fact: PathFact, name: str, content: Content) -> str:
    """Tell whether the block stands there: ``none``, ``same``, ``other`` or ``unseen``."""
    if fact.state is Seen.ABSENT:
        return "none"
    if fact.env is None or fact.env.binary or fact.env.truncated:
        return "unseen"
    first, joined, last = (_shape(site, marker.encode(), fact.env)[0] for marker in markers(name))
    lines = [_same(line) for line in fact.env.lines]
    starts = [i for i, line in enumerate(lines) if line in (first, joined)]
    ends = [i for i, line in enumerate(lines) if line == last]
    if not starts and not ends:
        return "none"
    if len(starts) != 1 or len(ends) != 1:
        return "other"
    wanted = _shape(site, content.data, fact.env)
    return "same" if lines[starts[0] + 1 : ends[0]] == wanted else "other"


def _shape(site: Site, data: bytes, like: EnvFile) -> list[EnvLine]:
    return [_same(line) for line in site.env_shape(data, like).lines]


def _same(line: EnvLine) -> EnvLine:
    return line.model_copy(update={"number": 0})


def _edited(item: Item, site: Site, path: str) -> Conflict:
    return Conflict(
        key=item.key,
        path=path,
        what=f"the block {item.key} in {site.shown(path)} is not as fleet wrote it",
        hint="move the edit out of the block, or use --adopt to have it written anew",
        adoptable=True,
    )


def _put(item: Item, site: Site, path: str, fact: PathFact, entry: Entry | None) -> Decision:
    body = _body(item)
    fresh = fact.state is Seen.ABSENT
    state = _real_state(fact)
    block = PutBlock(
        path=path,
        expect=site.expect(path, state),
        name=item.key,
        content=body.content,
        mode=body.mode,
    )
    made = Entry(
        path=path,
        kind="block",
        system=item.system,
        artifact=item.artifact,
        sha256=block_lines(body.content),
        created=fresh or bool(entry and entry.created),
        when=site.facts.taken_at,
    )
    notes: Sequence[str] = ()
    if fact.hops and fact.final and not fresh:
        notes = (
            f"{site.shown(fact.absolute)} leads to {site.shown(path)}: it is written in there",
        )
    text = masked(body.content).decode("utf-8", "backslashreplace")
    step = Step(
        key=item.key,
        change="create" if fresh else "change",
        summary=f"{'create' if fresh else 'change'} {site.shown(path)}: the block {item.key}",
        actions=(*site.make_way(fact), block),
        diff=lines_diff([], text.splitlines(), path),
        notes=tuple(notes),
    )
    return Decision(steps=(step,), entries=(made,))


def _real_state(fact: PathFact) -> str:
    """Return the state of the file itself, where the path is a link to it."""
    if not fact.link:
        return state_of(fact) or ABSENT
    bare = fact.model_copy(update={"link": False, "hops": ()})
    return state_of(bare) or ABSENT
