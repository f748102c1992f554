"""A real palace for the demo: mempalace from the package index, served on loopback."""

import os
import secrets
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fleet.dataclass import dataclass
from fleet.errors import FleetError
from fleet.secrets import Secret

VERSION = "mempalace>=3.11,<4"
INSTALL_SECONDS = 600
START_SECONDS = 60
OWN = "FLEET_DEMO_MEMPALACE"


@dataclass(frozen=True, slots=True)
class Palace:
    """A palace that is being served."""

    url: str
    port: int
    path: Path
    home: Path
    token: Secret


def palace_program() -> Path:
    """Return a ``mempalace`` program; installs one into the user's cache the first time.

    ``FLEET_DEMO_MEMPALACE`` names one to use instead.

    Raises:
        FleetError: it could not be installed.
    """
    own = os.environ.get(OWN)
    if own:
        return Path(own)
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = base / "fleet" / "demo-palace"
    done = folder / ".complete"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, "-m", "venv", str(folder)])
        pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet"]
        _run([*pip, "--disable-pip-version-check", VERSION])
        done.touch()
    return folder / "bin" / "mempalace"


def _run(command: list[str]) -> None:
    try:
        ended = subprocess.run(
            command,
            capture_output=True,
            text=True,
            timeout=INSTALL_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise FleetError(f"cannot install the demo's palace: {error}") from error
    if ended.returncode:
        told = (ended.stderr or ended.stdout).strip().splitlines()[-1:]
        raise FleetError(
            f"cannot install the demo's palace: {' '.join(told)[:300]}",
            hint=f"the package index must be reachable, or {OWN} name a mempalace program",
        )


@contextmanager
def serving(
    program: Path,
    home: Path,
    log: Path,
    *,
    token: Secret | None = None,
    more: Mapping[str, str] | None = None,
) -> Iterator[Palace]:
    """Serve a palace on loopback until the block ends.

    Args:
        program: a ``mempalace``.
        home: where it keeps everything; made where it is not there.
        log: what it prints goes there.
        token: what it demands; by default a new one.
        more: further variables of its environment.

    Raises:
        FleetError: it did not come up; the message names its log.
    """
    path, port = home / "palace", _free_port()
    path.mkdir(parents=True, exist_ok=True)
    token = token or Secret(secrets.token_urlsafe(24))
    environment = {
        "PATH": os.environ.get("PATH", ""),
        "HOME": str(home),
        "MEMPALACE_MCP_HTTP_TOKEN": token.reveal(),
        "MEMPALACE_MCP_IDLE_HOURS": "0",
        **(more or {}),
    }
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [
                str(program),
                "serve",
                "--host",
                "127.0.0.1",
                "--port",
                str(port),
                "--palace",
                str(path),
            ],
            env=environment,
            cwd=home,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
        )
        try:
            _wait(process, port, log)
            yield Palace(f"http://127.0.0.1:{port}/mcp", port, path, home, token)
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _wait(process: "subprocess.Popen[bytes]", port: int, log: Path) -> None:
    until = time.monotonic() + START_SECONDS
    while time.monotonic() < until:
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise FleetError("the demo's palace did not come up", where=str(log))


def _free_port() -> int:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])
