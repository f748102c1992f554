"""Packages that pi installs: what its settings say, what lies on the disk, what pi does then."""

import json
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench, Files
from support.facts import target
from support.npm_registry import NpmRegistry
from support.programs import bench_of, calls, fake
from support.tools import npm_bin, pi_tool

from fleet.errors import PlanError
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.running import CommandFact, LaunchFact
from fleet.installers.desired import desired
from fleet.installers.items import FileBody, Item, MergeBody, PackageBody
from fleet.installers.model import Content, Plan, Run
from fleet.installers.planning import plan, questions
from fleet.systems.model import Package, System
from fleet.systems.resolve import resolve

AGENT = ".pi/agent"
SETTINGS = f"{AGENT}/settings.json"
#: Notes a package as pi does; the real one is asked further below.
PI = """
echo "in $PI_CODING_AGENT_DIR" >>"{log}"
s=$PI_CODING_AGENT_DIR/settings.json n=${{2#npm:}}
d=$PI_CODING_AGENT_DIR/npm/node_modules/${{n%%@*}}
case $1 in
  install) mkdir -p "$d"; echo "{{\\"packages\\": [\\"$2\\"]}}" >"$s"
    echo "{{\\"version\\": \\"${{n#*@}}\\"}}" >"$d/package.json" ;;
  remove) rm -r "$d"; echo '{{"packages": []}}' >"$s" ;;
esac
"""


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    made = bench_of(tmp_path, request.param)
    fake(made, "pi", PI.format(log=tmp_path / "log"))
    return made


def package(version: str = "", name: str = "pi-mcp-adapter", folder: str = "~/.pi/agent") -> Item:
    return Item("mcp", "adapter", "", PackageBody("pi", name, name, version, folder))


def installed(bench: Bench, source: object, version: str = "") -> None:
    bench.write(SETTINGS, json.dumps({"packages": [source]}))
    if version:
        manifest = json.dumps({"version": version})
        bench.write(f"{AGENT}/npm/node_modules/pi-mcp-adapter/package.json", manifest)


def test_a_package_is_installed_once_pinned_anew_and_removed(bench: Bench) -> None:
    made = bench.bring(package("2.35.0"))
    assert made.steps[0].summary == "install pi-mcp-adapter 2.35.0 with pi"
    assert calls(bench) == ["pi install npm:pi-mcp-adapter@2.35.0", "in ~/.pi/agent"]
    assert bench.plan(package("2.35.0")).changes == 0
    assert bench.plan(package()).changes == 0
    made = bench.bring(package("2.36.0"))
    assert made.steps[0].summary == "install pi-mcp-adapter 2.36.0 with pi in place of 2.35.0"
    calls(bench)
    bench.uninstall()
    assert calls(bench) == ["pi remove npm:pi-mcp-adapter", "in ~/.pi/agent"]


def test_a_moved_agent_folder_is_told_to_pi(bench: Bench) -> None:
    bench.bring(package("1", folder="~/moved"))
    assert calls(bench)[1] == "in ~/moved"
    assert bench.plan(package("1", folder="~/moved")).changes == 0
    assert bench.plan(package("1")).changes == 1
    bench.uninstall()
    assert calls(bench)[1] == "in ~/moved"


@pytest.mark.parametrize(
    ("source", "version", "wanted", "changes", "conflicts"),
    [
        ("npm:pi-mcp-adapter", "2.36.0", "2.36.0", 0, 0),
        ("npm:pi-mcp-adapter@2.36.0", "2.36.0", "", 0, 0),
        ({"source": "npm:pi-mcp-adapter", "skills": []}, "2.36.0", "2.36.0", 0, 0),
        ("npm:pi-mcp-adapter", "2.30.0", "2.36.0", 0, 1),
        ("npm:pi-mcp-adapter", "", "2.36.0", 1, 0),
        ("npm:pi-mcp-adapter-theme", "2.36.0", "2.36.0", 1, 0),
        ("npm:@me/pi-mcp-adapter", "2.36.0", "2.36.0", 1, 0),
    ],
)
def test_a_package_is_there_where_pi_names_it_and_has_it(
    bench: Bench, source: object, version: str, wanted: str, changes: int, conflicts: int
) -> None:
    installed(bench, source, version)
    made = bench.plan(package(wanted))
    assert (made.changes, len(made.conflicts)) == (changes, conflicts)


def test_a_package_that_others_installed_is_put_back(bench: Bench) -> None:
    installed(bench, "npm:pi-mcp-adapter", "2.30.0")
    bench.bring(package("2.36.0"), adopt=True)
    calls(bench)
    bench.uninstall()
    assert calls(bench)[0] == "pi install npm:pi-mcp-adapter@2.30.0"


@pytest.mark.parametrize("content", ['{"theme": "dark",', "// mine\n{}", "[" * 100_000])
def test_settings_that_pi_cannot_read_are_a_conflict(bench: Bench, content: str) -> None:
    """Pi installs into them without a note, and ends with 0."""
    bench.write(SETTINGS, content)
    [conflict] = bench.plan(package()).conflicts
    told = "~/.pi/agent/settings.json does not parse: pi would install the package and not load it"
    assert conflict.what == told
    assert not conflict.adoptable


def test_an_install_that_fails_is_undone_without_a_second_failure(bench: Bench) -> None:
    fake(bench, "pi", 'echo "npm error notarget"; exit 1')
    applied = bench.apply(bench.plan(package("99")))
    assert applied.failure is not None
    assert applied.failure.detail == ("npm error notarget",)
    assert applied.undone
    assert calls(bench) == ["pi install npm:pi-mcp-adapter@99"]


def test_a_pi_that_is_not_there_is_said(bench: Bench) -> None:
    (bench.home.parent / "bin/pi").unlink()
    applied = bench.apply(bench.plan(package()))
    assert applied.failure is not None
    assert applied.failure.reason == "the program is not there"


def test_a_pi_that_only_a_launch_finds_is_used(bench: Bench) -> None:
    """A version manager puts it on the PATH of the interactive shell and nowhere else."""
    own = bench.home / "node/bin"
    own.mkdir(parents=True)
    (bench.home.parent / "bin/pi").rename(own / "pi")
    seen = bench.look(questions([package()]))
    made = plan([package()], launched(seen, own / "pi"))
    assert bench.apply(made).committed
    assert calls(bench)[0] == "pi install npm:pi-mcp-adapter"
    bench.uninstall()
    assert calls(bench)[0] == "pi remove npm:pi-mcp-adapter"


def launched(facts: Facts, pi: Path) -> Facts:
    file = PathFact(path=str(pi), absolute=str(pi), state=State.PRESENT, kind="file")
    launch = LaunchFact(
        launch="zsh -ic", state="ok", commands={"pi": CommandFact(name="pi", file=file)}
    )
    return facts.model_copy(update={"launches": {"zsh -ic": launch}})


def test_a_repository_is_named_as_pi_does(bench: Bench) -> None:
    mine = package("v1", "git:git.example.net/me/notes")
    made = bench.plan(mine)
    assert words(made)[3:] == ("install", "git:git.example.net/me/notes@v1")
    bench.write(SETTINGS, '{"packages": ["git:git.example.net/me/notes@v1"]}')
    assert bench.plan(mine).changes == 1
    bench.write(f"{AGENT}/git/git.example.net/me/notes/README.md", "x")
    assert bench.plan(mine).changes == 0
    [conflict] = bench.plan(package("v2", "git:git.example.net/me/notes")).conflicts
    assert "git:git.example.net/me/notes v1 is installed" in conflict.what


def words(made: Plan) -> tuple[str, ...]:
    [run] = [action for _, action in made.actions if isinstance(action, Run)]
    return run.words


def test_what_others_set_in_the_settings_is_set_before_pi_rewrites_them(bench: Bench) -> None:
    bench.write(SETTINGS, '{"theme": "dark"}')
    settings = Item("kit", "settings", f"~/{SETTINGS}", MergeBody({"defaultThinkingLevel": "low"}))
    late = Item(
        "mcp", "note", "~/note", FileBody(Content(data=b"x"), 0o644), needs=("mcp.adapter",)
    )
    made = bench.bring(package(), late, settings)
    assert [step.key for step in made.steps] == ["kit.settings", "mcp.adapter", "mcp.note"]


def test_only_a_package_of_pi_has_a_folder() -> None:
    for manager, folder in (("pi", ""), ("uv", "~/.pi/agent")):
        artifact = Package.model_validate(
            {"kind": "package", "manager": manager, "package": "x", "folder": folder}
        )
        system = System(system="s", about="x", artifacts={"p": artifact})
        where = target("pi")
        with pytest.raises(PlanError, match="has a `folder`"):
            desired(resolve([system], where), where, Files())


def test_the_real_pi_installs_and_removes_a_package(tmp_path: Path) -> None:
    tool = pi_tool()
    path = f"{tool.bin_dir}:{npm_bin()}:/usr/bin:/bin"
    bench = Bench(tmp_path / "home", "dash", path=path, seconds=300)
    bench.write(SETTINGS, '{\n  "theme": "dark"\n}')
    manifest = bench.home / AGENT / "npm/node_modules/@me/notes/package.json"

    def wanted(version: str) -> Item:
        return package(version, "@me/notes")

    with NpmRegistry({"@me/notes": {"1.0.0": {}, "1.1.0": {}}}) as registry:
        registry.configure(bench.home)
        bench.bring(wanted("1.0.0"))
        assert json.loads(manifest.read_text())["version"] == "1.0.0"
        noted = json.loads((bench.home / SETTINGS).read_text())
        assert noted["packages"] == ["npm:@me/notes@1.0.0"]
        assert bench.plan(wanted("1.0.0")).changes == 0

        bench.bring(wanted("1.1.0"))
        assert json.loads(manifest.read_text())["version"] == "1.1.0"
        applied = bench.apply(bench.plan(wanted("9.9.9")))
        assert applied.failure is not None
        assert any("notarget" in line for line in applied.failure.detail)
        assert applied.undone
        assert json.loads(manifest.read_text())["version"] == "1.1.0"

    bench.uninstall()
    assert not manifest.exists()
    assert json.loads((bench.home / SETTINGS).read_text()) == {"theme": "dark", "packages": []}
    assert not (bench.home / ".local/state/fleet/ledger.json").exists()
