"""What a text looks at decides whether two targets have its result alike."""

import pytest

from fleet.inventory.model import SecretRef, Value
from fleet.inventory.nodes import Verbatim, WrittenFloat, WrittenInt
from fleet.inventory.render import Prepared, render
from fleet.inventory.uses import Use, joined, seen, uses

WHOLE = [
    ("{{ a }}", (Use("a"),)),
    ("{{ (a and b | default('c')) }}", (Use("a"), Use("b"))),
    ("{% for x in a %}{{ x }}{% endfor %}", (Use("a"),)),
    ("{{ a.b }}", (Use("a", frozenset({"b"})),)),
    ("{{ a['b'] }}{{ a.c | first }}", (Use("a", frozenset({"b", "c"})),)),
    ("{{ a.b }}{{ a | length }}", (Use("a"),)),
    ("{{ a.keys() | list }}", (Use("a"),)),
    ("{{ a[b] }}", (Use("a"), Use("b"))),
    ("plain", ()),
    ("{{ a", None),
]


@pytest.mark.parametrize(("text", "told"), WHOLE)
def test_what_a_text_looks_at(text: str, told: tuple[Use, ...] | None) -> None:
    assert uses(text) == told


def test_together_a_whole_swallows_its_parts() -> None:
    every = [uses("{{ a.b }}"), uses("{{ a.c }}{{ d.e }}"), uses("{{ d }}")]
    assert joined(every) == (Use("a", frozenset({"b", "c"})), Use("d"))
    assert joined([*every, None]) is None


def test_keys_that_are_not_looked_at_make_no_difference() -> None:
    wanted = (Use("a", frozenset({"b"})),)
    assert seen(wanted, {"a": {"b": "1", "c": "2"}}) == seen(wanted, {"a": {"c": "3", "b": "1"}})
    assert seen(wanted, {"a": {"b": "1"}}) != seen(wanted, {"a": {}})
    assert seen(wanted, {"a": "text"}) != seen(wanted, {})


VALUES: list[Value] = [
    "1", 1, True, 1.0, None, "True", "", WrittenInt("0x1"), WrittenInt("+1"), WrittenFloat("1.00"),
    [], ["1"], [1], [["1"]], ["1", "1"], {}, {"a": "1"}, {"a": 1}, {"b": "1"},
    SecretRef("env", "A"), SecretRef("file", "A"), Verbatim("{{ a }}"),
]  # fmt: skip


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_values_that_a_text_tells_apart_are_unequal(value: Value) -> None:
    wanted = (Use("a"),)
    shown = render("{{ a }}{{ a is string }}", Prepared({"a": value}), where="")
    for other in VALUES:
        if render("{{ a }}{{ a is string }}", Prepared({"a": other}), where="") != shown:
            assert seen(wanted, {"a": other}) != seen(wanted, {"a": value})
    assert hash(seen(wanted, {"a": value})) == hash(seen(wanted, {"a": value}))


def test_a_value_of_another_kind_cannot_be_compared() -> None:
    assert seen((Use("a"),), {"a": object()}) is None  # type: ignore[dict-item]
