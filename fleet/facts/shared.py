"""What the facts of many targets have alike, held once.

Facts are content-addressed: bytes of one name are the same bytes. Saved facts stand by themselves,
so each brings them all; here a text that was seen before is neither decoded nor hashed again.
"""

import hashlib
from collections.abc import Callable, Mapping

from pydantic import ValidationInfo

MOST = 64 * 1024 * 1024  # bytes that are held; what comes then is read as if it were alone


class Shared:
    """Contents that were proved to be what their names say, as they are written and as they are."""

    def __init__(self) -> None:
        self._held: dict[str, tuple[str, bytes]] = {}
        self._size = 0

    def written(self, name: str, text: object) -> bytes | None:
        """Return the content of a name, where it is written as it was before."""
        held = self._held.get(name)
        return held[1] if held is not None and held[0] == text else None

    def holds(self, name: str, content: bytes) -> bool:
        """Tell whether this very content was proved to be that of the name."""
        held = self._held.get(name)
        return held is not None and held[1] is content

    def keep(self, name: str, text: str, content: bytes) -> None:
        """Hold a content that was proved to be that of the name."""
        size = len(text) + len(content)
        if name not in self._held and self._size + size <= MOST:
            self._held[name] = (text, content)
            self._size += size


def named(content: bytes) -> str:
    """Return the name of a content: its sha256 in hex."""
    return hashlib.sha256(content).hexdigest()


def read_contents(
    written: object,
    read: Callable[[Mapping[str, object]], dict[str, bytes]],
    info: ValidationInfo,
) -> dict[str, bytes]:
    """Validate the contents of facts, those that are held already by what is held.

    ``info.context`` is a :class:`Shared` where there is one.
    """
    shared = info.context
    if not isinstance(shared, Shared) or not isinstance(written, dict):
        return read(written)  # type: ignore[arg-type]  # it tells what is wrong
    # A text alone proves nothing of a name: it is held only once the two were found to agree.
    known = {n: c for n, t in written.items() if (c := shared.written(n, t)) is not None}
    fresh = read({name: text for name, text in written.items() if name not in known})
    for name, content in fresh.items():
        if named(content) == name:
            shared.keep(name, str(written[name]), content)
    return known | fresh
