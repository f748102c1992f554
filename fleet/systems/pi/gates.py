"""What YAML cannot say about pi."""

from fleet.systems.pi.ground import node, prereqs, writable
from fleet.systems.pi.package import one
from fleet.systems.pi.running import running
from fleet.systems.pi.settings import settings

__all__ = ["node", "one", "prereqs", "running", "settings", "writable"]
