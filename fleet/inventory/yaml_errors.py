"""The parser's complaints in plain words, the same for both of PyYAML's parsers."""

import yaml as pyyaml

from fleet.errors import InventoryError, Place

_OPEN_QUOTE = "a quoted text begins here and does not end"
NO_CHARACTER = "an escape inside double quotes is of no character"
LAST_CHARACTER = 'the last one is "\\U0010FFFF"'
_MEANINGS = (
    (("invalid Unicode character",), NO_CHARACTER, LAST_CHARACTER),
    (("escape",), "an unknown escape inside double quotes", "write `\\\\` for a backslash"),
    (("tab character",), "a tab indents this line", "YAML is indented with spaces only"),
    (("nesting depth",), "this is nested too deeply", ""),
    (
        ("mapping values are not allowed",),
        "a second `: ` in one line, or a line indented too far",
        "quote a text that holds `: `",
    ),
    (
        ("expected ',' or ']'", "expected ',' or '}'", "flow"),
        "a `,` or a closing bracket is missing",
        "",
    ),
    (
        ("find expected ':'", "find expected key", "block end", "expected '-'", "block mapping"),
        "the line fits nothing above it: its indentation differs, or a `:` is missing",
        "",
    ),
    (
        ("quoted scalar",),
        _OPEN_QUOTE,
        "add the closing quote",
    ),
    (("alias", "anchor"), "`*` and `&` begin names of anchors", "quote the text"),
    (("tag",), "`!` begins a tag", "quote the text"),
    (("directive",), "`%` begins a directive", "quote the text"),
)


def syntax_error(error: pyyaml.MarkedYAMLError, text: str, file: str) -> InventoryError:
    """Return the parser's error with a place and, where it is known, what to do."""
    mark = error.problem_mark or error.context_mark
    if mark is None:
        return InventoryError(f"this is not YAML: {error.problem}", place=Place(file))
    what, hint = _meaning(error, _character(text, mark.line, mark.column))
    opened = error.context_mark
    if opened is not None and what == _OPEN_QUOTE:
        mark = opened
    if opened is not None and opened.line < mark.line and "closing" in what:
        what += f" (it began in line {opened.line + 1})"
    return InventoryError(what, place=Place(file, mark.line + 1, mark.column + 1), hint=hint)


def _meaning(error: pyyaml.MarkedYAMLError, character: str) -> tuple[str, str]:
    said = f"{error.context or ''} {error.problem or ''}"
    if "cannot start any token" in said:
        if character == "\t":
            return "a tab indents this line", "YAML is indented with spaces only"
        return f"a text cannot begin with {character!r}", "quote the text"
    for signs, what, hint in _MEANINGS:
        if any(sign in said for sign in signs):
            return what, hint
    return f"this is not YAML: {error.problem}", ""


def _character(text: str, line: int, column: int) -> str:
    lines = text.splitlines()
    return lines[line][column : column + 1] if line < len(lines) else ""
