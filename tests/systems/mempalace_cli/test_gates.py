"""mempalace's own programs, judged by what launches find."""

from collections.abc import Mapping
from dataclasses import replace

import pytest
from support.facts import World, findings, target

from fleet.facts.paths import PathFact, State
from fleet.facts.running import CommandFact, LaunchFact
from fleet.inventory.model import Value
from fleet.systems.mempalace_cli.gates import MODEL_FILES
from fleet.verifier.model import Finding, Verdict

UV = "/home/u/.local/share/uv/tools/mempalace/bin/mempalace"
PIPX = "/home/u/.local/share/pipx/venvs/mempalace/bin/mempalace"
RECEIPT = "~/.local/share/uv/tools/mempalace/uv-receipt.toml"
METADATA = "~/.local/share/pipx/venvs/mempalace/pipx_metadata.json"
MODEL = "~/.cache/chroma/onnx_models/all-MiniLM-L6-v2/onnx"


def copy(file: str, version: str | None = "mempalace 3.11.0") -> CommandFact:
    shown = "/home/u/.local/bin/mempalace"
    fact = PathFact(path=shown, absolute=shown, state=State.PRESENT, kind="file", final=file)
    return CommandFact(name="mempalace", file=fact, version=version)


def launched(
    *copies: CommandFact,
    name: str = "bash -lc",
    world: World | None = None,
    exported: Mapping[str, str] | None = None,
) -> World:
    """A launch that finds these copies, the first of them first."""
    world = (world or World()).launch(name, exported or {})
    first = copies[0] if copies else CommandFact(name="mempalace")
    found = first.model_copy(update={"others": copies[1:]})
    launch: LaunchFact = world.launches[name]
    world.launches[name] = launch.model_copy(update={"commands": {"mempalace": found}})
    return world


def judged(world: World, gate: str, *launches: str, **variables: Value) -> Finding:
    where = target("mempalace-cli", launches=launches or ("bash -lc",))
    return findings(replace(where, variables=variables), world)[gate]


def test_one_copy_is_told_by_its_version() -> None:
    found = judged(launched(copy(UV)), "cli.one")
    assert (found.verdict, found.message) == (Verdict.PASS, "one mempalace 3.11.0, and no other")


def test_copies_side_by_side_are_told_apart_in_the_order_of_the_path() -> None:
    found = judged(launched(copy(UV), copy(PIPX, None)), "cli.one")
    assert found.verdict is Verdict.FAIL
    assert found.evidence == (
        f"bash -lc: {UV} (of uv's tool mempalace) is the one that runs",
        f"bash -lc: {PIPX} (of pipx' mempalace) is behind it",
    )
    again = launched(copy(UV), copy(UV, None))
    assert judged(again, "cli.one").verdict is Verdict.PASS


def test_launches_that_find_different_copies_are_told() -> None:
    world = launched(copy(PIPX), name="zsh -ic", world=launched(copy(UV)))
    found = judged(world, "cli.one", "bash -lc", "zsh -ic")
    assert (found.verdict, found.message) == (Verdict.FAIL, "launches find different copies")


def test_none_and_one_that_could_not_be_seen_are_two_answers() -> None:
    assert judged(launched(), "cli.one").verdict is Verdict.FAIL
    assert judged(World().launch(), "cli.one").verdict is Verdict.NOT_CHECKED
    assert judged(World().launch(state="timeout"), "cli.one").verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("world", "wanted", "verdict"),
    [
        (launched(copy(UV)), "3.11.0", Verdict.PASS),
        (launched(copy(UV)), "", Verdict.PASS),
        (launched(copy(UV)), "3.11", Verdict.PASS),
        (launched(copy(UV)), "3.10.0", Verdict.FAIL),
        (launched(copy(UV, "")), "3.11.0", Verdict.NOT_CHECKED),
        (launched(copy(UV, "what?")), "3.11.0", Verdict.NOT_CHECKED),
    ],
)
def test_what_runs_is_what_is_meant(world: World, wanted: str, verdict: Verdict) -> None:
    assert judged(world, "cli.version", mempalace_version=wanted).verdict is verdict


@pytest.mark.parametrize("noted", ["3.11.0", "3.8.0"])
def test_what_runs_is_what_was_installed(noted: str) -> None:
    verdict = Verdict.PASS if noted == "3.11.0" else Verdict.FAIL
    requirement = f'requirements = [{{ name = "mempalace", specifier = "=={noted}" }}]'
    world = launched(copy(UV)).file(RECEIPT, f"[tool]\n{requirement}\n".encode())
    assert judged(world, "cli.version").verdict is verdict
    metadata = f'{{"main_package": {{"package_version": "{noted}"}}}}'
    world = launched(copy(PIPX)).file(METADATA, metadata.encode())
    assert judged(world, "cli.version").verdict is verdict


@pytest.mark.parametrize("broken", [b"\xff", b"[" * 9000, b"[]", b'{"main_package": 7}', b""])
def test_notes_that_cannot_be_read_tell_nothing(broken: bytes) -> None:
    for file, place in ((UV, RECEIPT), (PIPX, METADATA)):
        world = launched(copy(file)).file(place, broken)
        assert judged(world, "cli.version").verdict is Verdict.PASS


def test_a_client_of_a_remote_palace_is_told_of_the_dead_archive() -> None:
    remote = {"palace_url": "https://palace.example.net/mcp"}
    world = launched(copy(UV)).file("~/.mempalace/palace/chroma.sqlite3", b"x")
    found = judged(world, "cli.archive", **remote)
    assert found.verdict is Verdict.WARN
    assert "~/.mempalace/palace/chroma.sqlite3: a palace from before" in found.evidence
    assert judged(world, "cli.archive").verdict is Verdict.NOT_APPLICABLE
    assert judged(launched(), "cli.archive", **remote).verdict is Verdict.NOT_APPLICABLE
    unseen = World().launch(state="timeout")
    assert judged(unseen, "cli.archive", **remote).verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("declared", "exported", "verdict"),
    [
        ("/home/u/palace", "/home/u/palace", Verdict.PASS),
        ("/home/u/palace", "/elsewhere", Verdict.FAIL),
        ("/home/u/palace", "", Verdict.FAIL),
        ("~/palace", "~/palace", Verdict.FAIL),
        (None, "", Verdict.WARN),
    ],
)
def test_a_palace_of_its_own_is_named(
    declared: str | None, exported: str, verdict: Verdict
) -> None:
    given: dict[str, Value] = {} if declared is None else {"local_palace": declared}
    world = launched(copy(UV), exported={"MEMPALACE_PALACE_PATH": exported} if exported else {})
    assert judged(world, "cli.palace", **given).verdict is verdict


def test_the_model_is_whole_or_a_service_embeds() -> None:
    given = {"embedding_folder": "/opt/model"}
    whole = launched(copy(UV)).folder(MODEL, *MODEL_FILES)
    assert judged(whole, "cli.model", **given).verdict is Verdict.PASS
    cut = launched(copy(UV)).folder(MODEL, *MODEL_FILES[1:])
    assert judged(cut, "cli.model", **given).evidence == (MODEL_FILES[0],)
    assert judged(launched(copy(UV)), "cli.model", **given).verdict is Verdict.FAIL
    unseen = launched(copy(UV)).broken(MODEL, State.UNSUPPORTED, why="no")
    assert judged(unseen, "cli.model", **given).verdict is Verdict.NOT_CHECKED
    assert judged(whole, "cli.model").verdict is Verdict.NOT_APPLICABLE
    service = {"embedding_model": "openai-compat"}
    assert judged(launched(copy(UV)), "cli.model", **service).verdict is Verdict.FAIL
    named = {**service, "embedding_url": "http://127.0.0.1:9"}
    assert judged(launched(copy(UV)), "cli.model", **named).verdict is Verdict.PASS
    old = launched(copy(UV, "mempalace 3.6.0"))
    assert judged(old, "cli.model", **named).verdict is Verdict.FAIL
