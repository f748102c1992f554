"""What a deep check tries, and what its answers mean."""

from datetime import date

import pytest
from support.facts import World, target

from fleet.facts.deep import DeepFact, DeepTrial
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.look import Look
from fleet.verifier.model import Verdict
from fleet.verifier.trials import Declared, Trial, answered, tries

STDIO = Declared("one", Trial("a", "stdio", (), "words"))
HTTP = Declared("two", Trial("b", "http", (), "url"))
UNKNOWN = Declared("three", why="its type is not known")


def look(deep: DeepFact | None, address: str = "ssh://u@laptop") -> Look:
    where = target("claude-code", address=address)
    [resolved] = resolve([load_catalogue().system("claude-code")], where)
    facts = World().facts(where).model_copy(update={"deep": deep})
    return Look(where, resolved, facts, date(2026, 12, 1))


def told(*trials: DeepTrial, why: str = "") -> DeepFact:
    return DeepFact(state="unsupported", why=why, trials=trials)


@pytest.mark.parametrize(
    ("deep", "declared", "verdict", "message"),
    [
        (None, [STDIO], Verdict.NOT_CHECKED, "--deep only"),
        (told(), [], Verdict.NOT_APPLICABLE, "nowhere"),
        (told(DeepTrial(key="a", state="answered")), [STDIO], Verdict.PASS, "answers"),
        (told(DeepTrial(key="a", state="failed", why="it ended")), [STDIO], Verdict.FAIL, "ended"),
        (
            told(DeepTrial(key="a", state="untried", why="slow")),
            [STDIO],
            Verdict.NOT_CHECKED,
            "slow",
        ),
        (told(why="there is no node"), [STDIO], Verdict.NOT_CHECKED, "no node"),
        (
            told(DeepTrial(key="a", state="answered")),
            [STDIO, UNKNOWN],
            Verdict.NOT_CHECKED,
            "known",
        ),
        (told(DeepTrial(key="a", state="answered")), [STDIO, HTTP], Verdict.NOT_CHECKED, "two"),
    ],
)
def test_one_server_that_fails_is_enough_and_one_that_was_not_tried_is_no_pass(
    deep: DeepFact | None, declared: list[Declared], verdict: Verdict, message: str
) -> None:
    judgement = answered(look(deep), declared)
    assert judgement.verdict is verdict
    assert message in judgement.message


def test_an_image_asks_no_url() -> None:
    image = look(told(), "docker-daemon:box:1")
    assert tries(image, [STDIO, HTTP, UNKNOWN]) == [STDIO.trial]
    assert answered(image, [HTTP]).verdict is Verdict.NOT_APPLICABLE
