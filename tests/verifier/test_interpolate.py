"""Compose's variables, filled in as compose does."""

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.verifier.interpolate import BadVariable, fill

B14 = "${URI:-http://${H:-palace}:${PORT:-8765}/mcp}"


@pytest.mark.parametrize(
    "text, environment, filled",
    [
        (B14, {}, "http://palace:8765/mcp"),
        (B14, {"H": "box"}, "http://box:8765/mcp"),
        (B14, {"URI": ""}, "http://palace:8765/mcp"),
        (B14, {"URI": "https://x/mcp"}, "https://x/mcp"),
        ("${URI-fallback}", {"URI": ""}, ""),
        ("${URI-fallback}", {}, "fallback"),
        ("${X:+yes}|${X+yes}", {"X": ""}, "|yes"),
        ("${X:+yes}|${X+yes}", {}, "|"),
        ("${X:+$Y}", {"X": "1", "Y": "2"}, "2"),
        ("$X/$Y.z", {"X": "a"}, "a/.z"),
        ("${X?m}${X:?m}", {"X": "a"}, "aa"),
        ("${X?m}", {"X": ""}, ""),
        ("$$X $$(cat /t) $$", {"X": "a"}, "$X $(cat /t) $"),
        ("${A:-}}", {}, "}"),
        ('${A:-{"x": 1}}', {}, '{"x": 1}'),
        ("a}b", {}, "a}b"),
        ("$1 x $", {}, "$1 x $"),
        ("$$$A $$$$A", {"A": "a"}, "$a $$A"),
        ("${A?$$1 bad}", {"A": "a"}, "a"),
        ("${U:-a$}", {}, "a$"),
        ("${X}", {"X": "$Y ${Z}"}, "$Y ${Z}"),
    ],
)
def test_filled(text: str, environment: dict[str, str], filled: str) -> None:
    assert fill(text, environment).text == filled


@pytest.mark.parametrize(
    "text, environment, why",
    [
        ("${TOKEN:?set TOKEN}", {}, "TOKEN is not set: set TOKEN"),
        ("${TOKEN:?set TOKEN}", {"TOKEN": ""}, "TOKEN is set but empty: set TOKEN"),
        ("${TOKEN?}", {}, "TOKEN is not set"),
        ("${TOKEN?ask ${WHO:-me}}", {}, "TOKEN is not set: ask me"),
        ("${X", {}, "never closed"),
        ("${X:-a", {}, "never closed"),
        ("${X:-${Y}", {}, "never closed"),
        ("${}", {}, "`${}` names no variable"),
        ("${1}", {}, "names no variable"),
        ("${A:-${B:?needed}}", {"A": "a"}, "B is not set: needed"),
        ("${A:+${B:?needed}}", {}, "B is not set: needed"),
        ("${A }", {"A": "a"}, "compose does not know"),
        ("${A:=q}", {"A": "a"}, "compose does not know"),
        ("${X!y}", {}, "compose does not know"),
        ("${A:-" * 100 + "}" * 100, {}, "deeper than 20"),
    ],
)
def test_refused(text: str, environment: dict[str, str], why: str) -> None:
    with pytest.raises(BadVariable) as error:
        fill(text, environment)
    assert why in str(error.value)


def test_only_what_is_looked_at_is_mentioned() -> None:
    filled = fill("${A:-$B}${C:-$D}$$E", {"A": "a"})
    assert [(m.name, m.operator, m.state) for m in filled.mentions] == [
        ("A", ":-", "set"),
        ("C", ":-", "unset"),
        ("D", "", "unset"),
    ]


@given(st.text(alphabet="${}:-?+AB \\", max_size=40))
def test_any_text_is_filled_or_refused(text: str) -> None:
    with suppress(BadVariable):
        assert "${" not in fill(text.replace("$$", ""), {"A": "a"}).text
