"""``fleet audit --keep``: again and again, and no more said than there is to say."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
import pytest
from support.cli import FakeEngine, invoke
from support.crafted import craft

from fleet.cli.duration import DurationType
from fleet.engine.context import Context
from fleet.verifier.run import Run


@dataclass
class Changing(FakeEngine):
    """Finds something else each time."""

    runs: Iterator[Run] = field(default_factory=lambda: iter(()))
    contexts: list[Context] = field(default_factory=list)

    def audit(self, targets: Any, context: Any, *rest: Any, **named: Any) -> Run:
        self.contexts.append(context)
        assert context.connections._keep, "between two audits connections stay open"
        return next(self.runs)


@dataclass
class Clock:
    """A clock that moves when it is asked: before an audit and after it."""

    step: float = 0.0
    now: float = 0.0
    slept: list[float] = field(default_factory=list)

    def monotonic(self) -> float:
        """Tell the time."""
        self.now += self.step
        return self.now

    def sleep(self, seconds: float) -> None:
        """Wait."""
        self.slept.append(seconds)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr("fleet.cli.repeating.time", made)
    return made


def changing(*names: str) -> Changing:
    return Changing(runs=(craft(name) for name in names))


def test_what_comes_out_as_before_is_one_line(clock: Clock) -> None:
    engine = changing("mixed", "mixed", "healthy", "healthy")
    result = invoke("audit", "--keep", "--times", "4", engine=engine)
    assert result.exit_code == 0, result.output
    assert result.stdout.count("exit 2: 4 required gates failed on 4 targets\n") == 1
    assert result.stdout.count("exit 0: all ") == 1
    same = [line for line in result.stdout.splitlines() if "  as before: " in line]
    assert [line.partition("  ")[2] for line in same] == [
        "as before: 6 targets, exit 2 (12.0 s)",
        "as before: 1 target, exit 0 (12.0 s)",
    ]
    assert clock.slept == [60, 60, 60]
    assert not engine.contexts[0].connections._keep, "at the end they are closed"


@pytest.mark.parametrize(
    ("words", "seconds"), [(("--every", "5m"), 300), (("--keep", "--every", "0.5"), 0.5)]
)
def test_the_time_between_is_chosen(words: tuple[str, ...], seconds: float, clock: Clock) -> None:
    invoke("audit", *words, "--times", "2", engine=changing("healthy", "healthy"))
    assert clock.slept == [seconds]


def test_what_an_audit_takes_is_part_of_the_time(clock: Clock) -> None:
    clock.step = 10
    invoke("audit", "--times", "2", engine=changing("healthy", "healthy"))
    assert clock.slept == [50]


def test_a_slow_audit_is_followed_at_once(clock: Clock) -> None:
    clock.step = 100
    invoke("audit", "--times", "2", engine=changing("healthy", "healthy"))
    assert clock.slept == [0]


def test_a_program_that_reads_along_gets_every_one(clock: Clock, here: Path) -> None:
    words = ("audit", "--times", "3", "--format", "json")
    told = invoke(*words, engine=changing("healthy", "healthy", "mixed")).stdout
    documents, decoder = [], json.JSONDecoder()
    while told.strip():
        document, end = decoder.raw_decode(told)
        documents.append(document)
        told = told[end:].lstrip()
    assert [d["summary"]["conclusion"]["code"] for d in documents] == [0, 0, 2]
    words = ("audit", "--times", "2", "--format", "junit:>>all.xml")
    invoke(*words, engine=changing("healthy", "healthy"))
    assert (here / "all.xml").read_text().count("<testsuites") == 2
    assert len(clock.slept) == 3


def test_quiet_says_only_what_changed(clock: Clock) -> None:
    result = invoke("audit", "--times", "3", "-q", engine=changing("mixed", "mixed", "mixed"))
    assert "as before" not in result.stdout
    assert len(clock.slept) == 2


def test_interrupted_between_two_audits_the_last_one_counts(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(clock, "sleep", interrupt)
    result = invoke("audit", "--keep", engine=changing("mixed"))
    assert result.exit_code == 2
    assert "interrupted" not in result.output


@pytest.mark.usefixtures("clock")
def test_interrupted_in_the_middle_it_says_so() -> None:
    def runs() -> Iterator[Run]:
        yield craft("healthy")
        raise KeyboardInterrupt

    result = invoke("audit", "--keep", engine=Changing(runs=runs()))
    assert result.exit_code == 130
    assert "interrupted" in result.stderr


@pytest.mark.parametrize("word", [("--keep",), ("--every", "5s"), ("--times", "2")])
def test_saved_facts_are_not_judged_again_and_again(word: tuple[str, ...], here: Path) -> None:
    (here / "saved").mkdir()
    result = invoke("audit", "--from", "saved", *word)
    assert result.exit_code == 1
    assert "--from connects to none" in result.stderr


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("1.5m", 90), ("24h", 86_400), ("7d", 604_800)],
)
def test_spans_of_time(text: str, seconds: float) -> None:
    assert DurationType().convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["", "0", "0s", "-5", "5 minutes", "1e9", "5w", "nan", "9" * 10])
def test_what_is_no_span_of_time_is_refused(text: str) -> None:
    with pytest.raises(click.BadParameter, match="no span of time"):
        DurationType().convert(text, None, None)
