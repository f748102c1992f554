"""A secret is written where it belongs, and shows nowhere else."""

import subprocess
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench, Files
from support.places import CASES, ROOT

from fleet.errors import PlanError, SecretError
from fleet.installers.content import filled, masked, written
from fleet.installers.desired import desired
from fleet.installers.items import Item
from fleet.installers.model import Plan, PutFile
from fleet.installers.program import library
from fleet.inventory.model import Address, Scheme, SecretRef, Target, Value
from fleet.inventory.render import secret_mark
from fleet.secrets import Secret
from fleet.systems.catalogue import load_catalogue
from fleet.systems.model import System
from fleet.systems.resolve import resolve

CANARY = 'tok-EXAMPLE-c4n4ry $`\\"#;&%s*'
TOKEN = SecretRef("env", "TOKEN")


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "home", request.param, values={TOKEN: Secret(CANARY)})


def files() -> Files:
    folder = ROOT / "templates" / "env"
    return Files({f"env/{p.name}": p.read_text() for p in folder.iterdir()})


def items(*launches: str, **variables: Value) -> tuple[Item, ...]:
    """The items of the real systems ``env`` and ``mempalace-bridge``, the link left out."""
    catalogue = load_catalogue()
    given: dict[str, Value] = {
        "palace_url": "https://palace.example.net/mcp",
        "palace_token": TOKEN,
        "device": "it's me",
    }
    target = Target(
        "box",
        Address(Scheme.LOCAL, "/nowhere"),
        systems=("mempalace-bridge", "env"),
        variables={**given, **variables},
        launches=launches or ("bash -lc",),
    )
    resolved = resolve([catalogue.system(name) for name in target.systems], target)
    return tuple(i for i in desired(resolved, target, files()) if i.system == "env")


def sourced(bench: Bench, name: str, *words: str) -> str:
    env = {"HOME": str(bench.home), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [*words, f'printf %s "${name}"'], env=env, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_the_env_file_is_private_and_gives_a_login_shell_every_variable(bench: Bench) -> None:
    made = bench.bring(*items())

    env = bench.home / ".config/pi/.env"
    assert env.stat().st_mode & 0o7777 == 0o600
    assert env.parent.stat().st_mode & 0o7777 == 0o700
    assert sourced(bench, "MEMPALACE_REMOTE_TOKEN", "bash", "-lc") == CANARY
    assert sourced(bench, "MEMPALACE_PI_DEVICE", "bash", "-lc") == "it's me"
    assert sourced(bench, "MEMPALACE_REMOTE_TOKEN", "bash", "--norc", "-c") == ""
    assert [s.key for s in made.steps] == ["env.file", "env.loader-login"]
    assert bench.plan(*items()).changes == 0
    bench.uninstall()
    assert bench.tree() == {}


@pytest.mark.parametrize("there", ["x=y", "case $- in *i*) ;; *) return;; esac\n", "set -a\n"])
def test_the_loader_is_read_by_an_interactive_shell(bench: Bench, there: str) -> None:
    bench.write(".bashrc", there)

    bench.bring(*items("bash -ic"))

    assert sourced(bench, "MEMPALACE_REMOTE_TOKEN", "bash", "-ic") == CANARY


def test_a_variable_that_is_not_the_files_is_left_unexported(bench: Bench) -> None:
    bench.write(".profile", "mine=1\n")
    bench.bring(*items())

    done = sourced(bench, "x; env", "bash", "-lc")

    assert "mine" not in done
    assert "fleet_env" not in done


def test_no_secret_in_plans_programs_libraries_or_exceptions(bench: Bench) -> None:
    made = bench.plan(*items())

    script, payload = bench.program(made)
    assert script == library()
    shown = [made.to_json(), repr(made), script, repr(payload), str(payload), f"{payload}"]
    shown += [step.diff for step in made.steps]
    assert not [text for text in shown if "c4n4ry" in text]
    assert "MEMPALACE_REMOTE_TOKEN='***'" in made.steps[0].diff


def test_no_secret_in_any_argument_list(tmp_path: Path) -> None:
    """Every program that the shell starts is logged by a stand-in, arguments and environment."""
    for shell in ("dash", "bash"):
        bench = Bench(tmp_path / shell, shell, values={TOKEN: Secret(CANARY)})
        shims, log = tmp_path / f"{shell}-shims", tmp_path / f"{shell}.log"
        shims.mkdir()
        for tool in sorted(p.name for p in Path("/usr/bin").iterdir()):
            if tool in ("dash", "sh", "env", "["):
                continue
            shim = shims / tool
            shim.write_text(
                f'#!/bin/dash\nprintf "%s\\n" "{tool} $*" >>"{log}"\nexec "/usr/bin/{tool}" "$@"\n'
            )
            shim.chmod(0o755)
        made = bench.plan(*items())
        bench.path = str(shims)
        applied = bench.apply(made)
        assert applied.committed
        told = log.read_text()
        assert "mv " in told
        assert "c4n4ry" not in told
        assert not [
            p
            for p in bench.home.rglob("*")
            if p.is_file() and p.name != ".env" and b"c4n4ry" in p.read_bytes()
        ]


def test_the_program_of_a_target_that_prints_a_secret_is_masked(bench: Bench) -> None:
    from fleet.installers.model import Run, Step  # noqa: PLC0415 - this test alone

    made = bench.plan(*items())
    run = Run(
        words=("sh", "-c", '. "$HOME/.config/pi/.env"; echo "$MEMPALACE_REMOTE_TOKEN"; exit 1')
    )
    step = Step(key="x.y", change="create", summary="run", actions=(run,))

    applied = bench.apply(made.model_copy(update={"steps": (*made.steps, step)}))

    assert applied.failure is not None
    assert applied.failure.detail == ("***",)
    assert bench.tree() == {}


def test_a_changed_secret_is_told_without_being_shown(bench: Bench) -> None:
    bench.bring(*items())
    bench.values[TOKEN] = Secret("tok-EXAMPLE-c4n4ry-2")

    made = bench.plan(*items())

    [step] = made.steps
    assert f"{TOKEN}: changed" in step.notes
    assert "-MEMPALACE_REMOTE_TOKEN=***  (as it is)\n+MEMPALACE_REMOTE_TOKEN='***'" in step.diff
    assert "c4n4ry" not in made.to_json()
    bench.bring(*items())
    assert sourced(bench, "MEMPALACE_REMOTE_TOKEN", "bash", "-lc") == "tok-EXAMPLE-c4n4ry-2"


def test_another_value_changes_while_the_secret_does_not(bench: Bench) -> None:
    bench.bring(*items())

    made = bench.plan(*items(device="other"))

    assert f"{TOKEN}: unchanged" in made.steps[0].notes
    assert "MEMPALACE_REMOTE_TOKEN" not in "".join(
        line for line in made.steps[0].diff.splitlines() if line[:1] in "+-"
    )


def test_b15_a_secret_others_could_read_is_told_as_leaked(bench: Bench) -> None:
    subprocess.run(["sh", str(CASES / "B15/make.sh"), str(bench.home)], check=True)
    there = (bench.home / "token.env").read_bytes()
    item = items(env_file="~/token.env")[0]

    [conflict] = bench.plan(item).conflicts
    made = bench.bring(item, adopt=True)

    assert "a regular file that fleet did not put there" in conflict.what
    assert any("consider the secrets in it leaked" in note for note in made.steps[0].notes)
    assert (bench.home / "token.env").stat().st_mode & 0o7777 == 0o600
    bench.uninstall()
    assert (bench.home / "token.env").read_bytes() == there


def test_b15_the_file_is_private_from_its_first_byte(tmp_path: Path) -> None:
    """The name beside is looked at the moment before it is renamed, and before any chmod."""
    bench = Bench(tmp_path / "home", values={TOKEN: Secret(CANARY)})
    shims, log = tmp_path / "shims", tmp_path / "modes"
    shims.mkdir()
    for tool in ("touch", "chmod", "mv", "sha256sum"):
        (shims / tool).write_text(
            f'#!/bin/dash\nstat -c "%a %n" "{bench.home}"/.config/pi/.fleet-*.new >>"{log}" '
            f'2>/dev/null\nexec /usr/bin/{tool} "$@"\n'
        )
        (shims / tool).chmod(0o755)
    made = bench.plan(*items())
    bench.path = f"{shims}:/usr/bin:/bin"

    assert bench.apply(made).committed

    modes = {line.split()[0] for line in log.read_text().splitlines()}
    assert modes == {"600"}


def test_a_private_file_that_drifted_is_mended_and_told(bench: Bench) -> None:
    bench.bring(*items())
    (bench.home / ".config/pi/.env").chmod(0o644)

    made = bench.bring(*items())

    assert any("leaked" in note for note in made.steps[0].notes)
    assert (bench.home / ".config/pi/.env").stat().st_mode & 0o7777 == 0o600


def test_an_edited_env_file_is_a_conflict(bench: Bench) -> None:
    bench.bring(*items())
    with (bench.home / ".config/pi/.env").open("a") as env:
        env.write("MINE=1\n")

    [conflict] = bench.plan(*items()).conflicts

    assert "edited since fleet wrote it" in conflict.what
    [left] = bench.uninstall().conflicts
    assert "left alone" in left.what
    assert (bench.home / ".config/pi/.env").read_text().endswith("MINE=1\n")


def test_a_saved_plan_is_applied_later_with_todays_secret(bench: Bench) -> None:
    saved = bench.plan(*items()).to_json()
    bench.values[TOKEN] = Secret("tok-EXAMPLE-longer-than-before-by-far")

    applied = bench.apply(Plan.from_json(saved))

    assert applied.committed
    assert bench.plan(*items()).changes == 0


def test_a_secret_that_cannot_be_spelt_is_refused_before_anything_is_sent(bench: Bench) -> None:
    for value in ("tok-EXAMPLE'quote", "tok-EXAMPLE\nline"):
        bench.values[TOKEN] = Secret(value)
        [conflict, *_] = bench.plan(*items()).conflicts
        assert "cannot hold" in conflict.what
        assert "tok-EXAMPLE" not in conflict.what + conflict.hint


def test_a_secret_without_a_value_is_a_conflict(bench: Bench) -> None:
    bench.values.clear()

    [conflict, *_] = bench.plan(*items()).conflicts

    assert conflict.what == "!secret env:TOKEN has no value"


def test_a_secret_is_spelt_as_its_file_asks() -> None:
    mark = secret_mark(TOKEN)

    def reveal(_: SecretRef) -> Secret:
        return Secret('a"<&b')

    assert filled(written(f'{{"t": "{mark}"}}', "json"), reveal) == b'{"t": "a\\"<&b"}'
    assert filled(written(f"<s>{mark}</s>", "xml"), reveal) == b'<s>a"&lt;&amp;b</s>'
    assert masked(written(f"t={mark}")) == b"t=***"
    with pytest.raises(SecretError):
        filled(written(mark), lambda _: Secret("a\x1bb"))


@pytest.mark.parametrize(
    "artifact, what",
    [
        ({"kind": "template", "template": "t", "mode": "0644"}, "readable by others"),
        ({"kind": "template", "template": "t", "mode": "rw"}, "not an octal number"),
        ({"kind": "compose", "template": "t", "project": "p"}, "would hold a secret"),
        (
            {"kind": "service", "template": "t", "manager": "systemd", "unit": "u"},
            "readable by others",
        ),
        ({"kind": "merge", "set": {"a": "{{ token }}"}}, "read whole"),
    ],
)
def test_a_secret_never_goes_where_others_read(artifact: dict[str, object], what: str) -> None:
    system = System.model_validate(
        {"system": "s", "about": "", "artifacts": {"a": {"path": "~/f", **artifact}}}
    )
    target = Target("box", Address(Scheme.LOCAL, ""), variables={"token": TOKEN})
    resolved = resolve([system], target)

    with pytest.raises(PlanError, match=what):
        desired(resolved, target, Files({"t": "x={{ token }}"}))


def test_b11_an_encrypted_source_is_not_shipped(bench: Bench) -> None:
    system = System.model_validate(
        {
            "system": "s",
            "about": "",
            "artifacts": {"a": {"kind": "copy", "path": "~/f", "source": "x"}},
        }
    )
    target = bench.target
    locked = (CASES / "B11/locked.env").read_bytes()
    made = desired(resolve([system], target), target, Files(sources={"x": locked}))

    [conflict] = bench.plan(*made, adopt=True).conflicts

    assert conflict.what == "x is encrypted by git-crypt and was not unlocked on the controller"
    assert not any(isinstance(a, PutFile) for _, a in bench.plan(*made).actions)


def test_without_the_file_that_it_sources_no_loader_is_written(bench: Bench) -> None:
    bench.values[TOKEN] = Secret("tok'EXAMPLE")
    bench.write(".bashrc", "mine\n")
    before = bench.tree()

    made = bench.plan(*items("bash -lc", "bash -ic", "zsh -ilc"))

    assert made.steps == ()
    file, *loaders = made.conflicts
    assert "a single quote" in file.what
    assert {c.key for c in loaders} == {
        "env.loader-login",
        "env.loader-bash-interactive",
        "env.loader-zsh-interactive",
    }
    assert all("needs env.file, which cannot be brought" in c.what for c in loaders)
    assert bench.tree() == before


def test_a_loader_that_is_there_is_no_conflict_where_its_file_cannot_be_renewed(
    bench: Bench,
) -> None:
    bench.bring(*items())
    bench.values[TOKEN] = Secret("tok'EXAMPLE")

    made = bench.plan(*items())

    assert [c.key for c in made.conflicts] == ["env.file"]
    assert made.unchanged == 1
