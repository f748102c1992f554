"""Is a container what its compose file says: one answer, for the gate and for the plan.

What the file fills in from a value that is not known here is not compared, and said to be unseen;
so is a service that takes parts from another file.
"""

import posixpath
from collections.abc import Iterator

from fleet.dataclass import dataclass
from fleet.facts.environment import command_text
from fleet.facts.images import ImageFact
from fleet.facts.running import ContainerFact
from fleet.secrets import keyed_digest
from fleet.verifier.compose import Compose, Service
from fleet.verifier.compose_forms import Port, Volume
from fleet.verifier.images import older_image

_EVERYWHERE = frozenset({"", "0.0.0.0", "::"})  # noqa: S104 - looked for, never bound
_NEVER = frozenset({"", "no", "none"})
_OWN_MOUNTS = ("secrets", "configs", "tmpfs", "volumes_from", "devices")


@dataclass(frozen=True, slots=True)
class Ground:
    """What a compose file's texts are read against.

    Attributes:
        folder: where the file lies, absolute.
        nonce: of the facts; it keys the digest of a container's command.
        unknown: variables whose values are not known; their place in the file holds any text.
    """

    home: str
    folder: str
    project: str
    nonce: str
    unknown: frozenset[str] = frozenset()


def differences(
    ground: Ground,
    file: Compose,
    service: Service,
    container: ContainerFact,
    image: ImageFact | None = None,
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what differs between a service and a container of it, and what was not compared.

    The environment is left out: who compares it must know whose values are secret. ``image`` is
    the container's own, where that was asked too.
    """
    inherited = inherits(file, service)
    if inherited:
        return (), (inherited,)
    wrong: list[str] = []
    unseen: list[str] = []
    if service.image and not container.image_name:
        unseen.append("the name of its image was not seen")
    if container.command is None:
        unseen.append("its command was not seen")
    for keys, told in (
        (("image",), _image(service, container)),
        (("entrypoint", "command"), _command(ground, file, service, container, image)),
        (("ports",), () if service.network_mode == "host" else _ports(service.ports, container)),
        (("volumes",), _mounts(ground, file, service, container)),
        (("restart", "deploy"), _restart(service, container)),
    ):
        guessed = unfilled(ground, service, *keys)
        if guessed:
            unseen.append(f"{keys[-1]}: {guessed}")
        else:
            wrong += told
    return tuple(wrong), tuple(unseen)


def inherits(file: Compose, service: Service) -> str:
    """Say where parts of a service may come from that its own file does not tell."""
    if ("services", service.name, "extends") in file.places:
        return "it extends another service, so it was not compared with the file"
    if ("include",) in file.places:
        return "the file includes others, so it was not compared with it"
    return ""


def unfilled(ground: Ground, service: Service, *keys: str) -> str:
    """Say which variable without a known value a key of a service is filled in from."""
    for key in keys:
        for mention in service.mentions.get(key, ()):
            bare = mention.state == "unset" and mention.operator.lstrip(":") in ("", "?")
            if bare or mention.name in ground.unknown:
                return f"the value of {mention.name} is not known here"
    return ""


def _image(service: Service, container: ContainerFact) -> Iterator[str]:
    name = container.image_name
    if name and service.image and full_name(name) != full_name(service.image):
        yield f"made of the image {name}, the file says {service.image}"
    elif told := older_image(container):
        yield told


def full_name(image: str) -> str:
    """Return an image's name with what every engine takes for granted left out.

    Engines write the default registry's own images as ``HOST/library/NAME``, and some of them what
    was built here as ``localhost/NAME``.
    """
    own = image.rpartition("library/")[2] if "/library/" in f"/{image}" else image
    return own.removeprefix("localhost/").removesuffix(":latest")


def _command(
    ground: Ground,
    file: Compose,
    service: Service,
    container: ContainerFact,
    image: ImageFact | None,
) -> Iterator[str]:
    meant = keyed_digest(ground.nonce, command_text(service.command))
    if ("services", service.name, "entrypoint") in file.places:
        if container.command not in (None, meant):
            yield "its command is not the one in the file"
    elif service.command:
        # The image's own entry point stands before it; what was given is told apart, or not at all.
        if container.arguments not in (None, meant):
            yield "its command is not the one in the file"
    elif image and image.arguments and container.arguments not in (None, image.arguments):
        yield "its command is not the image's own, and the file says none"


def _ports(ports: tuple[Port, ...], container: ContainerFact) -> Iterator[str]:
    left = [p for p in container.ports if p.port]
    for port in ports:
        found = [
            p
            for p in left
            if str(p.inner) == port.target
            and port.published in ("", str(p.port))
            and (p.address == port.address or {p.address, port.address} <= _EVERYWHERE)
        ]
        left = [p for p in left if p not in found]
        if not found and "-" not in f"{port.target}{port.published}":
            yield f"does not publish {_shown(port.address, port.published, port.target)}"
    for extra in left:
        if not any("-" in port.target for port in ports):
            shown = _shown(extra.address, str(extra.port), str(extra.inner))
            yield f"publishes {shown}, which the file does not say"


def _shown(address: str, published: str, target: str) -> str:
    shown = f"[{address}]" if ":" in address else address
    return ":".join(part for part in (shown, published, target) if part)


def _mounts(
    ground: Ground, file: Compose, service: Service, container: ContainerFact
) -> Iterator[str]:
    for volume in service.volumes:
        source = container.mounts.get(volume.target.rstrip("/") or "/")
        if source is None:
            if not _in_memory(volume):
                yield f"nothing is mounted at {volume.target}"
        elif volume.source and source not in _sources(ground, file, volume.source):
            yield f"{source} is mounted at {volume.target}, the file says {volume.source}"
    if any(("services", service.name, key) in file.places for key in _OWN_MOUNTS):
        return
    declared = {volume.target.rstrip("/") or "/" for volume in service.volumes}
    # What the image declares itself is mounted under a name of 64 hex digits.
    beside = sorted(t for t in container.mounts.keys() - declared if len(container.mounts[t]) != 64)  # noqa: PLR2004 - as said
    for target in beside:
        yield f"{container.mounts[target]} is mounted at {target}, which the file does not say"


def _in_memory(volume: Volume) -> bool:
    """Tell whether it may be a tmpfs of the long form, which an engine need not list."""
    return not volume.source


def _sources(ground: Ground, file: Compose, source: str) -> set[str]:
    if source.startswith("~"):
        return {posixpath.normpath(ground.home + source[1:])}
    if source.startswith("."):
        return {posixpath.normpath(posixpath.join(ground.folder, source))}
    named = file.volumes.get(source)
    return {posixpath.normpath(source), named or f"{ground.project}_{source}"}


def _restart(service: Service, container: ContainerFact) -> Iterator[str]:
    wanted, actual = service.restart.partition(":")[0], container.restart
    if wanted != actual and not {wanted, actual} <= _NEVER:
        yield f"restart is {actual or 'no'}, the file says {wanted or 'no'}"
