"""Progress is for a person who waits, and for nobody else."""

import io
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from fleet.cli.options import Options
from fleet.cli.progress import watching


class Screen(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Say so."""
        return True


def test_quiet_and_pipes_see_no_progress(capsys: pytest.CaptureFixture[str]) -> None:
    for options in (Options(quiet=True), Options()):
        with watching(1, options) as observer:
            observer.target_started("laptop", "asking")
            observer.target_finished("laptop", ok=True, note="")
    assert capsys.readouterr() == ("", "")


def test_a_pipe_hears_what_concerns_the_job(capsys: pytest.CaptureFixture[str]) -> None:
    with watching(None, Options()) as observer:
        observer.said("batch 1 of 2\x1b[31m")
    assert capsys.readouterr().err == "batch 1 of 2\\x1b[31m\n"


def test_a_terminal_sees_names_and_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    with watching(40, Options()) as observer, ThreadPoolExecutor(8) as pool:

        def work(number: int) -> None:
            observer.target_started(f"web-{number}", "asking")
            note = "no answer [bold]\x1b[2J" if number == 7 else ""
            observer.target_finished(f"web-{number}", ok=number != 7, note=note)

        list(pool.map(work, range(40)))
    text = screen.getvalue()
    assert "web-7: no answer [bold]\\x1b[2J" in text
    assert "40/40" in text


def judged(options: Options) -> None:
    with watching(3, options) as observer:
        observer.target_judged("good", ok=True, note="all 4 required gates hold")
        observer.target_finished("down", ok=False, note="connection refused")
        observer.target_judged("down", ok=False, note="could not be checked: connection refused")
        observer.target_judged("bad", ok=False, note="failed: bridge.feed\x1b[2J")


@pytest.mark.parametrize("verbose", [True, False])
def test_a_terminal_sees_what_each_comes_to_as_it_comes(
    monkeypatch: pytest.MonkeyPatch, verbose: bool
) -> None:
    screen = Screen()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    judged(Options(verbose=verbose))
    text = screen.getvalue()
    assert "bad: failed: bridge.feed\\x1b[2J" in text
    assert text.count("down: connection refused") == 1
    assert "down: could not be checked" not in text
    assert ("good: all 4 required gates hold" in text) == verbose


def test_a_pipe_sees_it_where_it_is_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    judged(Options())
    assert capsys.readouterr().err == ""
    judged(Options(verbose=True))
    assert capsys.readouterr().err.splitlines() == [
        "good: all 4 required gates hold",
        "down: could not be checked: connection refused",
        "bad: failed: bridge.feed\\x1b[2J",
    ]
