"""What holds for every test."""

import os
import tempfile

import pytest

pytest_plugins = ["pytester", "support.absent", "support.evidence", "support.ssh_servers"]

_STATE = pytest.StashKey[tempfile.TemporaryDirectory[str]]()


def pytest_configure(config: pytest.Config) -> None:
    """Keep the runs of tests out of the history of whoever runs them."""
    config.stash[_STATE] = tempfile.TemporaryDirectory(prefix="fleet-state-")
    os.environ["XDG_STATE_HOME"] = config.stash[_STATE].name
    os.environ.pop("FLEET_HISTORY", None)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Take that folder away again."""
    config.stash[_STATE].cleanup()
