"""How a registry lets somebody in: Basic, or a Bearer token from the server that it names.

The protocols are the distribution project's: its token authentication and the OAuth 2 form of it.
A token is asked for reading one repository and for nothing else, whatever the registry suggests.
"""

import base64
import json
import re
from collections.abc import Callable, Sequence
from dataclasses import field

import httpx

from fleet.connectors.docker_login import IDENTITY, Login
from fleet.connectors.oci.remote_http import Wire, shown_host
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import ProbeError, Unreachable
from fleet.secrets import Secret

_LIMIT = 1 << 20
_SCHEME = re.compile(r"(?:^|,)\s*([A-Za-z][A-Za-z0-9-]*)(?=\s|,|$)(?!\s*=)")
_PARAMETER = re.compile(r'([A-Za-z][A-Za-z0-9_-]*)\s*=\s*(?:"((?:[^"\\]|\\.)*)"|([^\s,"]+))')
_REFUSED = (400, 401, 403)


@dataclass(frozen=True, slots=True)
class Challenge:
    """One way in that a registry offers; ``scheme`` and the parameters' names are lower case."""

    scheme: str
    parameters: dict[str, str] = field(default_factory=dict)


def challenges(headers: Sequence[str]) -> list[Challenge]:
    """Read ``WWW-Authenticate`` headers; a header may hold several challenges."""
    found = []
    for header in headers:
        bare = _PARAMETER.sub(lambda match: "\0" * len(match[0]), header[:_LIMIT])
        starts = [match.start(1) for match in _SCHEME.finditer(bare)]
        for start, end in zip(starts, [*starts[1:], len(header)], strict=True):
            scheme, _, rest = header[start:end].partition(" ")
            pairs = {
                match[1].lower(): re.sub(r"\\(.)", r"\1", match[2] or "") or match[3] or ""
                for match in _PARAMETER.finditer(rest)
            }
            found.append(Challenge(scheme.strip(" ,").lower(), pairs))
    return found


class Doorman:
    """Gets what opens one repository of one registry.

    Attributes:
        login: who asks; None while nothing is known or nobody has logged in.
    """

    def __init__(
        self,
        registry: str,
        repository: str,
        login: Callable[[], Login | None],
        *,
        wire: Wire,
        where: str,
        allows: Callable[[httpx.URL], bool],
    ) -> None:
        """Ask for nothing yet.

        Args:
            registry: host and port, for errors.
            repository: what is to be read.
            login: looks the credentials up; called once, when a registry asks for any.
            wire: sends requests.
            where: the target.
            allows: tells whether credentials may be sent to a URL.
        """
        self.login: Login | None = None
        self._registry = registry
        self._repository = repository
        self._look_up: Callable[[], Login | None] | None = login
        self._wire = wire
        self._where = where
        self._allows = allows

    def admitted(self, offered: Sequence[Challenge]) -> Secret:
        """Return an ``Authorization`` header for one of the ways that are offered.

        Raises:
            Unreachable: stage ``authentication``; no way in.
            ProbeError: the token server is none.
        """
        if self._look_up is not None:
            self.login, self._look_up = self._look_up(), None
        schemes = {challenge.scheme: challenge for challenge in reversed(offered)}
        if "bearer" in schemes:
            return self._token(schemes["bearer"])
        if "basic" not in schemes:
            names = ", ".join(sorted(schemes)) or "none that it names"
            raise self._refused(f"the registry lets in by other ways: {one_line(names, 80)}")
        if self.login is None:
            raise self.no_login()
        if self.login.user == IDENTITY:
            raise self._refused("the registry wants a password, and docker keeps a token for it")
        return Secret(_basic(self.login))

    def no_login(self) -> Unreachable:
        """Say that nobody has logged in."""
        return self._refused("the registry asks for credentials, and there are none")

    def turned_away(self) -> Unreachable:
        """Say that what was shown does not open the repository."""
        if self.login is None:
            return self._refused("it needs credentials, or there is no such repository")
        return self._refused(
            f"the registry does not accept the credentials from {self.login.source}, or they do"
            " not reach this repository"
        )

    def _refused(self, what: str) -> Unreachable:
        return Unreachable(
            what,
            stage="authentication",
            where=self._where,
            hint=f"docker login {self._registry}",
        )

    def _token(self, challenge: Challenge) -> Secret:
        realm = self._realm(challenge)
        asked = {"scope": f"repository:{self._repository}:pull"}
        if service := challenge.parameters.get("service"):
            asked["service"] = service
        headers: dict[str, str] = {}
        form = None
        if self.login is not None and self.login.user == IDENTITY:
            form = {
                **asked,
                "grant_type": "refresh_token",
                "client_id": "fleet",
                "refresh_token": self.login.secret.reveal(),
            }
        else:
            realm = realm.copy_merge_params(asked)
            if self.login is not None:
                headers["authorization"] = _basic(self.login)
        with self._wire.sent(realm, headers, form=form) as response:
            if response.status_code in _REFUSED:
                raise self.turned_away()
            if response.status_code != httpx.codes.OK:
                raise self._no_server(realm, f"answered HTTP {response.status_code}")
            body = self._wire.body(response, _LIMIT)
        return Secret(f"Bearer {self._read(body, realm)}")

    def _realm(self, challenge: Challenge) -> httpx.URL:
        try:
            realm = httpx.URL(challenge.parameters.get("realm", ""))
        except (httpx.InvalidURL, ValueError):
            realm = httpx.URL("")
        if realm.scheme not in ("http", "https") or not realm.host or realm.userinfo:
            raise ProbeError("the registry names no token server", where=self._where)
        if not self._allows(realm):
            raise ProbeError(
                f"the registry's token server {shown_host(realm)} is asked without TLS",
                where=self._where,
                hint="credentials are not sent in the clear; if they may: registry_insecure",
            )
        return realm

    def _read(self, body: bytes | None, realm: httpx.URL) -> str:
        try:
            answer = json.loads(body or b"")
        except (ValueError, RecursionError):
            answer = None
        told = answer if isinstance(answer, dict) else {}
        token = told.get("token") or told.get("access_token")
        if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
            raise self._no_server(realm, "gave no token")
        return token

    def _no_server(self, realm: httpx.URL, why: str) -> ProbeError:
        return ProbeError(
            f"the registry's token server {shown_host(realm)} {why}", where=self._where
        )


def _basic(login: Login) -> str:
    pair = f"{login.user}:{login.secret.reveal()}".encode()
    return f"Basic {base64.b64encode(pair).decode()}"
