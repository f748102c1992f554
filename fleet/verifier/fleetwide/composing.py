"""Containers and the compose files that they come from, wherever the file was read.

It is found by the labels that compose gives a container, and read on the machine that the engine
runs on; or by a host's own artifacts, and read there with all else.
"""

import posixpath
import shlex
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from fleet.dataclass import dataclass
from fleet.facts.running import ContainerFact
from fleet.inventory.model import Target
from fleet.systems.model import Compose as ComposeArtifact
from fleet.verifier.fleetwide.member import FLEET, Member, Told
from fleet.verifier.model import failed, not_checked, passed

if TYPE_CHECKING:
    from fleet.verifier.composed import Compared


@dataclass(frozen=True, slots=True)
class Composed:
    """A container, and the compose file that it comes from.

    Attributes:
        member: the target that told of the container.
        file: where the compose file lies.
        written: when it was last written, seconds since 1970; None where it was not read.
    """

    member: str
    container: ContainerFact
    file: str
    compared: "Compared"
    written: int | None = None

    @property
    def again(self) -> str:
        """Return the command that creates the container anew."""
        container, files = self.container, self.container.compose_files or (self.file,)
        named = ["-p", container.project] if container.project else []
        folder = container.compose_folder
        if folder and folder != posixpath.dirname(files[0]):
            named += ["--project-directory", folder]
        of = [word for path in files for word in ("-f", path)]
        again = ["up", "-d", "--force-recreate", container.service]
        return shlex.join(["docker", "compose", *named, *of, *again])


def composed(members: Sequence[Member], fleet: Sequence[Target]) -> tuple[Told, ...]:  # noqa: ARG001 - a rule's contract
    """A container is what its compose file makes of it today: image, environment, ports, mounts.

    Compared by what the engine tells of the container, never by compose's own hash.
    """
    own = [one for one in compositions(members) if one.container.compose_files]
    if not own:
        return ()
    wrong = [f"{one.container.name}: {told}" for one in own for told in one.compared.wrong]
    blind = [one for one in own if one.compared.unseen]
    reasons = [f"{one.container.name}: {why}" for one in blind for why in one.compared.unseen]
    files = [f"{one.container.name}: {one.file}" for one in own]
    if wrong:
        commands = dict.fromkeys(one.again for one in own if one.compared.wrong)
        found = failed(
            "a container is not what its compose file says today",
            *wrong,
            *reasons,
            remedy=f"recreate it, a restart changes nothing: {'; '.join(commands)}",
        )
    elif blind:
        found = not_checked("not all of it could be compared", *reasons)
    else:
        found = passed("each container is what its compose file says", *files)
    return (Told(FLEET, found),)


def compositions(members: Sequence[Member]) -> list[Composed]:
    """Return each container that comes from a compose file, with what they differ in; once."""
    found: dict[tuple[str, str], Composed] = {}
    for member in members:
        container = member.facts.container if member.facts else None
        if container is not None and container.compose_files:
            from fleet.verifier.fleetwide.compose_reading import labelled  # noqa: PLC0415 - lazy

            found[container.name, container.created] = labelled(member, container, members)
    for member in members:
        for one in _declared(member):
            found.setdefault((one.container.name, one.container.created), one)
    return list(found.values())


def _declared(member: Member) -> Iterator[Composed]:
    """Yield the containers of compose projects that a host's own description declares."""
    facts = member.facts
    if facts is None or not facts.containers:
        return
    for resolved in member.resolved:
        for artifact in resolved.artifacts.values():
            if not isinstance(artifact, ComposeArtifact):
                continue
            fact = facts.paths.get(artifact.path)
            for container in facts.containers.get(artifact.project, ()):
                if fact is not None:
                    from fleet.verifier.fleetwide.compose_reading import deployed  # noqa: PLC0415 - lazy

                    yield deployed(member.name, facts, artifact, fact, container)
