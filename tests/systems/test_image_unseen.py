"""An image that was looked at and not searched is not called clean."""

from pathlib import Path

from support.images import PASSWD, as_layout

from fleet.demo.layout import BakedImage, Member, layer
from fleet.engine.audit import audit
from fleet.engine.context import Context, narrowed
from fleet.engine.facts import gather
from fleet.engine.options import AuditOptions
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.look import NOT_ASKED
from fleet.verifier.model import Verdict

TOKEN = b"x ghp_" + b"a1B2" * 9
GATES = ("image.env", "image.layers")


def test_what_nobody_searched_for_secrets_is_not_checked(tmp_path: Path) -> None:
    """As a comparison of an image with its containers looks at it."""
    held = {"User": "node", "Env": [f"A_TOKEN={TOKEN.decode()}"]}
    made = BakedImage([layer([PASSWD, Member("srv/a.env", TOKEN)])], "palace:1", config=held)
    context, options = Context(load_catalogue()), AuditOptions(systems=("image",))
    targets = narrowed([as_layout(tmp_path / "i", [made])], context, systems=options.systems)
    (looked,) = gather(targets, context, options, probe=False, search=False)
    run = audit(targets, context, options, seen={looked.target.name: looked})
    found = {f.gate: f for f in run.findings}
    for gate in GATES:
        assert (found[gate].verdict, found[gate].message) == (Verdict.NOT_CHECKED, NOT_ASKED)
    searched = {f.gate: f.verdict for f in audit(targets, context, options).findings}
    assert {searched[gate] for gate in GATES} == {Verdict.FAIL}
