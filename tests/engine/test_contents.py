"""What one target brought is filled in for all others, wherever in their facts it is named."""

import hashlib

import pytest
from support.facts import World, target

from fleet.engine.contents import ContentStore
from fleet.facts.model import CommandFact, Facts, LaunchFact, PathFact, State

PLACES = ("path", "file", "manifest", "beside", "other")


def _path(place: str) -> PathFact:
    path, digest = f"/srv/{place}", hashlib.sha256(place.encode()).hexdigest()
    return PathFact(path=path, absolute=path, state=State.PRESENT, sha256=digest)


def _facts(contents: dict[str, bytes]) -> Facts:
    """Return facts of a target that has a file of its own in every place a content may be in."""
    command = CommandFact(
        name="pi",
        file=_path("file"),
        manifest=_path("manifest"),
        beside={"schema.json": _path("beside")},
        others=(CommandFact(name="pi", file=_path("other")),),
    )
    launch = LaunchFact(launch="bash -lc", state="ok", commands={"pi": command})
    return (
        World()
        .facts(target("pi"))
        .model_copy(
            update={
                "paths": {"/srv/path": _path("path")},
                "launches": {"bash -lc": launch},
                "contents": contents,
            }
        )
    )


@pytest.mark.parametrize("place", PLACES)
def test_what_was_not_sent_again_is_filled_in(place: str) -> None:
    content = place.encode()
    digest = hashlib.sha256(content).hexdigest()
    store = ContentStore()
    store.complete(_facts({digest: content}))
    assert digest in store.known()
    assert store.complete(_facts({})).contents == {digest: content}


def test_only_what_a_target_names_is_filled_in() -> None:
    store = ContentStore()
    store.complete(_facts({hashlib.sha256(b"more").hexdigest(): b"more"}))
    assert store.complete(_facts({})).contents == {}
