"""Several reports of one run: each where it was asked for, whole or not at all."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Self

import click
import pytest
from click.shell_completion import ShellComplete
from support.cli import FakeEngine, invoke
from support.crafted import craft

from fleet.cli.main import cli
from fleet.cli.output import append, write
from fleet.errors import UsageError
from fleet.reports.formats import FORMATS


def mixed() -> FakeEngine:
    return FakeEngine(craft("mixed"))


def test_one_run_several_reports(here: Path) -> None:
    words = [f"--format={form}:out.{form}" for form in FORMATS]
    ended = invoke("audit", *words, "--format", "terminal", engine=mixed())
    assert ended.exit_code == 2
    assert ended.stdout.endswith("exit 2: 4 required gates failed on 4 targets\n")
    assert ended.stderr.splitlines() == [f"{f} report written to out.{f}" for f in FORMATS]
    assert json.loads((here / "out.json").read_text("utf-8"))["format"] == "fleet.run/1"
    assert ET.parse(here / "out.junit").getroot().tag == "testsuites"  # noqa: S314 - our own file
    assert json.loads((here / "out.sarif").read_text("utf-8"))["version"] == "2.1.0"
    assert (here / "out.markdown").read_text("utf-8").startswith("**FAILED**")
    assert (here / "out.terminal").read_text("utf-8") == ended.stdout
    assert sorted(p.name for p in here.iterdir()) == sorted(
        ["fleet.yml", *(f"out.{form}" for form in FORMATS)]
    )


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("command", ["audit", "check"])
def test_each_goes_to_stdout_alone(form: str, command: str) -> None:
    more = ["local:", "--system", "env"] if command == "check" else []
    more.append("--no-history")  # a page tells of the runs before
    ended = invoke(command, *more, "--format", form, engine=mixed())
    assert ended.exit_code == 2
    assert ended.stderr == ""
    assert "exit" in ended.stdout or form == "json"
    assert invoke(command, *more, "--format", f"{form}:-", engine=mixed()).stdout == ended.stdout


def test_files_alone_leave_the_verdict_on_stdout(here: Path) -> None:
    ended = invoke("audit", "--format", "junit:out.xml", engine=mixed())
    assert ended.stdout.splitlines() == [
        "junit report written to out.xml",
        "exit 2: 4 required gates failed on 4 targets",
    ]
    quiet = invoke("audit", "-q", "--format", "junit:out.xml", engine=mixed())
    assert quiet.output == ""
    assert (here / "out.xml").exists()


def test_the_option_o_takes_the_one_without_a_file(here: Path) -> None:
    words = ("--format", "sarif:out.sarif", "--format", "json", "-o", "out.json")
    ended = invoke("audit", *words, engine=mixed())
    assert ended.exit_code == 2
    assert json.loads((here / "out.json").read_text("utf-8"))["format"] == "fleet.run/1"
    assert ended.stdout.splitlines() == [
        "report written to out.json",
        "sarif report written to out.sarif",
        "exit 2: 4 required gates failed on 4 targets",
    ]


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--format", "json", "--format", "terminal"), "json and terminal cannot both"),
        (("--format", "tap", "--format", "tap:-"), "tap and tap cannot both"),
        (("--format", "json:a", "--format", "tap:a"), "two reports would be written to"),
        (("--format", "json", "-o", "a", "--format", "tap:./a"), "two reports would be written"),
        (("--format", "json:a", "-o", "b"), "-o has nothing to write"),
        (("--format", "xml"), "there is no format 'xml'"),
        (("--format", "jnuit:x"), "did you mean `junit`?"),
        (("--format", "junit:"), "names no file (is a variable empty?)"),
        (("--format", "markdown:>>"), "names no file (is a variable empty?)"),
        (("--format", "junit:absent/x"), "there is no folder"),
        (("--format", "junit:."), "is a folder"),
    ],
)
def test_what_cannot_be_written_is_refused_before_the_work(
    words: tuple[str, ...], told: str, here: Path
) -> None:
    engine = mixed()
    ended = invoke("audit", *words, engine=engine)
    assert ended.exit_code == 1
    assert told in ended.stderr
    assert ended.stdout == ""
    assert "audit" not in engine.calls()
    assert [p.name for p in here.iterdir()] == ["fleet.yml"]


def test_a_summary_is_added_to(here: Path) -> None:
    summary = here / "summary.md"
    summary.write_text("# before\n", encoding="utf-8")
    for _ in range(2):
        assert invoke("audit", "--format", f"markdown:>>{summary}", engine=mixed()).exit_code == 2
    text = summary.read_text("utf-8")
    assert text.startswith("# before\n**FAILED**")
    assert text.count("**FAILED**") == 2
    invoke("audit", "--format", f"markdown:{summary}", engine=mixed())
    assert summary.read_text("utf-8").startswith("**FAILED**")


def test_what_could_not_be_added_whole_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "summary"
    place.write_bytes(b"before\n")
    real = Path.open

    def failing(path: Path, *args: object, **options: object) -> object:
        stream = real(path, *args, **options)  # type: ignore[call-overload]

        class Full:
            def __enter__(self) -> Self:
                return self

            def __exit__(self, *_: object) -> None:
                stream.close()

            def fileno(self) -> int:
                return int(stream.fileno())

            def truncate(self, size: int) -> None:
                stream.truncate(size)

            def write(self, data: bytes) -> int:
                if stream.tell() > 7:
                    raise OSError(28, "No space left on device")
                return int(stream.write(data[:3]))

        return Full()

    monkeypatch.setattr(Path, "open", failing)
    with pytest.raises(UsageError, match="No space"):
        append(place, "whole")
    monkeypatch.undo()
    assert place.read_bytes() == b"before\n"


def test_one_file_that_fails_takes_no_other_report_with_it(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        if path.name == "bad.xml":
            raise UsageError(f"{path} cannot be written: No space left on device")
        write(path, text)

    monkeypatch.setattr("fleet.cli.output.write", full)
    words = ("--format=junit:bad.xml", "--format=tap:good.tap", "--format=terminal")
    ended = invoke("audit", *words, engine=mixed())
    assert ended.exit_code == 1
    assert "No space left on device" in ended.stderr
    assert "bad.xml" in ended.stderr
    assert "junit report written" not in ended.stderr
    assert "exit 2: 4 required" in ended.stdout
    assert (here / "good.tap").exists()


@pytest.mark.parametrize("stream", ["/dev/stdout", "/dev/fd/1"])
def test_a_stream_of_the_process_is_written_to_and_not_replaced(stream: str, here: Path) -> None:
    kept = here / "kept"
    kept.write_text("before\n", encoding="utf-8")
    program = (
        "from pathlib import Path; from fleet.cli.output import write; "
        f"write(Path({stream!r}), 'after\\n')"
    )
    with kept.open("ab") as out:
        subprocess.run([sys.executable, "-c", program], stdout=out, check=True)
    assert kept.read_text("utf-8") == "before\nafter\n"


def test_a_pipe_is_written_to(here: Path) -> None:
    pipe = here / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert invoke("audit", "--format", "tap:pipe", engine=mixed()).exit_code == 2
        assert os.read(reading, 100).startswith(b"TAP version 14")
    finally:
        os.close(reading)
    assert pipe.is_fifo()


@pytest.mark.parametrize("command", ["plan", "apply", "uninstall"])
def test_what_ends_in_no_findings_has_two_formats(command: str) -> None:
    ended = invoke(command, "--format", "junit")
    assert ended.exit_code == 1
    assert "'terminal', 'json'" in ended.stderr


@pytest.mark.parametrize("form", ["sarif", "github"])
def test_a_report_for_a_program_is_alone_on_stdout(form: str) -> None:
    ended = invoke("provision", "--yes", "--format", form)
    alone = invoke("audit", "--format", form).stdout
    assert ended.stdout == alone.replace("audit", "provision")
    assert "changes" in ended.stderr


def test_no_line_of_a_target_is_a_command_in_the_log_of_a_job(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    told = invoke("audit", engine=mixed()).stdout
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    first, *lines, last = invoke("audit", engine=mixed()).stdout.splitlines(keepends=True)
    token = first.removeprefix("::stop-commands::").strip()
    assert len(token) == 32
    assert last == f"::{token}::\n"
    assert "".join(lines) == told
    assert token not in invoke("audit", engine=mixed()).stdout
    machine = invoke("audit", "--format", "github", engine=mixed()).stdout
    assert machine.startswith("::error ")


def test_names_of_formats_are_completed() -> None:
    complete = ShellComplete(cli, {}, "fleet", "_FLEET_COMPLETE")
    offered = complete.get_completions(["audit", "--format"], "")
    assert [item.value for item in offered] == list(FORMATS)
    assert isinstance(cli, click.Group)
