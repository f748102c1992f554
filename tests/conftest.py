"""What holds for every test."""

import os
import signal
import tempfile

import pytest

pytest_plugins = ["pytester", "support.absent", "support.evidence", "support.ssh_servers"]

_STATE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the runs of tests out of the history of whoever runs them."""
    config.stash[_STATE] = tempfile.TemporaryDirectory(prefix="fleet-state-")
    os.environ["XDG_STATE_HOME"] = config.stash[_STATE].name
    os.environ.pop("FLEET_HISTORY", None)
    # A shell starts in the background with Ctrl-C ignored, and so would be all that tests start.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    # As under `nohup` with the end of a terminal.
    if signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take that folder away again."""
    config.stash[_STATE].cleanup()
