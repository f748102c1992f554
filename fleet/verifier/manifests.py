"""What a ``package.json`` tells of the program below it."""

from packaging.version import Version

from fleet.facts.jsontext import read_json


def version_told(content: bytes | None) -> str:
    """Return the version as a manifest spells it; empty where it tells none that is one."""
    try:
        manifest = read_json(content or b"")
        version = manifest["version"] if isinstance(manifest, dict) else None
        Version(version if isinstance(version, str) else "")
    except (ValueError, KeyError, RecursionError):
        return ""
    return str(version)
