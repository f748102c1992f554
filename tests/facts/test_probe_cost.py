"""Starting programs is what a look costs a target: how many it takes is held here."""

import getpass
import os
import shutil
from dataclasses import replace
from pathlib import Path

from support.probing import NONCE, Shell

from fleet.facts.envfile import read_env_file
from fleet.facts.request import CommandQuestion, LaunchQuestion, PathQuestion, Read, Request
from fleet.secrets import keyed_digest

COUNTED = ("id", "ip", "readlink", "sha256sum", "stat", "tr", "uname")
TOKEN = "an-EXAMPLE-token"
ENV = f"# a comment\nexport TOKEN='{TOKEN}'\nOTHER=x # y\nMODE=1\n"


def counting(shell: Shell, folder: Path) -> tuple[Shell, Path]:
    """Return the shell with tools in front that note that they were started."""
    tools, log = folder / "tools", folder / "started"
    tools.mkdir()
    for name in COUNTED:
        tool = tools / name
        tool.write_text(f'#!/bin/sh\necho {name} >>{log}\nexec {shutil.which(name)} "$@"\n')
        tool.chmod(0o755)
    return replace(shell, path=f"{tools}:{shell.path}"), log


def test_a_tool_is_not_started_only_to_try_it(dash: Shell, tmp_path: Path) -> None:
    files = [tmp_path / name for name in ("one", "two")]
    for file in files:
        file.write_text(file.name)
    shell, log = counting(dash, tmp_path)
    request = Request(NONCE, tuple(PathQuestion(str(file), Read.WHOLE) for file in files))
    facts = shell.facts(request, home=tmp_path)
    assert all(facts.content(facts.paths[str(file)]) == file.name.encode() for file in files)
    assert sorted(log.read_text().split()) == ["sha256sum", "stat"]


def test_programs_are_started_once_for_all_that_is_asked(dash: Shell, tmp_path: Path) -> None:
    files = [tmp_path / f"file{number}" for number in range(5)]
    for file in files:
        file.write_text(file.name)
    env = tmp_path / ".env"
    env.write_text(ENV)
    questions = [PathQuestion(str(file), Read.WHOLE) for file in files]
    questions.append(PathQuestion(str(env), Read.ENV, public=("MODE",)))
    for number in range(3):
        (tmp_path / f"to{number}").symlink_to(f"file{number}")
        questions.append(PathQuestion(str(tmp_path / f"to{number}"), Read.HASH))
    command = CommandQuestion("linked", Read.STAT)
    launch = LaunchQuestion("sh -c", ("MODE",), ("TOKEN",), (command,))
    shell, log = counting(dash, tmp_path)
    (tmp_path / "tools/linked").symlink_to("stat")
    request = Request(NONCE, tuple(questions), launches=(launch,), interfaces="no-such-interface")
    facts = shell.facts(request, home=tmp_path, more={"TOKEN": TOKEN})
    assert facts.interfaces == {}
    assert (facts.platform.user, facts.platform.uid) == (getpass.getuser(), os.getuid())
    found = facts.launches["sh -c"].commands["linked"].file
    assert found is not None
    assert found.final == str(tmp_path / "tools/stat")
    told = facts.launches["sh -c"].variables["TOKEN"]
    assert told.digest == keyed_digest(NONCE, TOKEN)
    assert all(facts.content(facts.paths[str(file)]) == file.name.encode() for file in files)
    assert facts.paths[str(env)].env == read_env_file(ENV.encode(), nonce=NONCE, public=("MODE",))
    # All digests are of one program: files', and the values' with and without quotes and comment.
    assert sorted(log.read_text().split()) == ["readlink", "sha256sum", "stat"]
