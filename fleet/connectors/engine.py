"""Which Docker engine is meant, by the rules of the ``docker`` command itself.

The Python library looks at ``DOCKER_HOST`` and else at the default socket; people choose their
engine with contexts as well. The order is: named outright, ``DOCKER_HOST``, ``DOCKER_CONTEXT``, the
current context of ``config.json``, the default socket.
"""

import hashlib
import json
import os
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import ProbeError, Unreachable, Unsupported

if TYPE_CHECKING:
    from docker import APIClient, DockerClient
    from docker.tls import TLSConfig

DEFAULT_URL = "unix:///var/run/docker.sock"
_DEFAULT = "default"
_LIMIT = 1 << 20
_ANY_VERSION = "1.41"  # never sent: the one question asked with it has no version


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where an engine listens.

    Attributes:
        url: ``unix://``, ``tcp://``, ``ssh://``, ...
        rule: what chose it, in words.
        tls: folder that holds ``ca.pem``, ``cert.pem`` and ``key.pem``, where there is one.
        verify: whether the engine's certificate must be signed by that authority.
    """

    url: str
    rule: str
    tls: Path | None = None
    verify: bool = True

    def __str__(self) -> str:
        return f"{one_line(self.url)} ({self.rule})"

    @property
    def local(self) -> bool:
        """Whether the engine runs on this machine."""
        return self.url.startswith("unix:")


def endpoint(named: str = "", *, environ: Mapping[str, str] | None = None) -> Endpoint:
    """Choose the engine as ``docker`` would.

    Args:
        named: a URL that was given outright; empty for none.
        environ: instead of this process's environment.

    Raises:
        Unreachable: stage ``engine``; a context is named that does not exist, has no Docker
            endpoint or cannot be read.
    """
    environ = os.environ if environ is None else environ
    if named:
        return Endpoint(named, "named outright", *_tls_of(environ))
    if host := environ.get("DOCKER_HOST"):
        return Endpoint(host, "DOCKER_HOST", *_tls_of(environ))
    folder = Path(environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    if context := environ.get("DOCKER_CONTEXT"):
        return _of_context(context, "DOCKER_CONTEXT", folder)
    config = folder / "config.json"
    context = _text(_read(config), "currentContext")
    return _of_context(context or _DEFAULT, f"current context of {config}", folder)


def client(timeout: float, *, at: Endpoint | None = None) -> "DockerClient":
    """Open a client and make sure that an engine answers.

    Args:
        timeout: seconds a single answer may take; whole seconds, at least one.
        at: the engine; by default the one :func:`endpoint` chooses.

    Raises:
        Unreachable: stage ``engine``, naming the endpoint and the rule that chose it.
        Unsupported: the endpoint is reached over ssh.
    """
    import docker  # noqa: PLC0415 # slow, and most commands ask no engine

    at = at or endpoint()
    if at.url.startswith("ssh:"):
        raise Unsupported(
            f"the engine is reached over ssh: {at}",
            hint="declare that machine as a host, or give it a unix:// or tcp:// endpoint",
        )
    tls = _tls(at)
    _knock(at)

    def opened(version: str) -> "DockerClient":
        return docker.DockerClient(at.url, version, max(1, round(timeout)), tls)

    # The library's own negotiation leaves its connection open when it fails.
    with engine_faults(at), closing(opened(_ANY_VERSION)) as first:
        told: object = first.api.version(api_version=False)
    version = told.get("ApiVersion") if isinstance(told, dict) else None
    if not isinstance(version, str) or not re.fullmatch(r"[0-9]+\.[0-9]+", version):
        raise Unreachable(f"what answers at {at} is no Docker engine", stage="engine")
    return opened(version)


def engine_url(api: "APIClient", path: str) -> str:
    """Return where a client asks for a path of the engine's API."""
    return f"{api.base_url}/v{api.api_version}{path}"


@contextmanager
def engine_faults(at: Endpoint, *, where: str = "") -> Iterator[None]:
    """Turn what the library raises into errors that name the engine.

    Raises:
        Unreachable: stage ``engine`` or ``timeout``; stage ``missing`` for what it does not have.
        ProbeError: it answered with an error of its own.
    """
    import docker  # noqa: PLC0415 # see client()
    import requests  # noqa: PLC0415 # see client()

    try:
        yield
    except docker.errors.NotFound as error:
        raise Unreachable(
            one_line(str(error.explanation or error)), stage="missing", where=where
        ) from None
    except docker.errors.APIError as error:
        raise ProbeError(
            f"the engine at {at} refused: {one_line(str(error.explanation or error))}", where=where
        ) from None
    except requests.exceptions.Timeout:
        raise Unreachable(
            f"the engine at {at} did not answer in time", stage="timeout", where=where
        ) from None
    except (docker.errors.DockerException, requests.exceptions.RequestException) as error:
        raise silent(at, _cause(error), where) from None


def silent(at: Endpoint, why: str, where: str = "") -> Unreachable:
    """Say that no engine answers."""
    return Unreachable(
        f"no engine answers at {at}: {why}",
        stage="engine",
        where=where,
        hint="is it running, and may this user talk to it? try: docker version",
    )


def _knock(at: Endpoint) -> None:
    """Make sure that a socket can be opened: the library leaves one open that cannot."""
    if not at.local:
        return
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(at.url.removeprefix("unix:").replace("//", "/", 1))
        except OSError as error:
            raise silent(at, error.strerror or str(error)) from None


def _cause(error: BaseException) -> str:
    """Find the system's own words in a chain of wrapped errors."""
    pending: list[object] = [error]
    deepest = ""
    for _ in range(20):
        if not pending:
            break
        each = pending.pop(0)
        if isinstance(each, OSError) and each.strerror:
            deepest = each.strerror
        if isinstance(each, BaseException):
            pending += [*each.args, getattr(each, "reason", None), each.__cause__, each.__context__]
    return one_line(deepest or str(error))


def _tls_of(environ: Mapping[str, str]) -> tuple[Path | None, bool]:
    """Return the folder of TLS files and whether to verify, as DOCKER_CERT_PATH and _VERIFY say."""
    verify = bool(environ.get("DOCKER_TLS_VERIFY"))
    folder = environ.get("DOCKER_CERT_PATH")
    if folder:
        return Path(folder), verify
    return (Path.home() / ".docker", True) if verify else (None, True)


def _tls(at: Endpoint) -> "TLSConfig | bool":
    import docker  # noqa: PLC0415 # see client()

    if at.tls is None or at.local:
        return False
    certificate, key, authority = (at.tls / name for name in ("cert.pem", "key.pem", "ca.pem"))
    pair = (str(certificate), str(key)) if certificate.exists() and key.exists() else None
    try:
        return docker.tls.TLSConfig(
            client_cert=pair,
            ca_cert=str(authority) if authority.exists() else None,
            verify=at.verify,
        )
    except docker.errors.TLSParameterError as error:
        raise Unreachable(
            f"the TLS files for the engine at {at} cannot be used: {one_line(str(error))}",
            stage="engine",
        ) from None


def _of_context(name: str, chosen_by: str, folder: Path) -> Endpoint:
    """Look a context up where ``docker context`` keeps it."""
    if name == _DEFAULT:
        return Endpoint(DEFAULT_URL, "the default")
    rule = f"context {one_line(name)}, {chosen_by}"
    identity = hashlib.sha256(name.encode()).hexdigest()
    meta = folder / "contexts" / "meta" / identity / "meta.json"
    if not meta.exists():
        raise _unusable(f"there is no such context ({rule})", "docker context ls")
    endpoints = _read(meta).get("Endpoints")
    docker = endpoints.get("docker") if isinstance(endpoints, dict) else None
    url = _text(docker, "Host") if isinstance(docker, dict) else ""
    if not isinstance(docker, dict) or not url:
        raise _unusable(f"it has no Docker endpoint ({rule})", "docker context ls")
    tls = folder / "contexts" / "tls" / identity / "docker"
    skip = docker.get("SkipTLSVerify") is True
    return Endpoint(url, rule, tls if tls.is_dir() else None, not skip)


def _unusable(what: str, command: str) -> Unreachable:
    return Unreachable(
        what, stage="engine", hint=f"see the contexts with: {command}; or set DOCKER_HOST"
    )


def _read(path: Path) -> Mapping[str, object]:
    """Read a small JSON object; a file that is absent holds nothing."""
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(_LIMIT))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is no JSON"
        raise _unusable(f"{path} cannot be read: {reason}", "docker context ls") from None
    if not isinstance(found, dict):
        raise _unusable(f"{path} is no JSON object", "docker context ls")
    return found


def _text(found: Mapping[str, object], key: str) -> str:
    value = found.get(key)
    return value if isinstance(value, str) else ""
