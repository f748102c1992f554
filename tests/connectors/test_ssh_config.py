"""What ``ssh -G`` says is what is done."""

import os
import pwd
import subprocess
from pathlib import Path

import pytest
from support.places import CASES

from fleet.connectors.ssh_config import SshSettings, resolve
from fleet.errors import Unreachable
from fleet.inventory.model import Address, Scheme

HOME = pwd.getpwuid(os.getuid()).pw_dir


def ask(config: Path, host: str, user: str | None = None, port: int | None = None) -> SshSettings:
    return resolve(Address(Scheme.SSH, host, user, port), config=str(config))


@pytest.fixture
def configured(tmp_path: Path) -> Path:
    return tmp_path / "config"


def test_case_g02_the_first_match_wins() -> None:
    palace = ask(CASES / "G02/ssh/config", "palace")
    assert (palace.user, palace.hostname, palace.port) == ("first", "10.0.0.5", 22)


def test_case_g03_match_final_exec_and_negation() -> None:
    config = CASES / "G03/ssh/config"
    box, other = ask(config, "box"), ask(config, "other")
    assert (box.user, box.hostname, box.port) == ("deploy", "box.example.net", 2200)
    assert (other.user, other.hostname, other.port) == ("deploy", "other", 22)


@pytest.mark.parametrize(
    ("name", "user", "port", "shown"),
    [
        ("palace", None, None, None),
        ("palace", "deploy", None, "deploy@palace:22"),
        ("palace", "deploy", 2222, "deploy@palace:2222"),
        ("2001:db8::1", "deploy", None, "deploy@[2001:db8::1]:22"),
        ("2001:db8::1", "deploy", 2222, "deploy@[2001:db8::1]:2222"),
        ("palace", "dom\\user", 22, "dom\\user@palace:22"),
        ("fe80::1%eth0", "deploy", None, "deploy@[fe80::1%eth0]:22"),
    ],
)
def test_case_g05_every_part_of_an_address_reaches_ssh_apart(
    configured: Path, name: str, user: str | None, port: int | None, shown: str | None
) -> None:
    configured.write_text("Host *\n  Port 99\n" if port else "")
    settings = ask(configured, name, user, port)
    assert str(settings) == (shown or f"{pwd.getpwuid(os.getuid()).pw_name}@palace:22")


def test_case_g05_a_port_belongs_to_the_name_of_the_key(configured: Path) -> None:
    configured.write_text("")
    assert ask(configured, "2001:DB8::1", port=2222).key_names == (
        "[2001:db8::1]:2222",
        "2001:db8::1",
    )
    assert ask(configured, "Palace").key_names == ("palace",)


def test_case_g06_the_agent_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSH_AUTH_SOCK", "/elsewhere")
    palace = ask(CASES / "G06/ssh/config", "palace")
    assert palace.agent == f"{HOME}/.agent/sock"
    assert palace.identities == (f"{HOME}/.ssh/id_fleet",)
    assert palace.identities_only
    other = ask(CASES / "G06/ssh/config", "other")
    assert other.agent == "/elsewhere"
    assert not other.identities_only


def test_case_g08_hops_have_their_own_settings() -> None:
    config = CASES / "G08/ssh/config"
    palace = ask(config, "palace")
    assert [str(hop) for hop in palace.hops][:1] == ["e@edge.example.net:2201"]
    assert [(hop.user, hop.hostname, hop.port) for hop in palace.hops] == [
        ("e", "edge.example.net", 2201),
        ("i", "10.9.0.1", 22),
    ]
    assert palace.hostname == "10.9.0.5"
    assert ask(config, "edge").hops == ()


def test_case_g08_none_disables(configured: Path) -> None:
    configured.write_text("Host palace\n  ProxyJump none\nHost *\n  ProxyJump edge\n")
    assert ask(configured, "palace").hops == ()


def test_a_hop_brings_its_own_hops_and_later_ones_do_not(configured: Path) -> None:
    """As ``ssh -J``: edge is reached its own way, inner through edge whatever it says."""
    configured.write_text(
        "Host palace\n ProxyJump edge,inner\nHost edge\n ProxyJump gate\n"
        "Host inner\n ProxyJump palace\nHost gate\n ProxyCommand carry %h\n"
        "Host other\n ProxyJump gate,last\nHost last\n ProxyCommand never\n"
    )
    palace, other = ask(configured, "palace"), ask(configured, "other")
    assert [hop.alias for hop in palace.hops] == ["gate", "edge", "inner"]
    assert [hop.proxy_command for hop in palace.hops] == ["carry gate", None, None]
    assert [hop.proxy_command for hop in other.hops] == ["carry gate", None]


@pytest.mark.parametrize(
    ("jump", "hops"),
    [
        ("a@[2001:db8::1]:44,b@c,d:55", ["a@[2001:db8::1]:44", "b@c:22", "u@d:55"]),
        ("ssh://a@c:44", ["a@c:44"]),
        ("ssh://a@c", ["a@c:22"]),
    ],
)
def test_hops_may_be_written_in_every_form(configured: Path, jump: str, hops: list[str]) -> None:
    configured.write_text(f"Host p\n ProxyJump {jump}\nHost *\n User u\n")
    assert list(map(str, ask(configured, "p").hops)) == hops


def test_hops_that_go_round_are_refused(configured: Path) -> None:
    configured.write_text("Host a\n ProxyJump b\nHost b\n ProxyJump a\n")
    with pytest.raises(Unreachable, match="goes round") as caught:
        ask(configured, "a")
    assert caught.value.stage == "resolve"


def test_tokens_tilde_and_variables_are_expanded(
    configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEYS", "/keys")
    monkeypatch.setenv("AGENT", "/agent")
    configured.write_text(
        "Host p\n HostName p.example.net\n User u\n Port 7\n IdentityFile ~/%r@%h:%p%%\n"
        " IdentityFile ${KEYS}/%n\n IdentityAgent $AGENT\n ProxyCommand carry %h %p %r %n\n"
    )
    settings = ask(configured, "p")
    assert settings.identities == (f"{HOME}/u@p.example.net:7%", "/keys/p")
    assert settings.agent == "/agent"
    assert settings.proxy_command == "carry p.example.net 7 u p"


def test_agent_and_identity_may_be_switched_off(configured: Path) -> None:
    configured.write_text("Host p\n IdentityAgent none\n IdentityFile none\n")
    settings = ask(configured, "p")
    assert (settings.agent, settings.identities) == (None, ())


def test_an_identity_of_the_inventory_comes_first(configured: Path, tmp_path: Path) -> None:
    configured.write_text("Host p\n IdentityFile /configured\n")
    mine = tmp_path / "mine"
    address = Address(Scheme.SSH, "p")
    with pytest.raises(Unreachable, match="does not exist") as caught:
        resolve(address, identity=str(mine), config=str(configured))
    assert caught.value.stage == "authentication"
    mine.touch()
    settings = resolve(address, identity=str(mine), config=str(configured))
    assert settings.identities == (str(mine), "/configured")


def test_file_names_with_blanks_are_told_apart(configured: Path, tmp_path: Path) -> None:
    odd = tmp_path / "known by us"
    odd.write_text("")
    configured.write_text(
        f'Host p\n UserKnownHostsFile "{odd}" /absent\n GlobalKnownHostsFile none\n'
    )
    assert ask(configured, "p").known_hosts == (str(odd), "/absent")


def test_include_is_followed(configured: Path, tmp_path: Path) -> None:
    (tmp_path / "more").write_text("Host p\n Port 77\n")
    configured.write_text(f"Include {tmp_path}/more\n")
    assert ask(configured, "p").port == 77


def test_the_environment_may_name_the_configuration(
    configured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configured.write_text("Host p\n Port 77\n")
    monkeypatch.setenv("FLEET_SSH_CONFIG", str(configured))
    assert resolve(Address(Scheme.SSH, "p")).port == 77


@pytest.mark.parametrize(
    "name",
    ["-oProxyCommand=touch owned", "", "a b", "a;b", "$(touch owned)", "`b`", "a|b", "a\nb", "a'b"],
)
def test_a_name_that_a_shell_could_misread_is_refused(
    configured: Path, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    configured.write_text("Host *\n ProxyCommand true %h\n")
    with pytest.raises(Unreachable, match="refused") as caught:
        ask(configured, name)
    assert caught.value.stage == "resolve"
    assert str(caught.value).isprintable()
    assert not (tmp_path / "owned").exists()


@pytest.mark.parametrize("user", ["-v", "a;b", "a -v", "a\\", "a$(b)"])
def test_a_user_that_a_shell_could_misread_is_refused(configured: Path, user: str) -> None:
    configured.write_text("")
    with pytest.raises(Unreachable, match="refused"):
        ask(configured, "p", user)


def test_a_broken_configuration_is_quoted(configured: Path) -> None:
    configured.write_text("Host p\n Prot 22\n")
    with pytest.raises(Unreachable, match=r"line 2: Bad configuration option: prot") as caught:
        ask(configured, "p")
    assert caught.value.stage == "resolve"


def test_no_ssh_is_told(configured: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(Unreachable, match="no ssh program") as caught:
        ask(configured, "p")
    assert "install the OpenSSH client" in caught.value.hint


def test_a_match_exec_that_hangs_is_told(configured: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hang(*args: object, **kwargs: object) -> None:
        raise subprocess.TimeoutExpired("ssh", 15)

    monkeypatch.setattr(subprocess, "run", hang)
    with pytest.raises(Unreachable, match="did not answer") as caught:
        ask(configured, "p")
    assert "Match exec" in caught.value.hint
