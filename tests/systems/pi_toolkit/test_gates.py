"""pi's base configuration, judged by what lies on a target."""

import json

import pytest
from support.facts import World, findings, target

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

KEYS = "~/.pi/agent/keybindings.json"
SETTINGS = "~/.pi/agent/settings.json"
CUSTOM = "~/.oh-my-zsh/custom"
NEW = b'{"app.tools.expand": "ctrl+o"}'


def judged(world: World, gate: str, *launches: str) -> Finding:
    world = world.launch(launches[0] if launches else "bash -lc")
    where = target("pi-toolkit", launches=launches or ("bash -lc",), pi_toolkit="/opt/pi-toolkit")
    return findings(where, world)[gate]


def linked(content: bytes = NEW, to: str = "/opt/pi-toolkit/keybindings.json") -> World:
    return World().file(KEYS, content, via=(to,))


@pytest.mark.parametrize(
    ("world", "verdict", "message"),
    [
        (linked(), Verdict.PASS, "1 keys of the toolkit"),
        (linked(b'{"expandTools": "ctrl+o"}'), Verdict.WARN, "pi renames keys"),
        (linked(b"{ nope"), Verdict.FAIL, "pi ignores it"),
        (linked(b"[" * 100_000), Verdict.FAIL, "pi ignores it"),
        (linked(to="/home/u/old/keybindings.json"), Verdict.FAIL, "another file"),
        (World().file(KEYS, NEW), Verdict.FAIL, "no link"),
        (World().broken(KEYS, State.ABSENT), Verdict.FAIL, "is not there"),
        (World().broken(KEYS, State.UNSUPPORTED, why="no tree"), Verdict.NOT_CHECKED, "no tree"),
    ],
)
def test_keybindings_are_a_link_to_the_toolkits(
    world: World, verdict: Verdict, message: str
) -> None:
    found = judged(world, "toolkit.keybindings")
    assert found.verdict is verdict
    assert message in found.message


@pytest.mark.parametrize(
    ("copy", "source", "verdict"),
    [
        (b"a", b"a", Verdict.PASS),
        (b"a", b"b", Verdict.FAIL),
        (None, b"b", Verdict.FAIL),
        (b"a", None, Verdict.NOT_CHECKED),
    ],
)
def test_the_loader_of_oh_my_zsh_is_the_toolkits(
    copy: bytes | None, source: bytes | None, verdict: Verdict
) -> None:
    world = World().file(f"{CUSTOM}", b"")
    if copy is not None:
        world = world.file(f"{CUSTOM}/pi-env.zsh", copy)
    if source is not None:
        world = world.file("/opt/pi-toolkit/pi-env.zsh", source)
    assert judged(world, "toolkit.loader", "zsh -ic").verdict is verdict


def test_a_shell_that_is_no_bash_or_zsh_has_no_loader() -> None:
    assert judged(World(), "toolkit.loader", "fish -c").verdict is Verdict.NOT_APPLICABLE


def test_a_template_that_is_not_at_hand_decides_nothing() -> None:
    world = World().file("/opt/pi-toolkit/pi-env.bash").env_file("~/.profile", b". x\n")
    assert judged(world, "toolkit.loader").verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("settings", "verdict"),
    [
        ({"defaultProvider": "anthropic", "defaultModel": "claude-sonnet-4-5"}, Verdict.PASS),
        ({"defaultProvider": "amazon-bedrock", "defaultModel": "eu.anthropic.x"}, Verdict.PASS),
        ({"defaultProvider": "amazon-bedrock", "defaultModel": "global.anthropic.x"}, Verdict.PASS),
        ({"defaultProvider": "amazon-bedrock", "defaultModel": "us-gov.anthropic.x"}, Verdict.PASS),
        ({"defaultProvider": "amazon-bedrock", "defaultModel": "anthropic.claude"}, Verdict.FAIL),
        ({"defaultModel": "x"}, Verdict.FAIL),
        ({"defaultProvider": 7}, Verdict.FAIL),
        ([], Verdict.FAIL),
    ],
)
def test_settings_name_a_provider_and_a_model_as_it_names_it(
    settings: object, verdict: Verdict
) -> None:
    world = World().file(SETTINGS, json.dumps(settings).encode())
    assert judged(world, "toolkit.settings").verdict is verdict


def test_settings_that_are_not_there_or_not_seen() -> None:
    absent = World().broken(SETTINGS, State.ABSENT)
    assert judged(absent, "toolkit.settings").verdict is Verdict.FAIL
    unseen = World().broken(SETTINGS, State.UNSUPPORTED, why="no tree here")
    assert judged(unseen, "toolkit.settings").verdict is Verdict.NOT_CHECKED
