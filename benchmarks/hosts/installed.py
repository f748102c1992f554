"""The tools that are measured beside `fleet`, each in an environment of its own.

They cannot share one: what one of them needs, another refuses (testinfra wants an older paramiko).
"""

import shutil
import subprocess
import sys
from pathlib import Path

#: What holds a file against its schema, for all of them.
_SCHEMAS = "jsonschema==4.26.0"
#: What is installed for a tool, pinned.
PINNED = {
    "pyinfra": ("pyinfra==3.10.0", _SCHEMAS),
    "ansible": ("ansible-core==2.19.14", _SCHEMAS),
    "testinfra": (
        "pytest-testinfra==10.2.2",
        "paramiko==4.0.0",
        "pytest==9.0.1",
        "pytest-xdist==3.8.0",
        _SCHEMAS,
    ),
}
_SECONDS = 600


def programs(folder: Path, tool: str) -> Path:
    """Return the `bin` folder of a tool's environment; made where it is not there as pinned."""
    place, wanted = folder / tool, "\n".join((sys.version, *PINNED[tool]))
    mark = place / ".installed"
    if not mark.exists() or mark.read_text() != wanted:
        print(f"installing {PINNED[tool][0]}", file=sys.stderr, flush=True)
        shutil.rmtree(place, ignore_errors=True)
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True, timeout=_SECONDS)
        pip = [str(place / "bin/pip"), "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*pip, *PINNED[tool]], check=True, timeout=_SECONDS)
        mark.write_text(wanted)
    return place / "bin"
