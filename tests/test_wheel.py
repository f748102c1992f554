"""The wheel holds what it must, and works where there is no checkout."""

import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from packaging.metadata import Metadata
from packaging.version import Version
from support import documents
from support.places import ROOT

from fleet import __version__

ROOMS = ("templates", "playbooks", "inventory", "toolkit")
SECONDS = 300
EXECUTABLE = 0o100
UNWANTED = {"__pycache__", "node_modules", ".git", "tests", "docs"}
pytestmark = [pytest.mark.network, pytest.mark.timeout(600)]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, as a release would build it."""
    folder = tmp_path_factory.mktemp("wheel")
    run([sys.executable, "-m", "build", "--wheel", "--outdir", str(folder), str(ROOT)], folder)
    (built,) = folder.glob("*.whl")
    return built


@dataclass(frozen=True)
class Installed:
    """An environment with nothing in it but the wheel and what it depends on."""

    folder: Path

    @property
    def bin(self) -> Path:
        return self.folder / "bin"

    def fleet(self, script: str, folder: Path, home: Path, *, exits: int = 0) -> str:
        """Run a shell script in which `fleet` is the installed one; return what it printed."""
        ended = subprocess.run(
            ["sh", "-euc", script],
            cwd=folder,
            timeout=SECONDS,
            check=False,
            text=True,
            env={"HOME": str(home), "PATH": f"{self.bin}:{os.defpath}", "LC_ALL": "C.UTF-8"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert ended.returncode == exits, f"exit {ended.returncode} of {script}\n{ended.stdout}"
        return ended.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Installed:
    folder = tmp_path_factory.mktemp("environment") / "venv"
    assert not folder.is_relative_to(ROOT)
    run([sys.executable, "-m", "venv", str(folder)], folder.parent)
    run([str(folder / "bin/pip"), "install", "--quiet", str(wheel)], folder.parent)
    return Installed(folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return documents.furnished(tmp_path / "home")


def run(command: list[str], folder: Path) -> str:
    ended = subprocess.run(
        command,
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert ended.returncode == 0, (ended.stdout + ended.stderr)[-3000:]
    return ended.stdout


def shipped_files() -> Iterator[tuple[str, Path]]:
    """Yield every file that must be in the wheel: its name there, and where it is here."""
    for room in ("fleet", *ROOMS):
        for path in (ROOT / room).rglob("*"):
            inside = path.relative_to(ROOT)
            if path.is_file() and not UNWANTED & set(inside.parts):
                yield str(inside if room == "fleet" else "fleet/_data" / inside), path


def test_everything_that_is_shipped_is_in_it_byte_for_byte(wheel: Path) -> None:
    expected = dict(shipped_files())
    for kind in ("probe/core.sh", "files.sh", "system.yml", "py.typed", ".j2", "fleet.yml", ".ts"):
        assert any(name.endswith(kind) for name in expected), kind
    with zipfile.ZipFile(wheel) as archive:
        entries = {info.filename: info for info in archive.infolist()}
        for name, path in expected.items():
            assert name in entries, name
            assert archive.read(name) == path.read_bytes(), name
            kept = bool(entries[name].external_attr >> 16 & EXECUTABLE)
            assert kept == os.access(path, os.X_OK), f"{name}: executable here or there only"


def test_nothing_else_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert {name.split("/")[0] for name in names} == {
        "fleet",
        f"mempalace_fleet-{__version__}.dist-info",
    }
    assert not [name for name in names if UNWANTED & set(name.split("/")) or ".pyc" in name]


def test_its_metadata_is_right(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        metadata = Metadata.from_email(archive.read(name), validate=True)
    assert metadata.name == "mempalace-fleet"
    assert metadata.version == Version(__version__)
    assert str(metadata.requires_python) == ">=3.11"
    assert metadata.license_expression == "MIT"
    assert metadata.description_content_type == "text/markdown"
    assert metadata.description == (ROOT / "README.md").read_text("utf-8")


def test_the_installed_program_stands_alone(
    installed: Installed, home: Path, tmp_path: Path
) -> None:
    where = installed.fleet("python -c 'import fleet; print(fleet.__file__)'", tmp_path, home)
    assert Path(where.strip()).is_relative_to(installed.folder)
    told = installed.fleet("fleet --version; fleet gates; fleet inventory schema", tmp_path, home)
    assert f"fleet {__version__}" in told
    assert "bridge.feed" in told
    assert '"title": "fleet inventory"' in told


def test_it_writes_an_inventory_that_it_accepts(
    installed: Installed, home: Path, tmp_path: Path
) -> None:
    told = installed.fleet("fleet init && fleet inventory check", tmp_path, home)
    assert "no mistakes" in told
    assert (tmp_path / "inventory/fleet.yml").is_file()


def test_it_tells_a_good_tree_from_an_old_bridge(
    installed: Installed, home: Path, tmp_path: Path
) -> None:
    documents.stage_images(tmp_path)
    for name, code in (("devbox", 0), ("devbox-old", 2)):
        documents.unpack(tmp_path / f"{name}.tar", tmp_path / name)
        # A root file system has no environment, so what feeding needs of one is not checked there.
        for address, require in (
            (f"rootfs:{name} -e user=dev", "stamp"),
            (f"oci-archive:{name}.tar", "feed"),
        ):
            check = f"fleet check {address} --system mempalace-bridge --require {require} --quiet"
            told = installed.fleet(check, tmp_path, home, exits=code)
            assert (f"bridge.{require}   FAIL" in told) == bool(code)


def test_it_provisions_its_own_toolkit(installed: Installed, home: Path, tmp_path: Path) -> None:
    before = {path for path in home.rglob("*") if not path.is_dir()}
    history = home / ".local/state/fleet/history.db"
    (tmp_path / "fleet.yml").write_text(
        "vars: {toolkit: ~/mempalace-toolkit, toolkit_source: builtin}\n"
        "systems: [mempalace-bridge]\nrequire: [feed, stamp]\n"
        f"hosts: {{here: {{local: {home}, shell: bash -lc}}}}\n",
        encoding="utf-8",
    )
    installed.fleet("fleet provision -i fleet.yml --yes --no-diff", tmp_path, home)
    bridge = home / ".pi/agent/extensions/mempalace.ts"
    assert bridge.is_symlink()
    assert bridge.read_bytes() == (ROOT / "toolkit/extensions/pi/mempalace.ts").read_bytes()
    assert os.access(home / ".local/bin/mempalace-pi-session", os.X_OK)
    installed.fleet("fleet uninstall -i fleet.yml --yes --no-diff", tmp_path, home)
    assert {path for path in home.rglob("*") if not path.is_dir()} == {*before, history}


def test_a_shipped_playbook_is_found(installed: Installed, home: Path, tmp_path: Path) -> None:
    (tmp_path / "fleet.yml").write_text(
        "systems: [env]\nvars: {env: {NOTES_DIR: /srv/notes}}\n"
        f"hosts: {{here: {{local: {home}, shell: bash -lc}}}}\n",
        encoding="utf-8",
    )
    installed.fleet("fleet provision provision-pi -i fleet.yml --yes", tmp_path, home)
    assert "NOTES_DIR='/srv/notes'" in (home / ".config/pi/.env").read_text("utf-8")


def test_the_documented_example_of_a_system_can_be_installed(
    installed: Installed, home: Path, tmp_path: Path
) -> None:
    page = documents.Page(ROOT / "docs/how-to/add-a-system.md")
    for block in page.blocks:
        if block.writes.startswith("note-keeper/"):
            path = tmp_path / block.writes
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
    install = "pip install --quiet --no-deps ./note-keeper"
    told = installed.fleet(f"{install}; fleet gates --system note-keeper", tmp_path, home)
    assert "notes.quiet" in told
    check = f"fleet check local:{home} --system note-keeper"
    installed.fleet(check, tmp_path, home, exits=3)
    (home / "notes").mkdir()
    (home / "notes/INDEX.md").write_text("- one\n", encoding="utf-8")
    installed.fleet(check, tmp_path, home)
    (home / "notes/INDEX.md").write_text("<private> x\n", encoding="utf-8")
    told = installed.fleet(check, tmp_path, home, exits=2)
    assert "holds private text" in told


def test_the_pytest_plugin_comes_with_its_extra_and_works_with_the_oldest_pytest(
    wheel: Path, installed: Installed, home: Path, tmp_path: Path
) -> None:
    judged = "from fleet.testing import CannedFacts, judge; judge('env', CannedFacts())"
    installed.fleet(f'python -c "{judged}"', tmp_path, home)
    installed.fleet('python -c "import pytest"', tmp_path, home, exits=1)
    installed.fleet(f"pip install --quiet '{wheel}[pytest]' 'pytest==8.2.*'", tmp_path, home)
    documents.stage_images(tmp_path)
    words = "--fleet-system=mempalace-bridge --fleet-require=feed"
    for name, code in (("devbox", 0), ("devbox-old", 1)):
        check = f"pytest --fleet-target=oci-archive:{name}.tar {words}"
        told = installed.fleet(check, tmp_path, home, exits=code)
        assert (f"FAILED fleet/oci-archive:{name}.tar::bridge.feed" in told) == bool(code)
