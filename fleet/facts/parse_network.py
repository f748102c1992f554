"""Listening sockets and interfaces, from what /proc, ip, ifconfig and netstat print."""

import ipaddress
import re

from fleet.facts.frames import Record
from fleet.facts.running import Listener

BIG_ENDIAN = ("s390", "s390x", "ppc64", "ppc", "mips", "mips64", "sparc64", "armeb", "aarch64_be")
MAX_LISTENERS = 4000
WORD = 4  # bytes in which /proc turns an address round

_PROC = re.compile(r"([0-9A-F]{8}|[0-9A-F]{32}):([0-9A-F]{4})")
_NETSTAT = re.compile(r"(tcp4|tcp6|tcp46|tcp) (\S+)[.:]([0-9]{1,5})")
_IP = re.compile(r"[0-9]+: +(\S+) +inet6? +(\S+)")
_IFCONFIG_NAME = re.compile(r"([^\s:]\S*?):? ")
_IFCONFIG = re.compile(r"\s*inet6? (?:addr: ?)?(\S+)")


def listeners(record: Record, machine: str) -> tuple[Listener, ...]:
    """Return listening TCP sockets, each once, sorted; IPv4 inside IPv6 reads as IPv4."""
    lines = (record.maybe(1) or "").split("\n")
    if len(lines) > MAX_LISTENERS:
        raise record.wrong("there are too many listening sockets")
    if record.text(0) == "proc":
        found = {_from_proc(record, line, machine) for line in lines if line}
    else:
        found = {_from_netstat(record, line) for line in lines if line}
    return tuple(
        Listener(address=address, port=port) for address, port in sorted(found, key=_by_port)
    )


def interfaces(record: Record) -> dict[str, tuple[str, ...]]:
    """Return the addresses of each interface that has one, without the length of their network.

    None is told where the only one that matters is not there.
    """
    text = record.maybe(1) or ""
    pairs = _from_ip(text) if record.text(0) == "ip" else _from_ifconfig(text)
    found: dict[str, tuple[str, ...]] = {}
    for name, told in pairs:
        address = _address(told)
        if address is not None:
            found[name] = (*found.get(name, ()), address)
    return found


def _by_port(pair: tuple[str, int]) -> tuple[int, str]:
    return pair[1], pair[0]


def _from_proc(record: Record, line: str, machine: str) -> tuple[str, int]:
    found = _PROC.fullmatch(line)
    if found is None:
        raise record.wrong("a socket is not written as in /proc/net/tcp")
    raw = bytes.fromhex(found[1])
    if machine not in BIG_ENDIAN:
        words = (raw[at : at + WORD] for at in range(0, len(raw), WORD))
        raw = b"".join(word[::-1] for word in words)
    return _plain(ipaddress.ip_address(raw)), int(found[2], 16)


def _from_netstat(record: Record, line: str) -> tuple[str, int]:
    found = _NETSTAT.fullmatch(line)
    if found is None or int(found[3]) > 0xFFFF:  # noqa: PLR2004 - the highest port
        raise record.wrong("a socket is not written as netstat writes it")
    if found[2] == "*":
        return ("0.0.0.0" if found[1] == "tcp4" else "::"), int(found[3])  # noqa: S104 - a name
    address = _address(found[2])
    if address is None:
        raise record.wrong("a socket has no address")
    return address, int(found[3])


def _from_ip(text: str) -> list[tuple[str, str]]:
    return [(m[1].partition("@")[0], m[2]) for m in map(_IP.match, text.split("\n")) if m]


def _from_ifconfig(text: str) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    name = ""
    for line in text.split("\n"):
        head = _IFCONFIG_NAME.match(line)
        if head:
            name = head[1]
        told = _IFCONFIG.match(line)
        if told and name:
            pairs.append((name, told[1]))
    return pairs


def _address(told: str) -> str | None:
    try:
        return _plain(ipaddress.ip_address(told.partition("/")[0].partition("%")[0]))
    except ValueError:
        return None  # the tool shows more than addresses in that column


def _plain(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> str:
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)
