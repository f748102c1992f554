"""Kinds that run programs of the target: packages, compose projects, services, git checkouts."""

import os
import subprocess
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench
from support.programs import bench_of, calls, fake

from fleet.installers.content import written
from fleet.installers.items import GitBody, Item, LinkBody, PackageBody, ServiceBody
from fleet.installers.planning import questions, removal


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return bench_of(tmp_path, request.param)


# --- packages ---

RECEIPT = ".local/share/uv/tools/mempalace/uv-receipt.toml"
UV = f"""
f="$HOME/{RECEIPT}"
case "$2" in
  install) mkdir -p "${{f%/*}}"
    v=${{4#mempalace}}
    echo "[tool]
requirements = [{{ name = \\"mempalace\\", specifier = \\"$v\\" }}]" >"$f" ;;
  uninstall) rm -r "$HOME/.local/share" ;;
esac
"""


def package(version: str = "", manager: str = "uv") -> Item:
    body = PackageBody(manager, "mempalace", "mempalace", version)  # type: ignore[arg-type]  # one of three, as parametrised
    return Item("cli", "package", "", body)


def test_a_package_is_installed_once_pinned_anew_and_removed(bench: Bench) -> None:
    fake(bench, "uv", UV)
    before = bench.tree()

    bench.bring(package("3.10.0"))
    assert calls(bench) == ["uv tool install --quiet mempalace==3.10.0"]
    assert bench.plan(package("3.10.0")).changes == 0
    assert bench.plan(package()).changes == 0
    bench.bring(package("3.11.0"))
    assert calls(bench) == ["uv tool install --quiet mempalace==3.11.0"]
    bench.uninstall()
    assert calls(bench) == ["uv tool uninstall mempalace"]

    assert bench.tree() == before


def test_a_package_that_others_installed_is_not_fleets(bench: Bench) -> None:
    fake(bench, "uv", UV)
    bench.write(RECEIPT, '[tool]\nrequirements = [{ name = "mempalace", specifier = "==3.8.0" }]\n')

    assert bench.plan(package()).changes == 0
    [conflict] = bench.plan(package("3.11.0")).conflicts
    assert "mempalace 3.8.0 is installed" in conflict.what
    bench.bring(package("3.11.0"), adopt=True)
    calls(bench)
    bench.uninstall()

    assert calls(bench) == ["uv tool install --quiet mempalace==3.8.0"]


def test_a_package_manager_that_is_not_there_is_said(bench: Bench) -> None:
    applied = bench.apply(bench.plan(package()))

    assert applied.failure is not None
    assert applied.failure.reason == "the program is not there"
    assert applied.undone
    assert bench.tree() == {}


@pytest.mark.parametrize(
    "manager, wanted",
    [
        ("npm", "npm install --global --no-fund --no-audit --silent mempalace@1.0"),
        ("apt", "apt-get install --yes --quiet --no-install-recommends mempalace=1.0"),
    ],
)
def test_each_manager_is_spoken_to_in_its_own_words(
    bench: Bench, manager: str, wanted: str
) -> None:
    fake(bench, wanted.split(maxsplit=1)[0])

    bench.bring(package("1.0", manager))

    assert calls(bench) == [wanted]


# --- services ---

UNIT = """\
[Service]
EnvironmentFile=%h/.config/p.env
ExecStart=/bin/true
[Install]
WantedBy=default.target
"""
SYSTEMCTL = """
w="$HOME/.config/systemd/user/default.target.wants"
case "$2" in
  enable) mkdir -p "$w"; ln -sf ../p.service "$w/p.service" ;;
  disable) rm -f "$w/p.service" ;;
esac
"""


def service(text: str = UNIT) -> Item:
    body = ServiceBody(written(text), "systemd-user", "p.service")
    return Item("serve", "unit", "~/.config/systemd/user/p.service", body)


def test_a_service_is_started_restarted_and_stopped(bench: Bench) -> None:
    fake(bench, "systemctl", SYSTEMCTL)
    before = bench.tree()

    bench.bring(service())
    assert calls(bench)[1:] == [
        "systemctl --user daemon-reload",
        "systemctl --user enable p.service",
        "systemctl --user restart p.service",
    ]
    assert bench.plan(service()).changes == 0
    made = bench.bring(service(UNIT + "# more\n"))
    assert made.steps[0].summary == "restart the service p.service"
    calls(bench)
    bench.uninstall()
    stopped = [c for c in calls(bench) if "show-environment" not in c]
    assert stopped == [
        "systemctl --user disable --now p.service",
        "systemctl --user daemon-reload",
    ]

    assert bench.tree() == before


def test_a_service_restarts_when_the_file_it_reads_changes(bench: Bench) -> None:
    from fleet.installers.items import FileBody  # noqa: PLC0415 - this test alone
    from fleet.installers.model import Content  # noqa: PLC0415 - this test alone

    fake(bench, "systemctl", SYSTEMCTL)

    def env(data: bytes) -> Item:
        return Item("serve", "env", "~/.config/p.env", FileBody(Content(data=data), 0o600))

    bench.bring(env(b"A=1\n"), service())

    made = bench.plan(env(b"A=2\n"), service())

    assert made.steps[-1].summary == "restart the service p.service: ~/.config/p.env changed"


def test_a_service_that_does_not_start_is_undone(bench: Bench) -> None:
    fake(bench, "systemctl", SYSTEMCTL + '[ "$2" != restart ] || { echo "start failed"; exit 1; }')

    applied = bench.apply(bench.plan(service()))

    assert applied.failure is not None
    assert applied.failure.detail == ("start failed",)
    assert not (bench.home / ".config/systemd/user/p.service").exists()


def test_where_systemd_does_not_run_the_file_is_placed_and_that_is_said(bench: Bench) -> None:
    fake(bench, "systemctl", "exit 1")

    applied = bench.apply(bench.plan(service()))

    assert applied.committed
    [note] = applied.notes
    assert note.startswith("serve.unit: start the service p.service: systemd does not run here")
    bench.uninstall()
    assert bench.tree() == {}


def test_a_launchd_agent_is_booted_in_and_out(bench: Bench) -> None:
    fake(bench, "launchctl")
    body = ServiceBody(written("<plist/>\n", "xml"), "launchd", "net.example.palace")
    item = Item("serve", "agent", "~/Library/LaunchAgents/net.example.palace.plist", body)
    plist, domain = "~/Library/LaunchAgents/net.example.palace.plist", f"gui/{os.getuid()}"

    bench.bring(item)
    said = [c for c in calls(bench) if c.startswith("launchctl")]
    assert said == [f"launchctl bootout {domain} {plist}", f"launchctl bootstrap {domain} {plist}"]
    bench.uninstall()

    assert f"launchctl bootout {domain} {plist}" in calls(bench)
    assert bench.tree() == {}


# --- git ---


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    folder = tmp_path / "origin"
    folder.mkdir()
    git(folder, "init", "--quiet", "-b", "main")
    for version in ("v1", "v2"):
        (folder / "bridge.ts").write_text(f"// {version}\n")
        git(folder, "add", ".")
        git(folder, "commit", "--quiet", "-m", version)
        git(folder, "tag", version)
    return folder


def git(folder: Path, *words: str) -> str:
    names = ("-c", "user.name=Ann", "-c", "user.email=ann@example.net")
    done = subprocess.run(
        ["git", "-C", str(folder), *names, *words], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def checkout(origin: Path, ref: str = "v1") -> Item:
    return Item("kit", "toolkit", "~/kit", GitBody(str(origin), ref))


def test_a_checkout_follows_its_ref_and_goes_again(bench: Bench, origin: Path) -> None:
    link = Item("kit", "bridge", "~/m.ts", LinkBody("~/kit/bridge.ts"))
    bench.bring(checkout(origin), link)
    assert (bench.home / "m.ts").read_text() == "// v1\n"
    assert bench.plan(checkout(origin), link).changes == 0

    bench.bring(checkout(origin, "v2"), link)
    assert (bench.home / "m.ts").read_text() == "// v2\n"
    bench.bring(checkout(origin, git(origin, "rev-parse", "v1")), link)
    assert (bench.home / "m.ts").read_text() == "// v1\n"
    bench.bring(checkout(origin, "main"), link)
    assert (bench.home / "m.ts").read_text() == "// v2\n"
    bench.uninstall()

    assert bench.tree() == {}


def test_a_checkout_somebody_worked_in_is_neither_moved_nor_removed(
    bench: Bench, origin: Path
) -> None:
    bench.bring(checkout(origin))
    bench.write("kit/notes", "mine")

    applied = bench.apply(bench.plan(checkout(origin, "v2")))
    assert applied.failure is not None
    assert "?? notes" in applied.failure.detail
    facts = bench.look(questions())
    left = bench.apply(removal(facts))

    assert (bench.home / "kit/notes").read_text() == "mine"
    assert any("left alone" in note for note in left.notes)


def test_a_ref_that_is_not_there_undoes_the_clone(bench: Bench, origin: Path) -> None:
    applied = bench.apply(bench.plan(checkout(origin, "nowhere")))

    assert applied.failure is not None
    assert applied.undone
    assert bench.tree() == {}


def test_a_folder_that_is_there_already_is_a_conflict(bench: Bench, origin: Path) -> None:
    bench.write("kit/x", "y")

    [conflict] = bench.plan(checkout(origin), adopt=True).conflicts

    assert "fleet did not check it out" in conflict.what
    assert bench.program(bench.plan())
