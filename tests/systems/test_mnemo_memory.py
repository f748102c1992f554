"""The notes of pi-mnemo, its state, its lock and its dreams."""

import json
from datetime import UTC, datetime

import pytest
from support.facts import World, findings, target
from support.mnemo import PI, installed

from fleet.facts.notes import CUT
from fleet.facts.paths import State
from fleet.facts.running import EnvValue, ProcessFact
from fleet.inventory.model import Value
from fleet.testing import judge
from fleet.verifier.model import Finding, Verdict

ROOT = "~/.pi/agent/mnemo"
NOW = datetime(2026, 12, 1, tzinfo=UTC).timestamp()  # when canned facts are taken
HOUR, DAY = 3600, 24 * 3600
TOKEN = "sk-EXAMPLE0123456789abcdef"  # the shape of one


def kept(**notes: str) -> World:
    """Return a world with these notes; ``__`` in a name stands for a slash."""
    world = installed().also(processes={"pi": (), "pi-rpc": ()})
    for name, text in notes.items():
        world.file(f"{ROOT}/{name.replace('__', '/')}.md", text.encode())
    return world


def good() -> World:
    return kept(
        MEMORY="- [Who](who.md) - me\n",
        who="---\ntype: user\n---\nwords\n",
        projects__one__MEMORY="- [Rule](./rule.md)\n- [Who](../../who.md)\n",
        projects__one__rule="words\n",
        projects__one__old="---\ndeprecated_by: rule.md\n---\n",
        dream_log="## 2026-11-30T01:00:00Z\n",
    )


def judged(world: World, **variables: Value) -> dict[str, Finding]:
    return judge("pi-mnemo", world, variables=variables)


def stateful(world: World, state: object, *, name: str = ".state.json") -> World:
    text = state if isinstance(state, str) else json.dumps(state)
    return world.file(f"{ROOT}/{name}", text.encode())


# --- indexes -------------------------------------------------------------------------------------


def test_a_memory_in_order_passes() -> None:
    found = judged(good())
    assert found["mnemo.index"].verdict is Verdict.PASS, found["mnemo.index"]
    assert found["mnemo.index"].message == "every index names its notes: 3 notes in all"
    assert found["mnemo.private"].message == "6 notes, none with a secret"
    assert (found["mnemo.index"].required, found["mnemo.private"].required) == (False, True)


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        ({"MEMORY": "[a](gone.md)"}, "MEMORY.md names gone.md, which is not there"),
        ({"MEMORY": "", "who": "x"}, "who.md stands in no index: it is never recalled"),
        ({"who": "x"}, "MEMORY.md is not there: one note beside it is never recalled"),
        (
            {"projects__p__MEMORY": "[a](../x.md)", "MEMORY": ""},
            "projects/p/MEMORY.md names projects/x.md, which is not there",
        ),
        ({"projects__p__INDEX": "[a](a.md)"}, "projects/p/MEMORY.md is not there: one note"),
        ({"MEMORY": "x\n" * 201}, "MEMORY.md has 201 lines, 200 are the most"),
        ({"MEMORY": "x" * 25601}, "MEMORY.md has 25601 bytes, 25600 are the most"),
        ({"MEMORY": "", "projects__p__dream_log": ""}, "projects/p/MEMORY.md is not there"),
    ],
)
def test_what_is_wrong_with_an_index_is_told(notes: dict[str, str], told: str) -> None:
    found = judged(kept(**notes))["mnemo.index"]
    assert (found.verdict, told in found.evidence[0]) == (Verdict.FAIL, True), found


@pytest.mark.parametrize(
    "notes",
    [
        {"MEMORY": "x\n" * 200},
        {"MEMORY": "x" * 25600},
        {"MEMORY": "", "projects__t": "in no scope", "other__t": "in no scope"},
    ],
)
def test_what_is_no_fault_passes(notes: dict[str, str]) -> None:
    assert judged(kept(**notes))["mnemo.index"].verdict is Verdict.PASS


def test_of_notes_that_were_not_all_read_none_is_said_to_be_gone() -> None:
    world = kept(MEMORY="[late](late.md)").folder(ROOT)
    world.paths[ROOT] = world.paths[ROOT].model_copy(update={"why": CUT})
    for gate in ("mnemo.index", "mnemo.private"):
        found = judged(world)[gate]
        assert (found.verdict, CUT in found.message) == (Verdict.NOT_CHECKED, True), found


def test_without_a_memory_there_is_nothing_to_judge() -> None:
    found = judged(installed())
    for gate in ("mnemo.index", "mnemo.private", "mnemo.state", "mnemo.dream"):
        assert found[gate].verdict is Verdict.NOT_APPLICABLE, found[gate]
    assert judged(kept(MEMORY=""))["mnemo.private"].verdict is Verdict.PASS


# --- what must not stand in a note ---------------------------------------------------------------


def test_a_secret_in_a_note_is_named_by_its_kind_only() -> None:
    world = kept(
        MEMORY="",
        projects__one__t=f"it is {TOKEN}\n<private>x</private>\n",
        who="Password: abcdEFGH1234abcdEFGH\n",
    )
    found = judged(world)["mnemo.private"]
    assert (found.verdict, found.required) == (Verdict.FAIL, True)
    assert found.message == "2 notes hold what must not stand there"
    assert found.evidence == (
        "projects/one/t.md: text marked <private>, a token",
        "who.md: a password or key",
    )
    assert TOKEN not in str(found)


@pytest.mark.parametrize("gate", ["mnemo.index", "mnemo.private"])
def test_a_note_that_could_not_be_read_is_no_pass(gate: str) -> None:
    world = good().broken(f"{ROOT}/who.md", State.UNREADABLE, why="permission denied")
    found = judged(world)[gate]
    assert found.verdict is Verdict.NOT_CHECKED
    assert "who.md: permission denied" in found.message
    world.broken(ROOT, State.UNREADABLE, why="permission denied")
    assert judged(world)[gate].verdict is Verdict.ERROR


@pytest.mark.parametrize("gate", ["mnemo.index", "mnemo.private", "mnemo.state", "mnemo.lock"])
def test_a_memory_that_a_launch_has_elsewhere_is_not_checked(gate: str) -> None:
    world = stateful(good(), {})
    world.launch(variables={"PI_MNEMO_ROOT": "/srv/notes"}, manifests={"pi": PI})
    assert judged(world)[gate].verdict is Verdict.NOT_CHECKED, judged(world)[gate]
    world = installed().launch(variables={"PI_MNEMO_ROOT": "/srv/notes/"}, manifests={"pi": PI})
    world.also(processes={"pi": (), "pi-rpc": ()})
    world.file("/srv/notes/MEMORY.md", b"").file("/srv/notes/.state.json", b"{}")
    assert judged(world, mnemo_root="/srv/notes")[gate].verdict is Verdict.PASS


def test_a_root_that_leads_nowhere_is_told_once() -> None:
    found = judged(good(), mnemo_root="notes")
    assert found["mnemo.settings"].verdict is Verdict.FAIL
    for gate in ("mnemo.index", "mnemo.private", "mnemo.state", "mnemo.lock", "mnemo.dream"):
        assert found[gate].follows == "mnemo.settings"


def test_facts_that_did_not_ask_are_not_checked() -> None:
    found = findings(target("pi-mnemo"), World().launch(), whole=False)
    for gate in ("mnemo.index", "mnemo.private", "mnemo.state", "mnemo.lock", "mnemo.dream"):
        assert found[gate].verdict is Verdict.NOT_CHECKED, found[gate]


# --- state, lock, dreams --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("state", "verdict"),
    [
        ({"dream": {}}, Verdict.PASS),
        ('{"dream": {"a": 1', Verdict.FAIL),
        ("\x00\x00", Verdict.FAIL),
        ("[]", Verdict.FAIL),
        ("", Verdict.FAIL),
        ("[" * 100_000, Verdict.FAIL),
    ],
)
def test_the_state_must_parse(state: object, verdict: Verdict) -> None:
    found = judged(stateful(good(), state))
    assert found["mnemo.state"].verdict is verdict, found["mnemo.state"]
    if verdict is Verdict.FAIL:
        assert found["mnemo.dream"].follows == "mnemo.state"


def test_a_state_that_may_not_be_read_is_an_error() -> None:
    world = good().broken(f"{ROOT}/.state.json", State.UNREADABLE, why="permission denied")
    assert judged(world)["mnemo.state"].verdict is Verdict.ERROR
    assert judged(world)["mnemo.dream"].verdict is Verdict.NOT_CHECKED


def locked(content: object, *running: ProcessFact) -> Finding:
    world = stateful(good(), content, name=".dream.lock")
    return judged(world.also(processes={"pi": running, "pi-rpc": ()}))["mnemo.lock"]


def process(pid: int, started: float | None) -> ProcessFact:
    at = None if started is None else int(started)
    return ProcessFact(pid=pid, user="u", started=at, variables={"HOME": EnvValue(set=False)})


MINUTES_AGO = NOW - 300
HELD = {"pid": 7, "ts": int(MINUTES_AGO * 1000)}


def test_a_lock_is_free_or_held_by_a_pi_that_runs() -> None:
    assert judged(good())["mnemo.lock"].message == "no dream is running"
    found = locked(HELD, process(8, NOW - DAY), process(7, NOW - DAY))
    assert (found.verdict, found.message) == (Verdict.PASS, "a dream is running, of pi 7")


@pytest.mark.parametrize(
    ("content", "running", "verdict", "told"),
    [
        (HELD, [], Verdict.FAIL, "pid 7, which is no pi that runs"),
        (HELD, [process(8, 0)], Verdict.FAIL, "pid 7, which is no pi that runs"),
        (HELD, [process(7, NOW - 60)], Verdict.FAIL, "its holder is gone"),
        (HELD, [process(7, None)], Verdict.NOT_CHECKED, "could not be seen"),
        ({**HELD, "ts": (NOW - 5 * HOUR) * 1000}, [process(7, 0)], Verdict.WARN, "for 5 hours"),
        ({"pid": "7", "ts": 1}, [], Verdict.FAIL, "names no process"),
        ({"pid": True, "ts": 1}, [], Verdict.FAIL, "names no process"),
        ({"pid": 7, "ts": 1e300}, [], Verdict.FAIL, "names no process"),
        ("", [], Verdict.FAIL, "is no JSON"),
    ],
)
def test_what_is_wrong_with_a_lock_is_told(
    content: object, running: list[ProcessFact], verdict: Verdict, told: str
) -> None:
    found = locked(content, *running)
    assert (found.verdict, told in found.message) == (verdict, True), found


def test_a_lock_is_not_judged_where_processes_could_not_be_seen() -> None:
    world = stateful(good(), HELD, name=".dream.lock").also(unseen={"processes": "no ps here"})
    found = judged(world)["mnemo.lock"]
    assert (found.verdict, found.message) == (Verdict.NOT_CHECKED, "no ps here")


def test_a_lock_may_be_held_by_somebody_who_is_hidden() -> None:
    for pid, verdict in ((8, Verdict.NOT_CHECKED), (7, Verdict.PASS)):
        world = stateful(good(), HELD, name=".dream.lock")
        world.also(processes={"pi": (process(pid, 0),)}, unseen={"processes": "hidden here"})
        found = judged(world)["mnemo.lock"]
        assert found.verdict is verdict, found.message


def test_a_worker_that_may_take_long_may_hold_the_lock_long() -> None:
    content = {**HELD, "ts": (NOW - 5 * HOUR) * 1000}
    world = stateful(good(), content, name=".dream.lock")
    told = {"PI_MNEMO_WORKER_TIMEOUT_MS": str(3 * HOUR * 1000)}
    world.launch(variables=told, manifests={"pi": PI})
    found = judged(world.also(processes={"pi": (process(7, 0),), "pi-rpc": ()}))["mnemo.lock"]
    assert found.verdict is Verdict.PASS


def dreamt(state: object, **variables: Value) -> Finding:
    return judged(stateful(good(), state), **variables)["mnemo.dream"]


@pytest.mark.parametrize(
    ("state", "verdict", "told"),
    [
        ({"dream": {"-home-u": (NOW - 30 * HOUR) * 1000}}, Verdict.PASS, "30 hours ago"),
        ({"lastDream": {"a": 1, "b": (NOW - DAY) * 1000}}, Verdict.PASS, "24 hours ago"),
        ({"a": {"lastDreamAt": (NOW - 9 * DAY) * 1000}}, Verdict.FAIL, "9 days ago, 7 days"),
        ({"extract": {"a": (NOW - HOUR) * 1000}}, Verdict.WARN, "no dream has been noted"),
        ({"dream": {"a": (NOW + 9 * DAY) * 1000}}, Verdict.WARN, "no dream has been noted"),
        ({"dream": {"a": True, "b": 1e300, "c": "x"}}, Verdict.WARN, "no dream has been noted"),
    ],
)
def test_the_last_dream_is_told_by_the_state(state: object, verdict: Verdict, told: str) -> None:
    found = dreamt(state)
    assert (found.verdict, told in found.message) == (verdict, True), found


def test_how_long_ago_it_may_be_is_declared() -> None:
    old = {"dream": {"a": (NOW - 9 * DAY) * 1000}}
    assert dreamt(old, mnemo_dream_within_days=10).verdict is Verdict.PASS
    assert dreamt(old, mnemo_dream_within_days=0).verdict is Verdict.NOT_APPLICABLE
    assert dreamt(old, mnemo_dream_within_days="soon").verdict is Verdict.NOT_CHECKED


def test_dreams_that_are_turned_off_are_not_missed() -> None:
    world = good().launch(variables={"PI_MNEMO_DISABLED": "1"}, manifests={"pi": PI})
    assert judged(world)["mnemo.dream"].verdict is Verdict.NOT_APPLICABLE
    assert judged(kept(MEMORY=""))["mnemo.dream"].verdict is Verdict.NOT_APPLICABLE
