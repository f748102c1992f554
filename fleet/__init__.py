"""Deploy agent memory onto a fleet from one inventory, and prove that each copy can do its job."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    __version__: str

__all__ = ["__version__"]


def __getattr__(name: str) -> str:
    """Look the version up when it is asked for: every pytest session imports this package."""
    if name != "__version__":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib.metadata import PackageNotFoundError, version  # noqa: PLC0415 - it takes time

    try:
        return version("mempalace-fleet")
    except PackageNotFoundError:  # a source tree that was never installed
        return "0+unknown"
