"""Whether the deployed publish gate sees a call that comes through the adapter's proxy tool.

``pi-mcp-adapter`` lets the model call every MCP tool through one tool named ``mcp``. What a
``tool_call`` handler then gets is ``toolName: "mcp"``, the real name in ``input.tool`` and the
arguments in ``input.args``, as an object or as JSON text. A gate that looks at ``toolName`` alone
never matches, and every write passes. Measured with pi 0.84.0 and 1.6.0 and the adapter 2.36.0.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from fleet.dataclass import dataclass
from fleet.systems.demarkus.plugins import NONE_DECLARED, Plugin, plugins
from fleet.verifier.code import Code, Token, read_code
from fleet.verifier.launches import Unseen
from fleet.verifier.look import Look
from fleet.verifier.mcp_servers import host_of
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import way

PROXY = "mcp"
_EQUALS = frozenset({"===", "==", "!==", "!="})
#: What an unwrapping takes from the call: the real name, the arguments, and JSON that is text.
_TAKEN = ("tool", "args", "parse")


@dataclass(frozen=True, slots=True)
class _Source:
    """One source file: where it lies, and its running part."""

    path: str
    code: Code


class _Blind(str):
    """A line about a gate that sees a call by its own name, and none that comes by the proxy."""

    __slots__ = ()


def proxy(look: Look) -> Judgement:
    """The gate of each package unwraps a call that comes through the adapter's proxy tool."""
    found = plugins(look)
    if not found:
        return not_applicable(NONE_DECLARED)
    good: list[str] = []
    told = [line for plugin in found for line in _blind(look, plugin, good)]
    wrong = [line for line in told if not isinstance(line, Unseen)]
    unseen = [line for line in told if isinstance(line, Unseen)]
    host = host_of(look)
    direct = not host.adapter and not host.unread
    if wrong and direct and all(isinstance(line, _Blind) for line in wrong):
        why = "pi's own MCP host calls each tool by its name; the adapter would pass the gate by"
        return warned(why, *wrong, *unseen)
    if wrong:
        blind = any(isinstance(line, _Blind) for line in wrong)
        never = "the publish gate never matches through the `mcp` tool"
        return failed(never if blind else "there is no publish gate", *wrong, *unseen)
    if unseen:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    return passed("the publish gate unwraps calls through the `mcp` tool", *good)


def _blind(look: Look, plugin: Plugin, good: list[str]) -> Iterator[str]:
    """Yield why a package's gate would not see a call, or could not be judged."""
    sources: list[_Source] = []
    unread: list[str] = [
        f"{path}: it is not one of the files that are read" for path in plugin.unasked(look)
    ]
    for fact in plugin.scripts(look):
        content = look.content(fact)
        if content is None:
            if fact.final is not None or fact.why:
                unread.append(f"{fact.path}: {fact.why or 'its content was not read'}")
            continue
        code = read_code(content, script=True)
        if code.broken is not None:
            yield f"{way(fact)} does not parse (line {code.broken}): it is cut, or no code"
            return
        sources.append(_Source(way(fact), code))
    yield from _judged(plugin, sources, unread, good)


def _judged(
    plugin: Plugin, sources: Sequence[_Source], unread: Sequence[str], good: list[str]
) -> Iterator[str]:
    sight = next(filter(None, (_unwrapping(each, sources) for each in sources)), None)
    watching = any(_has_literal(each, "tool_call") for each in sources)
    if sight and watching:
        good.append(f"{plugin.package}: {sight}")
    elif unread:
        yield from map(Unseen, unread)
    elif not sources:
        yield f"{plugin.package}: there is no source in {plugin.folder}/src"
    elif not watching:
        yield f"{plugin.package}: nothing in it handles tool_call, so it gates nothing"
    elif any(_has_literal(each, "demarkus-plugin") for each in sources):
        yield Unseen(
            f"{plugin.package} hands a call to demarkus-plugin as it comes; whether that unwraps "
            "it cannot be seen in a program"
        )
    else:
        where = next(each.path for each in sources if _has_literal(each, "tool_call"))
        yield _Blind(f"{where}: no code that runs unwraps a call whose toolName is {PROXY!r}")


def _unwrapping(source: _Source, sources: Sequence[_Source]) -> str | None:
    """Return where a source unwraps the proxy's call in code that is called; None where not."""
    for token in _compared(source.code.tokens):
        inside = [t for t in source.code.tokens if t.within == token.within]
        words = {t.text for t in inside}
        if not words.issuperset(_TAKEN):
            continue
        if not token.within:
            return f"{source.path} line {token.line}"
        if any(_calls(each.code.tokens, token.within) for each in sources):
            return f"{token.within} in {source.path} line {token.line}"
    return None


def _compared(tokens: Sequence[Token]) -> Iterator[Token]:
    """Yield the literals ``"mcp"`` that something is compared with."""
    for before, token in pairwise(tokens):
        if token.literal and token.text == PROXY and not before.literal:
            if before.text in _EQUALS or before.text == "case":
                yield token
        elif before.literal and before.text == PROXY and token.text in _EQUALS:
            yield before


def _calls(tokens: Sequence[Token], name: str) -> bool:
    """Tell whether a function is called from outside itself."""
    return any(
        token.text == name
        and not token.literal
        and token.within != name
        and after.text == "("
        and before.text != "function"
        for (before, token), (_, after) in pairwise(pairwise(tokens))
    )


def _has_literal(source: _Source, text: str) -> bool:
    return any(token.literal and token.text == text for token in source.code.tokens)
