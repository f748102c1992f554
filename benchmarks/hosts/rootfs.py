"""The root file system of the hosts: this machine's own Debian packages, a node and a pi."""

import hashlib
import shutil
import subprocess
from pathlib import Path

from support.base_image import PACKAGES, build_tar
from support.tools import NODE_VERSION, PI_VERSION, pi_tool

_MORE = ("libstdc++6", "python3", "tmux")  # of node; of Ansible's modules; of pi
_MODULES = "usr/local/lib/node_modules/@earendil-works"
_PROGRAM = "pi-coding-agent/dist/bundle/cli.js"


def root_filesystem(folder: Path) -> Path:
    """Return a root file system below ``folder``; made where there is none of today's packages."""
    wanted = "\n".join((*PACKAGES, *_MORE, PI_VERSION, NODE_VERSION, _installed()))
    root = folder / hashlib.sha256(wanted.encode()).hexdigest()[:12]
    if (root / ".complete").exists():
        return root / "root"
    shutil.rmtree(folder, ignore_errors=True)
    whole = root / "root"
    whole.mkdir(parents=True)
    archive = root / "root.tar"
    build_tar(archive, (*PACKAGES, *_MORE))
    subprocess.run(["tar", "-x", "-p", "-f", str(archive), "-C", str(whole)], check=True)
    archive.unlink()
    _add_pi(whole)
    (root / ".complete").touch()
    return whole


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
