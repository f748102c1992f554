"""Images as they lie on a disk, judged."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from support.images import PASSWD, as_layout

from fleet.demo.layout import BakedImage, Member, layer
from fleet.engine.audit import audit
from fleet.engine.context import Context
from fleet.engine.options import AuditOptions
from fleet.engine.secrets import SecretStore
from fleet.facts.request import Depth
from fleet.inventory.model import SecretRef, Target
from fleet.secrets import Secret
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.model import Finding

TOKEN = "tok-EXAMPLE-0123456789"
PALACE = SecretRef("env", "PALACE_TOKEN")
BRIDGE = Member("home/node/.pi/agent/extensions/mempalace.ts", b"export default () => 1\n")
BASE = [PASSWD, BRIDGE]
CLEAN: dict[str, object] = {"User": "node", "Env": ["PATH=/usr/bin"]}


def told(found: Finding) -> str:
    return "\n".join([found.message, *found.evidence])


def asked(where: Target, *systems: str, depth: Depth = Depth.LIKELY) -> dict[str, Finding]:
    """Look at an image and judge it, as `fleet check` does."""
    store = SecretStore(values={PALACE: Secret(TOKEN)})
    context = Context(load_catalogue(), secrets=store)
    run = audit([where], context, AuditOptions(systems=systems, scan=depth))
    (result,) = run.results
    assert result.facts, result.trouble
    assert TOKEN not in result.facts.model_dump_json()
    assert TOKEN not in repr(run.findings)
    return {f.gate: f for f in run.findings}


def baked(
    folder: Path,
    *layers: Sequence[Member],
    config: Mapping[str, object] = CLEAN,
    extra: Mapping[str, object] | None = None,
) -> Target:
    made = [layer(each) for each in (layers or (BASE,))]
    return as_layout(
        folder / "image", [BakedImage(made, "palace:1", config=config, extra=extra or {})]
    )
