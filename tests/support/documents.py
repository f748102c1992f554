"""Reading the documentation: its links, its blocks, and what it marks to be run.

An HTML comment on the line before a fenced block says what a test does with it: ``run`` runs it
in one scratch folder per page (``run, exits 2`` for a command that says something failed),
``write PATH`` writes it there, ``seen`` demands every line of it in what the block before printed.
``in a clone``, on a line of its own, makes that folder a clone of this repository, and runs the
``fleet`` in it.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from io import BytesIO
from pathlib import Path

from support.places import ROOT

from fleet.data import shipped
from fleet.demo.bake import bake
from fleet.demo.history import BRIDGE, bridge_of
from fleet.demo.layout import Member, layer
from fleet.demo.stage import furnish

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MARK = re.compile(r"<!-- (run|write|seen)[:,]? ?(.*?) -->\n\Z")
CLONE = "\n<!-- in a clone -->\n"
CLONED = ("fleet", "monitoring", "playbooks", "templates", "toolkit")
LINK = re.compile(r"\]\((?!https?:|mailto:)([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)
INLINE = re.compile(r"`(fleet [^`]+)`")
ENDS = ("|", "||", "&&", ";", ">", "<")
SECONDS = 60


@dataclass(frozen=True)
class Block:
    """A fenced block, and what its mark says."""

    language: str
    text: str
    line: int
    mark: str = ""
    argument: str = ""
    promised: tuple[str, ...] = ()

    @property
    def writes(self) -> str:
        """The file to write it to, relative to the page's scratch folder."""
        return self.argument if self.mark == "write" else ""

    @property
    def exits(self) -> int:
        """The exit code that running it must end with."""
        return int(self.argument.removeprefix("exits ") or 0)


@dataclass(frozen=True)
class Page:
    """One page of the documentation."""

    path: Path

    @property
    def name(self) -> str:
        """Its path in the repository."""
        return str(self.path.relative_to(ROOT))

    @cached_property
    def text(self) -> str:
        """Its Markdown."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def blocks(self) -> list[Block]:
        """Its fenced blocks, with their marks."""
        found = []
        for match in FENCE.finditer(self.text):
            mark = MARK.search(self.text[: match.start()])
            line = self.text.count("\n", 0, match.start()) + 1
            told = (mark[1], mark[2]) if mark else ("", "")
            found.append(Block(match[1], match[2], line, *told))
        return found

    @property
    def runs(self) -> list[Block]:
        """What is to be written and run, in order; a run knows what it must print."""
        wanted: list[Block] = []
        for block in self.blocks:
            if block.mark == "seen":
                lines = tuple(filter(None, map(str.strip, block.text.splitlines())))
                wanted[-1] = replace(wanted[-1], promised=lines)
            elif block.mark:
                wanted.append(block)
        return wanted

    @property
    def clone(self) -> bool:
        """Whether what it runs is run in a clone of this repository."""
        return CLONE in self.text

    @property
    def prose(self) -> str:
        """Its text without fenced blocks."""
        return FENCE.sub("", self.text)

    @property
    def links(self) -> list[str]:
        """Its relative links."""
        return LINK.findall(self.prose)

    @property
    def anchors(self) -> set[str]:
        """The anchors of its headings, as the usual Markdown hosts make them."""
        heads = (re.sub(r"[^\w\- ]", "", head.lower()) for head in HEADING.findall(self.prose))
        return {head.strip().replace(" ", "-") for head in heads}

    def commands(self) -> Iterator[list[str]]:
        """Yield the arguments of every `fleet` that it shows, in blocks and in the text."""
        lines = [t for b in self.blocks if b.language in ("sh", "console") for t in _lines(b.text)]
        for line in [*lines, *(found for found in INLINE.findall(self.prose))]:
            yield from _commands(line)


def pages() -> list[Page]:
    """Return the pages that people read."""
    own = [ROOT / "README.md", ROOT / "CHANGELOG.md"]
    return [Page(path) for path in (*own, *sorted((ROOT / "docs").rglob("*.md")))]


def _lines(text: str) -> list[str]:
    return text.replace("\\\n", " ").splitlines()


def _commands(line: str) -> Iterator[list[str]]:
    try:
        words = shlex.split(" ".join(line.split()), comments=True)
    except ValueError:
        words = line.split()
    for number, word in enumerate(words):
        before = words[number - 1] if number else "$"
        if word.rpartition("/")[2] == "fleet" and (before in ("$", *ENDS) or "=" in before):
            ends = [at for at, word in enumerate(words) if at > number and word in ENDS]
            yield words[number + 1 : min(ends, default=len(words))]


def cloned(folder: Path) -> None:
    """Make a folder a clone of this repository, as far as its code is concerned."""
    for name in CLONED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))


def ran(script: str, folder: Path, home: Path, *, exits: int = 0, clone: bool = False) -> str:
    """Run a shell script as a person at home there would; return what it printed."""
    environment = {
        "HOME": str(home),
        "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', '/usr/bin:/bin')}",
        "COLUMNS": "88",
        "LC_ALL": "C.UTF-8",
        **({"PYTHONPATH": str(folder)} if clone else {}),
    }
    ended = subprocess.run(
        ["sh", "-euc", script],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ended.returncode == exits, f"exit {ended.returncode} of\n{script}\n{ended.stdout}"
    return ended.stdout


def furnished(home: Path) -> Path:
    """Make a home with pi in it, and a PATH that finds it; returns the home."""
    furnish(home)
    (home / ".profile").write_text('PATH="$HOME/.local/bin:$PATH"\n')
    return home


def stage_images(folder: Path) -> None:
    """Make what the pages talk of: ``devbox*.tar`` and ``mempalace.ts``."""
    newest = (shipped("toolkit") / BRIDGE).read_bytes()
    (folder / "mempalace.ts").write_bytes(newest)
    bake(folder / "devbox.tar", newest, date="2026-12-01")
    bake(folder / "devbox-old.tar", bridge_of("2026-08-10.ts"), date="2026-08-10")
    npmrc = Member("home/dev/.npmrc", b"//npm.example.net/:_authToken=tok-EXAMPLE-1\n")
    further = layer([npmrc]), layer([Member("home/dev/.wh..npmrc")])
    bake(folder / "devbox-leaky.tar", newest, date="2026-12-01", further=further)


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack the layers of an OCI archive, of files and links, into a folder; returns it."""
    with tarfile.open(archive) as layout:
        blobs = [stream.read() for stream in map(layout.extractfile, layout) if stream]
    for blob in blobs:
        if tarfile.is_tarfile(BytesIO(blob)):
            with tarfile.open(fileobj=BytesIO(blob)) as layer:
                for member in layer:
                    _place(layer, member, folder / member.name)
    return folder


def _place(layer: tarfile.TarFile, member: tarfile.TarInfo, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    stream = None if member.issym() else layer.extractfile(member)
    if stream is None:
        path.symlink_to(member.linkname)
    else:
        path.write_bytes(stream.read())
        path.chmod(member.mode)
