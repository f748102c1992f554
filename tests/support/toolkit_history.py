"""A toolkit whose commits brought the bridge's capabilities one after the other."""

import subprocess
from dataclasses import dataclass
from pathlib import Path

from fleet.demo.history import BRIDGE, build_toolkit

#: The levels, oldest first: name, date, message, and the bridge as `build_toolkit` takes it.
LEVELS = (
    ("connect", "2026-08-10", "Connect to the palace and wake the agent up", "2026-08-10.ts"),
    ("feed", "2026-08-12", "Feed the palace", "2026-08-12.ts"),
    ("stamp", "2026-08-25", "Reach a shared palace, stamp the device", "2026-08-25.ts"),
    ("mailbox", "2026-08-26", "Deliver the mail", ""),
)


@dataclass(frozen=True, slots=True)
class Level:
    """One commit: what it brought, its day (YYYY-MM-DD), its id, and the bridge it carries."""

    name: str
    date: str
    commit: str
    bridge: bytes


@dataclass(frozen=True, slots=True)
class History:
    """A clone of a toolkit with its levels, oldest first; the newest is checked out."""

    folder: Path
    levels: tuple[Level, ...]

    def level(self, name: str) -> Level:
        """Return the level of this name: connect, feed, stamp or mailbox."""
        return next(level for level in self.levels if level.name == name)

    def place(self, name: str, folder: Path) -> Path:
        """Write the bridge of a level into a folder, as `mempalace.ts`; returns the file."""
        folder.mkdir(parents=True, exist_ok=True)
        bridge = folder / Path(BRIDGE).name
        bridge.write_bytes(self.level(name).bridge)
        return bridge


def build_history(folder: Path) -> History:
    """Make the git repository; each bridge in it loads in pi and works at its level."""
    build_toolkit(folder, [level[1:] for level in LEVELS])
    commits = _git(folder, "log", "--reverse", "--format=%H").decode().split()
    return History(
        folder,
        tuple(
            Level(name, date, commit, _git(folder, "show", f"{commit}:{BRIDGE}"))
            for (name, date, *_), commit in zip(LEVELS, commits, strict=True)
        ),
    )


def _git(folder: Path, *words: str) -> bytes:
    ended = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, check=True)
    return ended.stdout
