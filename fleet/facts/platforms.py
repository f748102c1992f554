"""Platforms as images name them: ``linux/arm64/v8``."""

_MACHINES = {"x86_64": "amd64", "aarch64": "arm64", "armv7l": "arm", "i686": "386", "i386": "386"}


def normal(platform: str) -> tuple[str, str, str]:
    """Return system, architecture and variant in Go's names, arm64's only variant left out."""
    system, architecture, variant = (*platform.lower().split("/"), "", "", "")[:3]
    machine = _MACHINES.get(architecture, architecture)
    return system, machine, "" if (machine, variant) == ("arm64", "v8") else variant


def runs(there: str, asked: str) -> bool:
    """Tell whether an image is for the platform asked for; an unsaid variant is any."""
    mine, theirs = normal(there), normal(asked)
    return mine[:2] == theirs[:2] and (not theirs[2] or mine[2] == theirs[2])
