"""Testing without a target: canned facts, a target that answers with them, and a judge.

Public API, for tests of a system, a gate or an inventory of your own::

    from fleet.testing import CannedFacts, judge

    seen = CannedFacts().file("~/notes/INDEX.md", b"one note")
    assert judge("note-keeper", seen)["notes.quiet"].verdict == "pass"

Nothing here needs pytest. What is canned is answered as a real target would answer it: only what
is asked for, as deep as it is asked for, and of a secret never the value.
"""

from fleet.connectors.base import Outcome
from fleet.connectors.fake import FakeConnector
from fleet.connectors.registry import answering
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.running import EnvValue
from fleet.inventory.model import Target
from fleet.secrets import Secret
from fleet.testing.canned import HOME, NONCE, CannedFacts
from fleet.testing.judging import judge, make_target
from fleet.verifier.model import Finding, Judgement, Verdict

__all__ = [
    "HOME",
    "NONCE",
    "CannedFacts",
    "EnvValue",
    "Facts",
    "FakeConnector",
    "Finding",
    "Judgement",
    "Outcome",
    "PathFact",
    "Secret",
    "State",
    "Target",
    "Verdict",
    "answering",
    "judge",
    "make_target",
]
