"""One answer of ``ssh -G`` serves the hosts that are alike, and no other."""

import os
import subprocess
from pathlib import Path

import pytest

from fleet.connectors import ssh_config
from fleet.connectors.ssh_alike import Alike
from fleet.connectors.ssh_config import resolve
from fleet.inventory.model import Address, Scheme

PLAIN = "Host web-* !web-9\n  User deploy\n  Port 2222\nHost *\n  IdentityFile ~/.ssh/fleet\n"
SHARED = "ControlPath ~/.ssh/%r@%h:%p\n"


def address(name: str, user: str | None = None, port: int | None = None) -> Address:
    return Address(Scheme.SSH, name, user, port)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Start with nothing known, and note the hosts that the real ssh is asked about."""
    monkeypatch.setattr(ssh_config, "_ALIKE", Alike())
    names: list[str] = []
    run = subprocess.run

    def noting(words: list[str], **more: object) -> object:
        names.append(words[-1])
        return run(words, **more)  # type: ignore[call-overload]

    monkeypatch.setattr("fleet.connectors.ssh_config.subprocess.run", noting)
    return names


@pytest.fixture
def config(tmp_path: Path) -> Path:
    return tmp_path / "config"


def alone(name: str, config: Path, monkeypatch: pytest.MonkeyPatch) -> ssh_config.SshSettings:
    with monkeypatch.context() as context:
        context.setattr(ssh_config, "_ALIKE", Alike())
        return resolve(address(name), config=str(config))


NAMES = ("web-1", "web-2", "web-9", "db-1", "db-2", "10.0.0.1", "10.0.0.2", "fd00::1", "fd00::2")


@pytest.mark.parametrize("further", ["", SHARED, "Host 10.0.0.?\n  HostName gate\n"])
def test_hosts_that_match_the_same_lines_are_asked_about_once(
    config: Path, asked: list[str], further: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text(further + PLAIN)
    found = {name: resolve(address(name), config=str(config)) for name in NAMES}
    once = ["web-1", "web-9", "10.0.0.1"] if "gate" in further else ["web-1", "web-9"]
    assert asked == once
    for name in NAMES:
        assert found[name] == alone(name, config, monkeypatch)
    assert (found["web-2"].port, found["web-2"].user, found["db-2"].port) == (2222, "deploy", 22)


@pytest.mark.parametrize(
    "text",
    [
        "Host *\n  HostName %h.example.net\n",
        "Match host b*\n  User other\n",
        "CanonicalizeHostname yes\n",
        'Host "a" b\n  User one\n',
        "Host A*\n  User one\n",
        "IdentityFile ~/.ssh/%n\n",
        "Include ${HOME}/more\n",
        "Include */more\n",
        "HostName gate-a1\n",
    ],
)
def test_where_more_may_tell_hosts_apart_each_is_asked_about(
    config: Path, asked: list[str], text: str
) -> None:
    config.write_text(text)
    for name in ("a1", "b1"):
        resolve(address(name), config=str(config))
    assert asked == ["a1", "b1"]


@pytest.mark.parametrize("name", ["127.1", "0x7f000001", "fd00:0::1", "Web", "a_%h"])
def test_a_name_that_ssh_may_spell_otherwise_is_asked_about(
    config: Path, asked: list[str], name: str
) -> None:
    config.write_text(PLAIN)
    for _ in range(2):
        resolve(address(name), config=str(config))
    assert asked == [name, name]


def test_user_and_port_of_the_address_are_kept_apart(config: Path, asked: list[str]) -> None:
    config.write_text(PLAIN)
    found = [
        resolve(address("db-1"), config=str(config)),
        resolve(address("db-2", "ann"), config=str(config)),
        resolve(address("db-3", port=23), config=str(config)),
    ]
    assert asked == ["db-1", "db-2", "db-3"]
    assert [(one.user == "ann", one.port) for one in found] == [
        (False, 22),
        (True, 22),
        (False, 23),
    ]


def test_a_file_that_changed_is_read_again(config: Path, tmp_path: Path, asked: list[str]) -> None:
    config.write_text(f"Include {tmp_path}/more/*.conf\n{PLAIN}")
    (tmp_path / "more").mkdir()
    assert resolve(address("db-1"), config=str(config)).user != "zoe"
    (tmp_path / "more/a.conf").write_text("User zoe\n")
    assert resolve(address("db-2"), config=str(config)).user == "zoe"
    (tmp_path / "more/a.conf").write_text("User zoe\nPort 24\n")
    assert resolve(address("db-3"), config=str(config)).port == 24
    os.utime(config, ns=(1, 1))
    resolve(address("db-4"), config=str(config))
    assert asked == ["db-1", "db-2", "db-3", "db-4"]
    resolve(address("db-5"), config=str(config))
    assert len(asked) == 4


def test_the_environment_belongs_to_the_question(
    config: Path, asked: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    config.write_text("IdentityAgent ${WHERE}\n")
    for value in ("/one", "/two"):
        monkeypatch.setenv("WHERE", value)
        assert resolve(address("db-1"), config=str(config)).agent == value
    assert len(asked) == 2
