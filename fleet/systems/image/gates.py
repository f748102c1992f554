"""What YAML cannot say about images."""

from fleet.systems.image.baked import env, layers
from fleet.systems.image.holds import artifacts, volume
from fleet.systems.image.told import arch, date, user

__all__ = ["arch", "artifacts", "date", "env", "layers", "user", "volume"]
