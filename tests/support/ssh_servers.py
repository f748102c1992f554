"""Fixtures: real ssh servers, and a client that knows none of them yet."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.sshd import SSHD, Sshd, make_key, public


@pytest.fixture(scope="session")
def ssh_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the client's key, and the file of keys that servers accept."""
    folder = tmp_path_factory.mktemp("keys")
    make_key(folder / "good")
    make_key(folder / "stranger")
    (folder / "authorized").write_text(public(folder / "good") + "\n")
    return folder


@pytest.fixture(scope="session")
def start_sshd(
    ssh_keys: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Callable[..., Sshd]]:
    """Start ssh servers that live as long as the tests."""
    if SSHD is None:
        pytest.skip("openssh-server is not installed")
    running: list[Sshd] = []

    def start(*extra: str, kinds: tuple[str, ...] = ("ed25519",)) -> Sshd:
        folder = tmp_path_factory.mktemp("sshd")
        running.append(Sshd(folder, ssh_keys / "authorized", extra, kinds))
        return running[-1].start()

    yield start
    for server in running:
        server.stop()


@pytest.fixture(scope="session")
def shared_sshd(start_sshd: Callable[..., Sshd]) -> Sshd:
    return start_sshd()


@pytest.fixture
def sshd(shared_sshd: Sshd) -> Sshd:
    """The server most tests talk to; its counters begin at zero."""
    shared_sshd.forget()
    return shared_sshd


@pytest.fixture
def client(tmp_path: Path, ssh_keys: Path) -> Iterator[Client]:
    """A client with its own ssh configuration and known hosts, which closes what it opened."""
    made = Client(tmp_path, ssh_keys / "good")
    yield made
    made.close()
