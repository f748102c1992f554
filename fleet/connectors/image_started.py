"""An image, started once: cut off from every network, and gone when the block ends."""

import secrets
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from fleet.connectors.container import ContainerConnector
from fleet.connectors.engine import Endpoint, client, endpoint, engine_faults
from fleet.errors import ProbeError, TargetError, Unreachable, Unsupported
from fleet.inventory.model import Address, Scheme, Target

if TYPE_CHECKING:
    from docker import APIClient

LABEL = "fleet.deep"

#: A program of its own that ends by itself, should nobody come to remove it.
_WAITS = "trap 'exit 0' TERM; sleep {} & wait"
_GRACE_SECONDS = 30


@contextmanager
def started(target: Target, *, timeout: float) -> Iterator[ContainerConnector]:
    """Start an engine's image with a shell in place of its own program.

    It gets its own user, environment and working folder, loopback and no other network, and none
    of this machine's files. Whatever it wrote is removed with it, its volumes included.

    Args:
        target: an image; its variables may name ``docker_host``, ``platform`` and ``user``.
        timeout: seconds that one look into it may take.

    Raises:
        Unsupported: no engine has this image, or it has no shell.
        Unreachable: no engine answers, or it has no such image.
    """
    if target.address.scheme is not Scheme.DOCKER_DAEMON:
        raise Unsupported(_why_not(target), where=target.name)
    at = endpoint(_text(target, "docker_host"))
    with closing(client(timeout, at=at)) as engine:
        identity = _created(engine.api, at, target, timeout)
        try:
            _start(engine.api, at, identity, target)
            inside = replace(target, address=Address(Scheme.CONTAINER, identity))
            with closing(ContainerConnector(inside, timeout=timeout)) as connector:
                yield connector
        finally:
            # It may be gone already: the engine removes it as soon as it ends.
            with suppress(TargetError), engine_faults(at):
                engine.api.remove_container(identity, v=True, force=True)


def _created(api: "APIClient", at: Endpoint, target: Target, timeout: float) -> str:
    address = target.address
    reference = f"{address.name}:{address.tag}" if address.tag else address.name
    with engine_faults(at, where=target.name):
        made = api.create_container(
            reference,
            entrypoint=["/bin/sh", "-c", _WAITS.format(round(timeout) + _GRACE_SECONDS)],
            name=f"fleet-deep-{secrets.token_hex(6)}",
            user=_text(target, "user") or None,
            platform=_text(target, "platform") or None,
            labels={LABEL: "1"},
            use_config_proxy=False,
            host_config=api.create_host_config(network_mode="none", auto_remove=True, init=True),
        )
    return str(made["Id"])


def _start(api: "APIClient", at: Endpoint, identity: str, target: Target) -> None:
    try:
        with engine_faults(at, where=target.name):
            api.start(identity)
    except (ProbeError, Unreachable) as error:
        raise Unsupported(
            f"the image cannot be started with a shell: {error.what}", where=target.name
        ) from None


def _why_not(target: Target) -> str:
    if target.address.scheme is Scheme.ROOTFS:
        return "a root folder is no image that an engine could start"
    if target.address.scheme is Scheme.DOCKER:
        return "an image in a registry is not started; pull it and name it as docker-daemon:NAME"
    return (
        "an archive or a layout is not started; load it into an engine and name it as"
        " docker-daemon:NAME"
    )


def _text(target: Target, name: str) -> str:
    value = target.variables.get(name)
    return value if isinstance(value, str) else ""
