"""What every tool has to see: which checks hold on which host."""

import json
import re
from collections.abc import Mapping

from benchmarks.hosts.state import CUT_SETTINGS, OLD_BRIDGE, OPEN_FILE, OTHER_COPY, OTHER_VALUE

#: By host, by check, whether it holds.
Truths = Mapping[str, Mapping[str, bool]]

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
    **{name: f"bridge.{name}" for name in MARKERS},
    "env-file": "env.file",
    "env-mode": "env.mode",
    "env-loaded": "env.loaded",
    "pi": "pi.one",
    "node": "pi.node",
    "settings": "pi.settings",
    "writable": "pi.writable",
}
CHECKS = tuple(GATES)
_BROKEN = {
    "": (),
    OLD_BRIDGE: ("feed", "stamp", "mailbox", "notify", "remote", "stall", "heal"),
    OPEN_FILE: ("env-mode",),
    OTHER_COPY: ("placed",),
    OTHER_VALUE: ("env-file", "env-loaded"),
    CUT_SETTINGS: ("settings",),
}
#: What a tool prints before a check's name and `1` or `0`, where it prints lines of its own.
MARK = "bench-truth"
_LINE = re.compile(rf"{MARK} (\S+) ([a-z-]+) ([01])")


def expected(faults: Mapping[str, str]) -> Truths:
    """Return what is to be seen on hosts, by name, with these faults."""
    return {
        host: {check: check not in _BROKEN[fault] for check in CHECKS}
        for host, fault in faults.items()
    }


def seen_by_fleet(report: bytes) -> Truths:
    """Read a report of `fleet audit`.

    What it does not ask because of another failure does not hold: that one says why.
    """
    told = {"pass": True, "fail": False}
    names = {gate: check for check, gate in GATES.items()}
    seen: dict[str, dict[str, bool]] = {}
    for finding in json.loads(report)["findings"]:
        check, verdict = names.get(finding["gate"]), finding["verdict"]
        if check is None:
            continue
        holds = told.get(verdict, False if finding.get("follows") else None)
        if holds is not None:
            seen.setdefault(finding["target"], {})[check] = holds
    return seen


def seen_in_lines(output: bytes) -> Truths:
    """Read texts of ``bench-truth HOST CHECK 1``, wherever they stand."""
    seen: dict[str, dict[str, bool]] = {}
    for host, check, holds in _LINE.findall(output.decode(errors="replace")):
        seen.setdefault(host, {})[check] = holds == "1"
    return seen


def differences(wanted: Truths, seen: Truths) -> list[str]:
    """Tell where two accounts of the same hosts differ, a line each."""
    return [
        f"{host}: {check} should be {_word(holds)}, and is {_word(seen.get(host, {}).get(check))}"
        for host, checks in wanted.items()
        for check, holds in checks.items()
        if seen.get(host, {}).get(check) is not holds
    ] + [f"{host}: there is no such host" for host in seen if host not in wanted]


def _word(holds: bool | None) -> str:
    return {True: "true", False: "false", None: "missing"}[holds]
