"""What the proxy's templates need: name, port and folder of the palace's URL, and where it goes."""

import posixpath
import re
from collections.abc import Mapping
from urllib.parse import SplitResult, urlsplit

from fleet.errors import PlanError
from fleet.facts.model import Facts
from fleet.inventory.model import Value

_NAME = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
_PATH = re.compile(r"(/[A-Za-z0-9._~-]+)+")
_PORTS = {"http": 80, "https": 443}
_CHOICES = {"proxy": ("nginx", "caddy"), "host_header": ("name", "upstream")}
_ADDRESS = re.compile(r"[0-9A-Za-z.-]+|\[[0-9A-Fa-f:.]+\]")

#: What stands for the derived variables while a plan only collects its questions.
PROVISIONAL: dict[str, Value] = {
    "proxy_name": "localhost",
    "proxy_port": 443,
    "proxy_tls": True,
    "proxy_prefix": "",
    "proxy_upstream": "127.0.0.1:8765",
}


def derived(variables: Mapping[str, Value], facts: Facts) -> dict[str, Value]:
    """Return the parts of ``palace_url`` and ``direct_url`` that a configuration is made of.

    Raises:
        PlanError: one of them is missing, or cannot be served by this proxy.
    """
    where = facts.target
    _check(variables, where)
    public, port, path = _parts(variables, "palace_url", where)
    upstream, upstream_port, inner = _parts(variables, "direct_url", where)
    if upstream.scheme != "http":
        raise PlanError("direct_url is not an http URL: the proxy brings the TLS", where=where)
    if posixpath.dirname(inner) != "/" or posixpath.basename(inner) != posixpath.basename(path):
        raise PlanError(
            f"direct_url's path {inner} does not fit palace_url's {path}",
            where=where,
            hint=f"the server has it at /{posixpath.basename(path)}",
        )
    encrypted = public.scheme == "https"
    if encrypted and variables.get("proxy") == "nginx" and not variables.get("proxy_cert"):
        raise PlanError(
            "nginx needs a certificate for https",
            where=where,
            hint="set proxy_cert and proxy_key; Caddy can make its own",
        )
    folder = posixpath.dirname(path)
    return {
        "proxy_name": _name(public),
        "proxy_port": port,
        "proxy_tls": encrypted,
        "proxy_prefix": "" if folder == "/" else folder,
        "proxy_upstream": f"{_name(upstream)}:{upstream_port}",
    }


def _check(variables: Mapping[str, Value], where: str) -> None:
    for name, known in _CHOICES.items():
        if variables.get(name) not in known:
            raise PlanError(
                f"{name} is {' or '.join(known)}, not {variables.get(name)!r}", where=where
            )
    for name in ("proxy_timeout", "proxy_body"):
        value = variables.get(name)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise PlanError(f"{name} is not a whole number from 1: {value!r}", where=where)
    if not _ADDRESS.fullmatch(str(variables.get("proxy_bind"))):
        raise PlanError(f"proxy_bind is no address: {variables.get('proxy_bind')!r}", where=where)
    if bool(variables.get("proxy_cert")) != bool(variables.get("proxy_key")):
        raise PlanError("proxy_cert and proxy_key are given both or neither", where=where)
    for name in ("proxy_cert", "proxy_key", "proxy_main", "proxy_site"):
        path = variables.get(name) or ""
        if not isinstance(path, str) or (path and not path.startswith("/")) or "\n" in path:
            raise PlanError(f"{name} is no path from / on: {path!r}", where=where)


def _parts(variables: Mapping[str, Value], name: str, where: str) -> tuple[SplitResult, int, str]:
    """Return an URL's parts, its port and its path, all of them fit for a configuration."""
    url = variables.get(name)
    if not isinstance(url, str) or not url:
        raise PlanError(f"{name} is not declared", where=where, hint="the MCP endpoint's URL")
    try:
        parts = urlsplit(url)
        port = parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        parts, port = urlsplit(""), 0
    path = parts.path
    sound = port and _NAME.fullmatch(_name(parts)) and _PATH.fullmatch(path)
    if not sound or parts.query or parts.username is not None:
        hint = "for example https://palace.example.net/mcp"
        raise PlanError(f"{name} is no URL of an MCP endpoint", where=where, hint=hint)
    return parts, port, path


def _name(parts: SplitResult) -> str:
    name = parts.hostname or ""
    return f"[{name}]" if ":" in name else name
