"""A real reverse proxy, Debian's nginx, in front of a real palace: TLS by an authority of its own.

It passes everything on but the paths it is told to keep to itself, as proxies do that were set up
for an older release.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from support.loopback import LOOPBACK, free_port
from support.mcp_server import self_signed

CONFIGURATION = """\
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
  access_log off;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  server {{
    listen {address}:{port}{tls};
    server_name localhost;
    {certificate}
    {blocked}
    {beside}
    location / {{
      {passed}
      {more}
    }}
    location = /mcp {{
      {passed}
      {more}
      {endpoint}
    }}
  }}
}}
"""

PASSED = """\
proxy_pass http://{upstream};
      proxy_set_header Host {host};
      proxy_http_version 1.1;"""


@dataclass(frozen=True, slots=True)
class Proxy:
    """A proxy that runs.

    Attributes:
        url: the palace's endpoint through it.
        authority: the certificate to trust it by, None without TLS.
    """

    url: str
    authority: Path | None


@contextmanager
def proxied(
    upstream: int,
    folder: Path,
    *,
    blocked: Sequence[str] = (),
    tls: bool = False,
    host: str = "$host",
    more: str = "",
    endpoint: str = "",
    beside: str = "",
) -> Iterator[Proxy]:
    """Run a proxy in front of a port of loopback until the block ends.

    Args:
        upstream: the port that it passes requests on to.
        folder: where it keeps its files; made where it is not there.
        blocked: paths that it answers 404 itself.
        tls: whether it speaks TLS, by a certificate that signs itself.
        host: the Host header it sends on.
        more: further directives for whatever it passes on.
        endpoint: further directives for /mcp only.
        beside: further directives of its server.
    """
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/usr/local/sbin")
    if program is None:
        pytest.skip("nginx is not installed")
    folder.mkdir(exist_ok=True)
    port = free_port()
    certificate, key = self_signed(folder) if tls else (None, None)
    configuration = folder / "nginx.conf"
    configuration.write_text(
        CONFIGURATION.format(
            folder=folder,
            address=LOOPBACK,
            port=port,
            tls=" ssl" if tls else "",
            certificate=f"ssl_certificate {certificate}; ssl_certificate_key {key};" if tls else "",
            blocked="".join(f"location {path} {{ return 404; }}\n" for path in blocked),
            passed=PASSED.format(upstream=f"{LOOPBACK}:{upstream}", host=host),
            more=more,
            endpoint=endpoint,
            beside=beside,
        )
    )
    process = subprocess.Popen(
        [program, "-p", str(folder), "-c", str(configuration)], stderr=subprocess.DEVNULL
    )
    try:
        wait_for(port)
        scheme = "https" if tls else "http"
        yield Proxy(f"{scheme}://{'localhost' if tls else LOOPBACK}:{port}/mcp", certificate)
    finally:
        process.terminate()
        process.wait(10)


def wait_for(port: int, seconds: float = 30, address: str = LOOPBACK) -> None:
    """Wait until something takes connections on a port."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            socket.create_connection((address, port), 1).close()
        except OSError:
            time.sleep(0.05)
        else:
            return
    raise TimeoutError(f"nothing listens on {port}")
