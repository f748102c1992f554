"""The form of opencode's servers: what it refuses, and what it drops without a word.

Measured with opencode 1.18: an entry without a known ``type`` or with a ``command`` that is no list
makes it refuse the whole file; keys that it does not know are dropped.
"""

from collections.abc import Iterator, Mapping

_KNOWN = {
    "local": ("type", "command", "environment", "enabled", "timeout", "cwd"),
    "remote": ("type", "url", "headers", "oauth", "enabled", "timeout"),
}
_MEANT = {
    "env": "`environment` is meant",
    "args": "they go into the list under `command`",
    "bearerToken": "a token goes into `headers`",
    "serverUrl": "`url` is meant",
    "disabled": "`enabled: false` is meant",
}


def faults(fields: object) -> Iterator[str]:
    """Yield what is wrong with one entry of one file, a line for each key."""
    if not isinstance(fields, Mapping):
        yield "is no object"
        return
    kind = fields.get("type")
    if set(fields) <= {"enabled"}:
        return  # turns a server of another file on or off
    if kind not in _KNOWN:
        told = "is missing" if kind is None else f"is {kind!r}"
        yield f"`type` {told}: it is `local` or `remote`, and opencode refuses all else"
        return
    yield from _wrong(str(kind), fields)
    for name in fields:
        if name not in _KNOWN[str(kind)]:
            meant = _MEANT.get(name, f"a {kind} server has no such key")
            yield f"`{name}` is dropped without a word: {meant}"


def _wrong(kind: str, fields: Mapping[str, object]) -> Iterator[str]:
    if kind == "remote":
        if not isinstance(fields.get("url"), str):
            yield "`url` is missing, or no text"
        return
    command = fields.get("command")
    if not isinstance(command, list):
        yield f"`command` is {'missing' if command is None else 'no list'}: it is a list of words"
    elif not command or not all(isinstance(word, str) for word in command):
        yield "`command` is a list of words, the program first"
