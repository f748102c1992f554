"""``fleet audit`` and ``fleet check``."""

import json
from pathlib import Path

import pytest
from support.cli import FakeEngine, invoke
from support.crafted import craft

from fleet.engine.options import AuditOptions


@pytest.mark.parametrize(("run", "code"), [("healthy", 0), ("mixed", 2), ("silent", 3)])
@pytest.mark.parametrize("form", ["terminal", "json"])
def test_the_exit_code_is_the_runs_conclusion(run: str, code: int, form: str) -> None:
    result = invoke("audit", "--format", form, engine=FakeEngine(craft(run)))
    assert result.exit_code == code, result.output


def test_terminal_report_is_plain_where_there_is_no_terminal() -> None:
    result = invoke("audit", engine=FakeEngine(craft("mixed")))
    assert "\x1b" not in result.stdout
    assert result.stdout.endswith("exit 2: 4 required gates failed on 4 targets\n")
    assert result.stderr == ""


def test_json_is_the_only_thing_on_stdout() -> None:
    told = json.loads(invoke("audit", "--format", "json").stdout)
    assert told["format"] == "fleet.run/1"
    assert told["run"]["command"] == "audit"


def test_colour_can_be_forced_and_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert "\x1b[" in invoke("audit", engine=FakeEngine(craft("mixed"))).stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in invoke("audit", engine=FakeEngine(craft("mixed"))).stdout


def test_options_reach_the_engine(here: Path) -> None:
    engine = FakeEngine()
    (here / "saved").mkdir()
    result = invoke(
        *("audit", "-i", "fleet.yml", "-e", "device=laptop", "-e", "url=a=b"),
        *("--limit", "laptop,desk", "--system", "mempalace-bridge", "--require", "feed,stamp"),
        *("-j", "3", "--timeout", "7.5", "--strict", "--from", "saved"),
        engine=engine,
    )
    assert result.exit_code == 0, result.output
    loaded, audited = engine.asked
    assert loaded == ("context", Path("fleet.yml"), {"device": "laptop", "url": "a=b"})
    assert audited[1] == ("laptop", "desk")
    assert audited[2] == AuditOptions(
        jobs=3,
        timeout=7.5,
        strict=True,
        systems=("mempalace-bridge",),
        require=("feed", "stamp"),
        from_dir=Path("saved"),
        lean=True,
    )


def test_the_inventory_is_found_by_environment_then_here(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine = FakeEngine()
    invoke("audit", engine=engine)
    (here / "inventory").mkdir()
    invoke("audit", engine=engine)
    (here / "other.yml").write_text("", encoding="utf-8")
    monkeypatch.setenv("FLEET_INVENTORY", "other.yml")
    invoke("audit", engine=engine)
    found = [call[1] for call in engine.asked if call[0] == "context"]
    assert found == [Path("fleet.yml"), Path("inventory"), Path("other.yml")]


def test_no_inventory_is_told_with_the_way_out(here: Path) -> None:
    (here / "fleet.yml").unlink()
    result = invoke("audit")
    assert result.exit_code == 1
    assert "there is no inventory" in result.stderr
    assert "fleet init" in result.stderr


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--limit", "nobody"), "no target or group is called `nobody`"),
        (("--system", "mempalace-bridg"), "did you mean `mempalace-bridge`?"),
        (("--require", "fed"), "did you mean `feed`?"),
        (("--system", "env"), "none of these targets has the system env"),
        (("--quiet", "--verbose"), "contradict each other"),
        (("-e", "tok-EXAMPLE-secret"), "NAME=VALUE"),
        (("-e", "a-b=tok-EXAMPLE-secret"), "NAME=VALUE"),
        (("-j", "0"), "a number from 1"),
        (("--timeout", "nan"), "it takes seconds"),
        (("-i", "absent.yml"), "does not exist"),
        (("--from", "absent"), "does not exist"),
        (("--format", "yaml"), "yaml"),
        (("-o", "absent/report.json"), "there is no folder"),
        (("-o", "."), "is a folder"),
        (("surplus",), "surplus"),
    ],
)
def test_wrong_words_are_usage_errors(words: tuple[str, ...], told: str) -> None:
    engine = FakeEngine()
    result = invoke("audit", *words, engine=engine)
    assert result.exit_code == 1
    assert told in result.stderr
    assert result.stderr.startswith("error: ")
    assert "tok-EXAMPLE" not in result.output
    assert result.stdout == ""
    assert "audit" not in engine.calls()


def test_a_report_is_written_whole(here: Path) -> None:
    place = here / "report.json"
    place.write_text("old", encoding="utf-8")
    place.chmod(0o640)
    result = invoke("audit", "--format", "json", "-o", "report.json")
    assert result.exit_code == 0
    assert json.loads(place.read_text(encoding="utf-8"))["format"] == "fleet.run/1"
    assert place.stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in here.iterdir()) == ["fleet.yml", "report.json"]
    assert "report written to report.json" in result.stdout
    assert "exit 0: all 3 required gates hold" in result.stdout


def test_check_needs_no_inventory(here: Path) -> None:
    (here / "fleet.yml").unlink()
    engine = FakeEngine()
    result = invoke(
        *("check", "local:", "container:pi", "local:", "--system", "mempalace-bridge"),
        *("--require", "feed"),
        engine=engine,
    )
    assert result.exit_code == 0, result.output
    assert engine.asked[0] == ("context", None, {})
    assert engine.asked[1][1] == ("local:", "container:pi")
    assert engine.asked[1][3] == "check"


def test_check_takes_a_platform_for_images(here: Path) -> None:
    (here / "fleet.yml").unlink()
    engine = FakeEngine()
    image = ("check", "oci:layout", "--system", "env", "--platform", "linux/arm64/v8")
    assert invoke(*image, "-e", "platform=linux/amd64", engine=engine).exit_code == 0
    assert engine.asked[0] == ("context", None, {"platform": "linux/arm64/v8"})


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "missing argument"),
        (("local:", "--system", "env", "--platform", "linux/arm64"), "none of these is an image"),
        (("oci:x", "--system", "env", "--platform", "arm64"), "such as linux/arm64"),
        (("docker://pi", "--system", "env"), "it names no registry"),
        (("local:",), "--system"),
        (("docker:x", "--system", "env"), "docker://registry/name"),
    ],
)
def test_check_says_what_it_takes(words: tuple[str, ...], told: str) -> None:
    result = invoke("check", *words)
    assert result.exit_code == 1
    assert told in result.stderr.lower()
