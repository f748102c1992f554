"""A strict reader of GitHub's workflow commands, after what its runner does with a line."""

import re
from dataclasses import dataclass

COMMAND = re.compile(r"::(?P<name>[a-z-]+)(?: (?P<properties>[^:]*?))?::(?P<data>.*)", re.DOTALL)


@dataclass(frozen=True)
class Command:
    """One command as the runner takes it."""

    name: str
    properties: dict[str, str]
    data: str


def read(text: str) -> list[Command]:
    """Read an output in which every line is a command.

    Raises:
        AssertionError: a line is none, or holds what must be escaped.
    """
    assert text.endswith("\n")
    return [_command(line) for line in re.split(r"\r\n|\r|\n", text[:-1])]


def _command(line: str) -> Command:
    matched = COMMAND.fullmatch(line)
    assert matched, line
    properties = {}
    for part in filter(None, (matched["properties"] or "").split(",")):
        name, equals, value = part.partition("=")
        assert equals, line
        properties[name.strip()] = _unescaped(value, {"%3A": ":", "%2C": ","})
    return Command(matched["name"], properties, _unescaped(matched["data"], {}))


def _unescaped(text: str, more: dict[str, str]) -> str:
    known = {"%25": "%", "%0D": "\r", "%0A": "\n"} | more
    for found in re.findall(r"%.{0,2}", text):
        assert found in known, f"{found!r} is no escape: {text!r}"
    return re.sub("|".join(known), lambda m: known[m[0]], text)
