"""What a tag makes of a scalar: secret references, and the few tags of others."""

import re
from pathlib import Path

from fleet.errors import InventoryError, Place
from fleet.inventory.address import rooted
from fleet.inventory.model import SecretRef
from fleet.inventory.nodes import ScalarNode, Verbatim
from fleet.inventory.problems import nearest
from fleet.inventory.scalars import plain_scalar

SOURCES = ("env", "file", "cmd")

_CORE = "tag:yaml.org,2002:"
VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_FORMS = "write `!secret env:NAME`, `!secret file:PATH` or `!secret cmd:COMMAND`"


def tagged_scalar(tag: str, text: str, place: Place, key: str) -> ScalarNode:
    """Return the value of a scalar with a tag; ``key`` is the key it stands under.

    Raises:
        InventoryError: the tag is not known, or what it marks is wrong.
    """
    if tag == "!secret":
        return ScalarNode(secret_reference(text, place), text, place)
    if tag == "!vault":
        raise vaulted(place, key)
    if tag == "!unsafe":
        return ScalarNode(Verbatim(text), text, place)
    if tag == f"{_CORE}str":
        return ScalarNode(text, text, place)
    if tag in {f"{_CORE}{kind}" for kind in ("int", "float", "bool", "null")}:
        return ScalarNode(plain_scalar(text), text, place)
    raise unknown_tag(tag, place)


def unknown_tag(tag: str, place: Place) -> InventoryError:
    """Return the error for a tag that means nothing here."""
    shown = tag.replace(_CORE, "!!")
    return InventoryError(f"unknown tag `{shown}`", place=place, hint=f"the one tag: {_FORMS}")


def secret_reference(text: str, place: Place | None) -> SecretRef:
    """Read what follows ``!secret``; a file's path counts from the folder of the inventory file.

    Raises:
        InventoryError: it is no ``env:NAME``, ``file:PATH`` or ``cmd:COMMAND``. The text is not
            repeated in the message, for it may be the secret itself.
    """
    source, colon, argument = text.partition(":")
    argument = argument.strip()
    if not colon:
        raise InventoryError("this is no secret reference", place=place, hint=_FORMS)
    if source not in SOURCES:
        close = nearest(source, SOURCES)
        hint = f"did you mean `{close}:`?" if close else _FORMS
        raise InventoryError("unknown source of a secret", place=place, hint=hint)
    if not argument or any(ord(c) < ord(" ") for c in argument):
        what = f"`!secret {source}:` names nothing that can be read"
        raise InventoryError(what, place=place, hint=_FORMS)
    if source == "env" and not VARIABLE.fullmatch(argument):
        raise InventoryError(
            "`!secret env:` is followed by something that is no variable's name",
            place=place,
            hint="a name has letters, digits and `_`; the value itself never stands here",
        )
    if source == "file" and place is not None:
        argument = rooted(argument, Path(place.file).parent)
    return SecretRef(source, argument, place)


def vaulted(place: Place, key: str = "") -> InventoryError:
    """Return the error for what ansible-vault encrypted."""
    name = key or "name"
    return InventoryError(
        f"{f'`{key}`' if key else 'this'} is encrypted with ansible-vault, which is not read here",
        place=place,
        hint=f"keep it in a variable, a file or a password manager and refer to it:\n"
        f"    {name}: !secret env:{name.upper()}\n"
        f"    {name}: !secret cmd:ansible-vault view FILE",
    )
