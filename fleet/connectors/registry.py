"""Which connector leads to a target: by scheme, imported only when one is needed."""

from collections.abc import Callable
from importlib import import_module
from typing import cast

from fleet.connectors.base import Connector
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
}


def connect(target: Target, *, timeout: float) -> Connector:
    """Return a connector for a target; nothing is opened before it is used.

    Args:
        target: whom to reach.
        timeout: seconds that one look or one change may take, connecting included.
    """
    module, _, name = CONNECTORS[target.address.scheme].partition(":")
    make = cast("Callable[..., Connector]", getattr(import_module(module), name))
    return make(target, timeout=timeout)
