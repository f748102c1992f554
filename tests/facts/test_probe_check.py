"""How a program's own check of its configuration ended: a word, a number and a place, no more."""

from pathlib import Path

import pytest
from support.probing import NONCE, Shell

from fleet.errors import UsageError
from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.facts.request import CheckQuestion, Request
from fleet.facts.running import CheckFact

WORDS = ("checker", "-t", "a b's $HOME")


def asked(shell: Shell, folder: Path, text: str) -> Facts:
    folder.mkdir(exist_ok=True)
    (folder / "checker").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "checker").chmod(0o755)
    with_it = Shell(shell.words, f"{folder}:{shell.path}")
    return with_it.facts(Request(NONCE, checks=(CheckQuestion("it", WORDS),), seconds=1))


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("true", CheckFact(state="ok", status=0)),
        ('[ "$1$2" = "-ta b\'s \\$HOME" ]', CheckFact(state="ok", status=0)),
        (
            'echo "[emerg] unknown directive \\"tok-EXAMPLE\\" in /etc/x/a.conf:12" >&2; exit 1',
            CheckFact(state="failed", status=1, place="/etc/x/a.conf:12"),
        ),
        (
            "echo \"Error: adapting: /etc/x/Caddyfile:4: tok-EXAMPLE, import chain: ['']\"; exit 3",
            CheckFact(state="failed", status=3, place="/etc/x/Caddyfile:4"),
        ),
        ("echo tok-EXAMPLE; exit 1", CheckFact(state="failed", status=1)),
        (
            "echo 'open() /x/key.pem:1 failed (13: Permission denied)' >&2; exit 1",
            CheckFact(state="denied", status=1),
        ),
    ],
)
def test_its_end_is_told_and_its_words_stay_there(
    shell: Shell, tmp_path: Path, text: str, told: CheckFact
) -> None:
    facts = asked(shell, tmp_path / "bin", text)
    assert facts.checks == {"it": told}
    assert "tok-EXAMPLE" not in facts.model_dump_json()


def test_what_does_not_end_is_ended(shell: Shell, tmp_path: Path) -> None:
    assert asked(shell, tmp_path / "bin", "exec sleep 30").checks["it"].state == "timeout"


def test_what_is_not_there_is_no_failure(dash: Shell) -> None:
    question = CheckQuestion("it", ("no-such-program-here",))
    facts = dash.facts(Request(NONCE, checks=(question,)))
    assert facts.checks == {"it": CheckFact(state="missing")}


@pytest.mark.parametrize("words", [(), ("",), ("/usr/sbin/nginx", "-t")])
def test_a_program_is_named_and_not_located(words: tuple[str, ...]) -> None:
    with pytest.raises(UsageError):
        probe_script(Request(NONCE, checks=(CheckQuestion("it", words),)))
