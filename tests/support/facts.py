"""Facts for tests, in the words of what lies on a target."""

from collections.abc import Mapping, Sequence

from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret
from fleet.systems.ask import request_for
from fleet.systems.catalogue import Catalogue, load_catalogue
from fleet.systems.resolve import resolve
from fleet.testing import HOME, NONCE, make_target
from fleet.testing import CannedFacts as World
from fleet.testing.canned import absolute
from fleet.testing.judging import TODAY
from fleet.verifier.judge import Expectations, judge
from fleet.verifier.model import Finding
from fleet.verifier.toolkit import Toolkit

__all__ = [
    "BRIDGE",
    "HOME",
    "NONCE",
    "World",
    "absolute",
    "findings",
    "findings_in",
    "target",
]

BRIDGE = b"""// bridge
const FEED = process.env.MEMPALACE_FEED ?? "1";
const DEVICE = process.env.MEMPALACE_PI_DEVICE;
export default function (pi) { pi.on("session_shutdown", async () => {}); }
"""


def target(
    *systems: str,
    address: str = "ssh://u@laptop",
    require: Sequence[str] = (),
    launches: Sequence[str] = ("bash -lc",),
    **variables: Value,
) -> Target:
    return make_target(
        *systems, address=address, require=require, launches=launches, variables=variables
    )


def findings(
    where: Target,
    world: World,
    *,
    secrets: Mapping[SecretRef, Secret] | None = None,
    troubles: Mapping[SecretRef, str] | None = None,
    toolkit: Toolkit | None = None,
    whole: bool = True,
) -> dict[str, Finding]:
    """Judge a world; findings by gate.

    Unless it is ``whole``, what the world does not mention was not even asked for.
    """
    return findings_in(
        load_catalogue(),
        where,
        world,
        secrets=secrets,
        troubles=troubles,
        toolkit=toolkit,
        whole=whole,
    )


def findings_in(
    catalogue: Catalogue,
    where: Target,
    world: World,
    *,
    secrets: Mapping[SecretRef, Secret] | None = None,
    troubles: Mapping[SecretRef, str] | None = None,
    toolkit: Toolkit | None = None,
    whole: bool = True,
) -> dict[str, Finding]:
    """Judge a world by a catalogue of its own."""
    systems = [catalogue.system(name) for name in where.systems]
    resolved = resolve(systems, where)
    if whole:
        request = request_for(where, resolved, nonce=NONCE)
        world.nothing_else([question.path for question in request.paths])
        for question in request.launches:
            world.nothing_else_exported((*question.public, *question.secret))
    expectations = Expectations(
        today=TODAY,
        secrets=secrets or {},
        troubles=troubles or {},
        toolkit=toolkit,
        templates=world.templates,
    )
    judged = judge(where, resolved, world.facts(where), catalogue, expectations)
    return {f.gate: f for f in judged}
