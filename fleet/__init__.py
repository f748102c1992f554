"""Deploy agent memory onto a fleet from one inventory, and prove that each copy can do its job."""

from importlib.metadata import PackageNotFoundError, version

try:
    __version__ = version("mempalace-fleet")
except PackageNotFoundError:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = ["__version__"]
