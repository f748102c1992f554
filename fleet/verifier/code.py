"""Reading deployed source as code: which words of it run, and whether it is whole.

TypeScript and JavaScript are parsed with tree-sitter. Comments, prose inside strings, regular
expressions and type declarations do not run, so a marker found only there proves nothing.
Everything else is read as lines of text, where ``#`` and ``//`` at a line's start begin a comment.
"""

import posixpath
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from fleet.dataclass import dataclass

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

SCRIPT_SUFFIXES = frozenset({".ts", ".js", ".mts", ".mjs", ".cts", ".cjs"})
_SKIPPED = frozenset(
    {
        "comment",
        "hash_bang_line",
        "regex",
        "type_arguments",
        "type_parameters",
        "type_annotation",
        "interface_declaration",
        "type_alias_declaration",
        "ambient_declaration",
    }
)
_FUNCTIONS = frozenset({"arrow_function", "function_expression"})
_STRINGS = frozenset({"string", "template_string"})


class Token(NamedTuple):
    """A word or sign that runs.

    Attributes:
        literal: whether it is the whole content of a string literal.
        within: the name of the nearest function around it that has one; empty at the top, and in
            what a module exports by default.
    """

    text: str
    line: int
    literal: bool = False
    within: str = ""


@dataclass(frozen=True, slots=True)
class Code:
    """A file's running part.

    Attributes:
        tokens: in order; empty for plain text.
        lines: for plain text, each line with its comment cut off, by number from 1.
        broken: the line of the first syntax error, None when it parses or is plain text.
        exports_default: whether a module exports the factory that pi calls.
        places: where in ``tokens`` each text stands, in order.
        sighted: markers that were looked for, and the line of each.
    """

    tokens: tuple[Token, ...] = ()
    lines: tuple[tuple[int, str], ...] = ()
    broken: int | None = None
    exports_default: bool = False
    script: bool = False
    places: Mapping[str, tuple[int, ...]] = field(default_factory=dict, repr=False, compare=False)
    sighted: dict[str, int | None] = field(default_factory=dict, repr=False, compare=False)


def is_script(path: str) -> bool:
    """Tell whether a path names TypeScript or JavaScript."""
    return posixpath.splitext(path)[1] in SCRIPT_SUFFIXES


@lru_cache(maxsize=256)
def read_code(content: bytes, *, script: bool) -> Code:
    """Read a file's bytes; cached, because many gates ask of the same file."""
    return _script(content) if script else _text(content)


def _text(content: bytes) -> Code:
    lines = []
    for number, line in enumerate(content.decode(errors="replace").splitlines(), 1):
        shown = "" if line.lstrip().startswith(("#", "//", ";")) else line
        lines.append((number, shown))
    return Code(lines=tuple(lines))


def _script(content: bytes) -> Code:
    root = _parser().parse(content).root_node
    tokens = tuple(_tokens(root))
    exports = any(
        a.text == "export" and b.text == "default"
        for a, b in pairwise(tokens)
        if not a.literal and not b.literal
    )
    return Code(
        tokens=tokens,
        broken=_first_error(root) if root.has_error else None,
        exports_default=exports,
        script=True,
        places=_places(tokens),
    )


def _places(tokens: tuple[Token, ...]) -> dict[str, tuple[int, ...]]:
    places: dict[str, list[int]] = defaultdict(list)
    for index, token in enumerate(tokens):
        places[token.text].append(index)
    return {text: tuple(indexes) for text, indexes in places.items()}


@lru_cache(maxsize=1)
def _parser() -> "Parser":
    import tree_sitter  # noqa: PLC0415 - only marker gates need the parser
    import tree_sitter_typescript  # noqa: PLC0415 - as above

    return tree_sitter.Parser(tree_sitter.Language(tree_sitter_typescript.language_typescript()))


def _tokens(root: "Node") -> Iterator[Token]:
    """Walk without recursion: what a target sends may be nested as deep as it likes."""
    stack: list[tuple[Node, str]] = [(root, "")]
    while stack:
        node, within = stack.pop()
        if node.type in _SKIPPED:
            continue
        line = node.start_point[0] + 1
        if node.type in _STRINGS:
            literal = _literal(node)
            if literal is not None:
                yield Token(literal, line, literal=True, within=within)
                continue
            holes = (c for c in reversed(node.children) if c.type == "template_substitution")
            stack.extend((child, within) for child in holes)
        elif node.child_count == 0:
            yield Token((node.text or b"").decode(errors="replace"), line, within=within)
        else:
            inner = _named(node) or within
            stack.extend((child, inner) for child in reversed(node.children))


def _named(node: "Node") -> str:
    """Return the name of what is called by it: a function, or a constant that holds one."""
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        if value is None or value.type not in _FUNCTIONS:
            return ""
    elif node.type != "function_declaration" or _by_default(node):
        return ""
    name = node.child_by_field_name("name")
    return (name.text or b"").decode(errors="replace") if name is not None else ""


def _by_default(node: "Node") -> bool:
    above = node.parent
    return above is not None and any(child.type == "default" for child in above.children)


def _literal(node: "Node") -> str | None:
    """Return a string's content, or None for a template that has substitutions."""
    if any(c.type == "template_substitution" for c in node.children):
        return None
    return (node.text or b"").decode(errors="replace")[1:-1]


def _first_error(root: "Node") -> int:
    stack: list[Node] = [root]
    while stack:
        node = stack.pop()
        if node.is_error or node.is_missing:
            return node.start_point[0] + 1
        stack.extend(c for c in reversed(node.children) if c.has_error or c.is_missing)
    return root.start_point[0] + 1
