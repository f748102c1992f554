"""What a marker gate says of a file: present and absent words, and files that are not there."""

import pytest
from support.facts import BRIDGE, World, findings, findings_in, target
from support.places import CASES

from fleet.facts.model import git_blob
from fleet.facts.paths import State
from fleet.systems.catalogue import Catalogue, Described
from fleet.systems.model import System
from fleet.verifier.model import Verdict
from fleet.verifier.toolkit import Commit, Toolkit

FOLDER = CASES / "F06"
PATH = "~/.config/pi/.env"


def catalogue(**marker: object) -> Catalogue:
    system = System.model_validate(
        {
            "system": "rules",
            "about": "A rule of its own.",
            "artifacts": {"it": {"kind": "observed", "path": PATH, "read": "whole"}},
            "gates": [
                {
                    "id": "rules.clear",
                    "asks": "No clear text.",
                    "without": "a token may cross the network in clear",
                    "marker": {"in": "it", **marker},
                }
            ],
        }
    )
    return Catalogue(Described({"rules": "rules"}, {"rules": system}), {"rules": "rules"})


@pytest.mark.parametrize(
    ("name", "verdict", "told"),
    [
        ("clean.env", Verdict.PASS, ""),
        ("bad.env", Verdict.FAIL, "line 2: http:// is in it"),
        ("comment.env", Verdict.PASS, ""),
        ("empty.env", Verdict.PASS, ""),
    ],
)
def test_f06_a_word_that_must_not_stand_outside_comments(
    name: str, verdict: Verdict, told: str
) -> None:
    world = World().file(PATH, (FOLDER / name).read_bytes())
    found = findings_in(catalogue(none=["http://"]), target("rules"), world)["rules.clear"]
    assert found.verdict is verdict
    assert told in " ".join(found.evidence)


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        (State.ABSENT, Verdict.FAIL),
        (State.DANGLING, Verdict.FAIL),
        (State.LOOP, Verdict.FAIL),
        (State.UNREADABLE, Verdict.ERROR),
        (State.UNSUPPORTED, Verdict.NOT_CHECKED),
    ],
)
def test_a_file_that_is_not_there_never_passes(state: State, verdict: Verdict) -> None:
    world = World().broken(PATH, state)
    for rule in ({"none": ["http://"]}, {"all": ["http://"]}):
        found = findings_in(catalogue(**rule), target("rules"), world)["rules.clear"]
        assert found.verdict is verdict


def test_content_that_was_not_read_is_not_checked() -> None:
    world = World().file(PATH, b"x")
    world.contents.clear()
    found = findings_in(catalogue(none=["http://"]), target("rules"), world)["rules.clear"]
    assert found.verdict is Verdict.NOT_CHECKED


def test_the_commit_s_evidence_names_what_the_bytes_cannot_do() -> None:
    where = target("mempalace-bridge")
    blob = git_blob(BRIDGE)
    old = Toolkit(
        "~/clone", {"extensions/pi/mempalace.ts": {blob: Commit("a" * 40, "2026-08-1", 3)}}
    )
    world = World().file("~/.pi/agent/extensions/mempalace.ts", BRIDGE)
    told = findings(where, world, toolkit=old)["bridge.commit"]
    assert told.message == "3 commits behind"
    assert "lacks mailbox, which came with 2026-08-26" in told.evidence
    assert "lacks stall" in told.evidence
    assert not any("feed" in line or "stamp" in line for line in told.evidence)
