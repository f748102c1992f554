"""A bare Debian machine: ssh, sudo and Python, an apt that works, and nothing that pi needs."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from support.base_image import closure, essential, import_image
from support.package_database import package_database
from support.rig import LABEL, LABELS, NAME, RUN, SshHost, executed, wait_for_banner

BARE = f"fleet-e2e-bare:{RUN}"
PACKAGES = (
    "apt",
    "ca-certificates",
    "debian-archive-keyring",
    "mawk",
    "openssh-server",
    "python3",
    "sudo",
)
CERTIFICATES = "/etc/ssl/certs/ca-certificates.crt"
# A machine behind a proxy of its own authority says so to each tool; the programs find it here.
SETTINGS = " ".join(
    f"{name}={value}"
    for name, value in {
        "PIP_CERT": CERTIFICATES,
        "NODE_EXTRA_CA_CERTS": CERTIFICATES,
        "SSL_CERT_FILE": CERTIFICATES,
        "UV_NATIVE_TLS": "1",
    }.items()
)


def bare_image(client: docker.DockerClient, scratch: Path) -> str:
    """Make the image of a machine on which nothing was installed yet."""
    names = _packages()
    return import_image(client, BARE, scratch, changes=[f'LABEL {LABEL}="{RUN}"'], packages=names)


def _packages() -> list[str]:
    return closure([*essential(), *PACKAGES])


@contextmanager
def bare_host(client: docker.DockerClient, name: str, scratch: Path) -> Iterator[SshHost]:
    """Run one bare machine; gone when the block ends."""
    key = scratch / "id_ed25519"
    if not key.exists():
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)], check=True)
    public = key.with_suffix(".pub").read_text().strip()
    start = (
        "ssh-keygen -A >/dev/null; mkdir -p /home/u/.ssh; "
        f"echo '{public}' > /home/u/.ssh/authorized_keys; cp /etc/skel/.[bp]* /home/u/; "
        "chown -R u:u /home/u; chmod 700 /home/u/.ssh; "
        f"echo 'SetEnv {SETTINGS}' >> /etc/ssh/sshd_config; exec /usr/sbin/sshd -D -e"
    )
    container = client.containers.create(
        BARE, ["sh", "-c", start], name=f"{NAME}-{name}", hostname=name, labels=LABELS, init=True
    )
    try:
        container.put_archive("/", package_database(_packages()))
        container.start()
        container.reload()
        address = str(container.attrs["NetworkSettings"]["IPAddress"])
        wait_for_banner(address, 22)
        words = executed(container, ["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]).split()
        yield SshHost(name, address, key, container, f"{words[0]} {words[1]}")
    finally:
        container.remove(force=True, v=True)
