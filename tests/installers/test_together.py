"""Files that come one after the other are placed by one program, as safely as one by one."""

import hashlib
import re
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench
from support.cutting import counted, perl_at, without_perl

from fleet.installers.items import FileBody, Item
from fleet.installers.model import Content, Plan
from fleet.inventory.model import SecretRef
from fleet.secrets import Secret

HOSTILE = ("a b", "quo'te", 'dou"ble', "new\nline", "-dash", "ünï", "do$lar", "st*r", "back\\slash")
TOKEN = "tok-EXAMPLE-7"
PROGRAMS = (
    *("cat", "chmod", "cp", "cut", "date", "grep", "head", "id", "ln", "mkdir", "mv", "perl"),
    *("readlink", "rm", "rmdir", "sed", "sha256sum", "sort", "stat", "tail", "touch", "tr"),
    *("uname", "wc"),
)


def files(text: bytes, *, mode: int = 0o644) -> tuple[Item, ...]:
    """Nine files of names that are hard to quote, and one whose contents are."""
    named = [Item("kit", f"f{n}", f"~/{name}", FileBody(Content(data=text + name.encode()), mode))
             for n, name in enumerate(HOSTILE)]  # fmt: skip
    odd = Content(data=text + b"'\0\xff%d %s \\n \r\n\t")
    return (*named, Item("kit", "odd", "~/odd", FileBody(odd, 0o600)))


@pytest.fixture(params=["dash", "bash"])  # busybox has commands of its own, and takes no others
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "home", request.param)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "shims"
    made.mkdir()
    return made


def when_begun(bench: Bench, folder: Path, act: str) -> None:
    """Let something happen when all paths were held and the journal comes into its place."""
    shim = folder / "mv"
    shim.write_text(
        f'#!/bin/dash\ncase $* in *journal.new*) {act} ;; esac\nexec /bin/mv "$@"\n',
        encoding="utf-8",
    )
    shim.chmod(0o755)
    bench.path = f"{folder}:/usr/bin:/bin"


def there(bench: Bench, text: bytes) -> bool:
    return all((bench.home / name).read_bytes() == text + name.encode() for name in HOSTILE)


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("perl", ["perl", "no perl"])
def test_many_files_come_and_go_whatever_they_are_called(
    tmp_path: Path, folder: Path, perl: str, shell: str
) -> None:
    bench = Bench(tmp_path / "home", shell)
    if perl == "no perl":
        without_perl(folder)
        bench.path = f"{folder}:/usr/bin:/bin"
    before = bench.tree()

    bench.bring(*files(b"old"))
    assert there(bench, b"old")
    bench.bring(*files(b"new", mode=0o4750))

    assert there(bench, b"new")
    assert {(bench.home / n).stat().st_mode & 0o7777 for n in HOSTILE} == {0o4750}
    assert not bench.stray()
    assert bench.plan(*files(b"new", mode=0o4750)).changes == 0
    bench.uninstall()
    assert bench.tree() == before


def test_perl_renames_many_and_is_left_out_for_one(bench: Bench, folder: Path) -> None:
    perl_at(bench, folder, 0, "")
    bench.bring(*files(b"old"))
    # A mode, a line of the journal and a name for each, and for the ledger.
    assert counted(folder) == 3 * len(files(b"")) + 3

    bench.bring(*files(b"new"))
    assert counted(folder) == 7 * len(files(b"")) + 3 + 4


FAILS = '$what eq "syswrite" or return 0'


@pytest.mark.parametrize("act", ["kill KILL => $$", "kill TERM => 0", "exit 0", FAILS])
def test_whatever_becomes_of_perl_all_is_done_or_undone(
    tmp_path: Path, folder: Path, act: str
) -> None:
    wanted = files(b"new", mode=0o600)[:3]
    number, met, done = 0, True, set[bool]()
    while met:
        number += 1
        bench = Bench(tmp_path / f"home{number}", "dash")
        bench.bring(*files(b"old", mode=0o600)[:2])
        before = bench.tree()
        made = bench.plan(*wanted)
        perl_at(bench, folder, number, act)

        applied = bench.apply(made)

        met = counted(folder) >= number
        done.add(applied.committed)
        assert applied.committed or applied.undone
        assert not bench.stray()
        assert not list(bench.home.glob(".local/state/fleet/journal*"))
        if applied.committed:
            assert bench.plan(*wanted).changes == 0
        else:
            assert bench.tree() == before
            assert applied.failure is not None
    assert number > 10
    # What perl itself says that it could not do is done the other way.
    assert done == ({True} if act == FAILS else {True, False})


def undone_at(bench: Bench, made: Plan) -> tuple[str, str]:
    """Apply a plan that fails; returns which step failed, and why."""
    applied = bench.apply(made)
    assert applied.undone
    assert not bench.stray()
    assert applied.failure is not None
    return applied.failure.step.partition(" ")[0], applied.failure.reason


def test_what_changes_after_the_plan_was_held_is_found_before_anything_is_placed(
    bench: Bench, folder: Path
) -> None:
    bench.bring(*files(b"old"))
    mine = bench.home / HOSTILE[3]
    made = bench.plan(*files(b"new"))
    when_begun(bench, folder, f"echo mine >'{mine}'")

    assert undone_at(bench, made) == ("kit.f3", "it changed since the plan; plan again")

    assert mine.read_text() == "mine\n"
    assert (bench.home / HOSTILE[2]).read_bytes().startswith(b"old")


def test_a_folder_in_the_way_of_one_undoes_all(bench: Bench, folder: Path) -> None:
    made = bench.plan(*files(b"new"))
    when_begun(bench, folder, f"/bin/mkdir '{bench.home / HOSTILE[4]}'")

    assert undone_at(bench, made)[0] == "kit.f4"

    assert list(bench.tree()) == [HOSTILE[4]]


def deep(*names: str) -> tuple[Item, ...]:
    content = Content(data=b"x")
    return tuple(Item("kit", n, f"~/a/b/{n}/c/f", FileBody(content, 0o644)) for n in names)


def test_folders_are_made_together(bench: Bench, folder: Path) -> None:
    before = bench.tree()

    said = told(bench, folder, *deep("d", "e"))

    assert re.findall("^started (.*)", said, re.MULTILINE).count("mkdir") == 4
    bench.uninstall()
    assert bench.tree() == before


def test_a_folder_that_cannot_be_made_is_named_and_the_others_are_undone(
    bench: Bench, folder: Path
) -> None:
    bench.bring(*files(b"old")[:2])
    before = bench.tree()
    made = bench.plan(*files(b"new")[:2], *deep("d", "e"))
    shim = folder / "mkdir"  # with a mode and seven folders
    shim.write_text(
        '#!/bin/dash\n[ $# = 8 ] || exec /bin/mkdir "$@"\n'
        '/bin/mkdir "$1" "$2" "$3" "$4" "$5" || exit\necho "$6: no" >&2\nexit 1\n'
    )
    shim.chmod(0o755)
    bench.path = f"{folder}:/usr/bin:/bin"

    applied = bench.apply(made)

    assert applied.undone
    assert applied.failure is not None
    assert applied.failure.step == f"kit.d ({bench.home}/a/b/d/c)"
    assert applied.failure.detail == (f"{bench.home}/a/b/d/c: no",)
    assert bench.tree() == before


@pytest.mark.parametrize("what", ["/bin/mkdir -m 711", "touch"])
def test_a_folder_that_somebody_makes_meanwhile_stays(
    bench: Bench, folder: Path, what: str
) -> None:
    made = bench.plan(*deep("d", "e"))
    when_begun(bench, folder, f"{what} '{bench.home}/a'")

    applied = bench.apply(made)

    mine = bench.home / "a"
    if what == "touch":
        assert applied.failure is not None
        assert applied.failure.step == f"kit.d ({mine})"
        assert list(bench.tree()) == ["a"]
    else:
        assert applied.committed
        assert mine.stat().st_mode & 0o777 == 0o711


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize("name", ["d", "e"])
def test_of_folders_only_those_stay_in_which_somebody_put_something(
    tmp_path: Path, shell: str, name: str
) -> None:
    bench = Bench(tmp_path / "home", shell)
    bench.bring(*deep("d", "e"))
    bench.write(f"a/b/{name}/c/mine", "x")

    bench.uninstall()

    assert sorted(bench.tree()) == [
        *("a", "a/b", f"a/b/{name}", f"a/b/{name}/c", f"a/b/{name}/c/mine")
    ]


def test_no_digest_of_a_secret_is_an_argument(bench: Bench, folder: Path) -> None:
    reference = SecretRef("env", "TOKEN")
    bench.values[reference] = Secret(TOKEN)
    sealed = Content(data="K='\ue000env:TOKEN\ue001'\n".encode(), syntax="env", sealed=True)
    items = (*files(b"x")[:2], Item("kit", "env", "~/.env", FileBody(sealed, 0o600)))

    said = told(bench, folder, *items)

    assert "journal/at" in said
    assert hashlib.sha256(f"K='{TOKEN}'\n".encode()).hexdigest() not in said
    assert TOKEN not in said


def test_ten_files_take_eight_programs(bench: Bench, folder: Path) -> None:
    bench.bring(*files(b"old"))

    said = told(bench, folder, *files(b"new"))

    # The lock, what is there, the journal and its place, what is there and beside, all into their
    # places, the journal is done, and away with it.
    wanted = ["mkdir", "sha256sum", "mkdir", "mv", "sha256sum", "perl", "mv", "rm"]
    assert re.findall("^started (.*)", said, re.MULTILINE) == wanted


def told(bench: Bench, folder: Path, *items: Item) -> str:
    """Apply a plan; returns which programs were started for it, and all their arguments."""
    said = folder / "said"
    for name in PROGRAMS:
        shim = folder / name
        shim.write_text(
            f'#!/bin/dash\nprintf "started {name}\\n" >>{said}\nprintf "%s\\n" "$@" >>{said}\n'
            f'exec /usr/bin/{name} "$@"\n'
        )
        shim.chmod(0o755)
    made = bench.plan(*items)
    bench.path = f"{folder}:/usr/bin:/bin"
    assert bench.apply(made).committed
    return said.read_text()
