"""What YAML cannot say about the palace's reverse proxy; each gate stands beside its evidence."""

from fleet.systems.palace_proxy.laid import PROVISIONAL, derived
from fleet.systems.palace_proxy.through import answers, host, routes, stream, tls, token
from fleet.systems.palace_proxy.written import config, key, loaded, valid

__all__ = [
    "PROVISIONAL",
    "answers",
    "config",
    "derived",
    "host",
    "key",
    "loaded",
    "routes",
    "stream",
    "tls",
    "token",
    "valid",
]
