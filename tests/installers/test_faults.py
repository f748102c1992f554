"""Whatever goes wrong in the middle, the target ends as it was, or as it was meant."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench, snapshot
from support.cutting import counted, cut_at, without_perl

from fleet.errors import FleetError, TargetBusy
from fleet.installers.items import BlockBody, FileBody, Item, LinkBody, MergeBody
from fleet.installers.model import Content, Plan, Run, Step
from fleet.installers.outcome import read_outcome


def file(path: str, data: bytes, name: str = "file") -> Item:
    return Item("kit", name, path, FileBody(Content(data=data), 0o644))


def link(source: str) -> Item:
    return Item("kit", "link", "~/l", LinkBody(source))


def old_items() -> tuple[Item, ...]:
    first = (file("~/e", b"old\n", "e"), file("~/f", b"old\n"))
    return (*first, link("~/old"), file("~/gone", b"1", "gone"))


def new_items() -> tuple[Item, ...]:
    rc = Item("env", "loader", "~/.zshrc", BlockBody(Content(data=b". ~/x\n"), 0o644))
    registered = Item("reg", "merge", "~/o.json", MergeBody({"a": {"b": 1}}))
    first = (file("~/e", b"new\n", "e"), file("~/f", b"new\n"), file("~/d", b"new\n", "d"))
    return (*first, link("~/new"), file("~/made/deep/g", b"g\n", "g"), rc, registered)


def furnished(home: Path) -> Bench:
    bench = Bench(home)
    for name in ("old", "new"):
        bench.write(name, f"{name}\n")
    bench.write(".zshrc", "alias a=b\n")
    bench.write("o.json", "{}\n")
    return bench


@pytest.fixture
def cutter(tmp_path: Path) -> Path:
    folder = tmp_path / "shims"
    folder.mkdir()
    return folder


def whole(bench: Bench) -> None:
    """At every instant what stood there before resolves to old or new content."""
    assert (bench.home / "e").read_text() in ("old\n", "new\n")
    assert (bench.home / "f").read_text() in ("old\n", "new\n")
    assert (bench.home / "l").read_text() in ("old\n", "new\n")
    assert (bench.home / ".zshrc").read_text().startswith("alias a=b\n")
    assert (bench.home / "o.json").read_text().startswith("{")


def mended(bench: Bench) -> None:
    """Recover what was cut, as the next run does."""
    bench.path = None
    made = bench.plan()
    if made.changes:
        assert made.recover
        applied = bench.apply(made)
        assert applied.recovered
        assert applied.error("box") is None
    assert not bench.plan().changes


@pytest.mark.parametrize("perl", ["perl", "no perl"])
def test_a09_killed_before_any_change_everything_is_old_or_new(
    tmp_path: Path, cutter: Path, perl: str
) -> None:
    number, cut = 0, True
    while cut:
        number += 1
        bench = furnished(tmp_path / f"home{number}")
        pristine = bench.tree()
        bench.bring(*old_items())
        before = bench.tree()
        made = bench.plan(*new_items(), prune=True)
        cut_at(bench, cutter, number)
        if perl == "no perl":
            without_perl(cutter)
        with suppress(FleetError):
            bench.apply(made)
        cut = counted(cutter) == number
        whole(bench)
        mended(bench)
        assert not bench.stray()
        assert not list(bench.home.glob(".local/state/fleet/[!l]*"))
        committed = (bench.home / "f").read_text() == "new\n"
        if not committed:
            assert contents(bench.tree()) == contents(before)
        if number % 7 == 0:
            bench.bring(*new_items(), prune=True)
            assert (bench.home / "l").read_text() == "new\n"
            bench.uninstall()
            assert contents(bench.tree()) == contents(pristine)
    assert number > 25


def test_an_uninstall_that_is_killed_is_mended_too(tmp_path: Path, cutter: Path) -> None:
    number, cut = 0, True
    while cut:
        number += 1
        bench = furnished(tmp_path / f"home{number}")
        pristine = bench.tree()
        bench.bring(*new_items())
        made = bench.plan(prune=True)
        cut_at(bench, cutter, number)
        with suppress(FleetError):
            bench.apply(made)
        cut = counted(cutter) == number
        mended(bench)
        bench.uninstall()
        # Killed between its last removals, only the ledger's own empty folders can be left.
        ours = {".local", ".local/state", ".local/state/fleet"}
        left = {k: v for k, v in contents(bench.tree()).items() if k not in ours}
        assert left == contents(pristine)
        assert not bench.stray()
    assert number > 10


def contents(tree: dict[str, tuple[object, ...]]) -> dict[str, tuple[object, ...]]:
    """A tree without times, and without a dead run's lock, which the next change takes over."""
    return {
        k: (*v[:2], *v[3:]) if v[0] == "file" else v
        for k, v in tree.items()
        if "fleet/lock" not in k
    }


def test_a_reader_never_finds_nothing(tmp_path: Path) -> None:
    bench = furnished(tmp_path / "home")
    bench.bring(*old_items())
    seen: set[str] = set()
    stop = threading.Event()

    def read() -> None:
        while not stop.is_set():
            for name in ("f", "l"):
                try:
                    seen.add((bench.home / name).read_text())
                except OSError as error:
                    seen.add(str(error))

    reader = threading.Thread(target=read)
    reader.start()
    try:
        bench.bring(*new_items(), prune=True)
    finally:
        stop.set()
        reader.join()
    assert seen == {"old\n", "new\n"}


# --- steps that fail, and signals ---


def with_run(made: Plan, *words: str, seconds: int = 30) -> Plan:
    step = Step(
        key="kit.run", change="create", summary="run", actions=(Run(words=words, seconds=seconds),)
    )
    return made.model_copy(update={"steps": (*made.steps, step)})


@pytest.mark.parametrize("shell", SHELLS)
def test_a_step_that_fails_undoes_all_before_it(tmp_path: Path, shell: str) -> None:
    bench = furnished(tmp_path / "home")
    bench.bring(*old_items())
    bench.shell = shell
    before = bench.tree()
    made = with_run(bench.plan(*new_items(), prune=True), "sh", "-c", "echo no good >&2; exit 3")

    applied = bench.apply(made)

    assert not applied.committed
    assert applied.undone
    assert applied.failure is not None
    assert applied.failure.step == "kit.run: run"
    assert applied.failure.detail == ("no good",)
    assert applied.done == len(made.actions) - 1
    assert contents(bench.tree()) == contents(before)
    assert "everything was undone" in str(applied.error("box"))


@pytest.mark.parametrize("shell", SHELLS)
def test_a_first_apply_that_fails_leaves_nothing_at_all(tmp_path: Path, shell: str) -> None:
    bench = Bench(tmp_path / "home", shell)
    made = with_run(bench.plan(file("~/a/b/c", b"x")), "false")

    applied = bench.apply(made)

    assert applied.undone
    assert bench.tree() == {}


@pytest.mark.parametrize("shell", SHELLS)
def test_a_program_that_hangs_is_ended_and_undone(tmp_path: Path, shell: str) -> None:
    bench = Bench(tmp_path / "home", shell)
    made = with_run(bench.plan(file("~/f", b"x")), "sleep", "60", seconds=1)
    started = time.monotonic()

    applied = bench.apply(made)

    assert time.monotonic() - started < 20
    assert applied.failure is not None
    assert applied.failure.reason == "the program took too long"
    assert bench.tree() == {}


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", ["KILL", "TERM"])
def test_a_program_that_a_signal_ends_was_not_slow(tmp_path: Path, shell: str, name: str) -> None:
    bench = Bench(tmp_path / "home", shell)
    made = with_run(bench.plan(file("~/f", b"x")), "sh", "-c", f"kill -{name} $$", seconds=60)

    applied = bench.apply(made)

    assert applied.failure is not None
    assert applied.failure.reason.startswith("the program was ended by a signal")
    assert bench.tree() == {}


class Started:
    """An apply under way, with its streams in hand."""

    def __init__(self, bench: Bench, made: Plan) -> None:
        script, payload = bench.program(made)
        words = ["busybox", "sh"] if bench.shell == "busybox" else [bench.shell]
        self.made = made
        self.process = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            start_new_session=True,
        )  # fmt: skip
        assert self.process.stdin
        self.process.stdin.write((script + payload.reveal()).encode())
        self.process.stdin.close()

    def wait(self, path: Path) -> None:
        for _ in range(200):
            if path.exists():
                time.sleep(0.2)
                return
            time.sleep(0.05)
        raise AssertionError(f"{path} never came")

    def end(self) -> bytes:
        assert self.process.stdout
        output = self.process.stdout.read()
        self.process.stdout.close()
        self.process.wait(20)
        return output


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_undoes_everything(tmp_path: Path, shell: str, number: signal.Signals) -> None:
    bench = Bench(tmp_path / "home", shell)
    run = Started(bench, with_run(bench.plan(file("~/f", b"x")), "sleep", "60", seconds=90))
    run.wait(bench.home / "f")

    run.process.send_signal(number)
    started = time.monotonic()
    output = run.end()

    assert time.monotonic() - started < 10
    assert bench.tree() == {}
    assert f"signal {number.name.removeprefix('SIG')}".encode() in output
    assert b" undone" in output


@pytest.mark.parametrize("shell", SHELLS)
def test_a_cut_connection_undoes_everything(tmp_path: Path, shell: str) -> None:
    bench = Bench(tmp_path / "home", shell)
    made = with_run(bench.plan(file("~/f", b"x")), "sleep", "1")
    made = with_run(made, "sleep", "60")
    run = Started(bench, made)
    run.wait(bench.home / "f")

    assert run.process.stdout
    run.process.stdout.close()
    run.process.wait(30)

    assert bench.tree() == {}


def test_a_program_that_was_cut_on_its_way_runs_nothing(tmp_path: Path) -> None:
    bench = furnished(tmp_path / "home")
    before = bench.tree()
    script, payload = bench.program(bench.plan(*new_items()))
    whole_text = (script + payload.reveal()).encode()
    for shell in SHELLS:
        words = ["busybox", "sh"] if shell == "busybox" else [shell]
        for length in (*range(0, len(whole_text), 997), len(whole_text) - len("main </dev/null\n")):
            subprocess.run(words, input=whole_text[:length], capture_output=True, check=False)
    assert bench.tree() == before


# --- two operators ---


@pytest.mark.parametrize("shell", SHELLS)
def test_the_second_operator_is_told_who_holds_the_target(tmp_path: Path, shell: str) -> None:
    bench = Bench(tmp_path / "home", shell)
    second = bench.plan(file("~/f", b"y"))
    run = Started(bench, with_run(bench.plan(file("~/f", b"x")), "sleep", "4"))
    run.wait(bench.home / "f")

    with pytest.raises(TargetBusy, match=r"held by ann@desk since 20\d\d-.*, process \d+ on "):
        bench.apply(second, holder="bob@lap")

    output = run.end()
    assert b" committed" in output
    assert (bench.home / "f").read_text() == "x"


@pytest.mark.parametrize("shell", SHELLS)
def test_a_lock_whose_holder_is_gone_is_taken_over(tmp_path: Path, shell: str) -> None:
    bench = Bench(tmp_path / "home", shell)
    gone = subprocess.Popen(["true"])
    gone.wait()
    host = os.uname().nodename
    bench.write(".local/state/fleet/lock/holder", f"{gone.pid}\n{host}\n123\nann@desk since then\n")

    bench.bring(file("~/f", b"x"))

    assert not (bench.home / ".local/state/fleet/lock").exists()


@pytest.mark.parametrize("shell", SHELLS)
def test_a_lock_that_nobody_signed_is_taken_over(tmp_path: Path, shell: str) -> None:
    bench = Bench(tmp_path / "home", shell)
    bench.write(".local/state/fleet/lock/holder", "")

    bench.bring(file("~/f", b"x"))

    assert not (bench.home / ".local/state/fleet/lock").exists()


def test_a_lock_of_another_machine_is_respected(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "home")
    bench.write(".local/state/fleet/lock/holder", "1\nelsewhere\n1\nann@desk since then\n")

    with pytest.raises(TargetBusy, match="on elsewhere"):
        bench.apply(bench.plan(file("~/f", b"x")))


def test_a_process_number_that_was_given_again_is_no_holder(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "home")
    host = os.uname().nodename
    bench.write(".local/state/fleet/lock/holder", f"{os.getpid()}\n{host}\n1\nann@desk\n")

    bench.bring(file("~/f", b"x"))


# --- a full disk and a read-only home ---

needs_mount = pytest.mark.skipif(
    sys.platform != "linux" or os.geteuid() != 0, reason="mounting needs root on Linux"
)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=512k", "none", str(folder)], check=False
    )
    if done.returncode:
        pytest.skip("mounting is not allowed here")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


@needs_mount
@pytest.mark.parametrize("shell", SHELLS)
def test_on_a_full_disk_everything_is_done_or_undone(small_disk: Path, shell: str) -> None:
    bench = furnished(small_disk / "home")
    bench.bring(*old_items())
    bench.shell = shell
    before = bench.tree()
    made = bench.plan(*new_items(), file("~/f2", b"0" * 20_000, "f2"), prune=True)
    filler = small_disk / "filler"
    done = 0
    for pages in range(20):
        filler.write_bytes(b"")
        free = os.statvfs(small_disk).f_bavail
        filler.write_bytes(b"\0" * 4096 * max(0, free - pages))
        applied = bench.apply(made)
        if applied.committed:
            done += 1
            break
        assert contents(bench.tree()) == contents(before), applied
        assert not bench.stray()
        assert "space" in str(applied.error("box")) or applied.failure, applied
    assert done
    assert (bench.home / "f").read_text() == "new\n"


@needs_mount
def test_a_read_only_home_is_refused_before_anything_is_tried(small_disk: Path) -> None:
    bench = Bench(small_disk / "home")
    made = bench.plan(file("~/f", b"x"))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)

    applied = bench.apply(made)

    assert applied.refused.startswith(
        "fleet's own folder ~/.local/state/fleet could not be written"
    )
    assert "Read-only" in applied.refused
    assert bench.tree() == {}


def test_an_answer_that_ends_early_is_told(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "home")
    made = bench.plan(file("~/f", b"x"))
    outcome = bench.run(made)
    head = outcome.output.split(b"\n", 1)[0] + b"\n"

    applied = read_outcome(type(outcome)(0, head, b""), made)

    assert applied.cut
    assert "cut" in str(applied.error("box"))
    assert snapshot(bench.home)
