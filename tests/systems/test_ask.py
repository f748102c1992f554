"""A request asks what somebody wants to know, and nothing else."""

import pytest
from support.facts import NONCE, target

from fleet.facts.request import Request
from fleet.systems.ask import request_for
from fleet.systems.model import System
from fleet.systems.resolve import resolve

FILE = {"kind": "copy", "path": "~/f.conf", "source": "f.conf"}
GATE = {"id": "files.there", "asks": "It is there.", "check": "there"}


def asked(**fields: object) -> Request:
    told = {"system": "files", "about": "A file.", "artifacts": {"f": FILE}, **fields}
    where = target("files", launches=["bash -lc", "zsh -ic"])
    return request_for(where, resolve([System.model_validate(told)], where), nonce=NONCE)


def test_a_shell_that_nobody_wants_to_know_anything_of_is_not_started() -> None:
    request = asked()

    assert [path.path for path in request.paths] == ["~/f.conf"]
    assert request.launches == ()


@pytest.mark.parametrize(
    "fields",
    [
        {"gates": [GATE]},
        {"ask": {"commands": {"git": "stat"}}},
        {"variables": {"place": {"about": "Public.", "env": "PLACE", "public": True}}},
        {"variables": {"token": {"about": "Secret.", "env": "TOKEN"}}},
    ],
)
def test_a_shell_is_started_for_a_gate_a_command_or_a_variable(fields: dict[str, object]) -> None:
    launches = asked(**fields).launches

    assert [launch.launch for launch in launches] == ["bash -lc", "zsh -ic"]
