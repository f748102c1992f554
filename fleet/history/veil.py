"""The last veil over what is kept: values of secrets that this run knows, wherever they stand.

Facts and findings hold none by design. A file that is read whole may: who wrote a token into a
program's text sees it in an audit's evidence masked, and must not find it in the history.
"""

import json
from collections.abc import Iterable

from fleet.history.split import Json, packed
from fleet.secrets import MASK, Secret

LEAST = 6  # characters; a shorter value stands in too much that is none


class Veil:
    """Hides a run's secrets."""

    def __init__(self, secrets: Iterable[Secret] = ()) -> None:
        values = sorted({s.reveal() for s in secrets if len(s) >= LEAST}, key=len, reverse=True)
        self._values = values
        self._raw = [value.encode("utf-8", "surrogatepass") for value in values]
        self._spelt = [json.dumps(value, ensure_ascii=False)[1:-1].encode() for value in values]

    def holds(self, data: bytes) -> bool:
        """Whether bytes hold a secret's value."""
        return any(value in data for value in self._raw)

    def text(self, text: str) -> str:
        """Return a text with ``***`` in place of every secret's value."""
        for value in self._values:
            text = text.replace(value, MASK)
        return text

    def over(self, data: bytes) -> bytes:
        """Return JSON with ``***`` in place of every secret's value in its texts."""
        if not any(value in data for value in self._spelt):
            return data
        return packed(self._hidden(json.loads(data)))

    def _hidden(self, tree: Json) -> Json:
        if isinstance(tree, str):
            return self.text(tree)
        if isinstance(tree, dict):
            return {str(self._hidden(key)): self._hidden(one) for key, one in tree.items()}
        return [self._hidden(one) for one in tree] if isinstance(tree, list) else tree
