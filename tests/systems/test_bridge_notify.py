"""A ping that is wanted on the desktop, and the tmux that may swallow it."""

import pytest
from support.facts import BRIDGE, World, findings, target

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

PATH = "~/.pi/agent/extensions/mempalace.ts"
CONF = "~/.tmux.conf"
WRAPS = BRIDGE + b"const wrapped = `\\u001bPtmux;${sequence}\\u001b\\\\`;\n"


def world(notify: str = "desktop", *, tmux: bool = True, bridge: bytes = WRAPS) -> World:
    commands = {"tmux": ("/usr/bin/tmux", b"")} if tmux else {}
    variables = {"MEMPALACE_MAILBOX_NOTIFY": notify} if notify else {}
    return World().file(PATH, bridge).launch(variables=variables, commands=commands)


def judged(there: World, address: str = "ssh://u@laptop") -> Finding:
    where = target("mempalace-bridge", address=address)
    if address.startswith("container"):
        where = target("mempalace-bridge", address=address, launches=["bash -lc"])
    return findings(where, there)["bridge.notify-path"]


@pytest.mark.parametrize("word", ["", "0", "off", "screen"])
def test_without_a_ping_nothing_is_swallowed(word: str) -> None:
    assert judged(world(word)).verdict is Verdict.NOT_APPLICABLE


def test_without_tmux_it_reaches_the_terminal() -> None:
    assert judged(world(tmux=False)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("config", "verdict"),
    [
        (b"set -g allow-passthrough on\n", Verdict.PASS),
        (b"set-option -gw allow-passthrough all\n", Verdict.PASS),
        (b"set -g allow-passthrough off\n", Verdict.WARN),
        (b"set -g allow-passthrough on\nset -g allow-passthrough off\n", Verdict.WARN),
        (b"# set -g allow-passthrough on\n", Verdict.WARN),
        (b"set -g mouse on\n", Verdict.WARN),
    ],
)
def test_tmux_hands_it_on_where_it_is_told_to(config: bytes, verdict: Verdict) -> None:
    assert judged(world().file(CONF, config)).verdict is verdict


def test_no_configuration_at_all_swallows_it() -> None:
    gate = judged(world())
    assert (gate.verdict, gate.message) == (Verdict.WARN, "tmux swallows the ping")
    assert gate.remedy == "put `set -g allow-passthrough on` into ~/.tmux.conf"


def test_a_copy_that_does_not_wrap_its_sequence_is_told() -> None:
    there = world(bridge=BRIDGE).file(CONF, b"set -g allow-passthrough on\n")
    gate = judged(there)
    assert gate.verdict is Verdict.WARN
    assert "does not wrap" in gate.evidence[0]


def test_what_cannot_be_seen_is_not_checked() -> None:
    hidden = world().broken("/etc/tmux.conf", State.UNREADABLE, why="permission denied")
    assert judged(hidden).verdict is Verdict.NOT_CHECKED
    unasked = World().file(PATH, BRIDGE).launch(state="timeout")
    assert judged(unasked).verdict is Verdict.NOT_CHECKED
    assert judged(world(), "container:devbox").verdict is Verdict.NOT_CHECKED
