"""The rules of the fleet as a whole: their descriptions, and asking them all.

They belong to no target's system. Their findings have the system ``fleet`` and name ``fleet`` or
the group that was compared.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from fleet.inventory.model import Target
from fleet.systems.model import Gate, System
from fleet.verifier.fleetwide.composing import composed
from fleet.verifier.fleetwide.devices import devices
from fleet.verifier.fleetwide.drift import baked, fresh
from fleet.verifier.fleetwide.member import FLEET, Member, Told
from fleet.verifier.fleetwide.palace import palace
from fleet.verifier.fleetwide.reach import reach
from fleet.verifier.fleetwide.skew import skew
from fleet.verifier.model import Finding, Severity

Rule: TypeAlias = Callable[[Sequence[Member], Sequence[Target]], tuple[Told, ...]]

RULES: Mapping[str, Rule] = {
    "fleet.devices": devices,
    "fleet.palace": palace,
    "fleet.reach": reach,
    "fleet.skew": skew,
    "fleet.baked": baked,
    "fleet.composed": composed,
    "bridge.fresh": fresh,
}
SYSTEM = System(
    system=FLEET,
    about="The targets of a run together; asked where two or more belong together.",
    gates=(
        Gate(
            id="fleet.devices",
            asks="Every machine and container has a device's name of its own.",
            check="devices",
            always=True,
            severity=Severity.CRITICAL,
            kinds=("host", "container"),
            without="two machines share a mailbox, and nobody can tell which of them wrote what",
            remedy="give each target a `device` of its own, and deploy again",
            source="S0",
        ),
        Gate(
            id="fleet.palace",
            asks="All clients declared on one palace reach one palace on one server version.",
            check="palace",
            always=True,
            severity=Severity.CRITICAL,
            kinds=("host", "container"),
            without="some of them write where the others never look",
            remedy="find out what answers the URL there: DNS, a proxy, a local server",
            source="S0",
        ),
        Gate(
            id="fleet.reach",
            asks="One endpoint answers as declared from the controller, hosts and containers.",
            check="reach",
            always=True,
            severity=Severity.CRITICAL,
            kinds=("host", "container"),
            without="the palace is up, and cut off from the clients of one place",
            remedy="open the way from the places named: the container's network, DNS, a firewall",
            source="peers 14",
        ),
        Gate(
            id="fleet.skew",
            asks="All targets of a group carry the bridge of one toolkit commit.",
            check="skew",
            severity=Severity.MINOR,
            without="what works on one machine does not on the next",
            remedy="update the toolkit of those behind, and rebuild their images",
            source="S0",
        ),
        Gate(
            id="fleet.baked",
            asks="An image, its containers and the commit declared for it agree.",
            check="baked",
            kinds=("image", "container"),
            without="the image was rebuilt and the container was not, or the other way round",
            remedy="create the container anew from the image, or rebuild the image",
            source="S0",
        ),
        Gate(
            id="fleet.composed",
            asks="A container that compose made is what its compose file says today.",
            check="composed",
            kinds=("container",),
            without="the file was changed and the container was not: a restart reads nothing anew",
            remedy="create the container anew; a restart does not read the file again",
            source="peers 15, cases B10",
        ),
        Gate(
            id="bridge.fresh",
            asks="Image, container, mounted clone and host of one name carry the same bytes.",
            check="fresh",
            without="what was mended in the clone is not what runs in the container",
            remedy="rebuild the image and create its containers anew, or update the clone",
            source="S0",
        ),
    ),
)


def judge_fleet(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Finding, ...]:
    """Ask every rule of the members of a run.

    Args:
        members: every target of the run, those that could not be asked too.
        fleet: every target there is. A rule that finds nothing wrong among a part of them says
            so, and never that it holds.
    """
    return tuple(
        _finding(gate, told) for gate in SYSTEM.gates for told in RULES[gate.id](members, fleet)
    )


def _finding(gate: Gate, told: Told) -> Finding:
    judgement = told.judgement
    return Finding(
        target=told.subject,
        system=FLEET,
        gate=gate.id,
        verdict=judgement.verdict,
        severity=gate.severity,
        required=gate.always,
        message=judgement.message,
        evidence=judgement.evidence,
        remedy=judgement.remedy or gate.remedy,
    )
