"""A target's answer is hostile until it is parsed; a saved plan is no less so."""

import json
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bench import Bench
from support.planned import TAKEN

from fleet.errors import PlanError, ProbeError, TargetBusy
from fleet.installers.items import FileBody, Item
from fleet.installers.ledger import Ledger, read_ledger
from fleet.installers.model import Content, Plan, PutFile, Run, Step
from fleet.installers.outcome import Applied, read_outcome
from fleet.installers.shellwords import printed, word
from fleet.secrets import Secret


@dataclass(frozen=True)
class Said:
    output: bytes
    errors: bytes = b""


def plan() -> Plan:
    put = PutFile(path="/home/me/f", expect="-", content=Content(data=b"x"), mode=0o644)
    run = Run(words=("true",))
    steps = (
        Step(key="kit.file", change="create", summary="create ~/f", actions=(put,)),
        Step(key="kit.run", change="create", summary="run it", actions=(run,)),
    )
    return Plan(target="box", nonce="n" * 32, taken_at=TAKEN, home="/home/me", steps=steps)


def answer(*frames: str, errors: bytes = b"") -> Applied:
    mark = plan().mark
    output = "".join(f"{mark} {frame}\n" for frame in frames).encode()
    return read_outcome(Said(b"motd\n" + output, errors), plan())


def test_a_whole_run_is_committed() -> None:
    applied = answer("begun", "done 1", "done 2", "done 3", "committed", "end 0")

    assert applied.committed
    assert applied.done == 3
    assert applied.error("box") is None


def test_a_failure_names_the_step_the_reason_and_what_was_undone() -> None:
    applied = answer("begun", "done 1", "failed 2 run", "detail 2 no\x1b[31m", "undone", "end 4")

    error = applied.error("box")
    assert error is not None
    assert str(error) == (
        "box: kit.run: run it: the program failed\n  no\\x1b[31m\n  "
        "everything was undone; the target is as it was"
    )


def test_what_could_not_be_undone_is_said_with_the_way_on() -> None:
    applied = answer("begun", "failed 1 write", "stuck-at 1", "detail 1 why", "stuck", "end 4")

    assert applied.undone is False
    assert "the journal is in" in str(applied.error("box"))
    assert applied.notes == ("kit.file (/home/me/f): could not be undone",)


@pytest.mark.parametrize(
    "frames",
    [
        ("recovering", "stuck-at 1", "stuck", "end 4"),
        ("cleaned", "changed 1", "refused changed", "end 3"),
        ("recovering",),
    ],
)
def test_a_recovery_that_did_not_come_to_its_end_is_no_success(frames: tuple[str, ...]) -> None:
    assert answer("recovering", "undone", "end 0").error("box") is None
    assert answer(*frames).error("box") is not None


def test_a_busy_target_raises_with_its_holder() -> None:
    with pytest.raises(TargetBusy, match="ann@desk since then") as caught:
        answer("busy ann@desk since then, process 1 on box", "end 5")
    assert caught.value.where == "box"


@pytest.mark.parametrize("frame", ["done 9", "done -1", "done x", "failed 99999999 run", "left"])
def test_a_frame_about_no_step_is_refused(frame: str) -> None:
    with pytest.raises(ProbeError, match="a step that the plan does not have"):
        answer(frame)


def test_frames_of_another_run_are_no_answer() -> None:
    with pytest.raises(ProbeError, match="did not carry out") as caught:
        read_outcome(Said(b"@fleet-0123456789abcdef committed\n", b"sh: \x07no\n"), plan())
    assert "\x07" not in str(caught.value)


def test_an_endless_answer_is_refused() -> None:
    with pytest.raises(ProbeError, match="more than 20000 lines"):
        read_outcome(Said(b"\n" * 30_000), plan())


@given(st.binary(max_size=200))
def test_any_bytes_are_survived(noise: bytes) -> None:
    mark = plan().mark.encode()
    for output in (noise, mark + b" " + noise, mark + b" done " + noise + b"\n" + mark + b" end"):
        said = ""
        try:
            said = str(read_outcome(Said(output, noise), plan()).error("box") or "")
        except (ProbeError, TargetBusy) as error:
            said = str(error)
        assert said.replace("\n", "").isprintable()


def test_a_secret_in_the_answer_is_masked() -> None:
    mark = plan().mark
    said = Said(
        f"{mark} failed 2 run\n{mark} detail 2 it is tok-EXAMPLE-1\n{mark} end 4\n".encode()
    )

    applied = read_outcome(said, plan(), hide=[Secret("tok-EXAMPLE-1"), Secret("")])

    assert applied.failure is not None
    assert applied.failure.detail == ("it is ***",)


# --- saved plans and ledgers ---


def test_a_saved_plan_comes_back_as_it_was() -> None:
    assert Plan.from_json(plan().to_json()) == plan()


@pytest.mark.parametrize(
    "change, what",
    [
        ({"format": "fleet.plan/9"}, "format"),
        ({"extra": 1}, "extra"),
        ({"steps": [{"key": "a.b"}]}, "steps.0"),
    ],
)
def test_what_is_no_saved_plan_is_refused(change: dict[str, object], what: str) -> None:
    text = json.dumps({**json.loads(plan().to_json()), **change})
    with pytest.raises(PlanError, match=f"this is not a saved plan: {what}"):
        Plan.from_json(text)
    with pytest.raises(PlanError, match="not a saved plan: the file"):
        Plan.from_json("{")


@pytest.mark.parametrize("text", [b"", b"[]", b'{"format": "fleet.ledger/2"}', b"\xff"])
def test_a_ledger_that_cannot_be_read_stops_everything(tmp_path: Path, text: bytes) -> None:
    with pytest.raises(PlanError, match="the ledger"):
        read_ledger(text, where="box")
    bench = Bench(tmp_path / "home")
    bench.write(".local/state/fleet/ledger.json", text)
    with pytest.raises(PlanError, match="the ledger"):
        bench.plan()


def test_a_ledger_names_absolute_paths_only() -> None:
    entry = {"path": "~/f", "kind": "file", "system": "a", "artifact": "b", "when": str(TAKEN)}
    with pytest.raises(PlanError, match=r"entries\.0\.path"):
        read_ledger(json.dumps({"format": "fleet.ledger/1", "entries": [entry]}).encode(), where="")
    assert read_ledger(Ledger().to_bytes(), where="") == Ledger()


def test_the_ledger_says_who_and_when(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "home")
    bench.bring(Item("kit", "file", "~/f", FileBody(Content(data=b"x"), 0o644)))

    ledger = bench.home / ".local/state/fleet/ledger.json"
    [entry] = read_ledger(ledger.read_bytes(), where="").entries

    assert (entry.path, entry.key, entry.by) == (f"{bench.home}/f", "kit.file", "ann@desk")
    assert ledger.stat().st_mode & 0o777 == 0o600


# --- quoting ---


@given(st.text(alphabet=st.characters(exclude_characters="\0", codec="utf-8"), max_size=60))
def test_a_word_is_one_argument(text: str) -> None:
    import shlex  # noqa: PLC0415 - this test alone

    assert shlex.split(word(text)) == [text]


def test_a_holders_name_cannot_break_out(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "home")
    made = bench.plan(Item("kit", "file", "~/f", FileBody(Content(data=b"x"), 0o644)))

    applied = bench.apply(made, holder=f"a'; touch {tmp_path}/owned #\nb")

    assert applied.committed
    assert not (tmp_path / "owned").exists()


@given(st.lists(st.sampled_from([b"a", b"'", b"%s", b"\\", b"\n", b"\t", b"-", b"\r", b"\xff"])))
def test_content_is_spelt_alike_whatever_it_is_beside(pieces: list[bytes]) -> None:
    data = b"".join(pieces)
    alone = "".join(printed(b"." + data[at : at + 1])[9:-1] for at in range(len(data)))
    assert printed(b"." + data) == f"printf '.{alone}'"


def test_no_printed_content_begins_as_an_option() -> None:
    assert printed(b"-n x") == "printf '\\055n x'"
    assert printed(b"") == ":"
