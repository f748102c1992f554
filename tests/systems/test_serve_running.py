"""The gates `serve.stays`, `serve.writer` and `serve.stale`: how the server runs."""

import hashlib
from typing import Any

import pytest
from support.serve import Serving, container, endpoint, failing, healthy, process, target

from fleet.facts.paths import State
from fleet.facts.running import EnvValue, ProcessFact
from fleet.verifier.model import Finding, Verdict

FAIL, PASS, WARN, NOT_CHECKED = Verdict.FAIL, Verdict.PASS, Verdict.WARN, Verdict.NOT_CHECKED
IDLE = "MEMPALACE_MCP_IDLE_HOURS"
UNIT = "/etc/systemd/system/mempalace-serve.service"
LOCK = (
    "~/.mempalace/locks/mine_palace_" + hashlib.sha256(b"/data/palace").hexdigest()[:16] + ".lock"
)
TAKEN = (
    b"1: FLOCK  ADVISORY  WRITE %d fe:00:2507262 0 EOF\n2: POSIX  ADVISORY  READ 9 fe:00:1 0 0\n"
)


def hours(value: str | None) -> dict[str, EnvValue]:
    return {IDLE: EnvValue(set=value is not None, value=value)}


# --- stays


@pytest.mark.parametrize(
    ("idle", "policy", "verdict"),
    [
        ("0", "no", PASS),
        ("0.0", "", PASS),
        (None, "unless-stopped", PASS),
        (None, "always", PASS),
        (None, "no", WARN),
        (None, "on-failure", WARN),  # it ends with success
        ("12", "", WARN),
        ("", "no", WARN),
        ("never", "no", WARN),
    ],
)
def test_e12_a_container_that_ends_for_good(
    idle: str | None, policy: str, verdict: Verdict
) -> None:
    world = healthy().containers(container(variables=hours(idle), restart=policy))
    found = world.judged(target(serve_mode="compose"))["stays"]
    assert found.verdict is verdict, found


def test_the_hours_are_named() -> None:
    world = healthy().containers(container(variables=hours(None), restart="on-failure"))
    assert world.judged()["stays"].evidence == (
        "container mempalace-palace-1: 8 idle hours, restart is on-failure",
    )


@pytest.mark.parametrize(
    ("unit", "verdict"),
    [
        (b"[Service]\nRestart=always\n", PASS),
        (b"[Service]\nRestart=on-failure\n", WARN),
        (b"[Service]\n# Restart=always\n", WARN),
        (b"[Service]\nRestart=no\nRestart = always\n", PASS),
    ],
)
def test_a_unit_that_starts_it_again(unit: bytes, verdict: Verdict) -> None:
    world = healthy().seen(processes={"server": (process(variables=hours(None)),)})
    world.file(UNIT, unit)
    assert world.judged(target(serve_mode="systemd"))["stays"].verdict is verdict


def test_launchd_keeps_it_alive() -> None:
    path = "~/Library/LaunchAgents/mempalace.serve.plist"
    world = healthy().seen(processes={"server": (process(variables=hours(None)),)})
    world.file(path, b"<key>KeepAlive</key>\n  <true/>")
    assert world.judged(target(serve_mode="launchd"))["stays"].verdict is PASS
    world.file(path, b"<key>KeepAlive</key>\n  <false/>")
    assert world.judged(target(serve_mode="launchd"))["stays"].verdict is WARN


def test_a_server_whose_environment_is_hidden() -> None:
    world = healthy().seen(processes={"server": (process(variables={}),)})
    assert world.judged()["stays"].verdict is NOT_CHECKED
    assert healthy().judged()["stays"].verdict is NOT_CHECKED


# --- writer


def written(*servers: ProcessFact, **variables: Any) -> Finding:
    return healthy().seen(processes={"server": servers}).judged(target(**variables))["writer"]


def at_home(home: str, **changed: Any) -> ProcessFact:
    return process(variables={"HOME": EnvValue(set=True, value=home)}, **changed)


def test_one_server_writes() -> None:
    assert written(process()).verdict is PASS
    assert written().verdict is NOT_CHECKED


def test_two_servers_write_to_one_palace() -> None:
    found = written(process(), process(pid=8))
    assert (found.verdict, found.required) == (FAIL, True)
    assert found.message == "2 servers write to /data/palace"
    assert found.evidence == (
        "process 7: palace /data/palace, HOME /home/u",
        "process 8: palace /data/palace, HOME /home/u",
    )


def test_two_homes_have_two_locks() -> None:
    found = written(at_home("/home/u"), at_home("/root", pid=8))
    assert found.message.endswith("their homes differ, so no lock keeps them apart")


def test_a_reader_is_no_writer() -> None:
    reader = {"--palace": "/data/palace", "--read-only": ""}
    assert written(process(), process(pid=8, flags=reader)).verdict is PASS
    told = {"MEMPALACE_MCP_READ_ONLY": EnvValue(set=True, value="1")}
    assert written(process(), process(pid=8, variables=told)).verdict is PASS


def test_two_palaces_may_have_two_servers() -> None:
    assert written(process(), process(pid=8, flags={"--palace": "/srv/other"})).verdict is PASS


def test_what_happens_to_another_palace_of_the_machine_is_not_told_here() -> None:
    flags = {"--palace": "/srv/other", "--port": "9999"}
    others = [process(pid=pid, flags=flags) for pid in (8, 9)]
    found = written(process(), *others)
    assert found.verdict is PASS
    assert not any("/srv/other" in line for line in found.evidence)
    world = healthy().containers(container(flags={"--palace": "/data/palace"}))
    world.seen(processes={"server": tuple(others)})
    assert world.judged(target(serve_mode="compose", port=18765))["writer"].verdict is PASS


def test_a_container_and_a_server_of_the_host_share_a_folder() -> None:
    inside = container(
        mounts={"/data": "/srv/memory"},
        flags={"--palace": "/data/palace"},
        variables={"HOME": EnvValue(set=True, value="/data")},
    )
    # The container's own process, seen from outside.
    own = process(pid=9, contained=True)
    world = healthy().containers(inside).seen(processes={"server": (own,)})
    assert world.judged(target(serve_mode="compose"))["writer"].verdict is PASS
    outside = process(flags={"--palace": "/srv/memory/palace"})
    world.seen(processes={"server": (own, outside)})
    found = world.judged(target(serve_mode="compose"))["writer"]
    assert found.verdict is FAIL
    assert found.message.startswith("2 servers write to /srv/memory/palace; their homes differ")


def test_the_same_path_within_a_container_is_another_palace() -> None:
    inside = process(pid=9, contained=True)
    world = healthy().containers(container()).seen(processes={"server": (process(), inside)})
    other = container(name="other", flags={"--palace": "/data/other"})
    assert world.containers(other).judged()["writer"].verdict is PASS


def test_containers_that_no_engine_tells_of() -> None:
    one = process(pid=9, contained=True)
    assert written(one).verdict is PASS
    assert written(process(), one).verdict is PASS
    assert written(one, process(pid=10, contained=True)).verdict is NOT_CHECKED


def test_what_the_server_says_of_another_writer() -> None:
    world = healthy(writer={"read_only": False, "peer_writer_read_only": True})
    found = world.seen(processes={"server": (process(),)}).judged()["writer"]
    assert found.verdict is FAIL
    assert found.evidence[0] == "peer_writer_read_only is true, says /statusz"


def locked(locks: bytes | None, *, inode: int | None = 2507262, version: str = "3.11.0") -> Finding:
    world = healthy(version=version).seen(processes={"server": (process(),)})
    if inode is not None:
        # Its text speaks of a process that is long gone; the kernel alone is asked.
        world.file(LOCK, b"\0 4711 mempalace-mcp", mode=0o600)
        world.paths[LOCK] = world.paths[LOCK].model_copy(update={"inode": inode})
    if locks is None:
        world.broken("/proc/locks", State.UNREADABLE, why="permission denied")
    else:
        world.file("/proc/locks", locks)
    return world.judged()["writer"]


def test_the_kernel_is_asked_who_holds_the_lock() -> None:
    found = locked(TAKEN % 7)
    assert (found.verdict, found.message) == (
        PASS,
        "one server writes, and holds the lock (process 7)",
    )


def test_another_process_holds_the_lock() -> None:
    found = locked(TAKEN % 4711)
    assert found.verdict is FAIL
    assert found.message == "the lock is held by process 4711, which is no server"


def test_a_lock_that_nobody_holds_although_its_text_names_somebody() -> None:
    assert locked(TAKEN % 7, inode=99).verdict is WARN
    assert locked(b"").verdict is WARN
    assert locked(b"", inode=None).verdict is WARN
    # Up to 3.6 it is taken with the first write.
    assert locked(b"", version="3.6.0").verdict is PASS


def test_a_lock_that_cannot_be_asked_is_not_told_as_held() -> None:
    found = locked(None)
    assert found.message == "one server writes; its lock could not be asked"
    assert "/proc/locks: permission denied" in found.evidence


# --- stale


def stale(**changed: Any) -> Finding:
    return healthy(**changed).judged()["stale"]


def test_it_runs_what_is_installed() -> None:
    assert stale().verdict is PASS


def test_it_runs_other_libraries_than_are_installed() -> None:
    told = "chromadb: 1.5.9 is running, 1.6.0 is installed"
    found = stale(stale=True, stale_packages=(told,))
    assert found.verdict is FAIL
    assert found.evidence[0] == told
    assert found.remedy == "start the server anew"


def test_a_server_that_does_not_tell() -> None:
    assert stale(stale=None, version="3.6.0").verdict is Verdict.NOT_APPLICABLE
    assert stale(stale=None).verdict is NOT_CHECKED
    partly = stale(stale=None, stale_packages=("chromadb: not compared: no baseline",))
    assert (partly.verdict, partly.evidence) == (
        NOT_CHECKED,
        ("chromadb: not compared: no baseline",),
    )
    assert stale(stale=None, version="dev").verdict is NOT_CHECKED


@pytest.mark.parametrize(("started", "verdict"), [(99, WARN), (101, PASS), (None, PASS)])
def test_a_program_that_changed_under_its_process(started: int | None, verdict: Verdict) -> None:
    program = "~/.local/bin/mempalace"
    world = healthy().seen(processes={"server": (process(started=started),)})
    world.file(program)
    world.paths[program] = world.paths[program].model_copy(update={"mtime": 100})
    found = world.judged(target(serve_mode="systemd-user"))["stale"]
    assert found.verdict is verdict


# --- the palace's digest


def test_a_server_that_names_the_declared_path_and_has_opened_another() -> None:
    found = healthy(path_hash="0" * 16).judged()
    assert failing(found) == {"palace"}
    assert found["palace"].message == "its /statusz names another palace"
    assert any("path_hash is 0000000000000000, want " in line for line in found["palace"].evidence)
    assert healthy(path_hash="").judged()["palace"].verdict is PASS


def test_the_digest_is_that_of_the_absolute_path() -> None:
    digest = hashlib.sha256(b"/home/u/palace").hexdigest()[:16]
    world = Serving()
    world.heard(endpoint(palace="/home/u/palace", path_hash=digest))
    assert world.judged(target(palace_path="~/palace/"))["palace"].verdict is PASS
