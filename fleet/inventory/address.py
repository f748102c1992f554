"""Addresses as people type them: OpenSSH's, skopeo's and Trivy's notation to an :class:`Address`.

OpenSSH takes ``deploy@palace:2222`` for a host named ``palace:2222``; here it is split, as its
readers mean it. IPv6 addresses need brackets as soon as a port could be meant.
"""

import re
from collections.abc import Iterable
from ipaddress import AddressValueError, IPv6Address
from pathlib import Path
from typing import NoReturn
from urllib.parse import unquote

from fleet.errors import InventoryError, Place
from fleet.facts.request import CONTAINER
from fleet.inventory.image_reference import image_reference, may_be_shown
from fleet.inventory.model import Address, Kind, Scheme, Target, Variables
from fleet.inventory.problems import nearest, wrapped

FORMS = {
    Scheme.SSH: "ssh://user@host:port",
    Scheme.LOCAL: "local:[HOME]",
    Scheme.ROOTFS: "rootfs:DIR",
    Scheme.CONTAINER: "container:NAME",
    Scheme.DOCKER_DAEMON: "docker-daemon:REF",
    Scheme.OCI: "oci:DIR[:TAG]",
    Scheme.OCI_ARCHIVE: "oci-archive:FILE[:TAG]",
    Scheme.DOCKER_ARCHIVE: "docker-archive:FILE[:REF]",
    Scheme.DOCKER: "docker://REGISTRY/NAME[:TAG]",
}
DEFAULT_LAUNCH = "sh -lc"
"""How pi is launched on a host that does not say: every POSIX host has it, and it reads
``~/.profile``."""

MAX_PORT = 65535

_TAGGED = (Scheme.OCI, Scheme.OCI_ARCHIVE, Scheme.DOCKER_ARCHIVE)
_REFUSED_IN_NAMES = re.compile(r"[\s'\"`$;&<>|(){}*?!,#/%\\]")
_REFUSED_IN_USERS = re.compile(r"[\s'\"`$;&<>|(){}*?!,#/:%]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ZONE = re.compile(r"[A-Za-z0-9_.-]+")
_CONTAINER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")
_REFERENCE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.:/@+-]*")
_PORT = re.compile(r"[0-9]{1,5}")
_PORT_OR_IPV6 = re.compile(r"[0-9]{1,5}|[0-9a-fA-F.]*:[0-9a-fA-F:.]*(%.+)?")
_SCHEME = re.compile(r"([a-z][a-z0-9+-]*):(.*)", re.DOTALL)
_REGISTRY = f"{Scheme.DOCKER}://"
_IN_REGISTRY = "docker://registry.example.net/pi-devbox:latest"
_ELSEWHERE = {
    "docker": f"an image in a registry is {FORMS[Scheme.DOCKER]}",
    "http": "that is a URL, not a target",
    "https": "that is a URL, not a target",
}


def parse_address(text: str, *, place: Place | None = None, base: Path | None = None) -> Address:
    """Read an address.

    ``base`` is the folder that relative paths count from; None leaves them as they are. ``~`` at
    the beginning of a path is the home of whoever runs this.

    Raises:
        InventoryError: it is none; shows the right spelling.
    """
    if not text.strip():
        _refuse("an address is empty", place, _forms())
    if _CONTROL.search(text):
        _refuse(f"control characters in the address {text!r}", place)
    if text.startswith("ssh://"):
        return _ssh_url(text, place)
    if text.startswith(_REGISTRY):
        return _in_registry(text.removeprefix(_REGISTRY), place)
    match = _SCHEME.fullmatch(text)
    if match and match[1] in set(Scheme) - {Scheme.SSH, Scheme.DOCKER}:
        return _with_scheme(Scheme(match[1]), match[2], place, base)
    if match and not _PORT_OR_IPV6.fullmatch(match[2]):
        _refuse_scheme(text, match[1], place)
    return _bare_ssh(text, place)


def image_address(text: str, *, place: Place | None = None, base: Path | None = None) -> Address:
    """Read an image's address; without a scheme it is a reference in the Docker engine.

    Raises:
        InventoryError: it is none, or leads to something that is no image.
    """
    scheme, colon, _ = text.partition(":")
    images = [s for s in Scheme if s.kind is Kind.IMAGE]
    if (colon and scheme in set(Scheme) - {Scheme.DOCKER}) or "://" in text:
        address = parse_address(text, place=place, base=base)
    else:
        address = _with_scheme(Scheme.DOCKER_DAEMON, text, place, base)
    if address.scheme.kind is not Kind.IMAGE:
        spellings = ", ".join(FORMS[s] for s in images)
        what = f"`{text}` is no image but a {address.scheme.kind}"
        _refuse(what, place, wrapped(f"images: {spellings}"))
    return address


def ssh_address(
    host: str, user: str | None = None, port: int | None = None, *, place: Place | None = None
) -> Address:
    """Make an ssh address of parts that are known already (Ansible's variables).

    Raises:
        InventoryError: a part cannot be what it should be.
    """
    name = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if ":" in name and not _is_ipv6(name):
        _refuse(f"`{name}` is no host name", place, "a port is named apart from the host")
    if ":" not in name:
        _check_host(name, place)
    if user is not None:
        _check_user(user, place)
    if port is not None:
        _port(str(port), place)
    return Address(Scheme.SSH, name, user, port)


def ad_hoc_target(
    address: str,
    *,
    systems: Iterable[str] = (),
    require: Iterable[str] = (),
    variables: Variables | None = None,
    launches: Iterable[str] = (),
) -> Target:
    """Make a target of an address on the command line; its name is the address.

    Raises:
        InventoryError: it is no address.
    """
    parsed = parse_address(address)
    return Target(
        name=str(parsed),
        address=parsed,
        systems=tuple(dict.fromkeys(systems)),
        require=tuple(dict.fromkeys(require)),
        variables=dict(variables or {}),
        launches=tuple(launches) or default_launches(parsed),
    )


def default_launches(address: Address) -> tuple[str, ...]:
    """Return how pi is launched where the inventory does not say."""
    return (DEFAULT_LAUNCH,) if address.scheme.kind is Kind.HOST else (CONTAINER,)


def _ssh_url(text: str, place: Place | None) -> Address:
    rest = text.removeprefix("ssh://").removesuffix("/")
    if "/" in rest or "?" in rest or "#" in rest:
        _refuse(f"`{text}` names a path", place, f"an ssh target is a host: {FORMS[Scheme.SSH]}")
    user, at, host = rest.rpartition("@")
    if ":" in user:
        _refuse(
            "a password stands in an ssh address",
            place,
            "remove it; keys and agents are used, never passwords",
        )
    if at and not user:
        _refuse(f"`{text}` has an empty user", place, FORMS[Scheme.SSH])
    return _ssh(unquote(user) if at else None, unquote(host), text, place)


def _bare_ssh(text: str, place: Place | None) -> Address:
    user, at, host = text.rpartition("@")
    if at and not user:
        _refuse(f"`{text}` has an empty user", place, "user@host:port")
    return _ssh(user if at else None, host, text, place)


def _ssh(user: str | None, host: str, text: str, place: Place | None) -> Address:
    prefix = f"{user}@" if user else ""
    if host.startswith("["):
        name, bracket, rest = host[1:].partition("]")
        if not bracket or not _is_ipv6(name) or (rest and not rest.startswith(":")):
            _refuse(f"`{text}` has no IPv6 address in its brackets", place, "[2001:db8::1]:22")
        port = _port(rest[1:], place) if rest else None
    elif host.count(":") > 1:
        name, port = _unbracketed(prefix, host, place), None
    else:
        name, colon, digits = host.partition(":")
        port = _port(digits, place, "" if user else text) if colon else None
    return ssh_address(name, user, port, place=place)


def _unbracketed(prefix: str, host: str, place: Place | None) -> str:
    head, _, tail = host.rpartition(":")
    if _PORT.fullmatch(tail) and _is_ipv6(head):
        hint = f"write {prefix}[{head}]:{tail} for port {tail}"
        if _is_ipv6(host):
            hint += f",\n  {prefix}[{host}] for an address without a port"
        _refuse(f"`{host}` is an IPv6 address and perhaps a port, ambiguous", place, hint)
    if not _is_ipv6(host):
        _refuse(f"`{host}` is no IPv6 address", place, "user@host:port, user@[2001:db8::1]:port")
    return host


def _with_scheme(scheme: Scheme, rest: str, place: Place | None, base: Path | None) -> Address:
    form = FORMS[scheme]
    if scheme is Scheme.LOCAL and not rest:
        return Address(scheme, "")
    name, colon, tag = rest.partition(":") if scheme in _TAGGED else (rest, "", "")
    if not name or (colon and not tag):
        _refuse(f"`{scheme}:{rest}` has an empty part", place, f"write {form}")
    if name.startswith("-"):
        is_path = scheme not in (Scheme.CONTAINER, Scheme.DOCKER_DAEMON)
        _refuse(f"`{name}` begins with a dash", place, f"write ./{name}" if is_path else "")
    if tag and not _REFERENCE.fullmatch(tag.removeprefix("@")):
        _refuse(f"`{tag}` is no tag", place, f"write {form}; a path here cannot hold a `:`")
    if scheme is Scheme.CONTAINER:
        if not _CONTAINER.fullmatch(name):
            _refuse(f"`{name}` is no container's name", place, f"write {form}")
    elif scheme is Scheme.DOCKER_DAEMON:
        if not _REFERENCE.fullmatch(name):
            _refuse(f"`{name}` is no image reference", place, "docker-daemon:pi-devbox:latest")
    else:
        name = rooted(name, base)
    return Address(scheme, name, tag=tag or None)


def _in_registry(reference: str, place: Place | None) -> Address:
    try:
        image_reference(reference)
    except ValueError as error:
        shown = f"`{_REGISTRY}{reference}`" if may_be_shown(reference) else "this"
        hint = f"write {FORMS[Scheme.DOCKER]}, such as {_IN_REGISTRY}"
        _refuse(f"{shown} is no image in a registry: {error}", place, wrapped(hint))
    return Address(Scheme.DOCKER, reference)


def rooted(path: str, base: Path | None) -> str:
    """Return a path with ``~`` expanded, and below ``base`` if it is relative and there is one."""
    try:
        expanded = Path(path).expanduser()
    except RuntimeError:  # no such user's home: the path is taken as it stands
        expanded = Path(path)
    return str(base / expanded if base is not None else expanded)


def _refuse_scheme(text: str, scheme: str, place: Place | None) -> NoReturn:
    close = nearest(scheme, Scheme)
    if scheme in _ELSEWHERE:
        hint = _ELSEWHERE[scheme]
    elif close:
        hint = f"did you mean {FORMS[Scheme(close)]}?"
    elif "/" not in text and text.count(":") == 1:
        _port(text.rpartition(":")[2], place, text)
    else:
        hint = _forms()
    _refuse(f"`{text}` is no address: `{scheme}:` is not known", place, hint)


def _forms() -> str:
    return wrapped(f"addresses: user@host:port, {', '.join(FORMS.values())}")


def _port(digits: str, place: Place | None, text: str = "") -> int:
    """Return a port; ``text`` is what may have been meant for an image's name."""
    if not _PORT.fullmatch(digits) or not 1 <= int(digits) <= MAX_PORT:
        hint = "a port is a number from 1 to 65535"
        if text and not digits.isdigit() and _REFERENCE.fullmatch(text):
            hint += f"\nan image in an engine is docker-daemon:{text}"
        _refuse(f"`{digits}` is no port", place, hint)
    return int(digits)


def _is_ipv6(text: str) -> bool:
    _, percent, zone = text.partition("%")
    if percent and not _ZONE.fullmatch(zone):
        return False
    try:
        IPv6Address(text)
    except AddressValueError:
        return False
    return True


def _check_host(name: str, place: Place | None) -> None:
    if not name:
        _refuse("the host's name is empty", place, FORMS[Scheme.SSH])
    if name.startswith("-"):
        _refuse(f"the host `{name}` begins with a dash", place, "ssh would take it for an option")
    bad = _REFUSED_IN_NAMES.search(name)
    if bad:
        _refuse(f"{bad.group()!r} cannot stand in a host's name: {name!r}", place, _forms())


def _check_user(user: str, place: Place | None) -> None:
    if not user:
        _refuse("the user is empty", place, FORMS[Scheme.SSH])
    if user.startswith("-"):
        _refuse(f"the user `{user}` begins with a dash", place, "ssh would take it for an option")
    bad = _REFUSED_IN_USERS.search(user)
    if bad or user.endswith("\\"):
        character = bad.group() if bad else "\\"
        _refuse(f"{character!r} cannot stand there in a user's name: {user!r}", place)


def _refuse(what: str, place: Place | None, hint: str = "") -> NoReturn:
    raise InventoryError(what, place=place, hint=hint)
