"""Would pi load the bridge? pi skips in silence what this gate names aloud."""

import posixpath

from fleet.facts.paths import PathFact, State
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import hidden
from fleet.verifier.pi_loading import hider_of, unread_hiders


def seen(look: Look) -> Judgement:
    """Pi would load the extension from where it lies."""
    fact = look.artifact("bridge")
    if fact is None:
        return not_applicable("no bridge is declared here")
    unseen = hidden(fact)
    if unseen:
        return unseen
    if fact.state is not State.PRESENT:
        return follows_from("bridge.placed")
    name = posixpath.basename(fact.path)
    if posixpath.splitext(name)[1] not in (".ts", ".js"):
        return failed("pi loads only .ts and .js files", fact.path)
    if name.startswith("."):
        return failed("pi skips names that begin with a dot", fact.path)
    listing = look.artifact("extensions")
    if listing is None or listing.entries is None:
        return not_checked("the extensions folder could not be listed", *_why(listing))
    hider = hider_of(look, listing, name)
    if hider:
        return failed(hider, fact.path)
    unread = unread_hiders(look)
    if unread:
        return not_checked("what may hide it could not be read", *unread)
    return passed("pi would load it", fact.path)


def _why(listing: PathFact | None) -> tuple[str, ...]:
    return (listing.why,) if listing and listing.why else ()
