"""Crafted plans, and what applying them brought."""

from dataclasses import dataclass
from datetime import UTC, datetime

from fleet.errors import ApplyError, FleetError, Unreachable
from fleet.installers.model import Conflict, Plan, PutLink, Step
from fleet.inventory.model import Address, Scheme, Target

TAKEN = datetime(2026, 9, 1, 8, 0, tzinfo=UTC)
DIFF = """\
--- ~/.config/pi/env
+++ ~/.config/pi/env
@@ -1,2 +1,3 @@
 MEMPALACE_PI_DEVICE=laptop
-MEMPALACE_REMOTE_URL=http://vault:8765/mcp
+MEMPALACE_REMOTE_URL=https://palace.example.net/mcp
+MEMPALACE_REMOTE_TOKEN=***"""


@dataclass(frozen=True)
class TargetPlan:
    """What planning for one target brought."""

    target: Target
    plan: Plan | None
    trouble: FleetError | None = None


@dataclass(frozen=True)
class TargetApplied:
    """What applying one target's plan brought."""

    target: Target
    changed: int
    trouble: FleetError | None = None
    notes: tuple[str, ...] = ()
    recovered: bool = False


def target(name: str, systems: tuple[str, ...] = ("mempalace-bridge",)) -> Target:
    """Craft a host."""
    return Target(name, Address(Scheme.SSH, name), systems=systems)


def plan(name: str, *steps: Step, conflicts: tuple[Conflict, ...] = (), same: int = 0) -> Plan:
    """Craft a plan."""
    return Plan(
        target=name,
        nonce="n" * 32,
        taken_at=TAKEN,
        home="/home/me",
        steps=steps,
        conflicts=conflicts,
        unchanged=same,
    )


def link() -> Step:
    """Craft the step that links the extension."""
    path = "/home/me/.pi/agent/extensions/mempalace.ts"
    text = "/opt/mempalace-toolkit/extensions/pi/mempalace.ts"
    return Step(
        key="mempalace-bridge.bridge",
        change="create",
        summary=f"link {path} to {text}",
        actions=(PutLink(path=path, expect="-", text=text),),
        notes=("the folder is a link to /home/me/dots/pi/extensions",),
    )


def env() -> Step:
    """Craft the step that changes an env file."""
    summary = "write ~/.config/pi/env, mode 0600"
    return Step(key="env.file", change="change", summary=summary, actions=(), diff=DIFF)


def old() -> Step:
    """Craft the step that removes what is no longer declared."""
    return Step(key="env.loader", change="remove", summary="remove ~/.config/pi/old", actions=())


def conflict() -> Conflict:
    """Craft a file that stands in the way."""
    return Conflict(
        key="mempalace-bridge.helper",
        path="~/.local/bin/mempalace-pi-session",
        what="a file that fleet did not put there stands in the way",
        hint="look at it; --adopt takes it over and keeps a backup",
        adoptable=True,
    )


def fleet() -> tuple[TargetPlan, ...]:
    """Craft plans of every kind."""
    gone = Unreachable("no answer in 30 s", stage="timeout", where="attic", hint="is it up?")
    return (
        TargetPlan(target("vault"), plan("vault", same=7)),
        TargetPlan(target("laptop"), plan("laptop", link(), env(), old(), same=2)),
        TargetPlan(target("desk"), plan("desk", link(), env(), old(), same=2)),
        TargetPlan(target("tower"), plan("tower", link(), conflicts=(conflict(),))),
        TargetPlan(target("attic"), None, gone),
    )


def applied() -> tuple[TargetApplied, ...]:
    """Craft what applying them brought."""
    broken = ApplyError(
        "no space left on device; everything was put back",
        where="desk",
        hint="make room in /home/me and run it again",
    )
    return (
        TargetApplied(target("laptop"), 3, notes=("a run that was cut was undone first",)),
        TargetApplied(target("desk"), 0, broken),
        TargetApplied(target("tower"), 1),
    )
