"""What the bridge finds when pi starts it."""

import pytest
from support.facts import BRIDGE, World, findings, target

from fleet.verifier.model import Verdict

LINK = "~/.pi/agent/extensions/mempalace.ts"
URL = "https://palace.example.net/mcp"
HELPER = b"#!/usr/bin/env python3\nparser.add_argument('--prepare')\n"


def world() -> World:
    return World().file(LINK, BRIDGE).folder("~/.pi/agent/extensions", "mempalace.ts")


def test_feeding_is_asked_about_only_where_it_is_required() -> None:
    found = findings(target("mempalace-bridge"), world().launch())
    assert found["bridge.feed-on"].verdict is Verdict.NOT_APPLICABLE
    assert not found["bridge.feed-on"].required


@pytest.mark.parametrize(
    ("variables", "commands", "told"),
    [
        ({"MEMPALACE_FEED": "0"}, {"mempalace-pi-session": ("/b/h", HELPER)}, "turned off"),
        ({}, {}, "was not looked at"),
        ({}, {"mempalace-pi-session": ("/b/h", b"#!/bin/sh\n# --prepare\n")}, "--prepare"),
    ],
)
def test_a_helper_that_cannot_feed_is_named(
    variables: dict[str, str], commands: dict[str, tuple[str, bytes]], told: str
) -> None:
    where = target("mempalace-bridge", require=["feed"])
    found = findings(where, world().launch(variables=variables, commands=commands))
    gate = found["bridge.feed-on"]
    assert gate.required
    assert gate.verdict is not Verdict.PASS
    assert told in " ".join(gate.evidence)


def test_a_helper_on_the_path_that_knows_prepare_can_feed() -> None:
    where = target("mempalace-bridge", require=["feed"])
    found = findings(where, world().launch(commands={"mempalace-pi-session": ("/b/h", HELPER)}))
    assert found["bridge.feed-on"].verdict is Verdict.PASS


def test_a_launch_that_cannot_be_asked_leaves_feeding_not_checked() -> None:
    where = target("mempalace-bridge", require=["feed"], launches=["zsh -ic"])
    found = findings(where, world().launch("zsh -ic", state="missing"))
    assert found["bridge.feed-on"].verdict is Verdict.NOT_CHECKED
    assert "no such shell" in found["bridge.feed-on"].evidence[0]


def test_one_bad_launch_among_good_ones_fails() -> None:
    where = target("mempalace-bridge", require=["feed"], launches=["bash -lc", "zsh -ic"])
    good = {"mempalace-pi-session": ("/b/h", HELPER)}
    both = world().launch("bash -lc", commands=good)
    both.launch("zsh -ic", {"MEMPALACE_FEED": "0"}, good)
    gate = findings(where, both)["bridge.feed-on"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence[0].startswith("zsh -ic: ")


def test_a_remote_palace_needs_a_way_for_transcripts() -> None:
    where = target("mempalace-bridge", require=["feed"])
    lacking = findings(where, world().launch(variables={"MEMPALACE_REMOTE_URL": URL}))
    gate = lacking["bridge.feed-remote"]
    assert gate.verdict is Verdict.FAIL
    assert any("MEMPALACE_PI_SSH_TARGET" in line for line in gate.evidence)
    ready = world().launch(
        variables={"MEMPALACE_REMOTE_URL": URL, "MEMPALACE_PI_SSH_TARGET": "vault"},
        commands={"rsync": ("/usr/bin/rsync", b""), "ssh": ("/usr/bin/ssh", b"")},
    )
    assert findings(where, ready)["bridge.feed-remote"].verdict is Verdict.PASS
    solitary = findings(where, world().launch())
    assert solitary["bridge.feed-remote"].verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    ("variables", "verdict"),
    [
        ({}, Verdict.PASS),
        ({"MEMPALACE_PI_DEVICE": "laptop"}, Verdict.FAIL),
        ({"MEMPALACE_REMOTE_URL": URL}, Verdict.FAIL),
        ({"MEMPALACE_PI_DEVICE": "laptop", "MEMPALACE_REMOTE_URL": URL}, Verdict.PASS),
    ],
)
def test_device_and_url_go_together(variables: dict[str, str], verdict: Verdict) -> None:
    found = findings(target("mempalace-bridge"), world().launch(variables=variables))
    assert found["bridge.identity"].verdict is verdict


@pytest.mark.parametrize(
    ("manifest", "verdict"),
    [
        (b'{"version": "0.80.3"}', Verdict.FAIL),
        (b'{"version": "0.80.4"}', Verdict.PASS),
        (b'{"version": "1.6.0"}', Verdict.PASS),
        (b'{"version": "nonsense"}', Verdict.NOT_CHECKED),
        (b"{ broken", Verdict.NOT_CHECKED),
        (b"[]", Verdict.NOT_CHECKED),
    ],
)
def test_pi_must_be_new_enough_to_fire_what_is_waited_for(
    manifest: bytes, verdict: Verdict
) -> None:
    found = findings(target("mempalace-bridge"), world().launch(manifests={"pi": manifest}))
    assert found["bridge.events"].verdict is verdict
