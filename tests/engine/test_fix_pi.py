"""A pi too old for the bridge is put right by ``fleet fix``: the real pi, by the real npm."""

import subprocess
from pathlib import Path

import pytest
from support.homes import Homes
from support.tools import npm_bin

pytestmark = pytest.mark.network

PI = "@earendil-works/pi-coding-agent"
SHELL = 'PATH="$HOME/.local/bin:{npm}:/usr/bin:/bin"\nexport npm_config_prefix="$HOME/.local"\n'


@pytest.fixture
def old(homes: Homes) -> Homes:
    """A home whose pi is the last one that never fires what the bridge waits for."""
    home = homes.home("one")
    (home / ".profile").write_text(SHELL.format(npm=npm_bin()))
    # Whatever is asked of npm, it stays within this home.
    bundle = Path("/etc/ssl/certs/ca-certificates.crt")
    trusted = f"cafile={bundle}\n" if bundle.is_file() else ""
    (home / ".npmrc").write_text(f"{trusted}prefix={home / 'elsewhere'}\n")
    installed(home, "0.80.3")
    return homes


def installed(home: Path, version: str) -> None:
    words = ["npm", "install", "--global", "--no-fund", "--no-audit", "--silent", f"{PI}@{version}"]
    shell = ["bash", "-lc", 'exec "$@"', "bash", *words]
    subprocess.run(shell, env={"HOME": str(home)}, check=True, capture_output=True, timeout=300)


def declare(homes: Homes, systems: str) -> None:
    text = homes.inventory.read_text()
    text = text.replace("systems: [mempalace-bridge, env]", f"systems: [{systems}]")
    text = text.replace("vars: {device: one}", "vars: {device: one, install_pi: true}")
    homes.inventory.write_text(text)


def seen(homes: Homes) -> tuple[object, str, object]:
    _, found = homes.audit("--limit", "one")
    told = found["one", "bridge.events"]
    return told["verdict"], f"{told['message']} {told['evidence']}", told["fixed_by"]


def test_a_pi_that_never_fires_the_event_is_replaced(old: Homes) -> None:
    declare(old, "mempalace-bridge, env")
    verdict, told, fixed_by = seen(old)
    assert (verdict, fixed_by) == ("fail", ["pi"]), told
    assert "0.80.3" in told

    # Somebody else installed it: that is said, and nothing is done.
    code, _ = old.run("fix", "bridge.events", "--limit", "one", "--yes")
    assert code == 2
    assert "0.80.3 is installed, and fleet did not install it; 0.80.4 or later is" in " ".join(
        old.printed[-1].split()
    )
    assert seen(old)[0] == "fail"

    code, text = old.run("fix", "bridge.events", "--limit", "one", "--yes", "--adopt")
    assert code == 0, text
    assert seen(old)[0] == "pass"
    assert not (old.home("one") / "elsewhere").exists()  # it is replaced where a launch finds it
    code, _ = old.run("uninstall", "--limit", "one", "--yes")
    assert code == 0
    assert "0.80.3" in seen(old)[1]


def test_where_another_system_installs_pi_that_one_is_named(old: Homes) -> None:
    declare(old, "mempalace-bridge, env, pi")
    assert seen(old)[2] == ["pi.pi"]
