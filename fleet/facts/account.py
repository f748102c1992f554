"""Whose home a container's or an image's ``~`` is: told by its own configuration and passwd."""

import posixpath
import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from fleet.facts.request import TEXT_LIMIT
from fleet.facts.walk import Tree, Unreadable, resolve

_PASSWD = "/etc/passwd"  # noqa: S105 - a path
_ROOT_HOME = "/root"
_HOME_FIELD = 5
_UID = re.compile(r"[0-9]{1,10}")


class Account(NamedTuple):
    """Who a container runs as, and the rule that gave the home."""

    home: str
    user: str
    uid: int | None
    rule: str


def home_of(user: str, env: Mapping[str, str], passwd: str, *, usual: str | None = None) -> Account:
    """Tell a container's user and home from its configuration and its own passwd.

    The engines' rule: digits are a uid, anything else a name, nothing is root; ``HOME`` from the
    environment wins where it is set and not empty; a uid that passwd does not know lives in ``/``.

    Args:
        user: ``Config.User``, with or without a group.
        env: ``Config.Env``.
        passwd: the content of the image's ``/etc/passwd``.
        usual: root's home where passwd does not tell it (see :func:`usual_home`).
    """
    asked = user.partition(":")[0] or "0"
    uid = int(asked) if _UID.fullmatch(asked) else None
    line = next((a for a in _accounts(passwd) if uid in (None, a.uid) and _named(a, asked)), None)
    name = line.user if line else ("root" if uid == 0 else "" if uid is not None else asked)
    found = uid if line is None else line.uid
    if env.get("HOME"):
        return Account(posixpath.join("/", env["HOME"]), name, found, "HOME in the environment")
    if line is None and usual and (uid == 0 or asked == "root"):
        return Account(usual, "root", 0, f"no passwd tells it; {usual} is there")
    if line is None:
        unknown = "its passwd does not know the user"
        return Account(
            "/", name, found, f"{unknown} {asked}" if uid is None else f"{unknown}'s uid"
        )
    return Account(posixpath.join("/", line.home), name, found, f"its passwd, user {name}")


def usual_home(tree: Tree) -> str | None:
    """Return ``/root`` where files show that it is a home; None where they do not.

    An engine starts root in ``/`` when an image has no passwd at all. But a tree without one is
    only a part of what will run, and where it has a ``/root`` folder that is whom it was made for.
    """
    node = resolve(tree, _ROOT_HOME).node
    return _ROOT_HOME if node and node.kind == "directory" else None


def owners_of(passwd: str) -> dict[int, str]:
    """Return user names by uid; the first line of a uid counts."""
    names: dict[int, str] = {}
    for account in _accounts(passwd):
        names.setdefault(account.uid, account.user)
    return names


def passwd_of(tree: Tree) -> str:
    """Return a tree's ``/etc/passwd``; empty where there is none that can be read."""
    walk = resolve(tree, _PASSWD)
    try:
        content = tree.read(walk.final, TEXT_LIMIT) if walk.final else b""
    except Unreadable:
        content = b""
    return content.decode("utf-8", "backslashreplace")


class _Line(NamedTuple):
    user: str
    uid: int
    home: str


def _accounts(passwd: str) -> Iterator[_Line]:
    for line in passwd.split("\n"):
        fields = line.strip().split(":")
        if len(fields) > _HOME_FIELD and _UID.fullmatch(fields[2]):
            yield _Line(fields[0], int(fields[2]), fields[_HOME_FIELD])


def _named(line: _Line, asked: str) -> bool:
    return bool(_UID.fullmatch(asked)) or line.user == asked
