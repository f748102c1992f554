"""What one target brought is filled in for all others, wherever in their facts it is named."""

import hashlib

import pytest
from support.facts import World, target

from fleet.engine.contents import MOST_KNOWN, ContentStore
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.running import CommandFact, LaunchFact

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


def _named(name: str, *contents: bytes) -> Facts:
    """Return facts of a target that sent some contents."""
    sent = {hashlib.sha256(content).hexdigest(): content for content in contents}
    return _facts(sent).model_copy(update={"target": name})


def test_what_a_request_names_does_not_grow_with_the_fleet() -> None:
    store = ContentStore()
    for number in range(2 * MOST_KNOWN):
        store.complete(_named(f"web-{number}", b"shared", b"own %d" % number))
    known = store.known("web-511")
    assert len(known) <= MOST_KNOWN + 2
    own = {hashlib.sha256(content).hexdigest() for content in (b"shared", b"own 511")}
    assert own <= known
    assert hashlib.sha256(b"own 511").hexdigest() not in store.known("another")


def test_what_several_have_takes_the_place_of_what_one_has() -> None:
    store = ContentStore()
    store.complete(_named("first", *(b"own %d" % number for number in range(MOST_KNOWN))))
    late = hashlib.sha256(b"late").hexdigest()
    store.complete(_named("second", b"late"))
    assert late not in store.known("fourth")
    store.complete(_named("third", b"late"))
    assert late in store.known("fourth")


def test_the_same_bytes_are_held_once() -> None:
    store = ContentStore()
    kept = [store.complete(_named(name, bytes([65] * 2000))) for name in ("one", "two")]
    first, second = (next(iter(facts.contents.values())) for facts in kept)
    assert first is second


def test_what_nobody_has_any_more_is_let_go_of() -> None:
    store = ContentStore()
    old, new = (hashlib.sha256(content).hexdigest() for content in (b"old", b"new"))
    for name in ("one", "two"):
        store.complete(_named(name, b"old"))
    store.complete(_named("one", b"new"))
    assert old in store.known("two")
    store.complete(_named("two", b"new"))
    assert old in store.known("three"), "somebody may be answering without sending it"
    store.settle()
    assert store.known("three") == {new}
