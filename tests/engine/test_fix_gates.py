"""Every gate that names what fixes it is broken on a real home, and put right by ``fleet fix``."""

from collections.abc import Callable
from pathlib import Path

import pytest
from support.homes import Homes
from support.mcp_server import self_signed

from fleet.systems.catalogue import load_catalogue

TOOLKIT = "mempalace-toolkit/extensions/pi/mempalace.ts"
LINK = ".pi/agent/extensions/mempalace.ts"
HELPER = ".local/bin/mempalace-pi-session"
ENV = ".config/pi/.env"
CA = ".config/pi/own-ca.pem"
NEWER = "export default function () {}\n"  # whole, and able to do nothing

Break = Callable[[Path], object]


def emptied(home: Path) -> None:
    (home / TOOLKIT).write_text(NEWER)


def cut(home: Path) -> None:
    (home / TOOLKIT).write_bytes((home / TOOLKIT).read_bytes()[:900])


def unlinked(home: Path) -> None:
    (home / LINK).unlink()


def helpless(home: Path) -> None:
    (home / HELPER).unlink()


def wide(home: Path) -> None:
    (home / ENV).chmod(0o644)


def slashed(home: Path) -> None:
    (home / ENV).write_text((home / ENV).read_text().replace("/mcp", "/mcp/"))


def unloaded(home: Path) -> None:
    (home / ".profile").write_text('PATH="$HOME/.local/bin:$PATH"\n')


def distrusting(home: Path) -> None:
    (home / CA).write_text("nothing\n")


#: How each is broken. What needs a server or another pi is broken where those are.
BREAKS: dict[str, Break] = {
    "bridge.placed": unlinked,
    "bridge.whole": cut,
    "bridge.feed": emptied,
    "bridge.stamp": emptied,
    "bridge.mailbox": emptied,
    "bridge.notify": emptied,
    "bridge.remote": emptied,
    "bridge.stall": emptied,
    "bridge.heal": emptied,
    "bridge.schema": emptied,
    "bridge.feed-on": helpless,
    "env.file": slashed,
    "env.mode": wide,
    "env.url": slashed,
    "env.loaded": unloaded,
    "flip.ca": distrusting,
}
ELSEWHERE = {"bridge.events"}  # test_fix_pi.py: it installs a pi


def test_every_gate_of_a_client_that_can_be_fixed_is_tried_here() -> None:
    catalogue = load_catalogue()
    fixable = {
        gate.id
        for name in ("mempalace-bridge", "env")
        for gate in catalogue.system(name).gates
        if gate.fixed_by
    }
    assert fixable == {*BREAKS, *ELSEWHERE}


@pytest.fixture
def ready(homes: Homes) -> Homes:
    (homes.home("one") / ".profile").write_text('PATH="$HOME/.local/bin:$PATH"\n')
    self_signed(homes.folder)
    text = homes.inventory.read_text().replace("require: [stamp]", "require: [stamp, feed]")
    trusted = f"client_ca: {homes.home('one') / CA}, client_ca_source: cert.pem"
    text = text.replace("vars: {device: one", f"vars: {{device: one, {trusted}")
    homes.inventory.write_text(text)
    homes.run("provision", "--yes", "--limit", "one")
    return homes


def test_what_is_broken_is_put_right_by_name(ready: Homes) -> None:
    for gate, broken in BREAKS.items():
        broken(ready.home("one"))
        _, found = ready.audit("--limit", "one")
        assert found["one", gate]["verdict"] == "fail", found["one", gate]
        assert found["one", gate]["fixed_by"], gate
        code, text = ready.run("fix", gate, "--limit", "one", "--yes", "--adopt")
        assert code == 0, (gate, text)
        _, found = ready.audit("--limit", "one")
        assert found["one", gate]["verdict"] == "pass", found["one", gate]


def test_a_gate_that_only_a_person_can_fix_says_what_to_do() -> None:
    # A gate that costs nothing to miss only shows something, and never fails.
    for _, gate in load_catalogue().gates():
        assert gate.fixed_by or gate.remedy or not gate.without, gate.id
