"""Proving to an ssh server who we are: agent keys and key files, in OpenSSH's order, no prompts."""

import base64
import binascii
import os
import socket
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path
from typing import NoReturn

from fleet.connectors.deadline import Deadline
from fleet.connectors.known_hosts import fingerprint
from fleet.connectors.ssh_config import SshSettings
from fleet.connectors.ssh_library import (
    AgentSSH,
    BadAuthenticationType,
    Message,
    PKey,
    SSHException,
    Transport,
)
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import FleetError, Unreachable

_KEY_LIMIT = 256 * 1024
_MAGIC = b"openssh-key-v1\0"
_SSH_FIELDS = 2


@contextmanager
def tamed() -> Iterator[None]:
    """Turn whatever a hostile server makes the library raise into an error it declares."""
    try:
        yield
    except (FleetError, SSHException, EOFError, OSError):
        raise
    except Exception as error:  # noqa: BLE001 # its parsers pass on any error that bad bytes cause
        raise SSHException(f"malformed message ({type(error).__name__})") from None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A key to offer, and what to call it."""

    name: str
    key: PKey


@dataclass(slots=True)
class _Attempts:
    """What was tried, for the message when nothing helped."""

    tried: list[str] = field(default_factory=list)
    skipped: list[str] = field(default_factory=list)
    offered: tuple[str, ...] = ()


class _Agent(AgentSSH):
    """The agent at a socket of our choice; paramiko's own knows only ``SSH_AUTH_SOCK``."""

    def __init__(self, path: str, seconds: float) -> None:
        super().__init__()
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.settimeout(seconds)
        try:
            self._socket.connect(path)
            self._connect(self._socket)  # type: ignore[attr-defined] # absent from the type stubs
        except BaseException:
            self._socket.close()
            raise

    def close(self) -> None:
        """Let go of the agent; its keys can sign no more."""
        self._socket.close()


def authenticate(
    transport: Transport, settings: SshSettings, deadline: Deadline, *, where: str
) -> None:
    """Log in with the keys that OpenSSH would offer, and never ask a question.

    Raises:
        Unreachable: stage ``authentication``, with the methods the server offers, the keys that
            were tried and those that could not be; or stage ``timeout``.
    """
    attempts = _Attempts()
    agent = _open_agent(settings, deadline, attempts)
    try:
        for candidate in _candidates(settings, agent, attempts):
            transport.auth_timeout = deadline.left()
            if _offer(transport, settings.user, candidate, attempts):
                return
            if deadline.passed:
                raise Unreachable(
                    f"no answer to the login within {deadline.seconds:g} s",
                    stage="timeout",
                    where=where,
                )
            if not transport.is_active():
                break
        _refused(transport, settings, attempts, where)
    finally:
        if agent is not None:
            agent.close()


def _offer(transport: Transport, user: str, candidate: _Candidate, attempts: _Attempts) -> bool:
    """Offer one key; whether the login is complete."""
    attempts.tried.append(candidate.name)
    try:
        with tamed():
            more = transport.auth_publickey(user, candidate.key)
    except BadAuthenticationType as error:
        attempts.offered = tuple(error.allowed_types)
        return False
    except (SSHException, EOFError, OSError):
        # Refused, or cut off: is_active() tells which.
        return False
    if more:
        attempts.offered = tuple(more)
        attempts.tried[-1] += " (accepted, but the server wants more)"
    return not more


def _refused(
    transport: Transport, settings: SshSettings, attempts: _Attempts, where: str
) -> NoReturn:
    if not attempts.offered and transport.is_active():
        attempts.offered = _methods(transport, settings.user)
    offered = ", ".join(one_line(method) for method in attempts.offered) or "unknown"
    tried = "; ".join(attempts.tried) or "none"
    hints = list(attempts.skipped)
    if not transport.is_active() and len(attempts.tried) > 1:
        hints.append("the server hung up: name one key with IdentityFile and IdentitiesOnly yes")
    hints.append(f"try: ssh -o BatchMode=yes {settings.alias} true")
    raise Unreachable(
        f"login as {one_line(settings.user)} refused; methods offered: {offered}; "
        f"keys tried: {tried}",
        stage="authentication",
        where=where,
        hint="\n  ".join(hints),
    )


def _methods(transport: Transport, user: str) -> tuple[str, ...]:
    """Ask which ways of logging in the server offers."""
    try:
        with tamed():
            transport.auth_none(user)
    except BadAuthenticationType as error:
        return tuple(error.allowed_types)
    except (SSHException, EOFError, OSError):
        return ()
    return ("none",)


def _open_agent(settings: SshSettings, deadline: Deadline, attempts: _Attempts) -> _Agent | None:
    if settings.agent is None:
        return None
    try:
        return _Agent(settings.agent, deadline.left())
    except (OSError, SSHException, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        attempts.skipped.append(f"no agent answers at {settings.agent}: {one_line(str(reason))}")
        return None


def _candidates(
    settings: SshSettings, agent: _Agent | None, attempts: _Attempts
) -> Iterator[_Candidate]:
    """Yield keys in OpenSSH's order: the agent's that are named, its others, then key files."""
    held = {key.asbytes(): key for key in agent.get_keys()} if agent else {}
    public = {path: _public_blob(path) for path in settings.identities}
    for path, blob in public.items():
        if blob in held:
            yield _Candidate(f"{path} {fingerprint(blob)} (agent)", held[blob])
    if not settings.identities_only:
        for blob, key in held.items():
            if blob not in public.values():
                yield _Candidate(f"{one_line(key.comment)} {fingerprint(blob)} (agent)", key)
    for path, blob in public.items():
        if blob not in held:
            loaded = _load(path, attempts)
            if loaded is not None:
                yield _Candidate(f"{path} {fingerprint(loaded.asbytes())}", loaded)


def _load(path: str, attempts: _Attempts) -> PKey | None:
    """Read a private key file; what keeps it from being used is noted, absence is not."""
    try:
        status = Path(path).stat()
        if status.st_uid == os.getuid() and status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
            mode = stat.S_IMODE(status.st_mode)
            attempts.skipped.append(f"{path} has mode {mode:04o}, ssh wants 0600: not used")
            return None
        return PKey.from_path(path)
    except FileNotFoundError:
        return None
    except TypeError:
        attempts.skipped.append(f"{path} has a passphrase: unlock it with ssh-add {path}")
    except OSError as error:
        attempts.skipped.append(f"{path} cannot be read: {error.strerror}")
    except Exception as error:  # noqa: BLE001 # key parsers raise what they like at a bad file
        attempts.skipped.append(f"{path} is no usable private key ({type(error).__name__})")
    return None


def _public_blob(path: str) -> bytes | None:
    """Find the public half of an identity without its passphrase."""
    for file in (f"{path}.pub", path):
        text = _read(file)
        words = text.split(maxsplit=_SSH_FIELDS)
        if len(words) >= _SSH_FIELDS and not text.startswith(b"-----"):
            return _decoded(words[1])
        if b"OPENSSH PRIVATE KEY" in text:
            return _embedded(_decoded(b"".join(text.splitlines()[1:-1])))
    return None


def _read(path: str) -> bytes:
    try:
        with Path(path).open("rb") as stream:
            return stream.read(_KEY_LIMIT).strip()
    except OSError:
        return b""


def _decoded(text: bytes) -> bytes | None:
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error:
        return None


def _embedded(blob: bytes | None) -> bytes | None:
    """Read the public key in front of an OpenSSH private key; it is never encrypted."""
    if blob is None or not blob.startswith(_MAGIC):
        return None
    message = Message(blob[len(_MAGIC) :])
    try:
        for _ in ("cipher", "kdf", "options"):
            message.get_binary()
        message.get_int()
        return message.get_binary()
    except Exception:  # noqa: BLE001 # a cut file; paramiko's reader has no error of its own
        return None
