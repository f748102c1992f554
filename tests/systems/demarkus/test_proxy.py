"""Which code unwraps a call that comes through the adapter's proxy tool."""

import json

import pytest
from support.demarkus import BLIND, SHARED_DECISION, UNWRAPS, manifest, sources
from support.facts import World, findings, target
from support.mcp_files import ADAPTER, SETTINGS, unreadable

from fleet.facts.paths import State
from fleet.verifier.model import Finding, Verdict

AT = "/opt/demarkus/pi-memory"
HANDLER = 'export default (pi: any) => { pi.on("tool_call", (event: any) => see(event)); };\n'


def world(files: dict[str, str], *, adapter: bool = True) -> World:
    made = World().launch().file(f"{AT}/package.json", json.dumps(manifest()).encode())
    made.folder(f"{AT}/src", *files).folder(f"{AT}/skills", "memory")
    made.folder(f"{AT}/skills/memory", "SKILL.md")
    for name, text in files.items():
        made.file(f"{AT}/src/{name}", text.encode())
    return made.file(SETTINGS, ADAPTER) if adapter else made


def judged(there: World) -> Finding:
    where = target("demarkus", demarkus_memory=AT, require=["publish-gate"])
    return findings(where, there)["demarkus.proxy"]


def test_a_gate_that_unwraps_passes() -> None:
    gate = judged(world(sources(UNWRAPS)))
    assert (gate.verdict, gate.required) == (Verdict.PASS, True)
    assert gate.evidence == (f"demarkus-pi-memory: normalizeToolCall in {AT}/src/index.ts line 6",)


def test_a_word_in_a_comment_is_no_unwrapping() -> None:
    gate = judged(world(sources(BLIND)))
    assert (gate.verdict, gate.required) == (Verdict.FAIL, True)
    told = f"{AT}/src/index.ts: no code that runs unwraps a call whose toolName is 'mcp'"
    assert gate.evidence == (told,)


UNCALLED = UNWRAPS.replace("const call = normalizeToolCall(event)", "const call = event")
DOES_NOTHING = (
    HANDLER
    + "function normalizeToolCall(call: any) { return call; }\n"
    + ("function see(event: any) { return normalizeToolCall(event).toolName; }\n")
)
CALLS_ITSELF = UNCALLED.replace(
    "return { toolName: tool, input };", "return normalizeToolCall({ toolName: tool, input });"
)
NO_TEXT = UNWRAPS.replace("JSON.parse(args)", "{}")


@pytest.mark.parametrize(
    "index",
    [UNCALLED, CALLS_ITSELF, DOES_NOTHING, NO_TEXT],
    ids=["uncalled", "calls-itself", "does-nothing", "no-text"],
)
def test_a_name_alone_is_no_unwrapping(index: str) -> None:
    assert index != UNWRAPS
    assert judged(world(sources(index))).verdict is Verdict.FAIL


INLINE = """
export default (pi: any) => {
  pi.on("tool_call", (event: any) => {
    let name = event.toolName, input = event.input;
    if ("mcp" === name) { name = input.tool; input = JSON.parse(input.args); }
    return /mark_publish$/.test(name) && !input.metadata ? { block: true } : undefined;
  });
};
"""
CONSTANT = (
    HANDLER
    + """
const unwrap = (event: any) => {
  switch (event.toolName) {
    case "mcp": return { name: event.input.tool, input: JSON.parse(event.input.args) };
    default: return event;
  }
};
function see(event: any) { return unwrap(event); }
"""
)
ELSEWHERE = {
    "index.ts": 'import { unwrap } from "./gates.js";\n' + HANDLER.replace("see(", "unwrap("),
    "gates.ts": CONSTANT.removeprefix(HANDLER).replace("const unwrap", "export const unwrap"),
}


@pytest.mark.parametrize(
    "files", [{"index.ts": INLINE}, {"index.ts": CONSTANT}, ELSEWHERE], ids=len
)
def test_an_equal_by_another_name_passes(files: dict[str, str]) -> None:
    gate = judged(world(files))
    assert gate.verdict is Verdict.PASS, gate


@pytest.mark.parametrize("adapter", [True, False])
def test_code_that_gates_nothing_fails(adapter: bool) -> None:
    nothing = {"index.ts": UNWRAPS.replace('"tool_call"', '"tool_result"')}
    gate = judged(world(nothing, adapter=adapter))
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence == (
        "demarkus-pi-memory: nothing in it handles tool_call, so it gates nothing",
    )


@pytest.mark.parametrize("adapter", [True, False])
def test_code_that_is_cut_fails(adapter: bool) -> None:
    gate = judged(world({"index.ts": UNWRAPS[: len(UNWRAPS) // 2]}, adapter=adapter))
    assert gate.verdict is Verdict.FAIL
    assert "does not parse (line" in gate.evidence[0]


def test_what_hands_on_to_a_program_is_not_judged() -> None:
    gate = judged(world(sources(BLIND, SHARED_DECISION)))
    assert gate.verdict is Verdict.NOT_CHECKED
    assert "hands a call to demarkus-plugin as it comes" in gate.message
    assert judged(world(sources(UNWRAPS, SHARED_DECISION))).verdict is Verdict.PASS


def test_what_was_not_read_is_not_judged() -> None:
    unread = world(sources(BLIND)).broken(f"{AT}/src/index.ts", State.UNREADABLE, why="denied")
    assert judged(unread).verdict is Verdict.NOT_CHECKED
    further = judged(world({**sources(BLIND), "shapes.ts": UNWRAPS}))
    assert further.verdict is Verdict.NOT_CHECKED
    assert f"{AT}/src/shapes.ts: it is not one of the files that are read" in further.evidence


def test_without_the_adapter_a_blind_gate_is_a_warning() -> None:
    gate = judged(world(sources(BLIND), adapter=False))
    assert gate.verdict is Verdict.WARN
    assert "the adapter would pass the gate by" in gate.message
    assert judged(unreadable(world(sources(BLIND)), SETTINGS)).verdict is Verdict.FAIL


def test_without_a_package_the_cause_is_told_elsewhere() -> None:
    assert judged(World().launch()).follows == "demarkus.manifest"
