"""The user's own ssh configuration, as OpenSSH itself resolves it.

``ssh -G`` is asked about the target and every jump host (once for hosts that are alike), so
``Include``, ``Match``, tokens, ``ProxyJump``, ``IdentityAgent`` and the rest mean here what they
mean to ``ssh``. What ``ssh -G`` prints unexpanded (``~``, ``%`` tokens and ``${VARIABLES}`` in some
options) is expanded by the rules of ssh_config(5).
"""

import hashlib
import os
import pwd
import re
import socket
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from fleet.connectors.ssh_alike import Alike
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import Unreachable
from fleet.inventory.model import Address

CONFIG_VARIABLE = "FLEET_SSH_CONFIG"
DEFAULT_PORT = 22
_SECONDS = 15
_MOST_HOPS = 8
_NO_HOPS = -1
_ALIKE = Alike()
# As OpenSSH since 9.6: a name ends up in ProxyCommand and Match exec, which a shell reads.
_NOT_IN_A_HOST = re.compile(r"^-|[\s\x00-\x1f\x7f'`\"$\\;&<>|(){}]")
_NOT_IN_A_USER = re.compile(r"^-|[\x00-\x1f\x7f'`\";&<>|(){}]|\s-|\\$")
_HOP = re.compile(
    r"(?:ssh://)?(?:(?P<user>.+)@)?(?:\[(?P<v6>[^\]]+)\]|(?P<name>[^:\[\]]+))(?::(?P<port>\d+))?/?"
)


@dataclass(frozen=True, slots=True)
class SshSettings:
    """How OpenSSH would connect to one host.

    Attributes:
        alias: the name that was asked for.
        hostname: the name or address to connect to.
        identities: private key files in the order ssh would offer them.
        agent: the agent's socket; None where none is to be used.
        identities_only: offer no agent key that ``identities`` does not name.
        hops: jump hosts, the one reached first in front; their own ``hops`` are empty.
        proxy_command: shell command that carries the connection; only without ``hops``.
        known_hosts: files with known host keys, the user's before the machine's.
        key_alias: the name the host key is filed under instead of ``hostname``.
        strict: ``StrictHostKeyChecking`` as configured (shown, never weakened).
        connect_timeout: seconds, where the configuration says.
        key_types: host key algorithms that are allowed.
        family: ``any``, ``inet`` or ``inet6``.
    """

    alias: str
    hostname: str
    user: str
    port: int = DEFAULT_PORT
    identities: tuple[str, ...] = ()
    agent: str | None = None
    identities_only: bool = False
    hops: tuple["SshSettings", ...] = ()
    proxy_command: str | None = None
    known_hosts: tuple[str, ...] = ()
    key_alias: str | None = None
    strict: str = "ask"
    connect_timeout: float | None = None
    key_types: tuple[str, ...] = ()
    family: str = "any"

    @property
    def key_names(self) -> tuple[str, ...]:
        """Names under which known_hosts may hold the key, the one to file it under first.

        As OpenSSH: an alias stands alone; ``[name]:port`` unless the port is 22, and then the bare
        name is asked as well.
        """
        if self.key_alias:
            return (self.key_alias.lower(),)
        name = self.hostname.lower()
        return (name,) if self.port == DEFAULT_PORT else (f"[{name}]:{self.port}", name)

    def __str__(self) -> str:
        host = f"[{self.hostname}]" if ":" in self.hostname else self.hostname
        return f"{self.user}@{host}:{self.port}"


def resolve(
    address: Address, *, identity: str | None = None, config: str | None = None
) -> SshSettings:
    """Ask OpenSSH how it would reach an address, jump hosts included.

    Args:
        address: of scheme ``ssh``.
        identity: private key file to offer first.
        config: file to read instead of the user's and the machine's configuration; by default the
            one that ``FLEET_SSH_CONFIG`` names, if any.

    Raises:
        Unreachable: stage ``resolve``; there is no ``ssh``, it refuses its configuration, or a
            name is one that no shell may see. Stage ``authentication``; ``identity`` is absent.
    """
    chosen = config or os.environ.get(CONFIG_VARIABLE) or None
    settings = _resolve(address, chosen, _MOST_HOPS)
    if identity is None:
        return settings
    first = str(Path(identity).expanduser())
    if not Path(first).exists():
        raise Unreachable(
            f"the private key that the inventory names does not exist: {first!a}",
            stage="authentication",
            where=str(settings),
        )
    return replace(settings, identities=tuple(dict.fromkeys((first, *settings.identities))))


def _resolve(address: Address, config: str | None, hops_left: int) -> SshSettings:
    options = _ask(address, config)
    expand = _Expansion(address.name, options)
    hops = _hops(expand(_one(options, "proxyjump", "none")), address, config, hops_left)
    proxy = _one(options, "proxycommand", "none")
    return SshSettings(
        alias=address.name,
        hostname=expand.hostname,
        user=expand.user,
        port=expand.port,
        identities=_identities(options, expand),
        agent=_agent(_one(options, "identityagent", "SSH_AUTH_SOCK"), expand),
        identities_only=_one(options, "identitiesonly", "no") == "yes",
        hops=hops,
        proxy_command=None if hops or proxy == "none" else expand.tokens(proxy),
        known_hosts=_known_hosts(options, expand),
        key_alias=_one(options, "hostkeyalias", "") or None,
        strict=_one(options, "stricthostkeychecking", "ask"),
        connect_timeout=_seconds(_one(options, "connecttimeout", "none")),
        key_types=tuple(_one(options, "hostkeyalgorithms", "").split(",")),
        family=_one(options, "addressfamily", "any"),
    )


def _ask(address: Address, config: str | None) -> dict[str, list[str]]:
    """Run ``ssh -G`` and return its lines by option, in order."""
    if not address.name or _NOT_IN_A_HOST.search(address.name):
        raise _refusal(address, f"the host name {address.name!a} is refused, as ssh would")
    if address.user is not None and _NOT_IN_A_USER.search(address.user):
        raise _refusal(address, f"the user name {address.user!a} is refused, as ssh would")
    known = _ALIKE.recall(address, config)
    if known is not None:
        return known
    command = ["ssh", "-G"]
    command += ["-F", config] if config else []
    command += ["-l", address.user] if address.user else []
    command += ["-p", str(address.port)] if address.port else []
    try:
        done = subprocess.run(
            [*command, "--", address.name],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
        )
    except FileNotFoundError:
        raise _refusal(
            address,
            "there is no ssh program on this machine's PATH",
            "install the OpenSSH client: fleet asks `ssh -G` what your configuration means",
        ) from None
    except subprocess.TimeoutExpired:
        raise _refusal(
            address,
            f"`ssh -G` did not answer within {_SECONDS} s",
            "a `Match exec` command in the ssh configuration may hang",
        ) from None
    if done.returncode != 0:
        raise _refusal(
            address,
            f"ssh refuses its configuration: {one_line(done.stderr)}",
            f"try: ssh -G {address.name}",
        )
    options = _options(done.stdout.decode("utf-8", "surrogateescape"))
    _ALIKE.remember(address, config, options)
    return options


def _refusal(address: Address, what: str, hint: str = "") -> Unreachable:
    return Unreachable(what, stage="resolve", where=ascii(str(address))[1:-1], hint=hint)


def _options(text: str) -> dict[str, list[str]]:
    options: dict[str, list[str]] = {}
    for line in text.splitlines():
        name, _, value = line.partition(" ")
        options.setdefault(name.lower(), []).append(value)
    return options


def _one(options: dict[str, list[str]], name: str, default: str) -> str:
    return options.get(name, [default])[0]


def _seconds(text: str) -> float | None:
    return float(text) if text.isdigit() and int(text) else None


class _Expansion:
    """Expand ``~``, ``%`` tokens and ``${VARIABLES}`` by the rules of ssh_config(5)."""

    def __init__(self, alias: str, options: dict[str, list[str]]) -> None:
        me = pwd.getpwuid(os.getuid())
        self.hostname = _one(options, "hostname", alias)
        self.user = _one(options, "user", me.pw_name)
        self.port = int(_one(options, "port", str(DEFAULT_PORT)))
        local = socket.gethostname()
        self._home = me.pw_dir
        jump = _one(options, "proxyjump", "")
        parts = (local, self.hostname, str(self.port), self.user, jump)
        self._tokens = {
            "%": "%",
            "C": hashlib.sha1("".join(parts).encode(), usedforsecurity=False).hexdigest(),
            "d": me.pw_dir,
            "h": self.hostname,
            "i": str(me.pw_uid),
            "j": jump,
            "k": _one(options, "hostkeyalias", alias),
            "L": local.partition(".")[0],
            "l": local,
            "n": alias,
            "p": str(self.port),
            "r": self.user,
            "u": me.pw_name,
        }

    def tokens(self, text: str) -> str:
        """Expand the tokens alone, for commands; unknown ones stay as they are."""
        return re.sub(r"%(.)", lambda m: self._tokens.get(m[1], m[0]), text)

    def __call__(self, text: str) -> str:
        """Expand a path."""
        if text == "~" or text.startswith("~/"):
            text = self._home + text[1:]
        elif text.startswith("~"):
            text = str(Path(text).expanduser()) if _known_user(text) else text
        text = self.tokens(text)
        return re.sub(r"\$\{(\w+)\}", lambda m: os.environ.get(m[1], ""), text)


def _known_user(text: str) -> bool:
    try:
        pwd.getpwnam(text[1:].partition("/")[0])
    except KeyError:
        return False
    return True


def _identities(options: dict[str, list[str]], expand: _Expansion) -> tuple[str, ...]:
    named = [value for value in options.get("identityfile", []) if value != "none"]
    return tuple(dict.fromkeys(map(expand, named)))


def _agent(value: str, expand: _Expansion) -> str | None:
    if value == "none":
        return None
    if value == "SSH_AUTH_SOCK":
        return os.environ.get("SSH_AUTH_SOCK") or None
    if value.startswith("$") and not value.startswith("${"):
        return os.environ.get(value[1:]) or None
    return expand(value)


def _known_hosts(options: dict[str, list[str]], expand: _Expansion) -> tuple[str, ...]:
    words: list[str] = []
    for name in ("userknownhostsfile", "globalknownhostsfile"):
        words += _paths(_one(options, name, "").split(" "), expand)
    return tuple(dict.fromkeys(word for word in words if word not in ("", "none")))


def _paths(words: Sequence[str], expand: _Expansion) -> list[str]:
    """Tell file names apart in a list that ssh prints without quotes: the longest that exists."""
    found: list[str] = []
    start = 0
    while start < len(words):
        for end in range(len(words), start, -1):
            path = expand(" ".join(words[start:end]))
            if end == start + 1 or Path(path).exists():
                found.append(path)
                start = end
                break
    return found


def _hops(
    jump: str, address: Address, config: str | None, hops_left: int
) -> tuple[SshSettings, ...]:
    """Resolve a ProxyJump list; the first hop's own jump hosts come in front of it.

    A later hop is reached through the one before it, whatever its own configuration says.
    """
    if jump in ("", "none") or hops_left < 0:
        return ()
    names = jump.split(",")
    first = _resolve(_hop(names[0], address), config, hops_left - 1)
    hops = [*first.hops, replace(first, hops=())]
    for name in names[1:]:
        later = _resolve(_hop(name, address), config, _NO_HOPS)
        hops.append(replace(later, hops=(), proxy_command=None))
    if hops_left == 0 or len(hops) > _MOST_HOPS:
        raise _refusal(address, f"ProxyJump goes round, or through more than {_MOST_HOPS} hosts")
    return tuple(hops)


def _hop(text: str, address: Address) -> Address:
    match = _HOP.fullmatch(text.strip())
    if match is None:
        raise _refusal(address, f"ProxyJump names a hop that cannot be read: {text!a}")
    port = int(match["port"]) if match["port"] else None
    return Address(address.scheme, match["v6"] or match["name"], match["user"], port)
