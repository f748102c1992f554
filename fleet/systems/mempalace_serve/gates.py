"""What YAML cannot say about the shared palace's server; each gate stands beside its evidence."""

from fleet.systems.mempalace_serve.around import origin, reach
from fleet.systems.mempalace_serve.bound import bind
from fleet.systems.mempalace_serve.deployed import compose
from fleet.systems.mempalace_serve.heard import auth, health, palace, version
from fleet.systems.mempalace_serve.kept import compose_lint, token
from fleet.systems.mempalace_serve.routed import routes
from fleet.systems.mempalace_serve.running import stale, stays, writer
from fleet.systems.mempalace_serve.server import PROVISIONAL, derived

__all__ = [
    "PROVISIONAL",
    "auth",
    "bind",
    "compose",
    "compose_lint",
    "derived",
    "health",
    "origin",
    "palace",
    "reach",
    "routes",
    "stale",
    "stays",
    "token",
    "version",
    "writer",
]
