"""`fleet inventory check` warns of waivers that run out."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from support.cli import invoke

from fleet.cli.engine import Engine


def check(folder: Path, days: int) -> tuple[int, str]:
    until = datetime.now(UTC).date() + timedelta(days=days)
    (folder / "fleet.yml").write_text(
        "hosts:\n  desk: {local: , systems: [mempalace-bridge]}\nwaivers:\n"
        f"  - gate: bridge.feed\n    targets: desk\n    reason: rebuilt soon\n    until: {until}\n"
    )
    told = invoke("inventory", "check", "-i", str(folder / "fleet.yml"), engine=Engine())
    return told.exit_code, told.stdout


@pytest.mark.parametrize(("days", "told"), [(-3, "ran out on"), (3, "runs out on")])
def test_a_waiver_that_runs_out_is_a_warning_and_no_mistake(
    tmp_path: Path, days: int, told: str
) -> None:
    code, output = check(tmp_path, days)
    assert code == 0
    first, last = output.splitlines()
    assert first.startswith(f"warning: {tmp_path}/fleet.yml:4:")
    assert f"the waiver of bridge.feed on desk {told}" in first
    assert last.endswith("1 target, no mistakes")


def test_a_waiver_with_time_left_is_not_told(tmp_path: Path) -> None:
    assert "warning" not in check(tmp_path, 60)[1]
