"""What every tool has to see: which checks hold on which host."""

import json
import re
from collections.abc import Mapping

from benchmarks.hosts import faults

#: By host, by check, whether it holds.
Truths = Mapping[str, Mapping[str, bool]]
#: The same of a tool, which may name the check whose failure leaves a check without an answer.
Seen = Mapping[str, Mapping[str, bool | str]]

#: Texts that must stand in the bridge, by the capability that they prove.
MARKERS = {
    "feed": ("MEMPALACE_FEED",),
    "stamp": ("MEMPALACE_PI_DEVICE",),
    "mailbox": ("MEMPALACE_MAILBOX",),
    "notify": ("MEMPALACE_MAILBOX_NOTIFY",),
    "remote": ("MEMPALACE_REMOTE_URL", "RemoteMcpClient"),
    "stall": ("MEMPALACE_MCP_TIMEOUT_MS", "MEMPALACE_MCP_INIT_TIMEOUT_MS"),
    "heal": ("MEMPALACE_MCP_MAX_RESPAWNS",),
    "schema": ("Type.Unsafe(",),
}
#: The gate of `fleet` that answers a check.
GATES = {
    "placed": "bridge.placed",
    "seen": "bridge.seen",
    "whole": "bridge.whole",
    "sync": "bridge.sync",
    **{name: f"bridge.{name}" for name in MARKERS},
    "single": "bridge.single",
    "feed-on": "bridge.feed-on",
    "fallback": "bridge.fallback",
    "identity": "bridge.identity",
    "events": "bridge.events",
    "env-file": "env.file",
    "env-mode": "env.mode",
    "env-loaded": "env.loaded",
    "pi": "pi.one",
    "node": "pi.node",
    "prereqs": "pi.prereqs",
    "settings": "pi.settings",
    "writable": "pi.writable",
    "running": "pi.running",
    "no-local": "flip.no-local",
}
CHECKS = tuple(GATES)
_BROKEN = {
    "": (),
    faults.OLD_BRIDGE: (*(name for name in MARKERS if name != "schema"), "fallback"),
    faults.CUT_BRIDGE: ("whole", "schema"),
    faults.OTHER_COPY: ("placed",),
    faults.OTHER_EXTENSION: ("seen", "sync"),
    faults.SECOND_OWNER: ("single", "settings"),
    faults.OPEN_FILE: ("env-mode",),
    faults.OTHER_ENVIRONMENT: ("env-file", "env-loaded", "identity"),
    faults.CUT_SETTINGS: ("settings", "writable"),
    faults.OLD_PROGRAMS: ("pi", "events", "node", "prereqs", "feed-on"),
    faults.OLD_PROCESS: ("running", "no-local"),
}
#: Of these `fleet` says that they do not apply, and only for it looked: there is no such thing.
_LOOKED = frozenset({"sync", "running", "no-local"})
#: What a tool prints before a check's name and `1` or `0`, where it prints lines of its own.
MARK = "bench-truth"
_LINE = re.compile(rf"{MARK} (\S+) ([a-z-]+) ([01])")


def expected(planted: Mapping[str, str]) -> Truths:
    """Return what is to be seen on hosts, by name, with these faults."""
    return {
        host: {check: check not in _BROKEN[fault] for check in CHECKS}
        for host, fault in planted.items()
    }


def seen_by_fleet(report: bytes) -> Seen:
    """Read a report of `fleet audit`.

    What it does not ask because of another failure has that one's check for an answer.
    """
    names = {gate: check for check, gate in GATES.items()}
    seen: dict[str, dict[str, bool | str]] = {}
    for finding in json.loads(report)["findings"]:
        check = names.get(finding["gate"])
        if check is None:
            continue
        follows = names.get(finding.get("follows") or "")
        holds = follows or _holds(check, finding["verdict"])
        if holds is not None:
            seen.setdefault(finding["target"], {})[check] = holds
    return seen


def _holds(check: str, verdict: str) -> bool | None:
    told = {"pass": True, "fail": False}
    if check in _LOOKED:
        told["not-applicable"] = True
    return told.get(verdict)


def seen_in_lines(output: bytes) -> Seen:
    """Read texts of ``bench-truth HOST CHECK 1``, wherever they stand."""
    seen: dict[str, dict[str, bool | str]] = {}
    for host, check, holds in _LINE.findall(output.decode(errors="replace")):
        seen.setdefault(host, {})[check] = holds == "1"
    return seen


def differences(wanted: Truths, seen: Seen) -> list[str]:
    """Tell where two accounts of the same hosts differ, a line each."""
    return [
        f"{host}: {check} should be {_word(holds)}, and is {_word(seen.get(host, {}).get(check))}"
        for host, checks in wanted.items()
        for check, holds in checks.items()
        if not _agrees(holds, seen.get(host, {}).get(check), checks)
    ] + [f"{host}: there is no such host" for host in seen if host not in wanted]


def _agrees(holds: bool, told: bool | str | None, checks: Mapping[str, bool]) -> bool:
    """Compare one answer; one that points to another check's failure is true where that failed."""
    return not checks[told] if isinstance(told, str) else told is holds


def _word(holds: bool | str | None) -> str:
    if isinstance(holds, str):
        return f"left to {holds}"
    return {True: "true", False: "false", None: "missing"}[holds]
