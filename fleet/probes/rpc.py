"""JSON-RPC as an MCP server frames it, and what a palace says in it. Nothing here asks."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TypeAlias

import httpx
from httpx_sse import EventSource

from fleet.dataclass import dataclass
from fleet.facts.endpoints import Trouble
from fleet.probes.wire import Troubled

Json: TypeAlias = "str | int | float | bool | list[Json] | Mapping[str, Json] | None"
Object: TypeAlias = Mapping[str, Json]

_EVENTS = "text/event-stream"
_TEXT = 2000
_VERSION = 60
_PACKAGES = 20
_HASH = re.compile(r"[0-9a-f]{8,64}")


class Refused(Troubled):
    """The server answered a request with a JSON-RPC error: it is MCP, and it says no."""


def request(number: int, method: str, parameters: Object | None = None) -> dict[str, Json]:
    """Return a JSON-RPC request; its id is what the answer is picked by."""
    message: dict[str, Json] = {"jsonrpc": "2.0", "id": number, "method": method}
    return message if parameters is None else {**message, "params": parameters}


def result(response: httpx.Response, number: int) -> Object:
    """Read a response until it answers request ``number``, and return the result.

    Plain JSON and an event stream are both read; other messages before the answer are skipped.

    Raises:
        Troubled: it does not answer: ``silent`` when headers came and nothing after them,
            ``not-mcp`` when what came is something else.
        Refused: the answer is a JSON-RPC error.
    """
    if response.headers.get("content-encoding", "identity") != "identity":
        raise _not_mcp("compressed, though that was not asked for")
    # Never the server's own charset: Python would take "bz2" for one.
    response.encoding = "utf-8"
    kind = response.headers.get("content-type", "").partition(";")[0].strip().lower()
    messages = _streamed(response) if kind == _EVENTS else _whole(response, kind)
    answer = next((m for m in messages if m.get("id") == number and "method" not in m), None)
    if answer is None:
        raise _not_mcp("it ended without an answer to what was asked")
    error = answer.get("error")
    if error is not None:
        raise Refused(Trouble.NOT_MCP, f"JSON-RPC error {_told(error)}", status=200)
    found = answer.get("result")
    if not isinstance(found, Mapping):
        raise _not_mcp("the answer has no result")
    return found


def _whole(response: httpx.Response, kind: str) -> Iterator[Object]:
    body = bytearray()
    try:
        for part in response.iter_raw():
            body += part
    except Troubled as error:
        raise _silent(error, heard=bool(body)) from error
    if not body:
        raise _not_mcp(f"HTTP {response.status_code} without a body")
    try:
        messages = list(_messages(body.decode()))
    except (Troubled, UnicodeDecodeError):
        raise _not_mcp(f"{kind or 'something without a type'}, not a JSON-RPC message") from None
    yield from messages


def _streamed(response: httpx.Response) -> Iterator[Object]:
    heard = False
    try:
        for event in EventSource(response).iter_sse():
            if event.event == "message" and event.data:
                heard = True
                yield from _messages(event.data)
    except Troubled as error:
        raise _silent(error, heard=heard) from error


def _silent(error: Troubled, *, heard: bool) -> Troubled:
    """Tell a stream that never began from one that never ended."""
    if error.trouble is not Trouble.TIMEOUT:
        return error
    seconds = error.what.rpartition("within ")[2]
    if heard:
        return Troubled(Trouble.TIMEOUT, f"the answer did not end within {seconds}", status=200)
    return Troubled(Trouble.SILENT, f"headers came, but no data within {seconds}", status=200)


def parsed(text: str) -> Json:
    """Parse JSON that somebody else wrote.

    Raises:
        Troubled: it is none, or nested beyond reason.
    """
    try:
        value: Json = json.loads(text)
    except (ValueError, RecursionError):
        raise _not_mcp("not JSON") from None
    return value


def _messages(text: str) -> Iterator[Object]:
    value = parsed(text)
    for message in value if isinstance(value, list) else [value]:
        if not isinstance(message, Mapping):
            raise _not_mcp("not a JSON-RPC message")
        yield message


def _not_mcp(what: str) -> Troubled:
    return Troubled(Trouble.NOT_MCP, what, status=200)


def _told(error: Json) -> str:
    if not isinstance(error, Mapping):
        return "of an unknown shape"
    code, message = error.get("code"), error.get("message")
    return f"{str(code)[:20]}: {message[:_TEXT]}" if isinstance(message, str) else str(code)[:20]


def document(response: httpx.Response) -> Object:
    """Read a response that is one JSON object.

    Raises:
        Troubled: it is something else.
    """
    return next(_whole(response, "something else"), {})


@dataclass(frozen=True, slots=True)
class Status:
    """What ``mempalace_status`` comes down to; the fields are those of ``EndpointFact``."""

    palace: str | None = None
    drawers: int | None = None
    usable: bool | None = None
    trouble: str = ""
    stale: bool | None = None
    stale_packages: tuple[str, ...] = ()


def status(tool_result: Object) -> Status:
    """Read the result of a ``mempalace_status`` call.

    The tool's answer is JSON inside a text. An empty palace answers with an ``error`` and HTTP
    200, a damaged one with an integrity check that is not ok: neither is usable. An integrity
    check that did not run (another backend, a file too large) leaves the drawers to decide.
    """
    text = _text(tool_result)
    if tool_result.get("isError") is True:
        return Status(usable=False, trouble=text[:_TEXT] or "the status tool failed")
    try:
        told = parsed(text)
    except Troubled:
        told = None
    if not isinstance(told, Mapping):
        return Status(trouble="the status tool's answer is not the JSON a palace gives")
    integrity = told.get("sqlite_integrity")
    integrity = integrity if isinstance(integrity, Mapping) else {}
    drawers = told.get("total_drawers")
    counted = drawers if isinstance(drawers, int) and not isinstance(drawers, bool) else None
    trouble = _trouble(told, integrity)
    stale, packages = _stale(told.get("library_versions"))
    found = Status(palace_path(integrity), stale=stale, stale_packages=packages)
    if not trouble and counted is None:
        return replace(found, trouble="the status names no number of drawers")
    return replace(found, drawers=counted, usable=not trouble, trouble=trouble)


def _stale(libraries: Json) -> tuple[bool | None, tuple[str, ...]]:
    """Read ``library_versions``: is anything served that is not what is installed, and what."""
    if not isinstance(libraries, Mapping) or not isinstance(libraries.get("stale"), bool):
        return None, ()
    packages = libraries.get("packages")
    told = [
        f"{_word(each, 'package')}: {_word(each, 'serving')} is running, "
        f"{_word(each, 'installed')} is installed"
        for each in (packages if isinstance(packages, list) else [])[:_PACKAGES]
        if isinstance(each, Mapping)
    ]
    unread = libraries.get("unreadable")
    if libraries["stale"] is False and isinstance(unread, Mapping) and unread:
        # What it could not compare, it does not count.
        why = {str(name)[:_VERSION]: _word(unread, name) for name in list(unread)[:_PACKAGES]}
        return None, tuple(f"{name}: not compared: {reason}" for name, reason in why.items())
    return libraries["stale"] is True, tuple(told)


def _word(told: Object, name: str) -> str:
    value = told.get(name)
    return value[:_VERSION] if isinstance(value, str) else ""


def path_hash(palace: Json) -> str:
    """Return the digest of its path that ``/statusz`` tells of a palace; empty where it is none."""
    told = palace.get("path_hash") if isinstance(palace, Mapping) else None
    return told if isinstance(told, str) and _HASH.fullmatch(told) else ""


def writer(told: Json) -> dict[str, bool]:
    """Return what ``/statusz`` says of writing: its flags that are set or not."""
    flags = told if isinstance(told, Mapping) else {}
    return {name[:_VERSION]: flag for name, flag in flags.items() if isinstance(flag, bool)}


def with_palace(status: Status, integrity: Json) -> Status:
    """Fill in the palace's path from another page's ``sqlite_integrity`` object."""
    return replace(status, palace=palace_path(integrity))


def palace_path(integrity: Json) -> str | None:
    """Return the palace's path from a ``sqlite_integrity`` object."""
    path = integrity.get("palace") if isinstance(integrity, Mapping) else None
    return path if isinstance(path, str) and path else None


def _text(tool_result: Object) -> str:
    content = tool_result.get("content")
    for item in content if isinstance(content, list) else []:
        if isinstance(item, Mapping) and isinstance(text := item.get("text"), str):
            return text
    return ""


def _trouble(told: Object, integrity: Object) -> str:
    error = told.get("error")
    if error:
        return error[:_TEXT] if isinstance(error, str) else "the palace reports an error"
    if integrity.get("ok") is False or told.get("sqlite_integrity_failed") is True:
        errors = integrity.get("errors")
        first = errors[0] if isinstance(errors, list) and errors else "no detail given"
        return f"the integrity check failed: {str(first)[:_TEXT]}"
    return ""
