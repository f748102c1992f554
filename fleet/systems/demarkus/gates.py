"""What YAML cannot say about demarkus."""

from fleet.systems.demarkus.host import host
from fleet.systems.demarkus.plugins import manifest
from fleet.systems.demarkus.proxy import proxy

__all__ = ["host", "manifest", "proxy"]
