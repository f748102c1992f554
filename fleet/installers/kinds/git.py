"""A git checkout on the target, at a commit, tag or branch; never one that somebody worked in."""

import posixpath
from collections.abc import Iterable

from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision, Standing, in_the_way, standing
from fleet.installers.items import GitBody, Item
from fleet.installers.ledger import Entry
from fleet.installers.model import Conflict, MoveFolder, Run, Step
from fleet.installers.site import Site

SECONDS = 600
HEAD = ".git/HEAD"
STAMP = ".git/fleet"
DEFAULT = "the default branch"


class GitKind:
    """Keeps one checkout. What was checked out stands in a stamp inside its ``.git`` folder."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the folder, what it is at, and what fleet put it at."""
        yield PathQuestion(item.path)
        yield PathQuestion(posixpath.join(item.path, HEAD), Read.WHOLE)
        yield PathQuestion(posixpath.join(item.path, STAMP), Read.WHOLE)

    def decide(self, item: Item, site: Site) -> Decision:
        """Clone, or move a checkout of fleet's own to another ref."""
        body = _body(item)
        path = site.absolute(item.path)
        entry = site.entry(item.key, "git", path)
        found = standing(site, path, None, same=False)
        if found is Standing.FREE:
            site.provided.add(path)
            return _clone(item, site, path)
        head, stamp = _text(site, path, HEAD), _text(site, path, STAMP)
        url, ref, commit = (*stamp.split("\n"), "", "", "")[:3]
        if found is not Standing.FOLDER or entry is None or not commit:
            return Decision(conflicts=(_foreign(item, site, path, found),))
        site.provided.add(path)
        if (url, head) != (body.url, commit):
            return Decision(conflicts=(_moved(item, site, path),))
        if ref == body.ref:
            return Decision(entries=(entry,))
        return _checkout(item, site, path, ref, commit)


def _body(item: Item) -> GitBody:
    if not isinstance(item.body, GitBody):
        raise TypeError(f"{item.key} is no checkout")
    return item.body


def _text(site: Site, path: str, name: str) -> str:
    content = site.content(site.seen(posixpath.join(path, name)))
    return (content or b"").decode("utf-8", "replace").strip("\n")


def _foreign(item: Item, site: Site, path: str, found: Standing) -> Conflict:
    if found is not Standing.FOLDER:
        seen = in_the_way(item, site, path, found)
        if seen:
            return seen
    return Conflict(
        key=item.key,
        path=path,
        what=f"{site.shown(path)} is there already, and fleet did not check it out",
        hint="move it away; or leave it to its owner and drop the git URL from the inventory",
    )


def _moved(item: Item, site: Site, path: str) -> Conflict:
    return Conflict(
        key=item.key,
        path=path,
        what=f"{site.shown(path)} is not at the commit fleet checked out, or of another URL",
        hint="check that commit out again, or move the folder away",
    )


def _entry(item: Item, site: Site, path: str) -> Entry:
    body = _body(item)
    return Entry(
        path=path,
        kind="git",
        system=item.system,
        artifact=item.artifact,
        about={"url": body.url, "ref": body.ref},
        when=site.facts.taken_at,
    )


def _clone(item: Item, site: Site, path: str) -> Decision:
    body, fact = _body(item), site.seen(path)
    beside = posixpath.join(posixpath.dirname(path), f".fleet-{site.facts.nonce[:8]}.clone")
    away = ("rm", "-rf", beside)
    actions = (
        *(site.make_way(fact) if fact else ()),
        Run(
            words=("git", "clone", "--quiet", "--no-checkout", "--", body.url, beside),
            undo=away,
            seconds=SECONDS,
        ),
        Run(words=("git_at", beside, body.ref or "HEAD"), seconds=SECONDS),
        Run(words=("git_stamp", beside, body.url, body.ref)),
        MoveFolder(path=path, beside=beside),
    )
    step = Step(
        key=item.key,
        change="create",
        summary=f"check out {body.url} {body.ref}".rstrip() + f" at {site.shown(path)}",
        actions=actions,
    )
    return Decision(steps=(step,), entries=(_entry(item, site, path),))


def _checkout(item: Item, site: Site, path: str, ref: str, commit: str) -> Decision:
    body = _body(item)
    fetch = ("git", "-C", path, "fetch", "--quiet", "--tags", "origin")
    actions = (
        Run(words=("git_same", path)),
        Run(undo=("git_stamp", path, body.url, ref)),
        Run(words=fetch, seconds=SECONDS),
        Run(
            words=("git_at", path, body.ref or "HEAD"),
            undo=("git_at", path, commit),
            seconds=SECONDS,
        ),
        Run(words=("git_stamp", path, body.url, body.ref)),
    )
    step = Step(
        key=item.key,
        change="change",
        summary=f"check out {body.ref or DEFAULT} in {site.shown(path)}",
        actions=actions,
        diff=f"-{ref or DEFAULT} ({commit[:8]})\n+{body.ref or DEFAULT}\n",
    )
    return Decision(steps=(step,), entries=(_entry(item, site, path),))
