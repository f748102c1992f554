"""Is a deployed file what fleet would write? One rule for every file that is read whole."""

from collections.abc import Iterator, Mapping

from fleet.errors import PlanError
from fleet.inventory.model import Value
from fleet.inventory.render import render
from fleet.verifier.look import Look


def rendering(look: Look, template: str, further: Mapping[str, Value], what: str) -> bytes | str:
    """Return what fleet would write, or in words why that is not known.

    Args:
        look: what the gate sees.
        template: its name below ``templates/``.
        further: variables beside the target's own.
        what: what the file is called.
    """
    text = look.templates.get(template)
    if text is None:
        return f"the template {template} is not at hand"
    try:
        variables = {**look.resolved.variables, **further}
        return render(text, variables, where=f"{look.target.name}: {template}").encode()
    except PlanError as error:
        return f"{what} cannot be rendered: {error.what}"


def differing(there: bytes, meant: bytes, what: str) -> Iterator[str]:
    """Tell lines that differ by their number: a line of somebody else's may hold a secret."""
    if there == meant:
        return
    one, other = there.splitlines(), meant.splitlines()
    pairs = zip(one, other, strict=False)
    unlike = [number for number, (a, b) in enumerate(pairs, 1) if a != b]
    first = unlike[0] if unlike else min(len(one), len(other)) + 1
    yield f"{what} differs from its rendering from line {first} on"
