"""The deep gates over made-up facts: what each makes of what pi did."""

from __future__ import annotations

from typing import Any

import pytest
from support.facts import World, absolute, findings, target

from fleet.facts.deep import DeepFact
from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.inventory.model import Target
from fleet.verifier.model import Finding, Verdict

BRIDGE = "~/.pi/agent/extensions/mempalace.ts"
FILE = "/opt/toolkit/mempalace.ts"
CODE = b"export default () => process.env.MEMPALACE_FEED;\n"
TOOLS = {"mempalace_status": [], "mempalace_add_drawer": ["wing", "added_by"]}
GATES = ("loaded", "tools", "events", "wakeup", "feed", "stamp", "mailbox", "closed")
LOST = ("dead", "refused", "silent")


def call(name: str, **arguments: str) -> dict[str, Any]:
    return {"name": name, "arguments": arguments}


def run(name: str, **more: Any) -> dict[str, Any]:
    """A run that ended well."""
    base = {"name": name, "status": 0, "stage": "session_shutdown", "requests": 2, "answered": True}
    return {**base, "milliseconds": 1500, **more}


def healthy(**more: Any) -> dict[str, Any]:
    told = {
        "tools": TOOLS,
        "owners": dict.fromkeys(TOOLS, absolute(BRIDGE)),
        "wakeup": "You have /scratch/palace",
        "named": True,
        "methods": ["initialize", "tools/call"],
        "prepared": [{"status": 0, "words": "--prepare", "source": "/stage"}],
        "mail": {"sent": True, "delivered": True, "replied": True},
        "calls": [
            call("mempalace_add_drawer", added_by="pi@laptop"),
            call("mempalace_diary_write", entry="HOST:laptop|x"),
            call("mempalace_mine", source="/stage"),
        ],
    }
    return run("healthy", **{**told, **more})


def deep(*runs: dict[str, Any], **more: Any) -> DeepFact:
    """A deep check of a healthy machine, but for what is given."""
    given = {one["name"]: one for one in (run("again"), *(run(n) for n in LOST), *runs)}
    given.setdefault("healthy", healthy())
    extension = {
        "path": absolute(BRIDGE),
        "target": FILE,
        "events": ["before_agent_start", "agent_settled", "session_shutdown"],
    }
    base = {
        "state": "ran",
        "launch": "bash -lc",
        "pi_version": "1.6.0",
        "known_events": ["before_agent_start", "agent_settled", "session_shutdown"],
        "listed": True,
        "extensions": [extension],
        "palace": "/scratch/palace",
        "offered": TOOLS,
        "device": "laptop",
        "patience": 6000,
        "runs": list(given.values()),
    }
    return DeepFact.model_validate({**base, **more})


class Looked(World):
    """A world in which a deep check took place."""

    def __init__(self, fact: DeepFact | None) -> None:
        super().__init__()
        self.deep = fact
        self.file(BRIDGE, CODE, via=(FILE,))

    def facts(self, target: Target) -> Facts:
        return super().facts(target).model_copy(update={"deep": self.deep})


def judged(fact: DeepFact | None, *require: str) -> dict[str, Finding]:
    found = findings(target("mempalace-bridge", require=require), Looked(fact))
    return {g.removeprefix("deep."): f for g, f in found.items() if g.startswith("deep.")}


def test_all_is_well() -> None:
    assert {g: f.verdict for g, f in judged(deep()).items()} == dict.fromkeys(GATES, Verdict.PASS)


def test_without_a_deep_check_no_deep_gate_is_listed() -> None:
    assert judged(None) == {}


def test_what_could_not_run_is_not_checked_and_counts_where_it_is_required() -> None:
    found = judged(DeepFact(state="unsupported", why="there is no node on the PATH"), "feed")
    assert {f.verdict for f in found.values()} == {Verdict.NOT_CHECKED}
    assert found["loaded"].message == "there is no node on the PATH"
    required = {g for g, f in found.items() if f.required}
    assert required == {"loaded", "tools", "wakeup", "feed", "events"}


@pytest.mark.parametrize(
    ("gate", "fact", "evidence"),
    [
        ("loaded", deep(healthy(requests=0, status=1, said=["Tool x conflicts"])), "conflict"),
        ("loaded", deep(healthy(requests=0, status=1, said=["boom"])), "pi said: boom"),
        ("loaded", deep(healthy(late=True, milliseconds=6500, stage="loading")), "loading its"),
        ("loaded", deep(extensions=[]), "it loaded no extension"),
        ("loaded", deep(errors=[{"path": "/a.ts", "error": "no"}]), "/a.ts: no"),
        ("loaded", deep(run("again", requests=0, status=1, said=["x conflicts"])), "conflict"),
        ("tools", deep(healthy(tools={})), "declares no palace tool"),
        ("tools", deep(healthy(tools={"mempalace_status": []})), "mempalace_add_drawer"),
        ("tools", deep(healthy(tools={name: [] for name in TOOLS})), "lacks wing, added_by"),
        ("tools", deep(run("local", local=True)), "declares no palace tool"),
        ("events", deep(known_events=["agent_settled"]), "never fires before_agent_start"),
        ("wakeup", deep(healthy(wakeup="")), "is told nothing"),
        ("wakeup", deep(healthy(named=False)), "/scratch/palace"),
        ("wakeup", deep(healthy(wakeup='{"error": "no such database"}')), "no such database"),
        ("feed", deep(healthy(prepared=[])), "was not started"),
        ("feed", deep(healthy(prepared=[{"status": 1}])), "status 1 and named nothing"),
        ("feed", deep(healthy(calls=[])), "was not mined"),
        (
            "feed",
            deep(healthy(prepared=[{"status": 0}]), unset=["MEMPALACE_PI_SSH_TARGET"]),
            "MEMPALACE_PI_SSH_TARGET is not set",
        ),
        ("stamp", deep(device="desk"), "written by pi@laptop"),
        ("stamp", deep(device="", unset=["MEMPALACE_PI_DEVICE"]), "MEMPALACE_PI_DEVICE is not set"),
        ("mailbox", deep(healthy(mail={"sent": True})), "was not asked for events"),
        ("mailbox", deep(healthy(mail={"delivered": True})), "cannot be answered"),
        ("mailbox", deep(run("again", mail={"delivered": True})), "delivered again"),
        ("closed", deep(run("dead", started_local=True)), "not there: a local palace was started"),
        ("closed", deep(run("refused", tools=TOOLS)), "2 palace tools are declared all the same"),
        ("closed", deep(run("silent", late=True, milliseconds=6100, stage="")), "hung for 6 s"),
        ("closed", deep(run("dead", status=1, answered=False)), "status 1, without an answer"),
        ("closed", deep(healthy(started_local=True)), "although a shared one answers"),
    ],
)
def test_what_fails_is_told_by_its_gate(gate: str, fact: DeepFact, evidence: str) -> None:
    finding = judged(fact)[gate]
    assert finding.verdict is Verdict.FAIL, finding
    assert evidence in "\n".join([finding.message, *finding.evidence])


@pytest.mark.parametrize(
    ("gate", "fact", "why"),
    [
        ("loaded", deep(healthy(late=True, milliseconds=3000)), "time was up after 3 s"),
        ("closed", deep(run("silent", late=True, milliseconds=900)), "never answers"),
        ("mailbox", deep(run("again", late=True)), "no second session"),
        ("events", deep(listed=False), "pi's own loader could not be asked"),
        ("stamp", deep(healthy(calls=[])), "nothing could be written"),
    ],
)
def test_what_was_not_seen_is_not_checked(gate: str, fact: DeepFact, why: str) -> None:
    finding = judged(fact)[gate]
    assert finding.verdict is Verdict.NOT_CHECKED, finding
    assert why in finding.message


def test_a_marker_that_says_yes_is_told_apart_from_none() -> None:
    unfed = deep(healthy(prepared=[]))
    assert judged(unfed)["feed"].message == "its code says it can feed transcripts, and it does not"
    world = Looked(unfed)
    world.file(BRIDGE, b"// MEMPALACE_FEED\nexport default () => 1;\n")
    found = findings(target("mempalace-bridge"), world)
    assert found["deep.feed"].message == "does not feed transcripts"


def test_tools_of_another_owner_are_a_warning() -> None:
    owners = {"mempalace_status": "/x/adapter.ts", "mempalace_add_drawer": absolute(BRIDGE)}
    finding = judged(deep(healthy(owners=owners)))["tools"]
    assert finding.verdict is Verdict.WARN
    assert "/x/adapter.ts" in finding.evidence


def test_tools_that_two_owners_declare_are_a_warning() -> None:
    twice = {**TOOLS, **{f"mcp__mempalace__{name}": names for name, names in TOOLS.items()}}
    finding = judged(deep(healthy(tools=twice, said=["mempalace bridge: keep one"])))["tools"]
    assert finding.verdict is Verdict.WARN
    assert finding.message == "2 palace tools are declared twice"
    assert finding.evidence == ("pi said: mempalace bridge: keep one",)


def test_a_dangling_link_is_named_as_what_keeps_the_bridge_away() -> None:
    world = Looked(deep(extensions=[]))
    world.broken(BRIDGE, State.DANGLING, target=FILE)
    finding = findings(target("mempalace-bridge"), world)["deep.loaded"]
    assert finding.message == "pi runs without the bridge"
    assert finding.evidence[0] == f"{BRIDGE} is dangling"
