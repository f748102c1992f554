"""Host keys: only a key that OpenSSH would accept without a question is accepted."""

import base64
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from support.client import Client
from support.loopback import free_port
from support.sshd import Sshd, make_key, public

from fleet.connectors.known_hosts import fingerprint
from fleet.errors import Unreachable
from fleet.secrets import Secret

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
StartSshd = Callable[..., Sshd]


@pytest.fixture(scope="module")
def two_keys(start_sshd: StartSshd) -> Sshd:
    return start_sshd(kinds=("ed25519", "rsa"))


def reach(client: Client, alias: str = "palace") -> bytes:
    return client.connect(alias).apply("echo hello", Secret("")).output


def refused(client: Client, alias: str = "palace") -> Unreachable:
    before = client.known_hosts.read_bytes() if client.known_hosts.exists() else None
    with pytest.raises(Unreachable) as caught:
        reach(client, alias)
    assert caught.value.stage == "host-key"
    assert (client.known_hosts.read_bytes() if client.known_hosts.exists() else None) == before
    return caught.value


def offered(server: Sshd, kind: str = "ed25519") -> str:
    shown = subprocess.run(
        ["ssh-keygen", "-l", "-f", f"{server.host_key(kind)}.pub"],
        check=True,
        capture_output=True,
        text=True,
    )
    return shown.stdout.split()[1]


def test_an_unknown_key_is_refused_with_the_way_out(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd)
    error = refused(client)
    assert offered(sshd) in error.what
    assert f"ssh-keyscan -p {sshd.port} 127.0.0.1 >> {client.known_hosts}" in error.hint
    assert "palace" in error.hint
    assert sshd.sessions == 0


def test_the_advice_for_an_unknown_key_works(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd)
    command = refused(client).hint.rpartition("on a network you trust: ")[2]
    subprocess.run(command, shell=True, check=True, stderr=subprocess.DEVNULL)
    assert reach(client) == b"hello\n"


def test_checking_is_never_switched_off(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd, "StrictHostKeyChecking no")
    client.host("new", sshd, "StrictHostKeyChecking accept-new")
    assert refused(client).stage == refused(client, "new").stage == "host-key"


def test_a_changed_key_is_refused_and_both_are_shown(client: Client, sshd: Sshd) -> None:
    old = make_key(client.folder / "old")
    client.host("palace", sshd)
    client.know("# a comment\n", f"[127.0.0.1]:{sshd.port} {public(old)}\n")
    error = refused(client)
    assert offered(sshd) in error.what
    assert f"{client.known_hosts}:2" in error.what
    assert "somebody may be in the middle" in error.hint
    forget = error.hint.splitlines()[1].strip()
    assert forget.startswith("ssh-keygen -R")
    subprocess.run(forget, shell=True, check=True, capture_output=True)
    assert "not known" in refused(client).what


def test_a_revoked_key_is_refused_though_known(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd)
    client.know(sshd.known(), f"@revoked * {public(sshd.host_key('ed25519'))}\n")
    assert "revoked" in refused(client).what


def test_hashed_names_are_understood(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd)
    client.know(sshd.known())
    command = ["ssh-keygen", "-H", "-f", str(client.known_hosts)]
    subprocess.run(command, check=True, capture_output=True)
    assert b"|1|" in client.known_hosts.read_bytes()
    assert reach(client) == b"hello\n"


def test_patterns_and_negation(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd)
    client.know(sshd.known(name=f"[127.0.0.*]:{sshd.port},![127.0.0.1]:*"))
    refused(client)
    client.know(sshd.known(name=f"[127.?.0.*]:{sshd.port}"))
    assert reach(client) == b"hello\n"


def test_a_name_without_port_serves_as_openssh_lets_it(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd)
    client.know(sshd.known(name="127.0.0.1"))
    assert reach(client) == b"hello\n"


def test_another_key_under_the_name_without_port_is_another_service(
    client: Client, sshd: Sshd
) -> None:
    client.host("palace", sshd)
    client.know(f"127.0.0.1 {public(make_key(client.folder / 'other'))}\n")
    assert "the host key is not known" in refused(client).what


def test_an_alias_stands_alone(client: Client, sshd: Sshd) -> None:
    client.host("palace", sshd, "HostKeyAlias the-palace")
    client.know(sshd.known())
    error = refused(client)
    assert "not known as the-palace" in error.what
    assert "ssh-keyscan" not in error.hint
    client.know(sshd.known(name="the-palace"))
    assert reach(client) == b"hello\n"


@pytest.mark.parametrize("kind", ["ed25519", "rsa"])
def test_the_kind_of_key_that_is_known_is_asked_for(
    client: Client, two_keys: Sshd, kind: str
) -> None:
    client.host("palace", two_keys)
    client.know(two_keys.known(kind))
    assert reach(client) == b"hello\n"


def test_a_known_key_of_another_kind_is_told(client: Client, sshd: Sshd) -> None:
    other = make_key(client.folder / "ecdsa", kind="ecdsa")
    client.host("palace", sshd)
    client.know(f"[127.0.0.1]:{sshd.port} {public(other)}\n")
    assert f"{client.known_hosts}:1 says ecdsa-sha2-nistp256" in refused(client).what


def test_an_authority_is_said_not_to_be_checked(client: Client, sshd: Sshd) -> None:
    authority = make_key(client.folder / "ca")
    client.host("palace", sshd)
    client.know(f"@cert-authority * {public(authority)}\n")
    assert "does not check host certificates" in refused(client).hint


def test_the_global_file_counts_and_a_broken_line_does_not_hide_others(
    client: Client, sshd: Sshd
) -> None:
    everyone = client.folder / "all of us"
    everyone.write_bytes(b"\xff\xfe broken\n@odd\nhost ssh-ed25519 %%%\n" + sshd.known().encode())
    client.host("palace", sshd, f'GlobalKnownHostsFile "{everyone}"')
    assert reach(client) == b"hello\n"


def test_the_key_of_a_jump_host_is_checked_too(
    client: Client, sshd: Sshd, start_sshd: StartSshd
) -> None:
    edge = start_sshd()
    client.host("edge", edge)
    client.host("palace", sshd, "ProxyJump edge")
    client.know(sshd.known())
    error = refused(client)
    assert f":{edge.port} (jump host to palace)" in error.where
    client.know(edge.known())
    assert reach(client) == b"hello\n"


def test_fingerprints_are_those_of_openssh(sshd: Sshd) -> None:
    blob = base64.b64decode(public(sshd.host_key("ed25519")).split()[1])
    assert fingerprint(blob) == offered(sshd)


def known_hosts_texts(server: Sshd, folder: Path) -> Iterator[str]:
    key = public(server.host_key("ed25519"))
    other = public(make_key(folder / "other"))
    rsa = public(make_key(folder / "rsa", kind="rsa"))
    here = f"[127.0.0.1]:{server.port}"
    yield from (
        f"{here} {key}\n",
        f"{here} {other}\n",
        f"{here} {other}\n{here} {key}\n",
        f"127.0.0.1 {key}\n",
        f"127.0.0.1 {key}\n{here} {other}\n",
        f"127.0.0.1 {key}\n{here} {rsa}\n",
        f"[127.0.0.1]:{free_port()} {key}\n",
        f"* {key}\n",
        f"*,!{here} {key}\n",
        f"@revoked {here} {key}\n{here} {key}\n",
        f"@revoked {here} {key}\n127.0.0.1 {key}\n",
        f"@revoked 127.0.0.1 {key}\n{here} {key}\n",
        f"@revoked {here} {other}\n127.0.0.1 {key}\n",
        f"@cert-authority {here} {key}\n",
        f"{here},elsewhere {key} comment here\n",
        f"#{here} {key}\n",
        "",
    )


def test_the_same_answer_as_openssh(client: Client, sshd: Sshd) -> None:
    """For each known_hosts, ssh itself and fleet accept or refuse alike."""
    client.host("palace", sshd)
    options = ("-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=yes", "-o", "UpdateHostKeys=no")
    for text in known_hosts_texts(sshd, client.folder):
        client.known_hosts.write_text(text)
        done = subprocess.run(
            ["ssh", "-F", str(client.config), *options, "palace", "true"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
        )
        try:
            accepted = reach(client) == b"hello\n"
        except Unreachable as refusal:
            accepted = refusal.stage != "host-key"
        assert accepted == (done.returncode == 0), (text, done.stderr)
