"""The pipeline on local homes: deploy, judge, save, judge again, take away."""

import hashlib
import json
import socket
import subprocess
import time
from pathlib import Path

import pytest
from support.homes import CANARY, Homes

from fleet.connectors.base import Connector
from fleet.connectors.registry import connect
from fleet.demo.stage import snapshot
from fleet.inventory.model import Target
from fleet.reports.formats import FORMATS

GOOD = {"pass", "warn", "not-applicable"}


def opened(monkeypatch: pytest.MonkeyPatch) -> list[Connector]:
    """Collect the connectors that are opened from here on."""
    made: list[Connector] = []

    def counting(target: Target, *, timeout: float) -> Connector:
        made.append(connect(target, timeout=timeout))
        return made[-1]

    monkeypatch.setattr("fleet.connectors.registry.connect", counting)
    return made


def test_provisioning_costs_three_round_trips_and_one_when_nothing_changes(
    homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = opened(monkeypatch)
    homes.run("provision", "--limit", "one", "--yes")
    assert [(c.connects, c.round_trips) for c in made] == [(1, 1)] * 3
    made.clear()
    homes.run("provision", "--limit", "one", "--yes")
    assert [(c.connects, c.round_trips) for c in made] == [(1, 1)]


def test_what_was_deployed_holds_and_uninstall_leaves_no_trace(homes: Homes) -> None:
    before = {name: snapshot(homes.home(name)) for name in homes.names}
    homes.run("provision", "--yes")
    _, found = homes.audit()
    for name in homes.names:
        for gate in (
            "bridge.placed",
            "bridge.seen",
            "bridge.whole",
            "bridge.stamp",
            "env.file",
            "env.mode",
            "env.loaded",
            "env.url",
            "bridge.identity",
        ):
            assert found[name, gate]["verdict"] == "pass", found[name, gate]
        assert found[name, "flip.path"]["verdict"] == "fail"
        assert found[name, "flip.symptom"]["verdict"] == "warn"
        assert "refused" in str(found[name, "flip.symptom"]["message"])
    code, output = homes.run("uninstall", "--yes")
    assert code == 0, output
    assert {name: snapshot(homes.home(name)) for name in homes.names} == before


def test_saved_facts_are_judged_without_a_connection(
    homes: Homes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.run("provision", "--yes")
    live = homes.audit()
    saved = tmp_path / "saved"
    code, _ = homes.run("facts", "all", "-o", str(saved))
    assert code == 0
    contents = saved / "contents"
    named = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in contents.iterdir()
    }
    assert [*named] == [*named.values()]
    told = [json.loads(path.read_text())["contents"] for path in saved.glob("*.json")]
    assert {name for one in told for name in one} == named.keys() != set()
    assert sum(map(len, told)) > len(named), "what they have alike lies there once"
    assert {path.stat().st_mode & 0o777 for path in contents.iterdir()} == {0o600}
    assert contents.stat().st_mode & 0o777 == 0o700

    def refuse(*_args: object, **_kwargs: object) -> None:
        raise AssertionError("a connection was opened")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(subprocess, "Popen", refuse)
    monkeypatch.setattr("fleet.connectors.registry.connect", refuse)
    again = homes.audit("--from", str(saved))
    assert again == live


def test_a_content_that_cannot_be_read_is_told_and_mended_by_saving_again(
    homes: Homes, tmp_path: Path
) -> None:
    homes.run("provision", "--yes")
    saved = tmp_path / "saved"
    homes.run("facts", "all", "-o", str(saved))
    live = homes.audit("--from", str(saved))
    for content in (saved / "contents").iterdir():
        content.write_bytes(bytes(content.stat().st_size))  # as long as it was, and another
    homes.audit("--from", str(saved))
    assert "is not what its name says" in homes.printed[-1]
    homes.run("facts", "all", "-o", str(saved))
    assert homes.audit("--from", str(saved)) == live
    content = next((saved / "contents").iterdir())
    content.unlink()
    content.mkdir()
    homes.audit("--from", str(saved))
    assert "a content cannot be read: [Errno 21]" in homes.printed[-1]


def test_facts_that_are_missing_or_broken_are_unseen_and_stop_nobody(
    homes: Homes, tmp_path: Path
) -> None:
    homes.run("provision", "--yes")
    saved = tmp_path / "saved"
    homes.run("facts", "all", "-o", str(saved))
    files = sorted(saved.glob("*.json"))
    files[0].unlink()
    files[1].write_text("{ broken")
    files[2].write_text(files[3].read_text())
    code, found = homes.audit("--from", str(saved))
    verdicts = {
        t: {str(f["verdict"]) for (o, _), f in found.items() if o == t} for t in homes.names
    }
    assert sorted(v == {"unreachable"} for v in verdicts.values()) == [False, True, True, True]
    assert "the saved facts are those of the host" in "".join(homes.printed)
    assert code == 2


def test_a_secret_is_in_nothing_that_leaves(homes: Homes, tmp_path: Path) -> None:
    """The canary goes through every command and every format; only its file may hold it."""
    out = tmp_path / "out"
    out.mkdir()
    for number, words in enumerate(
        (
            ("plan", "--verbose"),
            ("plan", "--format", "json"),
            ("provision", "--yes", "--verbose"),
            *(("audit", "--verbose", "--format", form) for form in FORMATS),
            ("facts", "all"),
            ("inventory", "show", "one"),
            ("inventory", "list"),
            ("inventory", "check"),
            ("plan", "--verbose"),
            ("fix", "--yes", "--verbose"),
            ("learn", "one", "--system", "env,mempalace-bridge"),
            ("uninstall", "--yes", "--verbose"),
        )
    ):
        target = str(out / str(number))
        homes.run(*words, *(("-o", target) if words[0] != "inventory" else ()))
        homes.run(*words)
    told = "".join(homes.printed)
    assert "MEMPALACE_REMOTE_TOKEN" in told
    assert CANARY not in told
    written = [p for p in tmp_path.rglob("*") if p.is_file()]
    assert [p for p in written if CANARY.encode() in p.read_bytes()] == []
    homes.run("provision", "--yes", "--limit", "one")
    holding = [
        p for p in homes.folder.rglob("*") if p.is_file() and CANARY.encode() in p.read_bytes()
    ]
    assert holding == [homes.home("one") / ".config/pi/.env"]


def test_a_wrong_secret_never_reaches_a_message(
    homes: Homes, monkeypatch: pytest.MonkeyPatch
) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    monkeypatch.setenv("FLEET_TEST_TOKEN", "tok-EXAMPLE-another")
    _, found = homes.audit("--limit", "one")
    gate = found["one", "env.file"]
    assert gate["verdict"] == "fail"
    assert "MEMPALACE_REMOTE_TOKEN is not the declared value" in str(gate["evidence"])
    assert CANARY not in "".join(homes.printed)
    assert "tok-EXAMPLE-another" not in "".join(homes.printed)


def test_one_bad_target_stops_no_other(homes: Homes) -> None:
    text = homes.inventory.read_text()
    homes.inventory.write_text(
        text.replace(f"local: {homes.home('two')}", "ssh: u@nowhere.invalid")
    )
    code, output = homes.run("provision", "--yes", "--format", "json")
    assert "nowhere" in output
    assert code == 2
    for name in ("one", "three", "four"):
        assert (homes.home(name) / ".config/pi/.env").exists()


def test_a_target_that_never_answers_costs_its_own_time_only(homes: Homes) -> None:
    homes.run("provision", "--yes")
    (homes.home("two") / ".profile").write_text("sleep 600\n")
    started = time.monotonic()
    _, found = homes.audit()
    assert time.monotonic() - started < 45
    assert found["two", "env.loaded"]["verdict"] == "not-checked"
    assert "bash -lc: no answer within" in json.dumps(found["two", "env.loaded"])
    assert found["one", "env.loaded"]["verdict"] == "pass"


def test_launches_that_hang_cost_themselves_only(homes: Homes) -> None:
    homes.run("provision", "--yes", "--limit", "one")
    text = homes.inventory.read_text()
    homes.inventory.write_text(text.replace("shell: bash -lc", "shell: [bash -lc, sh -lc]"))
    (homes.home("one") / ".profile").write_text("sleep 600\n")
    _, found = homes.audit("--limit", "one", "--timeout", "6")
    assert found["one", "bridge.placed"]["verdict"] == "pass"
    assert found["one", "env.loaded"]["verdict"] == "not-checked"
    assert "sh -lc: no answer within" in str(found["one", "env.loaded"])


def test_a_target_that_floods_is_an_error_of_its_own(homes: Homes) -> None:
    homes.run("provision", "--yes")
    flood = "head -c 100000000 /dev/zero | tr '\\0' x >&3; exec 3>&-\n"
    (homes.home("two") / ".profile").write_text(f"exec 3>&1\n{flood}")
    code, found = homes.audit("--timeout", "6")
    assert code in (2, 3)
    assert found["two", "env.loaded"]["verdict"] == "not-checked"
    assert "bash -lc: no answer within" in str(found["two", "env.loaded"])
    assert found["one", "env.loaded"]["verdict"] == "pass"
