"""A bare Debian machine: ssh, sudo and Python, an apt that works, and nothing that pi needs."""

import io
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import docker
from support.base_image import closure, import_image
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
_SOURCES = "/etc/apt/sources.list.d/debian.sources"


def bare_image(client: docker.DockerClient, scratch: Path) -> str:
    """Make the image of a machine on which nothing was installed yet."""
    names = _packages()
    return import_image(client, BARE, scratch, changes=[f'LABEL {LABEL}="{RUN}"'], packages=names)


def _packages() -> list[str]:
    ended = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Essential} ${Package}\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    essential = [line.split()[1] for line in ended.stdout.splitlines() if line.startswith("yes ")]
    return closure([*essential, *PACKAGES])


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
        container.put_archive("/", _package_database())
        container.start()
        container.reload()
        address = str(container.attrs["NetworkSettings"]["IPAddress"])
        wait_for_banner(address, 22)
        words = executed(container, ["cat", "/etc/ssh/ssh_host_ed25519_key.pub"]).split()
        yield SshHost(name, address, key, container, f"{words[0]} {words[1]}")
    finally:
        container.remove(force=True, v=True)


def _package_database() -> bytes:
    """Return what dpkg and apt know of such a machine, as a tar."""
    names = _packages()
    ended = subprocess.run(
        ["dpkg", "--status", *names], capture_output=True, text=True, check=False
    )
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        _add(tar, "var/lib/dpkg/status", ended.stdout.encode())
        _add(tar, "var/lib/dpkg/available", b"")
        _add(tar, "var/lib/dpkg/info/format", b"1\n")
        _add(tar, _SOURCES[1:], Path(_SOURCES).read_bytes())
        for folder in (
            "var/lib/dpkg/updates",
            "var/lib/dpkg/triggers",
            "var/cache/apt/archives/partial",
        ):
            _folder(tar, folder)
        for name in names:
            for path in sorted(Path("/var/lib/dpkg/info").glob(f"{name}[.:]*")):
                tar.add(path, str(path)[1:])
    return made.getvalue()


def _add(tar: tarfile.TarFile, name: str, data: bytes) -> None:
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), int(time.time())
    tar.addfile(info, io.BytesIO(data))


def _folder(tar: tarfile.TarFile, name: str) -> None:
    info = tarfile.TarInfo(name)
    info.type, info.mode = tarfile.DIRTYPE, 0o755
    tar.addfile(info)
