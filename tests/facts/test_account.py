"""Whose home it is: case A17 and the engines' rules."""

import json

import pytest
from support.places import CASES
from support.trees import DictTree

from fleet.facts.account import home_of, owners_of, usual_home

PASSWD = (CASES / "A17" / "passwd").read_text()


def test_a17_three_sets() -> None:
    sets = json.loads((CASES / "A17" / "inspect.json").read_text())
    found = []
    for each in sets:
        env = dict(line.split("=", 1) for line in each["Config"]["Env"])
        found.append(home_of(each["Config"]["User"], env, PASSWD))
    assert [(account.home, account.user, account.uid) for account in found] == [
        ("/home/dev", "dev", 1000),
        ("/workspace", "node", 1001),
        ("/", "", 4242),
    ]
    assert len({account.rule for account in found}) == 3


@pytest.mark.parametrize(
    "user, home, uid",
    [
        ("", "/root", 0),
        ("0", "/root", 0),
        ("root", "/root", 0),
        ("node:staff", "/home/node", 1001),
        (":1000", "/root", 0),
        ("nobody-knows", "/", None),
        ("99999999999999999999", "/", None),
        ("1_000", "/", None),
        ("٣", "/", None),
    ],
)
def test_users_by_name_and_number(user: str, home: str, uid: int | None) -> None:
    account = home_of(user, {}, PASSWD)
    assert (account.home, account.uid) == (home, uid)


def test_home_in_the_environment_wins_unless_empty() -> None:
    assert home_of("dev", {"HOME": "/w"}, PASSWD).home == "/w"
    assert home_of("dev", {"HOME": ""}, PASSWD).home == "/home/dev"


def test_a_broken_passwd_is_survived() -> None:
    assert home_of("dev", {}, "dev\n:::::\ndev:x:ten:1::/a:\ndev:x:7:7::/b:/bin/sh\n").home == "/b"
    assert home_of("dev", {}, "").rule == "its passwd does not know the user dev"
    assert home_of("", {}, "").home == "/"
    assert home_of("dev", {}, "dev:x:5:5:::\n").home == "/"


def test_the_first_name_of_a_uid_counts() -> None:
    assert owners_of("a:x:1:1::/:\nb:x:1:1::/:\nc:x:2:2::/:\n") == {1: "a", 2: "c"}


def test_a_tree_without_passwd_shows_roots_home_by_its_folder() -> None:
    tree = DictTree({"/root/.pi/x": b""})
    account = home_of("", {}, "", usual=usual_home(tree))
    assert account == ("/root", "root", 0, "no passwd tells it; /root is there")
    assert home_of("root", {}, "", usual="/root").home == "/root"
    assert home_of("4242", {}, "", usual="/root").home == "/"
    assert home_of("dev", {}, "", usual="/root").home == "/"
    assert home_of("", {"HOME": "/w"}, "", usual="/root").home == "/w"
    assert home_of("", {}, "root:x:0:0::/var/root:\n", usual="/root").home == "/var/root"
    assert usual_home(DictTree({"/root": b"a file"})) is None
    assert usual_home(DictTree({"/x": b""})) is None
