"""What a process that is told to end does: stop, tidy up, and say by what it was ended."""

import os
import signal
import subprocess
import sys
from threading import Event, Thread

import pytest

from fleet.connectors.deadline import ENDING, Deadline
from fleet.engine import ending
from fleet.engine.ending import Ended, orderly_end

THIRD = """\
import os, signal, time
from fleet.engine.ending import orderly_end
with orderly_end():
    try:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
    except KeyboardInterrupt as error:
        print(error, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        print("tidied up", flush=True)
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(60)
"""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_looking_stops_and_all_is_as_it_was_afterwards(number: int) -> None:
    before = signal.getsignal(number)
    signal.signal(number, signal.SIG_DFL)
    try:
        looks, acts = Deadline(60, only_looks=True), Deadline(60)
        with orderly_end():
            assert not looks.passed
            with pytest.raises(Ended) as caught:
                os.kill(os.getpid(), number)
            assert caught.value.number == number
            assert (looks.passed, looks.within(5).passed, acts.passed) == (True, True, False)
            assert looks.left() < 1 < acts.left()
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)
    assert not ENDING.is_set()


def test_a_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with orderly_end():
            os.kill(os.getpid(), signal.SIGHUP)
            assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
        assert not ENDING.is_set()
    finally:
        signal.signal(signal.SIGHUP, before)


def test_the_second_signal_lets_it_tidy_up_and_the_third_does_not() -> None:
    run = subprocess.run([sys.executable, "-c", THIRD], stdout=subprocess.PIPE, check=False)
    assert (run.returncode, run.stdout) == (143, b"SIGTERM\ntidied up\n")


def test_a_signal_that_comes_while_the_first_is_answered_does_not_take_its_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Noisy(Event):
        """Whoever sets it is told to end again just then."""

        def set(self) -> None:
            super().set()
            os.kill(os.getpid(), signal.SIGTERM)

    monkeypatch.setattr(ending, "ENDING", Noisy())
    with orderly_end(), pytest.raises(Ended) as caught:
        os.kill(os.getpid(), signal.SIGHUP)
    assert caught.value.number == signal.SIGHUP


def test_in_another_thread_nothing_is_changed() -> None:
    failures: list[BaseException] = []

    def run() -> None:
        try:
            with orderly_end():
                pass
        except BaseException as error:  # noqa: BLE001 - told by the test's own thread
            failures.append(error)

    thread = Thread(target=run)
    thread.start()
    thread.join()
    assert failures == []
