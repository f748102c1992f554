"""The ssh library's names, all of them from here.

Its own reader of ssh_config would bring a runner of tasks along, which is half of its start; the
library does without where that is not installed. Here OpenSSH itself reads ssh_config.
"""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = [
    "AgentSSH",
    "BadAuthenticationType",
    "Channel",
    "ChannelException",
    "IncompatiblePeer",
    "Message",
    "PKey",
    "SSHException",
    "Transport",
]


@contextmanager
def _without(package: str) -> Iterator[None]:
    """Let a package look as if it were not installed, where nobody has loaded it."""
    if package in sys.modules:
        yield
        return
    sys.modules[package] = None  # type: ignore[assignment]  # the import system has it so
    try:
        yield
    finally:
        del sys.modules[package]


with _without("invoke"):
    from paramiko import (
        BadAuthenticationType,
        Channel,
        ChannelException,
        Message,
        PKey,
        SSHException,
        Transport,
    )
    from paramiko.agent import AgentSSH
    from paramiko.ssh_exception import IncompatiblePeer
