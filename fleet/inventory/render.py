"""Text with variables in it, rendered in a sandbox that refuses what is undefined.

A secret that meets a template renders as a mark that only the installers' writing step replaces,
so no rendered text, diff or error ever holds its value.
"""

import hashlib
import re
from collections.abc import Mapping
from functools import lru_cache

from jinja2 import StrictUndefined, Template, TemplateError
from jinja2.environment import TemplateExpression
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment

from fleet.errors import PlanError
from fleet.inventory.model import SecretRef, Value
from fleet.verifier.pi_sources import source_of

LONGEST = 2**20

# What an expression itself can make Python raise: a wrong type, a division by zero, ...
FAULTS = (
    TemplateError,
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    MemoryError,
    RuntimeError,
    SyntaxError,
    TypeError,
    ValueError,
    re.error,
)


class Sandbox(ImmutableSandboxedEnvironment):
    """Jinja's sandbox, in which no short expression asks for gigabytes or hours."""

    intercepted_binops = frozenset({"*", "**"})

    def call_binop(self, context: Context, operator: str, left: object, right: object) -> object:
        """Multiply, within bounds.

        Raises:
            SecurityError: the result could be out of all proportion.
        """
        if operator == "**" or _repeated(left, right) > LONGEST:
            raise SecurityError(f"`{operator}` of such values is not allowed")
        return super().call_binop(context, operator, left, right)


def _repeated(left: object, right: object) -> int:
    """Return how long a repeated text or list would be; 0 where nothing is repeated."""
    for what, times in ((left, right), (right, left)):
        if isinstance(what, str | bytes | list | tuple) and isinstance(times, int):
            return len(what) * times
    return 0


@lru_cache(maxsize=1)
def environment() -> ImmutableSandboxedEnvironment:
    """Return the one environment all texts are rendered in."""
    made = Sandbox(undefined=StrictUndefined, keep_trailing_newline=True, autoescape=False)
    made.filters["pi_package"] = _pi_package
    made.filters["sha256"] = lambda text: hashlib.sha256(str(text).encode()).hexdigest()
    made.tests["match"] = lambda text, pattern: re.match(pattern, str(text)) is not None
    return made


def _pi_package(source: object, agent: object) -> str:
    """Return the folder in which pi keeps the package of a source."""
    return source_of(str(source)).place(str(agent)).rstrip("/")


class Prepared:
    """Variables as a text gets to see them, worked out once for many texts."""

    __slots__ = ("shown",)

    def __init__(self, variables: Mapping[str, Value]) -> None:
        self.shown = {name: _plain(value) for name, value in variables.items()}


def render(text: str, variables: Mapping[str, Value] | Prepared, *, where: str) -> str:
    """Render a text.

    Raises:
        PlanError: the text is no template, or names an undefined variable.
    """
    try:
        return str(_compiled(text).render(_shown(variables)))
    except FAULTS as error:
        raise PlanError(str(error), where=where, hint=f"in the text: {text}") from error


def holds(expression: str, variables: Mapping[str, Value] | Prepared, *, where: str) -> bool:
    """Tell whether a Jinja expression is true for the variables; an undefined name is false.

    Raises:
        PlanError: it is no expression.
    """
    try:
        return bool(_condition(expression)(**_shown(variables)))
    except FAULTS as error:
        raise PlanError(str(error), where=where, hint=f"in: {expression}") from error


@lru_cache(maxsize=512)
def _condition(expression: str) -> TemplateExpression:
    return environment().compile_expression(expression, undefined_to_none=True)


@lru_cache(maxsize=512)
def _compiled(text: str) -> Template:
    return environment().from_string(text)


def _shown(variables: Mapping[str, Value] | Prepared) -> dict[str, object]:
    return (variables if isinstance(variables, Prepared) else Prepared(variables)).shown


def _plain(value: Value) -> object:
    if isinstance(value, SecretRef):
        return secret_mark(value)
    if isinstance(value, list):
        return [_plain(v) for v in value]
    if isinstance(value, dict):
        return {k: _plain(v) for k, v in value.items()}
    return value


def secret_mark(reference: SecretRef) -> str:
    """Return the mark that stands for a secret in rendered text until it is written."""
    return f"\ue000{reference.source}:{reference.argument}\ue001"
