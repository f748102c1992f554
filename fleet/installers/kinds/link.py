"""Links: made beside and renamed into place, never to something that is not there."""

import posixpath
from collections.abc import Iterable

from fleet.facts.envfile import GIT_CRYPT
from fleet.facts.paths import PathFact
from fleet.facts.paths import State as Seen
from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision
from fleet.installers.items import Item, LinkBody
from fleet.installers.kinds.placed import place_link
from fleet.installers.model import Conflict
from fleet.installers.site import Site


class LinkKind:
    """Brings one symbolic link."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for the link, and for what it is to lead to."""
        body = _body(item)
        yield PathQuestion(item.path, Read.HASH)
        if body.source:
            yield PathQuestion(body.source, Read.ENV if item.env else Read.HASH)

    def decide(self, item: Item, site: Site) -> Decision:
        """Make or renew the link, unless it would lead to nothing or to an encrypted file."""
        source = site.absolute(_body(item).source)
        problem = _unfit(item, site, source)
        if problem:
            return Decision(conflicts=(problem,))
        return place_link(item, site, item.path, source).decision(item, site)


def _body(item: Item) -> LinkBody:
    if not isinstance(item.body, LinkBody):
        raise TypeError(f"{item.key} is no link")
    return item.body


def _unfit(item: Item, site: Site, source: str) -> Conflict | None:
    fact = site.seen(source)
    if fact is not None and _locked(fact, site):
        return Conflict(
            key=item.key,
            path=source,
            what=f"{site.shown(source)} is encrypted by git-crypt and was not unlocked",
            hint="unlock it on the target (`git-crypt unlock`), then plan again",
        )
    if any(_within(source, folder) for folder in site.provided):
        return None
    if fact is None or fact.state is Seen.PRESENT:
        return None
    return Conflict(
        key=item.key,
        path=source,
        what=f"the link would lead to nothing: {site.shown(source)} is {fact.state} on the target",
        hint="put it there first, or let fleet do it (a `tree` artifact, or toolkit_source)",
    )


def _within(path: str, folder: str) -> bool:
    return posixpath.commonpath([path, folder]) == folder


def _locked(fact: PathFact, site: Site) -> bool:
    if fact.env is not None and fact.env.encrypted:
        return True
    return (site.content(fact) or b"").startswith(GIT_CRYPT)
