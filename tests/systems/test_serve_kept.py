"""The gates over what lies on the machine: the token, the compose file."""

import hashlib

import pytest
from support.serve import (
    container,
    failing,
    healthy,
    process,
    target,
)

from fleet.facts.paths import State
from fleet.verifier.model import Verdict

PASS, NOT_CHECKED = Verdict.PASS, Verdict.NOT_CHECKED
TOKEN_FOLDER = "~/.mempalace/server/" + hashlib.sha256(b"/data/palace").hexdigest()[:24]


def test_a_minted_token_that_only_its_owner_reads() -> None:
    world = healthy()
    world.file(f"{TOKEN_FOLDER}/token", mode=0o600)
    # Files alone do not tell what stands in an argument list.
    assert world.judged()["token"].verdict is Verdict.NOT_CHECKED
    found = world.seen(processes={"server": (process(),)}).judged()
    assert found["token"].verdict is PASS
    assert "rotate it" in found["token"].evidence[-1]


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604])
def test_a_token_file_others_can_read(mode: int) -> None:
    world = healthy()
    world.file(f"{TOKEN_FOLDER}/token", mode=mode)
    found = world.judged()
    assert failing(found) == {"token"}
    assert found["token"].evidence == (f"{TOKEN_FOLDER}/token is {mode:04o}, want 0600",)


def test_a_token_folder_others_can_enter() -> None:
    world = healthy()
    world.folder(TOKEN_FOLDER, "token")
    assert failing(world.judged()) == {"token"}


def test_an_env_file_others_can_read() -> None:
    world = healthy()
    line = b"MEMPALACE_MCP_HTTP_TOKEN='tok-EXAMPLE-serve'\n"
    world.env_file("~/.config/mempalace/server.env", line, mode=0o644)
    assert failing(world.judged(target(serve_mode="systemd-user"))) == {"token"}


def test_a_token_in_an_argument_list() -> None:
    argv = process(secret_flags=("--token",))
    assert failing(healthy().seen(processes={"server": (argv,)}).judged()) == {"token"}
    command = container(secret_flags=("--token",))
    assert failing(healthy().containers(command).judged()) == {"token"}


@pytest.mark.parametrize(
    ("baked", "verdict"),
    [
        ((), PASS),
        (("env OTHER_TOKEN",), PASS),  # not this server's
        (("env MEMPALACE_MCP_HTTP_TOKEN",), Verdict.FAIL),
        (("history MEMPALACE_MCP_HTTP_TOKEN",), Verdict.FAIL),
        (None, NOT_CHECKED),
    ],
)
def test_a_token_in_the_image(baked: tuple[str, ...] | None, verdict: Verdict) -> None:
    found = healthy().containers(container(baked=baked)).judged()["token"]
    assert found.verdict is verdict, found
    if verdict is Verdict.FAIL:
        assert "of the image of mempalace-palace-1" in found.evidence[0]
        assert "build the image without the token" in str(found.remedy)


def test_a_token_file_that_cannot_be_seen_is_not_passed() -> None:
    world = healthy().seen(processes={"server": (process(),)})
    world.broken(f"{TOKEN_FOLDER}/token", State.UNREADABLE, why="permission denied")
    assert world.judged()["token"].verdict is NOT_CHECKED
