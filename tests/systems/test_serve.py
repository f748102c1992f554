"""Is the palace served as it should be: each failure is told by one gate, and only it."""

from support.serve import (
    DOCKER0,
    URL,
    Serving,
    endpoint,
    healthy,
    process,
    target,
)

from fleet.verifier.model import Verdict

PASS, NOT_CHECKED, NOT_APPLICABLE = Verdict.PASS, Verdict.NOT_CHECKED, Verdict.NOT_APPLICABLE


GATES = {
    *("bind", "reach", "auth", "version", "origin", "palace", "health", "routes", "stays"),
    *("writer", "stale", "token", "compose", "compose-lint"),
}


def test_a_palace_served_as_declared_passes_every_gate() -> None:
    found = healthy().seen(processes={"server": (process(),)}).judged()
    assert set(found) == GATES
    assert {n: f.verdict for n, f in found.items()} == {
        **dict.fromkeys(GATES, PASS),
        **dict.fromkeys(("compose", "compose-lint"), NOT_APPLICABLE),
    }
    assert found["bind"].message == f"listens on {DOCKER0} (docker0)"
    assert found["health"].message == "7 drawers, nothing wrong with them"


def test_nothing_is_passed_on_a_machine_that_shows_nothing() -> None:
    bare = Serving().seen(listeners=None, interfaces=None, processes={})
    found = bare.judged()
    assert {f.verdict for f in found.values()} == {NOT_CHECKED, NOT_APPLICABLE}


def test_an_image_cannot_be_asked() -> None:
    where = target(address="oci:palace")
    found = Serving("image").judged(where)
    assert {f.verdict for f in found.values()} == {NOT_APPLICABLE}


def test_no_gate_shows_the_url_of_another() -> None:
    world = Serving()
    world.heard(endpoint(url="https://other.example.net/mcp"))
    assert world.judged()["health"].evidence == (URL,)
