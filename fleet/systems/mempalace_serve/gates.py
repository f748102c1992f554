"""What YAML cannot say about the shared palace's server; each gate stands beside its evidence."""

from fleet.systems.mempalace_serve.bound import bind
from fleet.systems.mempalace_serve.heard import auth, health, palace, version
from fleet.systems.mempalace_serve.kept import compose_lint, token
from fleet.systems.mempalace_serve.server import PROVISIONAL, derived

__all__ = [
    "PROVISIONAL",
    "auth",
    "bind",
    "compose_lint",
    "derived",
    "health",
    "palace",
    "token",
    "version",
]
