"""A scheduler feeds exactly where the bridge cannot."""

from pathlib import Path

import pytest
from support.facts import BRIDGE, World, findings, target
from support.living import SYSTEM, Living
from support.places import ROOT
from support.probing import shells

from fleet.facts.model import Facts
from fleet.facts.paths import Entry, State
from fleet.inventory.model import Target
from fleet.verifier.model import Finding, Verdict

PATH = "~/.pi/agent/extensions/mempalace.ts"
TIMERS = "~/.config/systemd/user/timers.target.wants"
AGENTS = "~/Library/LaunchAgents"
TIMER = "mempalace-pi-session.timer"
OLD = b"export default function (pi) {}\n"


class Cron(World):
    """A world with a crontab."""

    lines: int | None = 0

    def facts(self, target: Target) -> Facts:
        unseen = {"crontab": "crontab -l failed"} if self.lines is None else {}
        update = {"crontab": self.lines, "unseen": unseen}
        return super().facts(target).model_copy(update=update)


def world(bridge: bytes = BRIDGE, *, lines: int | None = 0, feed: str = "") -> World:
    there = Cron().file(PATH, bridge)
    assert isinstance(there, Cron)
    there.lines = lines
    return there.launch(variables={"MEMPALACE_FEED": feed} if feed else {})


def judged(there: World, *, require: tuple[str, ...] = ("feed",)) -> Finding:
    return findings(target("mempalace-bridge", require=require), there)["bridge.fallback"]


def test_a_bridge_that_feeds_needs_no_scheduler() -> None:
    assert judged(world()).verdict is Verdict.PASS


@pytest.mark.parametrize("folder", [TIMERS, AGENTS])
def test_both_at_once_do_the_work_twice(folder: str) -> None:
    gate = judged(world().folder(folder, TIMER))
    assert gate.verdict is Verdict.WARN
    assert gate.evidence == (f"{folder}/{TIMER}",)
    assert judged(world().folder(folder, "backup.timer")).verdict is Verdict.PASS


def test_a_crontab_counts_too() -> None:
    assert judged(world(lines=1)).verdict is Verdict.WARN
    gate = judged(world(OLD, lines=2))
    assert (gate.verdict, gate.evidence) == (Verdict.PASS, ("the user's crontab: 2 lines",))


@pytest.mark.parametrize(("bridge", "feed"), [(OLD, ""), (BRIDGE, "0")])
def test_where_the_bridge_cannot_feed_a_scheduler_must(bridge: bytes, feed: str) -> None:
    assert judged(world(bridge, feed=feed).folder(TIMERS, TIMER)).verdict is Verdict.PASS
    assert judged(world(bridge, feed=feed)).verdict is Verdict.FAIL
    assert judged(world(bridge, feed=feed), require=()).verdict is Verdict.NOT_APPLICABLE


def test_a_timer_whose_unit_is_gone_starts_nothing() -> None:
    there = world(OLD).folder(TIMERS)
    gone = (Entry(name=TIMER, kind="link", dangling=True),)
    there.paths[TIMERS] = there.paths[TIMERS].model_copy(update={"entries": gone})
    assert judged(there).verdict is Verdict.FAIL


def test_what_cannot_be_seen_is_not_checked() -> None:
    assert judged(world(OLD, lines=None)).verdict is Verdict.NOT_CHECKED
    assert judged(world(lines=None)).verdict is Verdict.NOT_CHECKED
    hidden = world().broken(TIMERS, State.UNREADABLE, why="permission denied")
    assert judged(hidden).verdict is Verdict.NOT_CHECKED
    assert judged(world().broken(PATH, State.UNREADABLE)).verdict is Verdict.NOT_CHECKED


def test_a_real_home_with_the_toolkits_own_recipe(tmp_path: Path) -> None:
    for name in ("tools", "home"):
        (tmp_path / name).mkdir()
    here = Living(tmp_path / "home", shells(tmp_path / "tools")["dash"], ("mempalace-bridge",))
    crontab = tmp_path / "bin/crontab"
    crontab.parent.mkdir()
    crontab.write_text(f"#!/bin/sh\ncat {ROOT}/toolkit/contrib/mempalace-pi-session.cron\n")
    here.path(SYSTEM)
    here.configure(
        "extensions/mempalace.ts", (ROOT / "toolkit/extensions/pi/mempalace.ts").read_text()
    )
    assert here.findings()["bridge.fallback"].verdict is Verdict.PASS
    wants = here.home / TIMERS.removeprefix("~/")
    wants.mkdir(parents=True)
    (wants / TIMER).symlink_to(ROOT / "toolkit/contrib" / TIMER)
    assert here.findings()["bridge.fallback"].verdict is Verdict.WARN
