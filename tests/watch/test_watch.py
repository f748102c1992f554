"""``fleet watch`` as a program: a real home, a real port, real signals."""

import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.cli import invoke

PATIENCE = 60.0


@pytest.fixture
def place(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir()
    (tmp_path / "fleet.yml").write_text(
        "vars: {toolkit: ~/mempalace-toolkit, palace_url: 'http://127.0.0.1:9/mcp'}\n"
        f"groups:\n  all-of-it:\n    systems: [mempalace-bridge]\n    hosts:\n"
        f"      box: {{local: {tmp_path / 'home'}, shell: bash -lc, vars: {{device: box}}}}\n"
    )
    return tmp_path


class Running:
    """A watch, and what it says."""

    def __init__(self, place: Path, *words: str) -> None:
        self.log = place / "log"
        self.place = place
        with self.log.open("wb") as stream:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "fleet", "watch", "-i", "fleet.yml"),
                    *("--listen", "127.0.0.1:0", "--every", "0.3s", "--history", "h.db", *words),
                ],
                cwd=place,
                stdout=stream,
                stderr=subprocess.STDOUT,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def said(self) -> str:
        return self.log.read_text()

    def until(self, true: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not true():
            assert self.process.poll() is None, self.said()
            assert time.monotonic() < until, self.said()
            time.sleep(0.05)

    def get(self, path: str) -> tuple[int, str]:
        port = self.said().partition("serving http://127.0.0.1:")[2].partition("/")[0]
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, ""

    def value(self, name: str) -> float:
        return next(
            sample.value
            for family in text_string_to_metric_families(self.get("/metrics")[1])
            for sample in family.samples
            if sample.name == name
        )


@pytest.fixture
def running(place: Path) -> Iterator[Callable[..., Running]]:
    """Start watches; each is killed at the end if it is still there."""
    made: list[Running] = []

    def start(*words: str) -> Running:
        made.append(Running(place, *words))
        made[-1].until(lambda: "exit " in made[-1].said())
        return made[-1]

    yield start
    for one in made:
        if one.process.poll() is None:
            one.process.kill()
        one.process.wait()


def runs(place: Path) -> list[str]:
    connection = sqlite3.connect(place / "h.db")
    found = [command for (command,) in connection.execute("SELECT command FROM run")]
    connection.close()
    return found


def heard(path: Path) -> set[tuple[str, str]]:
    """Return what was told so far: targets and gates. The last document may be half written."""
    text, found = path.read_text() if path.exists() else "", set()
    with contextlib.suppress(json.JSONDecodeError):
        while text:
            told, end = json.JSONDecoder().raw_decode(text)
            text = text[end:]
            found |= {(t["target"], t["gate"]) for t in told["transitions"]}
    return found


def test_it_serves_keeps_and_stops(place: Path, running: Callable[..., Running]) -> None:
    watch = running()
    watch.until(lambda: watch.value("fleet_watch_rounds_total") >= 2)
    assert watch.get("/healthz")[0] == 200
    assert watch.get("/")[0] == 404
    assert watch.value("fleet_target_up") == 1
    watch.process.send_signal(signal.SIGTERM)
    assert watch.process.wait(PATIENCE) == 0
    assert watch.said().rstrip().endswith("stopped")
    assert runs(place) == ["watch"]  # what says nothing new is not kept again
    assert json.loads((place / "watch.json").read_text())["held"]


def test_it_tells_what_came_to_stay_over_a_restart(
    place: Path, running: Callable[..., Running]
) -> None:
    words = ("--hold", "0.1s", "--tell", f"command:sh -c 'cat >> {place / 'heard'}'")
    first = running(*words)
    first.process.send_signal(signal.SIGTERM)
    assert first.process.wait(PATIENCE) == 0
    assert not (place / "heard").exists()
    bridge = place / "home" / "mempalace-toolkit" / "extensions" / "pi"
    bridge.mkdir(parents=True)
    (bridge / "mempalace.ts").write_text("export default function () {}\n")
    extensions = place / "home" / ".pi" / "agent" / "extensions"
    extensions.mkdir(parents=True)
    (extensions / "mempalace.ts").symlink_to(bridge / "mempalace.ts")
    second = running(*words)
    second.until(lambda: ("box", "bridge.placed") in heard(place / "heard"))


def test_it_takes_a_changed_inventory_and_outlives_a_broken_one(
    place: Path, running: Callable[..., Running]
) -> None:
    watch = running()
    good = (place / "fleet.yml").read_text()
    (place / "fleet.yml").write_text("targets: [broken\n")
    watch.until(lambda: "the inventory is broken, the last good one stays" in watch.said())
    assert watch.value("fleet_watch_inventory_loaded") == 0
    assert watch.value("fleet_target_up") == 1
    other = good.replace("box:", "crate:").replace("device: box", "device: crate")
    (place / "fleet.yml").write_text(other)
    watch.until(lambda: 'fleet_target_up{target="crate"}' in watch.get("/metrics")[1])
    assert watch.value("fleet_watch_inventory_loaded") == 1


def test_it_goes_on_where_no_target_answers(place: Path, running: Callable[..., Running]) -> None:
    text = (place / "fleet.yml").read_text()
    (place / "fleet.yml").write_text(text.replace(str(place / "home"), str(place / "gone")))
    watch = running()
    watch.until(lambda: watch.value("fleet_watch_rounds_total") >= 2)
    assert watch.value("fleet_target_up") == 0


@pytest.mark.parametrize(
    "words, told",
    [
        (("--listen", "0.0.0.0:9"), "is no loopback address"),
        (("--listen", "here:there"), "it takes a port"),
        (("--tell", "nonsense://x"), "destination 1 is no address"),
        (("--every", "soon"), "is no span of time"),
        (("-i", "absent.yml"), "does not exist"),
    ],
)
def test_wrong_words_are_told(
    words: tuple[str, ...], told: str, place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(place)
    result = invoke("watch", "--times", "1", *words)
    assert result.exit_code == 1
    assert told in result.stderr
