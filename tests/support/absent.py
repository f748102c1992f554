"""A pytest plugin: what becomes of a test whose tool is not on this machine.

It is skipped, and the summary says why. Under ``CI=true`` it fails, because there ``make test`` has
installed every tool, and a test that did not run must not look like one that passed.
"""

import os
from collections.abc import Generator

import pytest
from support.tools import ToolUnavailableError

#: How a reason begins that is no missing tool: what a machine is, or may not do.
OF_THE_MACHINE = (
    "needs root",
    "mounting is not allowed here",
    "podman is here",
    "reads /proc",
    "there is no /dev/full here",
)
#: Programs that tests call and a machine may lack; `scripts/test` installs them on Debian.
PROGRAMS = frozenset(
    {"apt-cache", "busybox", "dpkg", "git", "ip", "openssl", "setpriv", "ssh", "ssh-add"}
    | {"ssh-agent", "ssh-keygen", "unshare", "zsh"}
)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Judge a report by what was missing."""
    report = yield
    strict = os.environ.get("CI") == "true"
    trouble = call.excinfo.value if call.excinfo else None
    lacking = _lacking(trouble)
    if lacking and not strict:
        path, line, _ = item.location
        report.outcome = "skipped"
        report.longrepr = (path, (line or 0) + 1, f"Skipped: {lacking}")
    elif report.skipped and strict and not hasattr(report, "wasxfail"):
        reason = str(getattr(trouble, "msg", trouble))
        if not reason.startswith(OF_THE_MACHINE):
            report.outcome = "failed"
            report.longrepr = f"skipped, and CI=true allows no missing tool: {reason}"
    return report


def _lacking(trouble: BaseException | None) -> str:
    """Say which tool an error is about; empty where it is about something else."""
    if isinstance(trouble, ToolUnavailableError):
        return f"not installed: {trouble}"
    if isinstance(trouble, FileNotFoundError) and trouble.filename in PROGRAMS:
        return f"no {trouble.filename} on this machine"
    return ""
