"""Expressions and texts in descriptions."""

import pytest

from fleet.errors import PlanError
from fleet.inventory.render import environment, holds


def test_an_expression_is_compiled_once_for_a_whole_fleet(monkeypatch: pytest.MonkeyPatch) -> None:
    made = environment()
    compile_it, compiled = made.compile_expression, []

    def counting(source: str, *, undefined_to_none: bool = True) -> object:
        compiled.append(source)
        return compile_it(source, undefined_to_none=undefined_to_none)

    monkeypatch.setattr(made, "compile_expression", counting)
    told = [
        holds("number % 2 == 1 and told", {"number": n, "told": True}, where="") for n in (1, 2)
    ]
    assert told == [True, False]
    assert compiled == ["number % 2 == 1 and told"]


def test_no_expression_is_told_with_its_place() -> None:
    with pytest.raises(PlanError) as caught:
        holds("a b", {}, where="env.file")
    assert caught.value.where == "env.file"
