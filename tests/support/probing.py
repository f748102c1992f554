"""Run the real probe under the shells that targets have, and build the trees of cases."""

import os
import shutil
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.places import CASES

from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.facts.parse import parse_answer
from fleet.facts.paths import PathFact
from fleet.facts.request import PathQuestion, Read, Request

NONCE = "nonce-0123456789"
NOON = datetime(2026, 12, 1, 12, tzinfo=UTC)
NOBODY = 65534
APPLETS = [
    "base64",
    "cat",
    "date",
    "dirname",
    "getopt",
    "grep",
    "head",
    "id",
    "ip",
    "kill",
    "ls",
    "netstat",
    "nproc",
    "od",
    "printf",
    "ps",
    "readlink",
    "sed",
    "sh",
    "sha256sum",
    "sleep",
    "stat",
    "tail",
    "timeout",
    "tr",
    "true",
    "uname",
    "wc",
]


@dataclass(frozen=True)
class Shell:
    """A way to run a POSIX shell program from stdin, with the tools that stand on its PATH."""

    words: tuple[str, ...]
    path: str

    def run(
        self,
        script: str,
        *,
        home: Path | None = None,
        uid: int | None = None,
        more: Mapping[str, str] | None = None,
    ) -> subprocess.CompletedProcess[bytes]:
        """Run a program, perhaps as another user, and return what it printed."""
        setpriv = str(shutil.which("setpriv"))
        drop = (setpriv, f"--reuid={uid}", f"--regid={uid}", "--clear-groups") if uid else ()
        env = {"PATH": self.path, "HOME": str(home or "/")} | dict(more or {})
        return subprocess.run(
            [*drop, *self.words],
            input=script.encode("utf-8", "surrogateescape"),
            capture_output=True,
            env=env,
            cwd="/",
            check=False,
            timeout=60,
        )

    def facts(
        self,
        request: Request,
        *,
        home: Path | None = None,
        uid: int | None = None,
        more: Mapping[str, str] | None = None,
    ) -> Facts:
        """Ask a request of this machine and parse the answer."""
        done = self.run(probe_script(request), home=home, uid=uid, more=more)
        assert done.returncode == 0, done.stderr.decode()
        assert done.stderr == b""
        return answer(done.stdout, request)

    def path_fact(
        self,
        path: Path | str,
        read: Read = Read.STAT,
        *,
        uid: int | None = None,
        public: tuple[str, ...] = (),
    ) -> PathFact:
        """Ask for one path."""
        question = PathQuestion(str(path), read, public=public)
        return self.facts(Request(NONCE, paths=(question,)), uid=uid).paths[str(path)]


def answer(output: bytes, request: Request) -> Facts:
    """Parse an answer as that of a host called ``box``."""
    return parse_answer(output, request, target="box", address="local:", kind="host", taken_at=NOON)


def otherwise(script: str, was: str, now: str) -> str:
    """Return a program with one of its places changed, which has to be there."""
    assert was in script, f"the probe has no {was!r} any more"
    return script.replace(was, now)


def shells(scratch: Path) -> dict[str, Shell]:
    """Return the shells that this machine has, each as a kind of target would have it."""
    usual = "/usr/bin:/bin:/usr/sbin:/sbin"
    found = {
        "dash": Shell(("dash",), usual),
        "bash": Shell(("bash", "--posix"), usual),
        "busybox": Shell(("busybox", "sh"), _only(scratch / "applets")),
        "zsh": Shell(("zsh", "--emulate", "sh"), usual),
        "bsd": Shell(("dash",), f"{CASES / 'H07' / 'bsdbin'}:{usual}"),
    }
    return {
        name: Shell((str(shutil.which(shell.words[0])), *shell.words[1:]), shell.path)
        for name, shell in found.items()
        if shutil.which(shell.words[0])
    }


def _only(folder: Path) -> str:
    busybox = shutil.which("busybox")
    if busybox is None:
        return ""
    folder.mkdir()
    for applet in APPLETS:
        (folder / applet).symlink_to(busybox)
    for shell in ("bash", "zsh"):
        if found := shutil.which(shell):
            (folder / shell).symlink_to(found)
    return str(folder)


def build_case(case: str, root: Path, *words: str) -> Path:
    """Build a case's tree under ``root``; its links to ``/…`` lead into the tree."""
    script = (CASES / case / "make.sh").read_text().replace("ln -s /", f"ln -s {root}/")
    root.mkdir(exist_ok=True)
    subprocess.run(["sh", "-s", "--", str(root), *words], input=script, text=True, check=True)
    return root


def ended(pid: str) -> bool:
    """Tell whether a process has ended, or soon does; one that nobody waited for has ended too."""
    until = time.monotonic() + 5
    while time.monotonic() < until:
        try:
            state = Path(f"/proc/{pid.strip()}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            return True
        if state in "ZX":
            return True
        time.sleep(0.02)
    return False


def need_root() -> None:
    """Skip a test that must be able to become another user."""
    if os.geteuid() != 0:
        pytest.skip("needs root, to ask as another user")
