"""Contents with secrets in them: masked for a reader, filled where they are written.

A secret in rendered text is a mark. It is replaced by its value when the apply program is made,
spelt as the file's syntax asks; a value that cannot be spelt there is refused, never mangled.
"""

import json
import re
from collections.abc import Callable, Iterator
from xml.sax.saxutils import escape

from fleet.errors import PlanError, SecretError
from fleet.installers.model import Content, Syntax
from fleet.inventory.model import SecretRef
from fleet.secrets import MASK, Secret

OTHERS = 0o077

Reveal = Callable[[SecretRef], Secret]

_MARK = re.compile("\ue000(env|file|cmd):([^\ue001]*)\ue001")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def written(text: str, syntax: Syntax = "text") -> Content:
    """Return rendered text as content; marks of secrets stay marks."""
    return Content(data=text.encode(), syntax=syntax, sealed=bool(_MARK.search(text)))


def references(content: Content) -> tuple[SecretRef, ...]:
    """Return the secrets a content holds, each once, in order."""
    return tuple(dict.fromkeys(_found(content)))


def _found(content: Content) -> Iterator[SecretRef]:
    if content.sealed:
        for mark in _MARK.finditer(content.data.decode()):
            yield SecretRef(mark[1], mark[2])


def masked(content: Content) -> bytes:
    """Return the content with ``***`` for every secret: what a diff may show."""
    if not content.sealed:
        return content.data
    return _MARK.sub(MASK, content.data.decode()).encode()


def filled(content: Content, reveal: Reveal) -> bytes:
    """Return the bytes to be written.

    Raises:
        SecretError: a secret has no value, or one that this kind of file cannot hold.
    """
    if not content.sealed:
        return content.data
    spell = _SPELLINGS[content.syntax]

    def value(mark: re.Match[str]) -> str:
        reference = SecretRef(mark[1], mark[2])
        return spell(reveal(reference).reveal(), reference)

    return _MARK.sub(value, content.data.decode()).encode()


def check_mode(content: Content, mode: int, where: str) -> None:
    """Refuse to write a secret where others can read it.

    Raises:
        PlanError: the content holds a secret and the mode lets group or others in.
    """
    if content.sealed and mode & OTHERS:
        raise PlanError(
            f"it holds a secret and would be readable by others (mode {mode:04o})",
            where=where,
            hint='give it mode "0600", or keep the secret in a file of its own',
        )


def _plain(value: str, reference: SecretRef) -> str:
    if _CONTROL.search(value):
        raise _unfit(reference, "a line break or another control character")
    return value


def _in_env(value: str, reference: SecretRef) -> str:
    # Between single quotes no reader changes anything but the quote itself, and the readers
    # (shells, compose, systemd) do not agree on how to escape that one.
    if "'" in value:
        raise _unfit(reference, "a single quote")
    return _plain(value, reference)


def _in_json(value: str, _reference: SecretRef) -> str:
    return json.dumps(value)[1:-1]


def _in_xml(value: str, reference: SecretRef) -> str:
    return escape(_plain(value, reference))


def _unfit(reference: SecretRef, what: str) -> SecretError:
    return SecretError(
        f"{reference} holds {what}, which the file it goes to cannot hold",
        where=str(reference.place) if reference.place else "",
        hint="choose a value without it",
    )


_SPELLINGS: dict[Syntax, Callable[[str, SecretRef], str]] = {
    "text": _plain,
    "env": _in_env,
    "json": _in_json,
    "xml": _in_xml,
}
