"""Real targets: a home on this machine, an ssh server, a container, an image; and a secret."""

import json
import re
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.containers import Engine, base, engine_answers
from support.homes import CANARY, VARIABLE
from support.images import PASSWD
from support.nested import FLEETWIDE, Nested, counts
from support.sshd import SSHD, Sshd, make_key, public

from fleet.demo.layout import BakedImage, Member, layer, write_archive

QUIET = b"quiet=pass\n"


@pytest.fixture
def sshd(tmp_path: Path) -> Iterator[Sshd]:
    if SSHD is None:
        pytest.skip("openssh-server is not installed")
    (tmp_path / "authorized").write_text(public(make_key(tmp_path / "key")) + "\n")
    server = Sshd(tmp_path / "sshd", tmp_path / "authorized").start()
    yield server
    server.stop()


def test_each_target_is_looked_at_once_by_all_workers_together(
    nested: Nested, sshd: Sshd, tmp_path: Path
) -> None:
    client = Client(tmp_path, tmp_path / "key")
    client.host("vault", sshd)
    client.know(sshd.known())
    nested.pytester._monkeypatch.setenv("FLEET_SSH_CONFIG", str(client.config))
    home = nested.folder / "home"
    home.mkdir()
    (home / "notes").write_bytes(b"quiet=fail\n")
    (home / ".profile").write_text('echo looked >> "$HOME/looks"\n')
    baked = [layer([PASSWD, Member("home/node/notes", QUIET)])]
    write_archive(nested.folder / "devbox.tar", [BakedImage(baked, config={"User": "node"})])
    (nested.folder / "fleet.yml").write_text(
        "systems: [notes]\nrequire: [quiet]\n"
        f"hosts:\n  here: {{local: {home}, shell: bash -lc}}\n  vault: {{ssh: vault}}\n"
        "images:\n  devbox: {image: 'oci-archive:devbox.tar'}\n"
    )
    told = nested.run("-n", "2", "-k", "notes or checked")
    assert counts(told) == {"passed": 9, "failed": 1}
    told.stdout.fnmatch_lines(
        ["here   notes.quiet   FAIL   quiet is fail", "fleet: 3 targets asked, 3 answered"]
    )
    assert (sshd.connections, sshd.sessions) == (1, 1)
    assert (home / "looks").read_text() == "looked\n"


@pytest.mark.e2e
@pytest.mark.skipif(not engine_answers(), reason="needs a Docker engine and busybox")
def test_a_container_is_a_target(nested: Nested) -> None:
    engine = Engine()
    try:
        root = base(shell=True)
        root.file("/root/notes", QUIET)
        name = engine.run(engine.image("pytest-plugin", root), name="pytest-plugin")
        words = ("--fleet-system=notes", "--fleet-require=quiet", "-m", "fleet")
        told = nested.bare(f"--fleet-target=container:{name}", *words)
        assert counts(told) == {"passed": 4, "skipped": FLEETWIDE}
        gone = nested.bare("--fleet-target=container:fleet-nobody", *words)
        assert counts(gone)["errors"] == 1
        gone.stdout.fnmatch_lines(["ERROR fleet/container:fleet-nobody::notes.there - *"])
    finally:
        engine.close()


def test_a_secret_is_in_nothing_that_pytest_prints_or_keeps(
    nested: Nested, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The target exports another token than is expected: both are secrets, and they differ."""
    expected, exported = f"{CANARY}-one", f"{CANARY}-two"
    monkeypatch.setenv(VARIABLE, expected)
    home = nested.folder / "home"
    home.mkdir()
    (home / ".profile").write_text(f"export MEMPALACE_REMOTE_TOKEN={exported}\n")
    (nested.folder / "fleet.yml").write_text(
        "systems: [env, mempalace-bridge]\n"
        f"vars: {{palace_url: 'http://127.0.0.1:9/mcp', palace_token: !secret env:{VARIABLE}}}\n"
        f"hosts: {{here: {{local: {home}, shell: bash -lc}}}}\n"
    )
    (nested.folder / "test_own.py").write_text(
        "import shutil\n"
        "def test_own(fleet_target, fleet_facts, request):\n"
        "    shared = request.config.workerinput['fleet_shared']\n"
        "    shutil.copytree(shared, 'shared')\n"
        "    look, expected = fleet_target.look('env'), fleet_target.variables\n"
        "    raise AssertionError(repr((look, expected)))\n"
    )
    told = nested.run("-n", "1", "-vv", "--showlocals", "-ra", "--junitxml=out.xml")
    shown = told.stdout.str() + told.stderr.str()
    failed = re.findall(r"FAILED (fleet/\S+) - (.*)", shown)
    told_of = "pi is launched without the declared environment"
    assert ("fleet/here::env.loaded", told_of) in failed, failed
    kept = [path for path in nested.folder.rglob("*") if path.is_file() and path.name != ".profile"]
    assert {"out.xml", "run.json", "here.facts.json"} <= {path.name for path in kept}
    assert CANARY not in shown
    for path in kept:
        assert CANARY.encode() not in path.read_bytes(), path
    facts = json.loads((nested.folder / "shared/here.facts.json").read_text())
    assert facts["launches"]["bash -lc"]["variables"]["MEMPALACE_REMOTE_TOKEN"]["length"] == len(
        exported
    )


def test_what_workers_share_is_private_and_gone_afterwards(nested: Nested) -> None:
    nested.target("laptop")
    (nested.folder / "test_own.py").write_text(
        "import os, pathlib\n"
        "def test_own(fleet_facts, request):\n"
        "    shared = request.config.workerinput['fleet_shared']\n"
        "    pathlib.Path('told').write_text(f'{os.stat(shared).st_mode} {shared}')\n"
    )
    nested.run("-n", "1", "-k", "test_own")
    mode, _, folder = (nested.folder / "told").read_text().partition(" ")
    assert stat.S_IMODE(int(mode)) == 0o700
    assert not Path(folder).exists()
