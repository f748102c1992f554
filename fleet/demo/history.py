"""A toolkit with a history: a clone whose commits brought the bridge's capabilities one by one."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path

from fleet.data import shipped
from fleet.errors import FleetError

BRIDGE = "extensions/pi/mempalace.ts"
#: A block of ``older.ts``: the day whose commit brought it, and its lines.
SINCE = re.compile(r"^ *// since (\S+) \{\n(.*?)^ *// \}\n", re.MULTILINE | re.DOTALL)
#: Commits of the demo's toolkit, oldest first: date, message, and the bridge it carries (see
#: `bridge_of`; None leaves the bridge as it was, empty is the one of the sample toolkit).
COMMITS = (
    ("2026-08-10", "Connect to the palace", "2026-08-10.ts"),
    ("2026-08-11", "Explain the set-up", None),
    ("2026-08-12", "Feed the palace when a session ends", "2026-08-12.ts"),
    ("2026-08-18", "Explain the wing", None),
    ("2026-08-25", "Stamp the device, reach a shared palace", "2026-08-25.ts"),
    ("2026-08-26", "Heal, and deliver the mail of other machines", ""),
)


def build_toolkit(folder: Path, commits: Iterable[tuple[str, str, str | None]] = COMMITS) -> None:
    """Write the sample toolkit as a git repository with a history, by default the demo's.

    Raises:
        FleetError: there is no git, or it refuses.
    """
    shutil.copytree(shipped("toolkit"), folder, ignore=shutil.ignore_patterns("__pycache__"))
    newest = (folder / BRIDGE).read_bytes()
    _git(folder, "init", "--quiet", "--initial-branch", "main")
    for date, message, bridge in commits:
        if bridge is not None:
            (folder / BRIDGE).write_bytes(bridge_of(bridge) if bridge else newest)
        (folder / "CHANGES").write_text(f"{date} {message}\n")
        _git(folder, "add", "--all")
        _git(folder, "commit", "--quiet", "--message", message, date=f"{date}T12:00:00Z")


def bridge_of(name: str) -> bytes:
    """Return an older bridge, named by its day: ``older.ts`` without the blocks of later days."""
    day = name.removesuffix(".ts")
    source = files("fleet.demo").joinpath("bridges", "older.ts").read_text()
    return SINCE.sub(lambda block: block[2] if block[1] <= day else "", source).encode()


def _git(folder: Path, *words: str, date: str = "") -> None:
    who = {"NAME": "The demo", "EMAIL": "demo@example.net"}
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        **{f"GIT_{role}_{k}": v for role in ("AUTHOR", "COMMITTER") for k, v in who.items()},
        **({"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}),
    }
    try:
        subprocess.run(
            ["git", "-C", str(folder), *words],
            check=True,
            capture_output=True,
            env=environment,
            stdin=subprocess.DEVNULL,
        )
    except FileNotFoundError as error:
        raise FleetError("the demo needs git", hint="apt-get install git, or the like") from error
    except subprocess.CalledProcessError as error:
        told = error.stderr.decode(errors="replace").strip()
        raise FleetError(f"git {words[0]} failed: {told}", where=str(folder)) from error
