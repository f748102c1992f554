"""Credentials for a registry, as ``docker login`` left them: its configuration file and helpers.

The order is docker's: a helper named for this registry, the helper for all of them, the file
itself. What a helper prints is never shown, whatever it is.
"""

import base64
import binascii
import json
import os
import re
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

from fleet.connectors.deadline import Deadline
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import Unreachable
from fleet.secrets import Secret

IDENTITY = "<token>"
"""The user's name that tells an identity token from a password."""

_LIMIT = 1 << 20
_HELPER_SECONDS = 30.0
_HELPER = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ABSENT = b"credentials not found in native keychain"


@dataclass(frozen=True, slots=True)
class Login:
    """Who asks a registry.

    Attributes:
        user: a name, or ``<token>``: then the secret is an OAuth 2 refresh token.
        secret: the password or token.
        source: where it was found, for an error's text.
    """

    user: str
    secret: Secret
    source: str


def login_for(
    registry: str, deadline: Deadline, *, environ: Mapping[str, str] | None = None
) -> Login | None:
    """Look credentials up; None where nobody has logged in.

    Args:
        registry: host and port.
        deadline: how long a helper may take, 30 seconds at most.
        environ: instead of this process's environment; ``DOCKER_CONFIG`` names the folder.

    Raises:
        Unreachable: stage ``authentication``; the file or a helper cannot be used.
    """
    environ = os.environ if environ is None else environ
    folder = Path(environ.get("DOCKER_CONFIG") or Path.home() / ".docker")
    config = _Config(folder / "config.json")
    helper = config.helper(registry)
    found = _helped(helper, registry, deadline, environ) if helper else None
    return found or config.login(registry)


class _Config:
    """docker's ``config.json``; one that is absent says nothing."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._content = self._read()

    def helper(self, registry: str) -> str:
        """Return the name of the helper that keeps a registry's credentials; empty for none."""
        own = _of_registry(self._part("credHelpers"), registry)
        name = own if own is not None else self._content.get("credsStore")
        if name is None or name == "":
            return ""
        if not isinstance(name, str) or not _HELPER.fullmatch(name):
            self._refuse("names a credential helper that is none")
        return name

    def login(self, registry: str) -> Login | None:
        """Return what the file itself holds."""
        entry = _of_registry(self._part("auths"), registry)
        if entry is None:
            return None
        if not isinstance(entry, dict):
            self._refuse(f"holds no credentials of {registry} that docker would write")
        token = entry.get("identitytoken")
        if isinstance(token, str) and token:
            return Login(IDENTITY, Secret(token), str(self._path))
        user, password = self._pair(entry, registry)
        return Login(user, Secret(password), str(self._path)) if user else None

    def _pair(self, entry: Mapping[str, object], registry: str) -> tuple[str, str]:
        encoded = entry.get("auth")
        if not isinstance(encoded, str) or not encoded:
            user, password = entry.get("username"), entry.get("password")
            told = isinstance(user, str) and isinstance(password, str)
            return (str(user), str(password)) if told else ("", "")
        try:
            text = base64.b64decode(encoded, validate=True).decode()
        except (binascii.Error, ValueError):
            text = ""
        user, colon, password = text.partition(":")
        if not user or not colon:
            self._refuse(f"holds no credentials of {registry} that docker would write")
        return user, password.strip("\0")

    def _part(self, key: str) -> Mapping[str, object]:
        found = self._content.get(key)
        if found is None:
            return {}
        if not isinstance(found, dict):
            self._refuse(f"has no table under {key}")
        return found

    def _read(self) -> Mapping[str, object]:
        try:
            with self._path.open("rb") as stream:
                found = json.loads(stream.read(_LIMIT))
        except (FileNotFoundError, NotADirectoryError):
            return {}
        except OSError as error:
            self._refuse(f"cannot be read: {error.strerror}")
        except (ValueError, RecursionError):
            self._refuse("is no JSON")
        if not isinstance(found, dict):
            self._refuse("is no JSON object")
        return found

    def _refuse(self, why: str) -> NoReturn:
        raise Unreachable(
            f"{self._path} {one_line(why)}",
            stage="authentication",
            hint="docker login writes it; DOCKER_CONFIG names another folder",
        ) from None


def _of_registry(table: Mapping[str, object], registry: str) -> object:
    """Return a table's entry for a registry; docker's keys may be URLs of it."""
    if registry in table:
        return table[registry]
    wanted = registry.lower()
    return next((value for key, value in table.items() if _host(key) == wanted), None)


def _host(key: str) -> str:
    return re.sub(r"^https?://", "", key).partition("/")[0].lower()


def _helped(
    name: str, registry: str, deadline: Deadline, environ: Mapping[str, str]
) -> Login | None:
    """Ask a helper: the registry's name goes in by stdin, JSON comes out."""
    program = f"docker-credential-{name}"
    try:
        ended = subprocess.run(  # the program that docker's own configuration names
            [program, "get"],
            input=registry.encode(),
            capture_output=True,
            timeout=min(_HELPER_SECONDS, deadline.left()),
            check=False,
            env=dict(environ),
        )
    except FileNotFoundError:
        raise _no_help(f"there is no {program} on the PATH") from None
    except OSError as error:
        raise _no_help(f"{program} cannot be run: {error.strerror}") from None
    except subprocess.TimeoutExpired:
        raise _no_help(f"{program} did not answer in time") from None
    if ended.returncode != 0:
        if _ABSENT in ended.stdout:
            return None
        raise _no_help(f"{program} ended with {ended.returncode}")
    return _answered(ended.stdout, program)


def _answered(printed: bytes, program: str) -> Login:
    try:
        answer = json.loads(printed[:_LIMIT])
    except (ValueError, RecursionError):
        answer = None
    told = answer if isinstance(answer, dict) else {}
    user, secret = told.get("Username"), told.get("Secret")
    if not isinstance(user, str) or not isinstance(secret, str) or not user:
        raise _no_help(f"{program} did not answer as a credential helper does")
    return Login(user, Secret(secret), program)


def _no_help(why: str) -> Unreachable:
    return Unreachable(
        why,
        stage="authentication",
        hint="docker's config.json says that it keeps the registry's credentials",
    )
