"""The proxies that Debian packages, started from a main file of their own."""

from __future__ import annotations

import json
import shutil
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from support.loopback import free_port
from support.mcp_server import self_signed

from fleet.cli.main import cli
from fleet.demo.palace import Palace

PATH = "/usr/local/sbin:/usr/sbin:/usr/local/bin:/usr/bin"
NGINX = """\
pid {folder}/nginx.pid;
error_log {folder}/error.log info;
events {{}}
http {{
  access_log {folder}/access.log;
  client_body_temp_path {folder}/body;
  proxy_temp_path {folder}/proxy;
  fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi;
  scgi_temp_path {folder}/scgi;
  include {folder}/conf.d/*.conf;
}}
"""
CADDY = """\
{{
	admin unix/{folder}/admin.sock
	auto_https disable_redirects
	skip_install_trust
	storage file_system {folder}/storage
	debug
	grace_period 1s
}}
"""


@dataclass
class Edge:
    """A machine with a palace and a proxy, and the inventory that says how.

    Attributes:
        address: where the proxy listens.
        name: how it is called in the palace's URL.
    """

    folder: Path
    palace: Palace
    proxy: str
    token: str
    port: int = field(default_factory=free_port)
    address: str = "127.0.0.1"
    name: str = "localhost"

    def __post_init__(self) -> None:
        (self.folder / "conf.d").mkdir(parents=True)
        text = NGINX if self.proxy == "nginx" else CADDY
        self.main.write_text(text.format(folder=self.folder))
        self.certificate, self.key = self_signed(self.folder, address=self.address)
        self.key.chmod(0o600)

    @property
    def main(self) -> Path:
        return self.folder / ("nginx.conf" if self.proxy == "nginx" else "Caddyfile")

    @property
    def site(self) -> Path:
        return self.folder / "conf.d" / ("palace.conf" if self.proxy == "nginx" else "palace.caddy")

    @property
    def url(self) -> str:
        return f"https://{self.name}:{self.port}/mcp"

    @contextmanager
    def running(self) -> Iterator[subprocess.Popen[bytes]]:
        """Run the proxy from its main file until the block ends."""
        program = program_of(self.proxy)
        words = {
            "nginx": [program, "-g", "daemon off;", "-c", str(self.main)],
            "caddy": [program, "run", "--adapter", "caddyfile", "--config", str(self.main)],
        }[self.proxy]
        with (self.folder / "proxy.log").open("ab") as log:
            process = subprocess.Popen(words, stdout=log, stderr=log)
        try:
            ready = self.folder / ("nginx.pid" if self.proxy == "nginx" else "admin.sock")
            until = time.monotonic() + 20
            while not (ready.exists() and process.poll() is None):
                assert process.poll() is None, self.logged()
                assert time.monotonic() < until, self.logged()
                time.sleep(0.05)
            yield process
        finally:
            process.terminate()
            process.wait(30)

    def variables(self) -> dict[str, str]:
        """Return what an inventory says of it."""
        return {
            "palace_url": self.url,
            "direct_url": self.palace.url,
            "palace_ca": str(self.certificate),
            "proxy": self.proxy,
            "proxy_load": "own",
            "proxy_main": str(self.main),
            "proxy_site": str(self.site),
            "proxy_bind": self.address,
            "proxy_cert": str(self.certificate),
            "proxy_key": str(self.key),
        }

    def fleet(self, *words: str, **variables: object) -> Result:
        """Run a command over this machine."""
        given: Mapping[str, object] = {**self.variables(), **variables}
        inventory = self.folder / "fleet.yml"
        told = "".join(f"  {name}: {json.dumps(value)}\n" for name, value in given.items())
        inventory.write_text(
            f"vars:\n  palace_token: !secret env:FLEET_TEST_TOKEN\n{told}"
            f"hosts:\n  edge:\n    systems: [palace-proxy]\n    local: {self.palace.home}\n"
        )
        result = CliRunner().invoke(
            cli, [words[0], "-i", str(inventory), *words[1:]], env={"FLEET_TEST_TOKEN": self.token}
        )
        assert result.exception is None or isinstance(result.exception, SystemExit), result.output
        assert self.token not in result.output
        return result

    def audit(self, **variables: object) -> dict[str, dict[str, Any]]:
        """Audit it; findings by the gate's last word."""
        result = self.fleet("audit", "--format", "json", **variables)
        assert result.stdout, result.output
        found = json.loads(result.stdout)["findings"]
        return {f["gate"].removeprefix("proxy."): f for f in found}

    def logged(self) -> str:
        """Return all that the proxy and its files say."""
        files = [p for p in self.folder.rglob("*") if p.is_file()]
        return "\n".join(p.read_text("utf-8", "replace") for p in files)


def program_of(proxy: str) -> str:
    """Return the proxy's program; the test is skipped where it is not installed."""
    program = shutil.which(proxy, path=PATH)
    if program is None:
        pytest.skip(f"{proxy} is not installed")
    return program
