"""Every capability of the bridge: proved by its marker, missed without it, open where unseen."""

import re

import pytest
from support.facts import World, findings, target
from support.places import ROOT

from fleet.facts.paths import PathFact, State
from fleet.systems.catalogue import load_catalogue
from fleet.systems.model import Gate
from fleet.verifier.model import Finding, Verdict

LINK = "~/.pi/agent/extensions/mempalace.ts"
WHOLE = (ROOT / "toolkit/extensions/pi/mempalace.ts").read_text(encoding="utf-8")
PEER = "~/.pi/agent/extensions/mcp-loader.ts"
GATES = {g.id: g for g in load_catalogue().system("mempalace-bridge").gates if g.marker}


def judged(code: str) -> dict[str, Finding]:
    return findings(target("mempalace-bridge"), World().file(LINK, code.encode()).launch())


def without(marker: str) -> str:
    """The sample bridge with one marker spelled otherwise, everywhere in its code."""
    word = rf"\b{re.escape(marker)}" + (r"\b" if marker[-1].isalnum() else "")
    other = marker.replace("Unsafe", "Other") if "." in marker else f"{marker}_GONE"
    changed, number = re.subn(word, other, WHOLE)
    assert number, marker
    return changed


def markers() -> list[tuple[Gate, str]]:
    return [(gate, word) for gate in GATES.values() if gate.marker for word in gate.marker.all]


def test_the_sample_bridge_has_every_capability() -> None:
    found = judged(WHOLE)
    assert len(GATES) == 8
    for gate in ("bridge.whole", *GATES):
        assert found[gate].verdict is Verdict.PASS, found[gate]


@pytest.mark.parametrize(("gate", "marker"), markers(), ids=lambda x: getattr(x, "id", x))
def test_one_marker_less_is_that_capability_less_and_no_other(gate: Gate, marker: str) -> None:
    found = judged(without(marker))
    sharing = {g.id for g, word in markers() if word == marker}
    lost = {name for name in GATES if found[name].verdict is Verdict.FAIL}
    assert gate.id in lost
    assert lost == sharing
    assert marker in str(found[gate.id].evidence)
    assert found["bridge.whole"].verdict is Verdict.PASS


@pytest.mark.parametrize("gate", GATES)
def test_a_marker_in_a_comment_proves_nothing(gate: str) -> None:
    marker = GATES[gate].marker
    assert marker
    code = without(marker.all[0]) + f"\n// {marker.all[0]} came back\n"
    assert judged(code)[gate].verdict is Verdict.FAIL


def unseen(why: str, state: State = State.UNSUPPORTED) -> World:
    world = World().launch()
    if state is State.PRESENT:
        world.paths[LINK] = PathFact(
            path=LINK, absolute=LINK, state=state, final=LINK, kind="file", why=why
        )
        return world
    return world.broken(LINK, state, why=why)


@pytest.mark.parametrize("state", [State.UNSUPPORTED, State.PRESENT])
def test_bytes_that_were_not_read_leave_every_capability_open(state: State) -> None:
    found = findings(target("mempalace-bridge"), unseen("larger than 524288 bytes", state))
    assert found["bridge.whole"].verdict is Verdict.NOT_CHECKED
    assert "larger than" in found["bridge.whole"].message
    for gate in GATES:
        assert found[gate].verdict is Verdict.NOT_CHECKED
        assert found[gate].follows in ("bridge.whole", "bridge.placed")


def test_a_bridge_that_may_not_be_read_is_an_error_and_no_failure() -> None:
    found = findings(target("mempalace-bridge"), unseen("permission denied", State.UNREADABLE))
    assert found["bridge.whole"].verdict is Verdict.ERROR
    for gate in GATES:
        assert found[gate].verdict is Verdict.NOT_CHECKED


def test_a_second_copy_that_was_not_read_is_compared_by_nobody() -> None:
    world = World().file(LINK, WHOLE.encode()).launch()
    world.broken(PEER, State.UNSUPPORTED, why="links are not followed here")
    assert findings(target("mempalace-bridge"), world)["bridge.sync"].verdict is Verdict.NOT_CHECKED
    told = {"path": PEER, "absolute": PEER, "state": "present", "final": PEER, "kind": "file"}
    world.paths[PEER] = PathFact.model_validate(told)
    assert findings(target("mempalace-bridge"), world)["bridge.sync"].verdict is Verdict.NOT_CHECKED
