"""A shell that is asked again tells what may be other than it was, and ends where anything is."""

import os
import subprocess
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.probing import NONCE, Shell, need_root
from support.staying import programs, staying

from fleet.facts.compile import probe_script, standing_script
from fleet.facts.request import (
    CommandQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)

PI = CommandQuestion("pi", Read.HASH, manifest=True, version="--version", every=True)
TOOL = CommandQuestion("tool", Read.HASH)
LONG = f"31.{os.getpid()}"  # what no other test of this moment waits for
SECRET = "EXAMPLE-canary-value-of-a-secret"


def request(home: Path) -> Request:
    """Return a question of each kind about a home."""
    return Request(
        NONCE,
        paths=(
            PathQuestion("~/settings.json", Read.WHOLE),
            PathQuestion("~/models.json", Read.JSON, public=("name",)),
            PathQuestion("~/.env", Read.ENV, public=("PALACE",)),
            PathQuestion("~/config", Read.INI),
            PathQuestion("~/linked/file", Read.HASH),
            PathQuestion("~/extensions", Read.LIST),
            PathQuestion("~/none/of/it", Read.STAT),
            PathQuestion(f"{home}/far", Read.STAT),
        ),
        launches=(LaunchQuestion("bash -lc", ("PALACE",), ("TOKEN",), (PI, TOOL)),),
        processes=(ProcessQuestion("sleep", ("sleep", LONG)),),
        interfaces="lo",
        seconds=10,
    )


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.json").write_text('{"a": 1}\n')
    (home / "models.json").write_text('{"name": "x"}\n')
    (home / ".env").write_text(f"PALACE=here\nTOKEN={SECRET}\n")
    (home / "config").write_text("[one]\n")
    (home / "real").mkdir()
    (home / "real/file").write_text("file\n")
    (home / "linked").symlink_to("real")
    (home / "extensions").mkdir()
    (home / "extensions/a.ts").symlink_to("../real/file")
    (home / "aside").mkdir()
    (home / "extensions/b.ts").symlink_to("../aside/later")
    (home / "far").mkdir()
    programs(home / "lib/bin", pi="#!/bin/sh\necho ${SAYS:-1.0}\n")
    programs(home / "bin", tool="#!/bin/sh\n")
    (home / "first").mkdir()
    (home / "apart/second").mkdir(parents=True)
    (home / "aside/place").mkdir()
    (home / "apart/second/tool").symlink_to("../../aside/place")
    (home / "bin/pi").symlink_to("../lib/bin/pi")
    (home / ".bash_profile").write_text(
        "export PATH=~/first:~/apart/second:~/bin:/usr/bin:/bin\n"
        f"export PALACE=here TOKEN={SECRET}\n. ~/aside/more\n"
    )
    (home / "aside/more").write_text("")
    return home


def test_asked_again_it_tells_the_same_and_what_runs_now(shell: Shell, home: Path) -> None:
    with staying(shell, request(home), home) as one:
        if "bsdbin" in shell.path:
            assert not one.begins()  # its stat tells otherwise, so nothing can be relied on
            return
        assert one.begins()
        assert one.facts is not None
        assert not one.facts.processes["sleep"]
        for _ in range(2):
            assert one.again() == one.facts
        with subprocess.Popen(["sleep", LONG]) as sleeping:
            found = one.again()
            sleeping.kill()
        assert found is not None
        assert [process.pid for process in found.processes["sleep"]] == [sleeping.pid]
        assert one.again() == one.facts
        assert Path(f"/proc/{one.process.pid}/cwd").readlink() == Path("/")


def _written(path: str, text: str) -> Callable[[Path], object]:
    return lambda home: (home / path).write_text(text)


def _backdated(home: Path) -> None:
    """Change what a file holds, and nothing that can be set back."""
    file = home / "settings.json"
    was = file.stat()
    file.write_text('{"a": 2}\n')
    os.utime(file, ns=(was.st_atime_ns, was.st_mtime_ns))


def _relinked(home: Path) -> None:
    (home / "other").mkdir()
    (home / "linked").unlink()
    (home / "linked").symlink_to("other")


def _swapped(home: Path) -> None:
    """Put another folder in place of one on the way, with the same names in it."""
    (home / "real").rename(home / "was")
    (home / "real").mkdir()
    (home / "real/file").write_text("file\n")


def _put_for(folder: Path) -> None:
    """Put a program where a folder was."""
    folder.rmdir()
    programs(folder.parent, **{folder.name: "#!/bin/sh\n"})


CHANGES: dict[str, Callable[[Path], object]] = {
    "a file": _written("settings.json", '{"a": 2}\n'),
    "a file, and its time set back": _backdated,
    "the structure of one": _written("models.json", '{"name": "y"}\n'),
    "a secret of an env file": _written(".env", f"PALACE=here\nTOKEN={SECRET[::-1]}\n"),
    "a section": _written("config", "[two]\n"),
    "what a link leads to": _written("real/file", "elif\n"),
    "where a link leads": _relinked,
    "a folder on the way": _swapped,
    "a new file": lambda home: (home / "none").mkdir(),
    "a new entry": _written("extensions/c.ts", ""),
    "an entry that led nowhere": _written("aside/later", ""),
    "an entry that is gone": lambda home: (home / "extensions/b.ts").unlink(),
    "a mode": lambda home: (home / "settings.json").chmod(0o600),
    "a folder's mode": lambda home: (home / "far").chmod(0o700),
    "what a folder that was asked for holds": _written("far/new", ""),
    "the mode of a folder on the way": lambda home: (home / "real").chmod(0o700),
    "whose it is": lambda home: os.chown(home / "real", 1234, -1),
    "what a launch exports": _written("aside/more", "PALACE=there\n"),
    "a secret that it exports": _written("aside/more", f"TOKEN={SECRET[::-1]}\n"),
    "that it fails": _written("aside/more", "exit 3\n"),
    "what a program says": _written("aside/more", "export SAYS=2.0\n"),
    "a program that goes first": lambda home: programs(home / "first", tool="#!/bin/sh\n"),
    "what a link of that name leads to": lambda home: _put_for(home / "aside/place"),
    "a program": lambda home: programs(home / "lib/bin", pi="#!/bin/sh\necho 1.0\n"),
    "a manifest": _written("lib/package.json", "{}\n"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_where_anything_is_other_than_it_was_it_ends(change: str, dash: Shell, home: Path) -> None:
    with staying(dash, request(home), home) as one:
        assert one.begins()
        assert one.again() == one.facts
        _let_the_second_pass(home)
        CHANGES[change](home)
        assert one.again() is None


def test_what_nobody_asked_for_may_come_and_go(dash: Shell, home: Path) -> None:
    """As it does all day in a home, and in every folder for temporary files."""
    with staying(dash, request(home), home) as one:
        assert one.begins()
        _let_the_second_pass(home)
        for folder in (home, home / "real", home / "first", home / "lib/bin", home.parent):
            (folder / "new").write_text("")
        assert one.again() == one.facts


def _let_the_second_pass(home: Path) -> None:
    """Wait until a change of now has another time than what is there; in life it is a minute."""
    newest = max(path.lstat().st_ctime for path in (home, *home.rglob("*")))
    time.sleep(max(0.0, int(newest) + 1.05 - time.time()))


def test_an_owner_may_be_named_as_a_directory_of_users_names_him(
    dash: Shell, home: Path, tmp_path: Path
) -> None:
    programs(tmp_path / "tools", stat="#!/bin/sh\n/usr/bin/stat \"$@\" | sed 's|[^ ]*:/|a / b&|'\n")
    shell = replace(dash, path=f"{tmp_path / 'tools'}:{dash.path}")
    with staying(shell, request(home), home) as one:
        assert one.begins()
        assert one.again() == one.facts
        _let_the_second_pass(home)
        (home / "far/new").write_text("")
        assert one.again() is None


@pytest.mark.parametrize(("folder", "right"), [("far", "ro"), ("bin", "noexec")])
def test_what_was_mounted_anew_is_other_than_it_was(
    folder: str, right: str, dash: Shell, home: Path
) -> None:
    """What can be written in or run no more has the same state as before."""
    need_root()
    place = home / folder
    with staying(dash, request(home), home) as one:
        subprocess.run(["mount", "--bind", place, place], check=True)
        try:
            assert one.begins()
            assert one.again() == one.facts
            subprocess.run(["mount", "-o", f"remount,bind,{right}", place], check=True)
            assert one.again() is None
        finally:
            subprocess.run(["umount", place], check=True)


def test_what_changed_within_the_last_minute_is_not_relied_on(dash: Shell, home: Path) -> None:
    with staying(dash, request(home), home, seconds=None) as one:
        assert not one.begins()
        assert one.facts is not None
        assert one.facts.paths["~/settings.json"].sha256


MEANWHILE = {
    "mv ~/real ~/was; mv ~/other ~/real": False,
    "mv ~/first ~/was; mv ~/other ~/first": False,
    "mv ~/apart/second ~/was; mv ~/other ~/apart/second": False,
    "echo elif >~/real/file": False,
    "ln -sfn other ~/linked": False,
    "touch ~/far/new": False,
    "touch ~/new": True,
    "touch ~/real/new": True,
}


@pytest.mark.parametrize("change", MEANWHILE)
def test_what_came_into_its_place_while_it_was_looked_at_is_not_relied_on(
    change: str, dash: Shell, home: Path, tmp_path: Path
) -> None:
    """Also where all that came with it is as old as can be."""
    programs(home / "other", tool="#!/bin/sh\n")
    (home / "other/file").write_text("other\n")
    tools = tmp_path / "tools"
    once = f"[ -e {tools}/done ] || {{ >{tools}/done; {change}; }}"
    programs(tools, sha256sum=f'#!/bin/sh\n/usr/bin/sha256sum "$@"\n{once}\n')
    shell = replace(dash, path=f"{tools}:{dash.path}")
    _let_the_second_pass(home)
    with staying(shell, request(home), home, seconds=1) as one:
        assert one.begins() is MEANWHILE[change]


@pytest.mark.parametrize("kind", ["proc", "ramfs"])
def test_what_lies_on_a_file_system_that_may_not_tell_is_not_relied_on(
    kind: str, dash: Shell, home: Path
) -> None:
    need_root()
    subprocess.run(["mount", "-t", kind, kind, home / "far"], check=True)
    try:
        with staying(dash, request(home), home) as one:
            assert not one.begins()
    finally:
        subprocess.run(["umount", home / "far"], check=True)


@pytest.mark.parametrize("name", ["two\nlines", "ends\n"])
def test_a_name_of_several_lines_is_not_relied_on(name: str, dash: Shell, home: Path) -> None:
    (home / "extensions" / name).symlink_to("nowhere")
    with staying(dash, request(home), home) as one:
        assert not one.begins()


def test_it_ends_with_what_it_is_asked_through(dash: Shell, home: Path) -> None:
    with staying(dash, request(home), home) as one:
        assert one.begins()
        assert one.process.stdin is not None
        one.process.stdin.close()
        assert one.process.wait(10) == 0
        one.process.stdin = None


def test_it_does_nothing_else_that_it_is_told(dash: Shell, home: Path) -> None:
    with staying(dash, request(home), home) as one:
        assert one.begins()
        assert one.process.stdin is not None
        one.process.stdin.write(b"touch ~/touched\n")
        one.process.stdin.flush()
        assert one.process.wait(10) == 0
    assert not (home / "touched").exists()


def test_notes_are_asked_anew_each_time() -> None:
    asked = Request(NONCE, paths=(PathQuestion("~/notes", Read.NOTES),))
    assert standing_script(asked) == probe_script(asked)
