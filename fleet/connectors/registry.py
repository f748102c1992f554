"""Which connector leads to a target: by scheme, imported only when one is needed."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import cast

from fleet.connectors.base import Connector
from fleet.connectors.fake import FakeConnector
from fleet.errors import Unreachable
from fleet.inventory.model import Scheme, Target

CONNECTORS = {
    Scheme.SSH: "fleet.connectors.ssh:SshConnector",
    Scheme.LOCAL: "fleet.connectors.local:LocalConnector",
    Scheme.CONTAINER: "fleet.connectors.container:ContainerConnector",
    Scheme.ROOTFS: "fleet.connectors.image:ImageConnector",
    Scheme.DOCKER_DAEMON: "fleet.connectors.image:ImageConnector",
    Scheme.OCI: "fleet.connectors.image:ImageConnector",
    Scheme.OCI_ARCHIVE: "fleet.connectors.image:ImageConnector",
    Scheme.DOCKER_ARCHIVE: "fleet.connectors.image:ImageConnector",
    Scheme.DOCKER: "fleet.connectors.image:ImageConnector",
}

#: The variables of a target that say how it is reached and read; connectors read no others.
WAYS = (
    "docker_host",
    "image_env",
    "image_way",
    "platform",
    "registry_ca",
    "registry_insecure",
    "user",
)

# Set by tests only. Threads of a pool share it, so it is no context variable.
_stand_ins: list[Mapping[str, FakeConnector]] = []


def connect(target: Target, *, timeout: float) -> Connector:
    """Return a connector for a target; nothing is opened before it is used.

    Args:
        target: whom to reach.
        timeout: seconds that one look or one change may take, connecting included.
    """
    if _stand_ins:
        return _stand_in(target, _stand_ins[-1])
    module, _, name = CONNECTORS[target.address.scheme].partition(":")
    make = cast("Callable[..., Connector]", getattr(import_module(module), name))
    return make(target, timeout=timeout)


def bare(target: Target) -> Target:
    """Return a target with what its connector needs to know of it, and nothing else."""
    ways = {name: target.variables[name] for name in WAYS if name in target.variables}
    return Target(
        target.name,
        target.address,
        variables=ways,
        launches=target.launches,
        become=target.become,
        identity=target.identity,
    )


@contextmanager
def answering(fakes: Mapping[str, FakeConnector]) -> Iterator[None]:
    """Let fake targets answer in place of real ones, in this whole process, within the block.

    Args:
        fakes: by the target's name. A target that has none is unreachable: nothing real is
            connected to.
    """
    _stand_ins.append(fakes)
    try:
        yield
    finally:
        _stand_ins.pop()


def _stand_in(target: Target, fakes: Mapping[str, FakeConnector]) -> Connector:
    if target.name not in fakes:
        raise Unreachable("no fake target stands in for it", stage="missing", where=target.name)
    return fakes[target.name].reached_as(target)
