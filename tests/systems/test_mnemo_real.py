"""pi-mnemo brought by fleet to a home of this machine, and loaded there by the real pi."""

import json
import subprocess
import time
from pathlib import Path

import pytest
from support.homes import Homes
from support.http import FakeModel
from support.living import Living
from support.mnemo import NAME, PACKAGE, copied, files
from support.npm_registry import NpmRegistry
from support.pi import Ended, PiHome
from support.probing import Shell
from support.tools import PI_VERSION, PiTool, npm_bin, pi_tool

SYSTEM = "/usr/bin:/bin"
SAID = "## Memory of this machine"
LINKED = f"mnemo_install: link, mnemo_folder: ~/src/pi-mnemo, mnemo_source: {PACKAGE}"
WINDOW = 'mnemo_dream_window_start: "19:00", mnemo_dream_tz: Europe/Berlin'


@pytest.fixture(scope="module")
def pi() -> PiTool:
    return pi_tool()


@pytest.fixture(scope="module", params=["0.84.0", PI_VERSION])
def any_pi(request: pytest.FixtureRequest) -> PiTool:
    """The pi that pi-mnemo was written for, and one of today."""
    return pi_tool(request.param)


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pi: PiTool) -> Homes:
    """One home whose login shell finds pi and npm, and nothing of pi-mnemo."""
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "one"
    home.mkdir()
    (home / ".bash_profile").write_text(f"export PATH='{pi.bin_dir}:{npm_bin()}:{SYSTEM}'\n")
    return Homes(tmp_path, tmp_path / "fleet.yml", ("one",))


def declare(one: Homes, variables: str) -> None:
    """Let the inventory say how it comes to the home."""
    one.inventory.write_text(
        "hosts:\n  one:\n"
        f"    local: {one.home('one')}\n"
        "    shell: bash -lc\n    systems: [pi-mnemo, env]\n"
        f"    vars: {{{variables}}}\n"
    )


def audited(one: Homes) -> dict[str, dict[str, object]]:
    _, found = one.audit()
    return {gate: finding for (_, gate), finding in found.items() if gate.startswith("mnemo.")}


def run(one: Homes, pi: PiTool, **more: str) -> tuple[Ended, str]:
    """Run the real pi there once; returns how it ended and the system prompt it sent."""
    with FakeModel() as model:
        ended = PiHome(one.home("one"), pi).run(model, "hi", {**exported(one), **more})
        [body] = [body for body in model.bodies if body.get("messages")][:1]
    return ended, json.dumps(body["messages"])


def exported(one: Homes) -> dict[str, str]:
    """Return what the env file that fleet wrote holds, as the launching shell would export it."""
    lines = (one.home("one") / ".config/pi/.env").read_text().splitlines()
    pairs = [line.partition("=") for line in lines if line.startswith("PI_MNEMO_")]
    return {name: value.strip("'") for name, _, value in pairs}


def holds(found: dict[str, dict[str, object]]) -> None:
    bad = {g: f for g, f in found.items() if f["verdict"] not in ("pass", "not-applicable")}
    assert not bad, bad
    assert found["mnemo.placed"]["verdict"] == found["mnemo.seen"]["verdict"] == "pass"


def memory(one: Homes) -> Path:
    return one.home("one") / ".pi/agent/mnemo"


def state(one: Homes) -> dict[str, object]:
    told: dict[str, object] = json.loads((memory(one) / ".state.json").read_text())
    return told


def test_linked_from_a_folder_it_is_loaded_and_told_its_settings(
    one: Homes, any_pi: PiTool
) -> None:
    pi = any_pi
    one.home("one").joinpath(".bash_profile").write_text(f"export PATH='{pi.bin_dir}:{SYSTEM}'\n")
    declare(one, f"{LINKED}, {WINDOW}")
    code, output = one.run("provision", "--yes")
    assert code == 0, output
    holds(audited(one))

    assert audited(one)["mnemo.index"]["verdict"] == "not-applicable"

    ended, said = run(one, pi)
    assert ended.returncode == 0, ended
    assert SAID in said
    assert state(one)["window"] == {"start": 19 * 60, "end": 8 * 60 + 30, "zone": "Europe/Berlin"}
    holds(audited(one))

    code, output = one.run("uninstall", "--yes")
    assert code == 0, output
    assert not (one.home("one") / ".pi/agent/extensions/pi-mnemo").is_symlink()
    assert not (one.home("one") / "src").exists()
    assert (memory(one) / ".state.json").exists()
    assert audited(one)["mnemo.placed"]["verdict"] == "fail"


def test_installed_by_pi_from_npm_it_is_loaded(one: Homes, pi: PiTool) -> None:
    with NpmRegistry({NAME: {"0.1.0": files()}}) as registry:
        registry.configure(one.home("one"))
        declare(one, f"mnemo_version: 0.1.0, {WINDOW}")
        assert one.run("plan")[0] == 2
        code, output = one.run("provision", "--yes")
        assert code == 0, output
        assert "nothing to change" in one.run("plan")[1]
    holds(audited(one))
    ended, said = run(one, pi)
    assert (ended.returncode, SAID in said) == (0, True), ended

    settings = one.home("one") / ".pi/agent/settings.json"
    document = json.loads(settings.read_text())
    settings.write_text(json.dumps({**document, "packages": []}))
    assert audited(one)["mnemo.placed"]["verdict"] == "fail"
    assert SAID not in run(one, pi)[1]
    settings.write_text(json.dumps(document))
    code, output = one.run("uninstall", "--yes")
    assert code == 0, output
    assert not (one.home("one") / ".pi/agent/npm/node_modules/@qltk/pi-mnemo").exists()


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("extensions/.gitignore", "pi-mnemo/\n"),
        ("extensions/index.ts", "export default function () {}\n"),
        ("settings.json", '{"extensions": ["-extensions/pi-mnemo/index.ts"]}'),
        ("settings.json", '{"extensions": ["!extensions/pi-mnemo/index.ts"]}'),
    ],
)
def test_what_is_said_to_hide_it_does(one: Homes, pi: PiTool, path: str, content: str) -> None:
    declare(one, f"{LINKED}, {WINDOW}")
    one.run("provision", "--yes")
    (one.home("one") / ".pi/agent" / path).write_text(content)
    assert audited(one)["mnemo.seen"]["verdict"] == "fail"
    ended, said = run(one, pi)
    assert (ended.returncode, SAID in said) == (0, False)


def test_a_worker_of_its_own_does_nothing(one: Homes, pi: PiTool) -> None:
    declare(one, f'{LINKED}, mnemo_worker: "1"')
    assert one.run("provision", "--yes")[0] == 2
    finding = audited(one)["mnemo.settings"]
    assert finding["verdict"] == "fail", finding
    assert "takes every pi for a worker" in str(finding["evidence"])
    assert SAID not in run(one, pi)[1]


def test_what_the_real_pi_leaves_behind_is_judged(one: Homes, pi: PiTool) -> None:
    declare(one, f"{LINKED}, {WINDOW}")
    one.run("provision", "--yes")
    assert run(one, pi)[0].returncode == 0
    found = audited(one)
    assert found["mnemo.state"]["verdict"] == found["mnemo.dream"]["verdict"] == "pass"
    assert str(found["mnemo.dream"]["message"]) == "the last dream was 0 hours ago"

    assert run(one, pi, MNEMO_TEST_KEEP_LOCK="1")[0].returncode == 0
    left = audited(one)["mnemo.lock"]
    assert (left["verdict"], "is no pi that runs" in str(left["message"])) == ("fail", True), left

    living = Living(one.home("one"), Shell(("sh",), SYSTEM))
    with living.running(pi) as process:
        held = {"pid": process.pid, "ts": int(time.time() * 1000) + 1000}
        (memory(one) / ".dream.lock").write_text(json.dumps(held))
        holds({**audited(one)})
        early = {"pid": process.pid, "ts": int((time.time() - 3600) * 1000)}
        (memory(one) / ".dream.lock").write_text(json.dumps(early))
        assert "is another pi now" in str(audited(one)["mnemo.lock"]["message"])


def test_of_a_private_note_nothing_leaves_the_machine(one: Homes) -> None:
    declare(one, f"{LINKED}, {WINDOW}")
    one.run("provision", "--yes")
    project = memory(one) / "projects/-home-me"
    project.mkdir(parents=True)
    (project / "MEMORY.md").write_text("- [Plan](plan.md) canary-line\n- [Gone](gone.md)\n")
    (project / "plan.md").write_text("canary-words\nsk-EXAMPLE0123456789abcdef\n")
    found = audited(one)
    assert found["mnemo.private"]["verdict"] == found["mnemo.index"]["verdict"] == "fail"
    assert found["mnemo.private"]["evidence"] == ["projects/-home-me/plan.md: a token"]
    assert "names projects/-home-me/gone.md" in str(found["mnemo.index"]["evidence"])
    saved = one.folder / "saved"
    one.run("facts", "all", "-o", str(saved))
    texts = [path.read_text() for path in saved.rglob("*") if path.is_file()]
    everything = "".join((*one.printed, *texts))
    assert "plan.md" in everything
    for canary in ("canary-line", "canary-words", "sk-EXAMPLE"):
        assert canary not in everything


def test_checked_out_by_pi_it_is_loaded(one: Homes, pi: PiTool) -> None:
    """Git asks a repository of this machine in place of the public one."""
    repository = copied(one.folder / "pi-mnemo.git")
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "x"], ["tag", "v0.1.0"]):
        command = ["git", "-c", "user.name=t", "-c", "user.email=t@example.net", *words]
        subprocess.run(command, cwd=repository, check=True, timeout=60)
    (one.home("one") / ".gitconfig").write_text(
        f'[url "file://{one.folder}/"]\n\tinsteadOf = https://gitee.com/liubola/\n'
    )
    (one.folder / "pi-mnemo").symlink_to(repository)
    with NpmRegistry({}) as registry:
        registry.configure(one.home("one"))
        declare(one, f"mnemo_install: git, mnemo_version: v0.1.0, {WINDOW}")
        code, output = one.run("provision", "--yes")
        assert code == 0, output
    holds(audited(one))
    ended, said = run(one, pi)
    assert (ended.returncode, SAID in said) == (0, True), ended
    code, output = one.run("uninstall", "--yes")
    assert code == 0, output
    assert not (one.home("one") / ".pi/agent/git/gitee.com/liubola/pi-mnemo").exists()
