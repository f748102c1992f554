"""Connectors, handed out for one use at a time; those to hosts may stay open for the next use.

An ssh handshake costs both sides many times what a question costs. Who comes back to the same
targets (a repeated audit, the three round trips of a provision) keeps the connections between.
"""

import resource
import secrets
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Protocol, runtime_checkable

from fleet.connectors import registry
from fleet.connectors.base import Connector
from fleet.dataclass import dataclass
from fleet.inventory.model import Target

#: What a login sets (groups, PAM's environment) is as old as the connection, so none lasts longer.
LONGEST_SECONDS = 3600.0
MOST = 1000


@runtime_checkable
class Lasting(Connector, Protocol):
    """A connector whose connection is worth keeping, and who can tell that it died meanwhile.

    A kept connection that is found dead when it is used again is opened anew by the connector
    itself, before anything is sent, and that is no failure.

    Attributes:
        timeout: seconds that one use may take.
        again: whether the same will be asked again, so that something may stay on the target that
            answers it for less.
    """

    timeout: float
    again: bool

    @property
    def open(self) -> bool:
        """Whether there is a connection that, as far as is known, still stands."""
        ...

    def rest(self) -> None:
        """Let go of everything but the connection."""
        ...


@dataclass(frozen=True, slots=True)
class _Kept:
    way: Target
    connector: Lasting
    since: float


class Connections:
    """Hands out connectors. Safe to use from many threads; made to be closed.

    Args:
        keep: whether connections stay open after their use.
        again: whether targets are asked the same again and again.
        most: how many stay open at most; by default half of the files this process may open, and
            not more than a thousand. What comes later is closed after its use.
        seconds: the longest that one connection is used.
    """

    def __init__(
        self,
        *,
        keep: bool = False,
        again: bool = False,
        most: int | None = None,
        seconds: float = LONGEST_SECONDS,
    ) -> None:
        self._keep = keep
        self._again = again
        self._nonce, self._nonce_since = "", 0.0
        self._most = _affordable() if most is None else most
        self._seconds = seconds
        self._idle: dict[str, _Kept] = {}
        self._lock = Lock()

    def nonce(self) -> str:
        """Return a fresh nonce for the questions of a run.

        Who asks the same again gets the same one, for no longer than a connection is used: what a
        target tells as before was digested with it.
        """
        now = time.monotonic()
        with self._lock:
            if not self._again or not self._nonce or now - self._nonce_since > self._seconds:
                self._nonce, self._nonce_since = secrets.token_hex(16), now
            return self._nonce

    @contextmanager
    def to(self, target: Target, *, timeout: float) -> Iterator[Connector]:
        """Lend a connector to a target for the length of the block; nothing is opened before use.

        After an error, or where its target is reached in another way by now, it is not used again.

        Args:
            target: whom to reach.
            timeout: seconds that one look or one change may take, connecting included.
        """
        held = self._taken(target, timeout)
        connector = held.connector if held else registry.connect(target, timeout=timeout)
        since = held.since if held else time.monotonic()
        lasting = held.connector if held else _lasting(connector)
        if lasting:
            lasting.again = self._again
        try:
            yield connector
        except BaseException:
            connector.close()
            raise
        if not (lasting and self._given_back(target, lasting, since)):
            connector.close()

    def only(self, targets: Iterable[Target]) -> None:
        """Close what leads to targets that are not among these any more."""
        names = {target.name for target in targets}
        with self._lock:
            gone = [self._idle.pop(name) for name in [*self._idle] if name not in names]
        for kept in gone:
            kept.connector.close()

    def close(self) -> None:
        """Close all, and keep none from here on; what is lent out is closed after its use."""
        with self._lock:
            self._keep = False
        self.only(())

    def __len__(self) -> int:
        """Return how many are kept open at this moment."""
        with self._lock:
            return len(self._idle)

    def _taken(self, target: Target, timeout: float) -> _Kept | None:
        with self._lock:
            kept = self._idle.pop(target.name, None)
        if kept is None:
            return None
        old = time.monotonic() - kept.since > self._seconds
        if old or kept.way != registry.bare(target):
            kept.connector.close()
            return None
        kept.connector.timeout = timeout
        return kept

    def _given_back(self, target: Target, connector: Lasting, since: float) -> bool:
        """Take a connector back; False where it is not to be kept."""
        if not connector.open:
            return False
        connector.rest()
        with self._lock:
            full = target.name in self._idle or len(self._idle) >= self._most
            if full or not self._keep:
                return False
            self._idle[target.name] = _Kept(registry.bare(target), connector, since)
        return True


def _lasting(connector: Connector) -> Lasting | None:
    return connector if isinstance(connector, Lasting) else None


def _affordable() -> int:
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return MOST if files == resource.RLIM_INFINITY else min(MOST, files // 2)
