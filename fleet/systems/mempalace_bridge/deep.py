"""What running pi shows: whether the bridge does what its code says that it can.

Every gate here judges what a deep check saw (:class:`fleet.facts.deep.DeepFact`).
"""

import difflib
import posixpath
import re

from fleet.facts.deep import DeepCall, DeepExtension, DeepFact, DeepRun, RunName
from fleet.facts.paths import State
from fleet.verifier.look import Look
from fleet.verifier.marker_gate import judge_marker
from fleet.verifier.model import Judgement, Verdict, failed, not_checked, passed, warned
from fleet.verifier.paths import way

HARNESS = "pi"
SHOWN = 4
#: What each event is needed for.
NEEDED = {
    "before_agent_start": "for the wake-up",
    "agent_settled": "to feed after a turn and to look for mail",
    "session_shutdown": "to feed a last time and to let go of the palace",
}
CLOSED: dict[RunName, str] = {
    "dead": "a palace that is not there",
    "refused": "a palace that refuses the token",
    "silent": "a palace that never answers",
}
_STAGES = {
    "": "starting",
    "loading": "loading its extensions",
    "session_start": "opening a session",
    "before_agent_start": "preparing the first turn",
    "agent_settled": "ending a turn",
    "session_shutdown": "ending the session",
}
_ERROR = re.compile(r'"error"\s*:\s*"|"success"\s*:\s*false|\(failed\)|^\s*Error\b|HTTP Error')
_CONFLICT = re.compile(r"conflict", re.IGNORECASE)


def _ran(look: Look, name: RunName = "healthy") -> tuple[DeepFact, DeepRun] | Judgement:
    """Return what was seen and one run, by default that in which all is well; else why not."""
    deep = look.facts.deep
    if deep is None:
        return not_checked("asked with --deep only")
    run = deep.run(name) or deep.run("healthy")
    if deep.state != "ran" or run is None:
        return not_checked(deep.why or "pi was not run", *_place(deep))
    if _cut(deep, run):
        return not_checked(f"time was up after {_seconds(run)}; it needs a longer --timeout")
    return deep, run


def _daily(look: Look) -> tuple[DeepFact, DeepRun] | Judgement:
    """Return the run that is like the target's own days: over stdio, where it has no URL."""
    return _ran(look, "local")


def _seconds(run: DeepRun) -> str:
    return f"{run.milliseconds / 1000:.0f} s"


def _place(deep: DeepFact) -> tuple[str, ...]:
    return (f"in {deep.launch}",) if deep.launch else ()


def _said(run: DeepRun, word: str = "") -> list[str]:
    """Return the last lines of pi's stderr, of those that hold a word where there is one."""
    lines = [line for line in run.said if word in line.lower()]
    return [f"pi said: {line}" for line in (lines or run.said)[-SHOWN:]]


def loaded(look: Look) -> Judgement:
    """Started with the deployed extensions, pi loads the bridge and nothing conflicts."""
    seen = _ran(look)
    if isinstance(seen, Judgement):
        return seen
    deep, run = seen
    wrong = [f"{error.path}: {error.error}" for error in deep.errors][:SHOWN]
    if run.error:
        return failed("pi cannot be started", f"{deep.pi}: {run.error}")
    if run.late:
        told = f"after {_seconds(run)} it was still {_stage(run)}"
        return failed("pi hangs with these extensions", told, *wrong, *_said(run))
    if run.requests == 0:
        return failed(_ended(run), *wrong, *_said(run, "conflict"))
    if deep.listed and _bridge(look, deep, run) is None:
        return failed("pi runs without the bridge", *_absent(look, deep))
    if wrong:
        return failed("not every extension was loaded", *wrong)
    again = deep.run("again")
    if again and again.requests == 0 and not _cut(deep, again):
        return failed(
            "pi starts once, and not a second time", _ended(again), *_said(again, "conflict")
        )
    return passed(
        f"pi {deep.pi_version} loads it", f"{deep.pi}, node {deep.node_version}", *_place(deep)
    )


def _stage(run: DeepRun) -> str:
    return _STAGES.get(run.stage, run.stage)


def _ended(run: DeepRun) -> str:
    why = "its tools conflict" if any(map(_CONFLICT.search, run.said)) else "it cannot load them"
    return f"pi ends with these extensions: {why} (exit status {run.status})"


def _absent(look: Look, deep: DeepFact) -> list[str]:
    fact = look.artifact("bridge")
    names = [extension.path for extension in deep.extensions if not extension.path.startswith("<")]
    loaded_ones = f"it loaded {', '.join(names)}" if names else "it loaded no extension"
    if fact is not None and fact.state is not State.PRESENT:
        return [f"{fact.path} is {fact.state.value}", loaded_ones]
    return [*([way(fact)] if fact else []), loaded_ones]


def _bridge(look: Look, deep: DeepFact, run: DeepRun) -> DeepExtension | None:
    """Find the bridge among what pi loaded: by file, else by what it registered."""
    fact = look.artifact("bridge")
    wanted = {fact.path, fact.absolute, fact.final} if fact else set()
    name = posixpath.basename(fact.path) if fact else ""
    owners = set(run.owners.values())
    for extension in deep.extensions:
        if wanted & {extension.path, extension.target}:
            return extension
    for extension in deep.extensions:
        if posixpath.basename(extension.path) == name or extension.path in owners:
            return extension
    return None


def tools(look: Look) -> Judgement:
    """Every tool of the palace is declared to the model, with its own parameter names."""
    seen = _daily(look)
    if isinstance(seen, Judgement):
        return seen
    deep, run = seen
    if not run.tools:
        return failed("declares no palace tool to the model", *_said(run, "mempalace"))
    declared = {name.rpartition("__")[2]: names for name, names in run.tools.items()}
    lacking = [name for name in deep.offered if name not in declared]
    nameless = [
        f"{name} lacks {', '.join(missing)}"
        for name, names in deep.offered.items()
        if name in declared and (missing := [each for each in names if each not in declared[name]])
    ]
    if lacking:
        told = f"{len(lacking)} of {len(deep.offered)} palace tools are not declared"
        return failed(told, *_few(lacking), *_said(run, "mempalace"))
    if nameless:
        return failed("declares tools without their parameter names", *_few(nameless))
    return _owned(look, deep, run)


def _owned(look: Look, deep: DeepFact, run: DeepRun) -> Judgement:
    bridge = _bridge(look, deep, run)
    own = {bridge.path, bridge.target} if bridge else set(run.owners.values())
    others = sorted({path for path in run.owners.values() if path not in own})
    doubled = len(run.tools) - len({name.rpartition("__")[2] for name in run.tools})
    if doubled:
        return warned(f"{doubled} palace tools are declared twice", *_told(run))
    told = f"{len(run.tools)} palace tools are declared, with their parameter names"
    if not others:
        return passed(told)
    count = sum(path in others for path in run.owners.values())
    return warned(f"{count} palace tools come from another extension", *_few(others), *_told(run))


def _told(run: DeepRun) -> list[str]:
    return [line for line in _said(run, "mempalace bridge") if "mempalace bridge" in line]


def _few(lines: list[str]) -> list[str]:
    more = len(lines) - SHOWN
    return [*lines[:SHOWN], *([f"and {more} more"] if more > 0 else [])]


def events(look: Look) -> Judgement:
    """The bridge subscribes to the events it needs, each by a name that this pi fires."""
    seen = _ran(look)
    if isinstance(seen, Judgement):
        return seen
    deep, run = seen
    bridge = _bridge(look, deep, run) if deep.listed else None
    if bridge is None:
        return not_checked("pi's own loader could not be asked", *_place(deep))
    wrong = []
    if deep.known_events:
        wrong = [_misspelt(e, deep) for e in bridge.events if e not in deep.known_events]
    lacking = {event: why for event, why in NEEDED.items() if event not in bridge.events}
    wrong += [f"{event} is not subscribed, {why}" for event, why in lacking.items()]
    if wrong:
        return failed("some of its handlers are never called", *_few(wrong))
    return passed(f"subscribes to {', '.join(bridge.events)}")


def _misspelt(event: str, deep: DeepFact) -> str:
    near = difflib.get_close_matches(event, deep.known_events, 1)
    told = f"pi {deep.pi_version} never fires {event}"
    return f"{told}; is {near[0]} meant?" if near else told


def wakeup(look: Look) -> Judgement:
    """A fresh session is told the palace's state, without an error, and which palace it is."""
    seen = _daily(look)
    if isinstance(seen, Judgement):
        return seen
    deep, run = seen
    if not run.wakeup.strip():
        return failed("a fresh session is told nothing", *_said(run, "wake"))
    refused = [call.refused for call in run.calls if call.refused and call.refused in run.wakeup]
    lines = [line.strip() for line in run.wakeup.splitlines() if _ERROR.search(line)]
    if refused or lines:
        return failed("the wake-up carries an error", *_few([*refused, *lines]))
    if not run.named:
        expected = f"the palace calls itself {deep.palace}"
        return failed("the wake-up does not name its palace", expected, _first(run.wakeup))
    return passed("the wake-up names its palace and carries no error")


def _first(text: str) -> str:
    return f"it begins: {next((line for line in text.splitlines() if line.strip()), '')}"


def feed(look: Look) -> Judgement:
    """The session helper named what to mine, and the palace was asked to mine it."""
    seen = _daily(look)
    if isinstance(seen, Judgement):
        return seen
    deep, run = seen
    mined = [c.arguments.get("source", "") for c in _made(run, "mempalace_mine")]
    named = [p for p in run.prepared if p.source]
    done = [p for p in named if p.source in mined]
    if done:
        return passed("a session is fed", f"MINE_SOURCE={done[0].source}", f"{len(mined)} mined")
    return _differs(look, "feed", "feed transcripts", _unfed(deep, run, bool(named)))


def _unfed(deep: DeepFact, run: DeepRun, named: bool) -> list[str]:
    if named:
        refused = [c.refused for c in run.calls if c.name == "mempalace_mine" and c.refused]
        return ["what the helper named was not mined", *refused, *_said(run, "feed")]
    if not run.prepared:
        return ["the session helper was not started", *_said(run, "feed")]
    last = run.prepared[-1]
    told = [f"the session helper ended with status {last.status} and named nothing to mine"]
    if "MEMPALACE_PI_SSH_TARGET" in deep.unset and not run.local:
        told.append("MEMPALACE_PI_SSH_TARGET is not set: transcripts cannot reach the palace")
    return [*told, *_said(run, "feed")]


def stamp(look: Look) -> Judgement:
    """A write without a writer reached the palace with one, and a diary entry with its host."""
    seen = _ran(look)
    if isinstance(seen, Judgement):
        return seen
    deep, run = seen
    drawers, entries = _made(run, "mempalace_add_drawer"), _made(run, "mempalace_diary_write")
    if not (drawers and entries):
        return not_checked("nothing could be written to the palace", *_said(run))
    writer, host = f"{HARNESS}@{deep.device}", f"HOST:{deep.device}|"
    wrong = _gates_unset(deep)
    by = drawers[0].arguments.get("added_by")
    entry = entries[0].arguments.get("entry") or entries[0].arguments.get("content", "")
    if by != writer or not deep.device:
        wrong.append(f"a drawer was written by {by or 'nobody'}")
    if not entry.startswith(host) or not deep.device:
        wrong.append(f"a diary entry began {entry[:40]}")
    if wrong:
        return _differs(look, "stamp", "stamp its device on what it writes", wrong)
    assumed = " (a name for this check)" if deep.identity == "assumed" else ""
    return passed(f"writes as {writer}{assumed}", f"a diary entry began {host}")


def mailbox(look: Look) -> Judgement:
    """An event for the device was delivered, and a reply to it closed it."""
    seen = _ran(look)
    if isinstance(seen, Judgement):
        return seen
    deep, run = seen
    unset = _gates_unset(deep)
    if not run.mail.delivered:
        asked = bool(_made(run, "mempalace_event_list"))
        told = "the palace was asked for events" if asked else "the palace was not asked for events"
        return _differs(look, "mailbox", "deliver mail", [*unset, told, *_said(run, "mail")])
    if not run.mail.replied:
        refused = [c.refused for c in run.calls if c.name == "mempalace_event_ack" and c.refused]
        return failed("mail is delivered, and cannot be answered", *refused, *_said(run))
    again = deep.run("again")
    if again is None or again.requests == 0 or again.late:
        return not_checked("mail is delivered; there was no second session to see it closed")
    if again.mail.delivered:
        return failed("mail that was answered is delivered again", "status applied, by event_ack")
    return passed("an event was delivered, and its answer closed it")


def closed(look: Look) -> Judgement:
    """Without its palace pi works on, without palace tools and without a local palace."""
    seen = _ran(look)
    if isinstance(seen, Judgement):
        return seen
    deep, healthy = seen
    runs = {name: run for name in CLOSED if (run := deep.run(name)) and not _cut(deep, run)}
    wrong = [f"{CLOSED[name]}: {told}" for name, run in runs.items() for told in _open(run)]
    if healthy.started_local and not healthy.local:
        wrong.insert(0, "a local palace was started although a shared one answers")
    if wrong:
        return failed("does not bear the loss of its palace", *wrong)
    unseen = [told for name, told in CLOSED.items() if name not in runs]
    if unseen:
        return not_checked(f"there was no time to try {', '.join(unseen)}")
    return passed("without its palace pi works on, without palace tools", *CLOSED.values())


def _cut(deep: DeepFact, run: DeepRun) -> bool:
    return run.late and not deep.hangs(run)


def _open(run: DeepRun) -> list[str]:
    """Tell what a run without a palace did that it should not have done."""
    wrong = []
    if run.started_local:
        wrong.append("a local palace was started instead")
    if run.tools:
        wrong.append(f"{len(run.tools)} palace tools are declared all the same")
    if run.late:
        wrong.append(f"pi hung for {_seconds(run)}, {_stage(run)}")
    elif run.status != 0 or not run.answered:
        wrong += [f"pi ended with status {run.status}, without an answer", *_said(run)[-1:]]
    return wrong


def _gates_unset(deep: DeepFact) -> list[str]:
    """Name the one gate of the device's identity that is not set."""
    if deep.identity == "assumed":
        return []
    names = ("MEMPALACE_REMOTE_URL", "MEMPALACE_PI_DEVICE")
    return [f"{name} is not set" for name in names if name in deep.unset]


def _made(run: DeepRun, tool: str) -> list[DeepCall]:
    return [call for call in run.calls if call.name == tool and call.refused is None]


def _differs(look: Look, capability: str, able: str, evidence: list[str]) -> Judgement:
    """Fail; where the marker in the code says yes, say first that code and behaviour differ."""
    gate = next((g for g in look.resolved.system.gates if g.gives == capability), None)
    marked = gate and gate.marker and judge_marker(look, gate).verdict is Verdict.PASS
    if not marked:
        return failed(f"does not {able}", *evidence)
    return failed(f"its code says it can {able}, and it does not", *evidence)
