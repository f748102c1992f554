"""What YAML cannot say about pi-mnemo."""

from fleet.systems.pi_mnemo.dreams import dream, lock, state
from fleet.systems.pi_mnemo.ground import background, prompts, worker
from fleet.systems.pi_mnemo.memory import index, private
from fleet.systems.pi_mnemo.placed import placed, seen
from fleet.systems.pi_mnemo.settings import settings
from fleet.verifier.pi_events import events

__all__ = [
    "background",
    "dream",
    "events",
    "index",
    "lock",
    "placed",
    "private",
    "prompts",
    "seen",
    "settings",
    "state",
    "worker",
]
