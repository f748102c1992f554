"""Run the real `mempalace serve` on loopback, with a scratch palace."""

from __future__ import annotations

import contextlib
import http.client
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

START_SECONDS = 60


@dataclass(frozen=True, slots=True)
class ServedPalace:
    """A palace that answers: its MCP address, its token and its folder."""

    url: str
    token: str
    palace: Path


def free_port() -> int:
    """Return a loopback port that nothing listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextlib.contextmanager
def serve(
    bin_dir: Path, home: Path, token: str, env: dict[str, str] | None = None
) -> Iterator[ServedPalace]:
    """Serve a palace under `home` until the block ends."""
    palace, port = home / "palace", free_port()
    home.mkdir(parents=True, exist_ok=True)
    log = home / "serve.log"
    with log.open("wb") as out:
        server = subprocess.Popen(
            [bin_dir / "mempalace", "serve", "--port", str(port), "--palace", str(palace)],
            env={
                "PATH": "/usr/bin:/bin",
                "HOME": str(home),
                "MEMPALACE_MCP_HTTP_TOKEN": token,
                **(env or {}),
            },
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=out,
        )
    try:
        _wait_until_up(port, server, log)
        yield ServedPalace(f"http://127.0.0.1:{port}/mcp", token, palace)
    finally:
        server.terminate()
        try:
            server.wait(10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def _wait_until_up(port: int, server: subprocess.Popen[bytes], log: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while time.monotonic() < end:
        if server.poll() is not None:
            break
        with contextlib.suppress(OSError, http.client.HTTPException):
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
            connection.request("GET", "/healthz")
            connection.getresponse()
            connection.close()
            return
        time.sleep(0.1)
    raise AssertionError(f"mempalace serve did not come up: {log.read_text()[-800:]}")
