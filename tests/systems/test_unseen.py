"""What was not seen is ``not-checked``: neither a pass, nor something that does not apply."""

import pytest
from support.facts import BRIDGE, World, findings, target

from fleet.facts.paths import State
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.model import Finding, Verdict

PLACE = "~/.pi/agent/extensions/mempalace.ts"
URL = "https://palace.example.net/mcp"
CA = "/etc/own-ca.pem"
UNSEEN = Verdict.NOT_CHECKED
PI = {"pi": b'{"version": "1.6.0"}'}


def judged(world: World, *, whole: bool = True, **variables: str) -> dict[str, Finding]:
    where = target(
        "env",
        "mempalace-bridge",
        require=["feed"],
        launches=("bash -lc", "zsh -ic"),
        **variables,
    )
    return findings(where, world, whole=whole)


def solitary(world: World) -> World:
    return world.launch(manifests=PI).file(PLACE, BRIDGE)


def test_facts_that_were_not_asked_for_a_path_tell_nothing_of_it() -> None:
    found = judged(World(), whole=False, agent_name="pi", palace_url=URL, client_ca=CA)
    # What is asked of containers only does not concern a host, whatever was seen of it.
    elsewhere = {g.id for _, g in load_catalogue().gates() if g.kinds and "host" not in g.kinds}
    wrong = {
        gate: finding.verdict
        for gate, finding in found.items()
        if finding.required and finding.verdict is not UNSEEN and gate not in elsewhere
    }
    assert wrong == {}
    assert "take them again" in found["bridge.placed"].message


def test_where_a_link_should_lead_is_compared_or_not_checked() -> None:
    where = target("mempalace-bridge", toolkit="~/kit")
    world = World().file(PLACE, BRIDGE)
    assert findings(where, world, whole=False)["bridge.placed"].verdict is UNSEEN


@pytest.mark.parametrize("state", ["timeout", "failed", "missing", None])
def test_one_launch_that_was_not_seen_keeps_every_gate_over_launches_open(
    state: str | None,
) -> None:
    world = solitary(World())
    if state:
        world.launch("zsh -ic", state=state)
    where = target("mempalace-bridge", require=["feed"], launches=("bash -lc", "zsh -ic"))
    found = findings(where, world)
    for gate in ("bridge.events", "bridge.identity", "bridge.feed-remote", "flip.path"):
        assert found[gate].verdict is UNSEEN, found[gate]
        assert "zsh -ic" in " ".join([found[gate].message, *found[gate].evidence]), gate


def test_a_way_of_launching_without_pi_is_no_proof_of_its_version() -> None:
    found = judged(solitary(World()).launch("zsh -ic"))
    assert found["bridge.events"].verdict is UNSEEN
    assert "zsh -ic: no pi on the PATH" in found["bridge.events"].message


@pytest.mark.parametrize("launches", [(), ("bash -lc",)])
def test_a_url_that_nobody_was_seen_to_export_does_not_pass(launches: tuple[str, ...]) -> None:
    where = target("env", "mempalace-bridge", launches=launches, palace_url=URL)
    world = World()
    for launch in launches:
        world.launch(launch, state="timeout")
    assert findings(where, world)["env.url"].verdict is UNSEEN


def test_a_declared_palace_that_no_launch_knows_is_not_called_solitary() -> None:
    found = judged(solitary(World()).launch("zsh -ic"), palace_url=URL, device="laptop")
    assert found["bridge.identity"].verdict is UNSEEN
    assert found["bridge.identity"].follows == "flip.path"
    assert found["env.loaded"].verdict is Verdict.FAIL


@pytest.mark.parametrize("name", ["extensions/package.json", "extensions/.ignore", "settings.json"])
def test_what_may_hide_the_extension_must_have_been_read(name: str) -> None:
    world = solitary(World()).folder("~/.pi/agent/extensions", "mempalace.ts")
    assert findings(target("mempalace-bridge"), world)["bridge.seen"].verdict is Verdict.PASS
    world.broken(f"~/.pi/agent/{name}", State.UNREADABLE, why="permission denied")
    found = findings(target("mempalace-bridge"), world)["bridge.seen"]
    assert found.verdict is UNSEEN
    assert any(name in line for line in found.evidence)


def test_a_helper_that_could_not_be_read_is_not_called_missing() -> None:
    world = solitary(World()).launch("zsh -ic", manifests=PI)
    world.broken("/opt/session", State.UNREADABLE, why="permission denied")
    where = target("mempalace-bridge", require=["feed"], feed_bin="/opt/session")
    world.launch(variables={"MEMPALACE_FEED_BIN": "/opt/session"})
    assert findings(where, world)["bridge.feed-on"].verdict is UNSEEN


def test_what_a_gate_cannot_judge_is_an_error_of_its_own() -> None:
    """A settings file nested beyond reason is one target's, and must not end the run."""
    world = solitary(World()).folder("~/.pi/agent/extensions", "mempalace.ts")
    world.file("~/.pi/agent/settings.json", b"[" * 200_000)
    found = findings(target("mempalace-bridge"), world)
    assert found["bridge.seen"].verdict is Verdict.ERROR
    assert "RecursionError" in found["bridge.seen"].message
    assert found["bridge.whole"].verdict is Verdict.PASS
