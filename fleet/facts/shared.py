"""What the facts of many targets have alike, held once.

Facts are content-addressed: bytes of one name are the same bytes. Facts that stand by themselves
bring them all; here a text that was seen before is neither decoded nor hashed again. Files of one
folder only name them, and they lie beside, once.
"""

import hashlib
import re
from collections.abc import Callable, Mapping

from pydantic import ValidationInfo

#: What stands in a file for a content that lies beside it, in a folder of this name.
BESIDE = "-"
FOLDER = "contents"

_NAME = re.compile("[0-9a-f]{64}")
MOST = 64 * 1024 * 1024  # bytes that are held; what comes then is read as if it were alone


class Shared:
    """Contents that were proved to be what their names say, as they are written and as they are.

    Args:
        beside: reads what lies in the folder beside the files; None where there is nothing of the
            name.
    """

    def __init__(self, beside: Callable[[str], bytes | None] = lambda _: None) -> None:
        self._beside = beside
        self._held: dict[str, tuple[str, bytes]] = {}
        self._size = 0

    def written(self, name: str, text: object) -> bytes | None:
        """Return the content of a name, where it is written as it was before, or lies beside.

        Raises:
            ValueError: it should lie beside, and does not.
        """
        held = self._held.get(name)
        if held is not None and (held[0] == text or text == BESIDE):
            return held[1]
        return self._found(name) if text == BESIDE and _NAME.fullmatch(name) else None

    def _found(self, name: str) -> bytes:
        content = self._beside(name)
        if content is None:
            raise ValueError(f"the content {name} is not in the folder `{FOLDER}` beside it")
        if named(content) != name:
            raise ValueError(f"in the folder `{FOLDER}`, {name} is not what its name says")
        self.keep(name, BESIDE, content)
        return content

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
    if not isinstance(written, dict) or not isinstance(shared, Shared):
        return read(written)  # type: ignore[arg-type]  # it tells what is wrong
    # A text alone proves nothing of a name: it is held only once the two were found to agree.
    known = {n: c for n, t in written.items() if (c := shared.written(n, t)) is not None}
    fresh = read({name: text for name, text in written.items() if name not in known})
    for name, content in fresh.items():
        if named(content) == name:
            shared.keep(name, str(written[name]), content)
    return known | fresh
