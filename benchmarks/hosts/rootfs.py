"""The root file system of the hosts: this machine's own Debian packages, node, pi and uv."""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
from pathlib import Path

from support.base_image import PACKAGES, build_tar
from support.tools import NODE_VERSION, PI_VERSION, pi_tool

# Of node; of a fault; of Ansible's modules; of pi.
_MORE = ("libstdc++6", "mount", "python3", "tmux")
_UV = "uv==0.13.9"
_SECONDS = 600
_MODULES = "usr/local/lib/node_modules/@earendil-works"
_PROGRAM = "pi-coding-agent/dist/bundle/cli.js"


def root_filesystem(folder: Path) -> Path:
    """Return a root file system below ``folder``; made where there is none of today's packages.

    It stays as long as the process, whatever others do; of older ones nobody uses, none stays.
    """
    wanted = "\n".join((*PACKAGES, *_MORE, PI_VERSION, NODE_VERSION, _UV, _installed()))
    root = folder / hashlib.sha256(wanted.encode()).hexdigest()[:12]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as alone:
        fcntl.flock(alone, fcntl.LOCK_EX)
        for other in folder.iterdir():
            if other.is_dir() and other != root and _held(other, fcntl.LOCK_EX):
                shutil.rmtree(other)
        if not (root / ".complete").exists():
            shutil.rmtree(root, ignore_errors=True)
            _make(root / "root")
            (root / ".complete").touch()
        _held(root, fcntl.LOCK_SH)
    return root / "root"


def _held(folder: Path, how: int) -> bool:
    """Lock a folder as long as this process lives; whether nobody keeps it from that."""
    opened = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        fcntl.flock(opened, how | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(opened)
        return False
    return True


def _make(whole: Path) -> None:
    whole.mkdir(parents=True)
    archive = whole.with_suffix(".tar")
    build_tar(archive, (*PACKAGES, *_MORE))
    subprocess.run(["tar", "-x", "-p", "-f", str(archive), "-C", str(whole)], check=True)
    archive.unlink()
    _add_pi(whole)
    _add_uv(whole)


def _installed() -> str:
    """Return what Debian says is installed; other packages make another root file system."""
    told = subprocess.run(["dpkg-query", "-W"], capture_output=True, text=True, check=True)
    return hashlib.sha256(told.stdout.encode()).hexdigest()


def _add_pi(root: Path) -> None:
    """Put the real pi and its node where `npm install -g` and a tarball of node put them."""
    tool = pi_tool()
    modules, programs = root / _MODULES, root / "usr/local/bin"
    modules.mkdir(parents=True)
    programs.mkdir(parents=True, exist_ok=True)
    shutil.copytree(tool.package, modules / tool.package.name, symlinks=True)
    (programs / "pi").symlink_to(f"/{_MODULES}/{_PROGRAM}")
    shutil.copy(tool.node.resolve(), programs / "node")


def _add_uv(root: Path) -> None:
    """Put the real uv where `pipx install --global uv` links it."""
    place = root.parent / "uv"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-deps", "--target", str(place), _UV], check=True, timeout=_SECONDS)
    shutil.copy(place / "bin/uv", root / "usr/local/bin/uv")
    shutil.rmtree(place)
