"""Logging in: what ssh would offer, in its order, and never a prompt."""

import os
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.sshd import Sshd, make_key

from fleet.errors import Unreachable
from fleet.secrets import Secret

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
StartSshd = Callable[..., Sshd]


class Agent:
    """A real ssh-agent."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._process = subprocess.Popen(
            ["ssh-agent", "-D", "-a", str(path)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with socket.socket(socket.AF_UNIX) as probe:
            while probe.connect_ex(str(path)):
                time.sleep(0.01)

    def add(self, key: Path) -> None:
        environment = {**os.environ, "SSH_AUTH_SOCK": str(self.path)}
        subprocess.run(["ssh-add", "-q", str(key)], check=True, env=environment)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait()


@pytest.fixture
def start_agent(tmp_path: Path) -> Iterator[Callable[[str], Agent]]:
    agents: list[Agent] = []

    def start(name: str) -> Agent:
        agents.append(Agent(tmp_path / name))
        return agents[-1]

    yield start
    for agent in agents:
        agent.stop()


@pytest.fixture(autouse=True)
def no_agent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_AUTH_SOCK", raising=False)


def reach(client: Client, **options: object) -> bytes:
    connector = client.connect("palace", **options)  # type: ignore[arg-type] # any option
    return connector.apply("echo hello", Secret("")).output


def refused(client: Client, **options: object) -> Unreachable:
    started = time.monotonic()
    with pytest.raises(Unreachable) as caught:
        reach(client, **options)
    assert caught.value.stage == "authentication", caught.value
    assert time.monotonic() - started < 8
    return caught.value


def set_up(client: Client, server: Sshd, *lines: str) -> None:
    """Configure the host, these lines first."""
    client.host("palace", server, *lines)
    client.know(server.known())


def test_a_wrong_key_is_refused_with_methods_and_keys(
    client: Client, sshd: Sshd, ssh_keys: Path
) -> None:
    client.key = ssh_keys / "stranger"
    set_up(client, sshd)
    error = refused(client)
    assert "methods offered: publickey;" in error.what
    assert f"{ssh_keys / 'stranger'} SHA256:" in error.what


def test_an_identity_of_the_inventory_goes_first(
    client: Client, sshd: Sshd, ssh_keys: Path
) -> None:
    client.key = ssh_keys / "stranger"
    set_up(client, sshd)
    assert reach(client, identity=ssh_keys / "good") == b"hello\n"


def test_a_passphrase_is_never_asked_for(client: Client, sshd: Sshd) -> None:
    client.key = make_key(client.folder / "locked", passphrase="tok-EXAMPLE-phrase")
    set_up(client, sshd)
    error = refused(client)
    assert f"{client.key} has a passphrase: unlock it with ssh-add" in error.hint
    assert "keys tried: none" in error.what


def test_a_key_file_that_others_can_read_is_not_used(
    client: Client, sshd: Sshd, ssh_keys: Path
) -> None:
    client.key = client.folder / "open"
    client.key.write_bytes((ssh_keys / "good").read_bytes())
    client.key.chmod(0o640)
    set_up(client, sshd)
    assert "mode 0640, ssh wants 0600" in refused(client).hint


@pytest.mark.parametrize(
    "content", [b"", b"\xff\x00" * 40, b"-----BEGIN OPENSSH PRIVATE KEY-----\n"]
)
def test_a_broken_key_file_is_named(client: Client, sshd: Sshd, content: bytes) -> None:
    client.key = client.folder / "broken"
    client.key.write_bytes(content)
    client.key.chmod(0o600)
    set_up(client, sshd)
    assert f"{client.key} is no usable private key" in refused(client).hint


def test_an_absent_key_file_is_as_silent_as_in_ssh(client: Client, sshd: Sshd) -> None:
    client.key = client.folder / "absent"
    set_up(client, sshd)
    error = refused(client)
    assert "keys tried: none" in error.what
    assert "absent" not in error.hint


def test_the_agent_of_the_environment_is_used(
    client: Client,
    sshd: Sshd,
    ssh_keys: Path,
    start_agent: Callable[[str], Agent],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    agent = start_agent("agent")
    agent.add(ssh_keys / "good")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(agent.path))
    client.key = client.folder / "absent"
    set_up(client, sshd, "IdentityAgent SSH_AUTH_SOCK", "IdentitiesOnly no")
    assert reach(client) == b"hello\n"


def test_the_agent_of_the_configuration_goes_before_that_of_the_environment(
    client: Client,
    sshd: Sshd,
    ssh_keys: Path,
    start_agent: Callable[[str], Agent],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    here, elsewhere = start_agent("here"), start_agent("elsewhere")
    here.add(ssh_keys / "good")
    elsewhere.add(ssh_keys / "stranger")
    monkeypatch.setenv("SSH_AUTH_SOCK", str(elsewhere.path))
    client.key = client.folder / "absent"
    set_up(client, sshd, f"IdentityAgent {here.path}", "IdentitiesOnly no")
    assert reach(client) == b"hello\n"


def test_identities_only_keeps_the_agents_other_keys_back(
    client: Client, sshd: Sshd, ssh_keys: Path, start_agent: Callable[[str], Agent]
) -> None:
    agent = start_agent("agent")
    agent.add(ssh_keys / "good")
    client.key = ssh_keys / "stranger"
    set_up(client, sshd, f"IdentityAgent {agent.path}")
    assert "good" not in refused(client).what


@pytest.mark.parametrize("named", ["public", "locked", "locked without public"])
def test_identities_only_finds_its_key_in_the_agent(
    client: Client, start_sshd: StartSshd, start_agent: Callable[[str], Agent], named: str
) -> None:
    """By the public half alone, or by a private half whose passphrase nobody knows here."""
    key = make_key(client.folder / "mine")
    authorized = client.folder / "authorized"
    authorized.write_bytes(Path(f"{key}.pub").read_bytes())
    accepting = start_sshd(f"AuthorizedKeysFile {authorized}")
    agent = start_agent("agent")
    agent.add(key)
    client.key = key
    if named == "public":
        client.key = Path(f"{key}.pub")
    else:
        change = ["ssh-keygen", "-q", "-p", "-P", "", "-N", "tok-EXAMPLE-phrase", "-f", str(key)]
        subprocess.run(change, check=True, stdout=subprocess.DEVNULL)
        if named == "locked without public":
            Path(f"{key}.pub").rename(client.folder / "away")
    set_up(client, accepting, f"IdentityAgent {agent.path}")
    assert reach(client) == b"hello\n"


def test_an_agent_that_is_gone_is_told(client: Client, sshd: Sshd) -> None:
    client.key = client.folder / "absent"
    set_up(client, sshd, f"IdentityAgent {client.folder}/gone", "IdentitiesOnly no")
    assert f"no agent answers at {client.folder}/gone" in refused(client).hint


def test_too_many_keys_are_explained(
    client: Client, sshd: Sshd, ssh_keys: Path, start_agent: Callable[[str], Agent]
) -> None:
    agent = start_agent("agent")
    for number in range(8):
        agent.add(make_key(client.folder / f"spare{number}"))
    client.key = client.folder / "absent"
    set_up(client, sshd, f"IdentityAgent {agent.path}", "IdentitiesOnly no")
    error = refused(client)
    assert "name one key with IdentityFile and IdentitiesOnly yes" in error.hint
    assert "spare0 SHA256:" in error.what


def test_a_second_factor_is_not_prompted_for(client: Client, start_sshd: StartSshd) -> None:
    both = start_sshd("AuthenticationMethods publickey,publickey")
    set_up(client, both)
    error = refused(client)
    assert "accepted, but the server wants more" in error.what


def test_a_user_certificate_beside_the_key_is_used(
    client: Client, start_sshd: StartSshd, ssh_keys: Path
) -> None:
    authority = make_key(client.folder / "ca")
    key = make_key(client.folder / "certified")
    user = subprocess.run(["id", "-un"], check=True, capture_output=True, text=True).stdout.strip()
    sign = ["ssh-keygen", "-q", "-s", str(authority), "-I", "me", "-n", user, f"{key}.pub"]
    subprocess.run(sign, check=True)
    server = start_sshd(f"TrustedUserCAKeys {authority}.pub")
    client.key = key
    set_up(client, server)
    assert reach(client) == b"hello\n"


def test_rsa_keys_work(client: Client, start_sshd: StartSshd) -> None:
    key = make_key(client.folder / "rsa", kind="rsa")
    server = start_sshd(f"AuthorizedKeysFile {key}.pub")
    client.key = key
    set_up(client, server)
    assert reach(client) == b"hello\n"
