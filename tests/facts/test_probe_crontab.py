"""Whether the user's crontab starts something: a number of lines, never the lines."""

from pathlib import Path

import pytest
from support.probing import NONCE, Shell

from fleet.facts.model import Facts
from fleet.facts.request import Request

TABLE = """# mempalace-pi-session was here
TOKEN=tok-EXAMPLE-canary
*/30 * * * * PATH="$HOME/bin" mempalace-pi-session --reason cron
   # mempalace-pi-session too
@daily mempalace-pi-session-of-another
"""


def asked(shell: Shell, folder: Path, text: str) -> Facts:
    folder.mkdir(exist_ok=True)
    (folder / "crontab").write_text(f"#!/bin/sh\n{text}\n")
    (folder / "crontab").chmod(0o755)
    with_it = Shell(shell.words, f"{folder}:{shell.path}")
    return with_it.facts(Request(NONCE, crontab="mempalace-pi-session", seconds=1))


def test_lines_are_counted_and_stay_there(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "table").write_text(TABLE)
    facts = asked(shell, tmp_path / "bin", f'[ "$1" = -l ] && cat {tmp_path}/table')
    assert (facts.crontab, facts.unseen) == (2, {})
    assert "tok-EXAMPLE" not in facts.model_dump_json()


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("echo 'no crontab for u' >&2; exit 1", 0),
        ("echo \"crontab: can't open 'u': No such file\" >&2; exit 1", 0),
        ("true", 0),
        ("echo 'mempalace-pi-session'; echo 'not allowed' >&2; exit 1", None),
        ("echo 'mempalace-pi-session'; exec sleep 30", None),
    ],
)
def test_what_cannot_be_seen_is_no_number(
    shell: Shell, tmp_path: Path, text: str, told: int | None
) -> None:
    facts = asked(shell, tmp_path / "bin", text)
    assert facts.crontab == told
    assert ("crontab" in facts.unseen) is (told is None)
    if "sleep" in text:
        assert facts.unseen["crontab"] == "crontab -l: no answer within 1 s"
    elif told is None:
        assert facts.unseen["crontab"] == "crontab -l: it ended with status 1"


def test_a_machine_without_cron_starts_nothing(all_shells: dict[str, Shell]) -> None:
    script_home = all_shells.get("busybox") or all_shells["dash"]
    facts = Shell(script_home.words, "/nowhere").facts(Request(NONCE, crontab="x"))
    assert facts.crontab is not None or "crontab" in facts.unseen


def test_what_was_not_asked_is_not_told(dash: Shell) -> None:
    facts = dash.facts(Request(NONCE))
    assert (facts.crontab, facts.unseen) == (None, {})
