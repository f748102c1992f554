"""Judging canned or saved facts by a system's gates, as an audit would."""

from collections.abc import Mapping, Sequence
from datetime import date

from fleet.facts.model import Facts
from fleet.inventory.address import parse_address
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret
from fleet.systems.ask import request_for
from fleet.systems.catalogue import Catalogue, load_catalogue
from fleet.systems.model import Gate
from fleet.systems.resolve import resolve
from fleet.testing.canned import NONCE, CannedFacts
from fleet.verifier.judge import Expectations
from fleet.verifier.judge import judge as judge_target
from fleet.verifier.model import Finding

LAUNCH = "bash -lc"
ADDRESSES = {
    "host": "ssh://u@laptop",
    "container": "container:laptop",
    "image": "docker-daemon:laptop:latest",
}
TODAY = date(2026, 12, 1)


def make_target(
    *systems: str,
    name: str = "laptop",
    address: str = ADDRESSES["host"],
    require: Sequence[str] = (),
    launches: Sequence[str] = (LAUNCH,),
    variables: Mapping[str, Value] | None = None,
) -> Target:
    """Make a target as an inventory would describe it.

    Raises:
        InventoryError: the address is none.
    """
    return Target(
        name=name,
        address=parse_address(address),
        systems=systems,
        require=tuple(require),
        variables=dict(variables or {}),
        launches=tuple(launches),
    )


def judge(  # noqa: PLR0913 - what an inventory says of one target, all of it optional
    system: str,
    facts: CannedFacts | Facts,
    *,
    target: Target | None = None,
    require: Sequence[str] = (),
    variables: Mapping[str, Value] | None = None,
    secrets: Mapping[SecretRef, Secret] | None = None,
    package: str = "",
    gates: Sequence[Gate] = (),
    today: date = TODAY,
) -> dict[str, Finding]:
    """Ask every gate of a system over facts; returns findings by gate.

    Args:
        system: its id.
        facts: canned ones, which answer only what the system asks for, or real ones as
            ``fleet facts`` saves them.
        target: whom they are of; without it one is made of ``require`` and ``variables``.
        require: capabilities that must hold.
        variables: what an inventory would say.
        secrets: values of the references among the variables.
        package: where the system is described, for one that no entry point names yet.
        gates: gates of your own that are asked with the system's.
        today: the date that waivers and ages are held against.

    Raises:
        CatalogueError: there is no such system, or its description is wrong.
        PlanError: a text of the description cannot be rendered.
    """
    catalogue = _catalogue(system, package, gates)
    where = target or make_target(
        system, address=_address(facts), require=require, variables=variables
    )
    resolved = resolve([catalogue.system(system)], where)
    if isinstance(facts, CannedFacts):
        facts = facts.answer(request_for(where, resolved, nonce=NONCE), where)
    expectations = Expectations(today=today, secrets=dict(secrets or {}))
    found = judge_target(where, resolved, facts, catalogue, expectations)
    return {finding.gate: finding for finding in found}


def _catalogue(system: str, package: str, gates: Sequence[Gate]) -> Catalogue:
    catalogue = load_catalogue()
    if package:
        catalogue = catalogue.including(package)
    return catalogue.extended((system, gate) for gate in gates)


def _address(facts: CannedFacts | Facts) -> str:
    return facts.address if isinstance(facts, Facts) else ADDRESSES[facts.kind]
