"""Deploy agent memory onto a fleet from one inventory, and prove that each copy can do its job."""

#: The one place of the version; looking it up among what is installed takes half of a short start.
__version__ = "0.1.0"

__all__ = ["__version__"]
