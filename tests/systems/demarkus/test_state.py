"""What lies in ~/.demarkus: the program that decides, the token, the strictness."""

import pytest
from support.facts import World, findings, target

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

PROGRAM, DIR = "~/.demarkus/bin/demarkus-plugin", "~/.demarkus"
CONF, TOKEN = f"{DIR}/plugin-memory.conf", f"{DIR}/plugin-memory.token"
TOKENS, SYSTEMS = f"{DIR}/tokens", f"{DIR}/knowledge-systems"
STRICT = f"{DIR}/plugin-memory.strictness"
VARIABLE = "DEMARKUS_MEMORY_STRICTNESS"


def world(**variables: str) -> World:
    made = World().launch(variables=variables).file(PROGRAM, b"\x7fELF", mode=0o755)
    made.folder(DIR).folder(TOKENS).file(CONF, b"PORT=6310\n").file(TOKEN, b"t", mode=0o600)
    return changed(made.file(STRICT, b"block\n"), TOKENS, mode=0o700)


def changed(there: World, path: str, **fields: object) -> World:
    there.paths[path] = there.paths[path].model_copy(update=fields)
    return there


def judged(gate: str, there: World, **variables: str) -> Finding:
    where = target("demarkus", require=["publish-gate"], **variables)
    return findings(where, there)[f"demarkus.{gate}"]


def test_a_state_as_the_program_makes_it_passes() -> None:
    for gate in ("program", "state", "strict"):
        found = judged(gate, world())
        assert (found.verdict, found.required) == (Verdict.PASS, True), found
    assert judged("state", world()).evidence == (f"{DIR}: mode 0755", f"{TOKEN}: mode 0600")


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"state": State.ABSENT, "final": None}, "fails open: there is no program"),
        ({"state": State.DANGLING, "final": None}, "fails open: there is no program"),
        ({"kind": "directory"}, "fails open: the program that decides cannot be run"),
        ({"size": 0}, "fails open: the program that decides cannot be run"),
        ({"mode": 0o644}, "fails open: the program that decides cannot be run"),
        ({"mode": 0o777}, "others than its owner can change"),
    ],
)
def test_a_program_that_cannot_decide_fails(change: dict[str, object], told: str) -> None:
    gate = judged("program", changed(world(), PROGRAM, **change))
    assert gate.verdict is Verdict.FAIL
    assert told in gate.message


def test_a_program_that_could_not_be_seen_is_not_judged() -> None:
    hidden = world().broken(PROGRAM, State.UNREADABLE, why="permission denied")
    assert judged("program", hidden).verdict is Verdict.ERROR
    assert judged("program", changed(world(), PROGRAM, mode=None)).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("path", "change", "told"),
    [
        (
            TOKEN,
            {"mode": 0o644},
            f"{TOKEN}: mode 0644: others than its owner can use it, want 0600",
        ),
        (TOKEN, {"mode": 0o640}, "want 0600"),
        (TOKEN, {"size": 0}, "is empty"),
        (TOKEN, {"state": State.ABSENT}, "does not exist"),
        (CONF, {"state": State.ABSENT}, "does not exist"),
        (TOKENS, {"mode": 0o755}, "want 0700"),
        (DIR, {"mode": 0o775}, "others than its owner can write in it"),
    ],
)
def test_a_token_that_others_can_use_fails(path: str, change: dict[str, object], told: str) -> None:
    gate = judged("state", changed(world(), path, **change))
    assert gate.verdict is Verdict.FAIL
    assert told in gate.evidence[0]


def test_what_could_not_be_seen_of_the_state() -> None:
    unread = world().broken(TOKEN, State.UNREADABLE, why="permission denied")
    assert judged("state", unread).verdict is Verdict.NOT_CHECKED
    assert judged("state", changed(world(), DIR, mode=None)).verdict is Verdict.NOT_CHECKED
    del (there := world()).paths[TOKENS]
    assert judged("state", there).verdict is Verdict.PASS


def test_of_the_knowledge_alone_no_token_is_asked() -> None:
    there = World().launch().folder(DIR).file(SYSTEMS, b"team\n")
    only = {"demarkus_memory": "", "demarkus_knowledge": "~/knowledge"}
    assert judged("state", there, **only).verdict is Verdict.PASS
    assert judged("strict", there, **only).verdict is Verdict.NOT_APPLICABLE
    assert judged("state", World().launch().folder(DIR), **only).verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("file", "variable", "verdict"),
    [
        (b"block", None, Verdict.PASS),
        (b"ask\n", None, Verdict.PASS),
        (b"warn", None, Verdict.WARN),
        (None, None, Verdict.WARN),
        (b"strict", None, Verdict.FAIL),
        (b"warn", "block", Verdict.PASS),
        (b"block", "warn", Verdict.WARN),
        (b"block", "Block", Verdict.FAIL),
        (b"block", "", Verdict.PASS),
    ],
)
def test_how_strict_the_gate_is(file: bytes | None, variable: str | None, verdict: Verdict) -> None:
    there = world(**({} if variable is None else {VARIABLE: variable}))
    there.broken(STRICT, State.ABSENT) if file is None else there.file(STRICT, file)
    assert judged("strict", there).verdict is verdict


def test_a_strictness_that_was_not_read_is_not_judged() -> None:
    there = world().broken(STRICT, State.UNREADABLE, why="permission denied")
    assert judged("strict", there).verdict is Verdict.NOT_CHECKED
