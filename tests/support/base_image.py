"""A base image without a registry: this machine's own Debian packages, in a few seconds."""

import io
import os
import subprocess
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import docker

PACKAGES = (
    "bash",
    "coreutils",
    "curl",
    "dash",
    "findutils",
    "git",
    "grep",
    "hostname",
    "iproute2",
    "mawk",
    "openssh-client",
    "openssh-server",
    "procps",
    "rsync",
    "sed",
    "sudo",
    "tar",
    "util-linux",
    "zsh",
    "libpam-modules",
    "libpam-runtime",
    "base-files",
    "libc-bin",
)
_LEFT_OUT = (
    "/usr/share/doc/",
    "/usr/share/man/",
    "/usr/share/locale/",
    "/usr/share/info/",
    "/usr/share/zsh/help/",
)
_LINKS = {"bin": "usr/bin", "sbin": "usr/sbin", "lib": "usr/lib", "lib64": "usr/lib64"}
_PASSWD = """root:x:0:0:root:/root:/bin/bash
sshd:x:100:65534::/run/sshd:/usr/sbin/nologin
u:x:1000:1000::/home/u:/bin/bash
"""
_GROUP = "root:x:0:\nnogroup:x:65534:\nu:x:1000:\n"
_SHADOW = "root:*:19000:0:99999:7:::\nsshd:*:19000:0:99999:7:::\nu:*:19000:0:99999:7:::\n"
_SSHD = """Port 22
PermitRootLogin prohibit-password
PasswordAuthentication no
UsePAM no
UseDNS no
MaxStartups 200:30:400
Subsystem sftp internal-sftp
"""


def closure(packages: Iterable[str]) -> list[str]:
    """Return installed packages and all they depend on."""
    ended = subprocess.run(
        [
            "apt-cache",
            "depends",
            "--recurse",
            "--installed",
            "--no-recommends",
            "--no-suggests",
            "--no-conflicts",
            "--no-breaks",
            "--no-replaces",
            "--no-enhances",
            *packages,
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    names = {line.split(":")[0] for line in ended.stdout.splitlines() if line[:1].isalnum()}
    return sorted(names | set(packages))


def essential() -> list[str]:
    """Return Debian's essential packages, which whoever installs in an image counts on."""
    ended = subprocess.run(
        ["dpkg-query", "--show", "--showformat", "${Essential} ${Package}\n"],
        capture_output=True,
        text=True,
        check=True,
    )
    return [line.split()[1] for line in ended.stdout.splitlines() if line.startswith("yes ")]


def package_files(packages: Iterable[str]) -> Iterator[str]:
    """Yield the absolute paths of packages' files, with the usr-merge applied."""
    ended = subprocess.run(["dpkg", "-L", *packages], capture_output=True, text=True, check=False)
    for line in sorted(set(ended.stdout.splitlines())):
        if line.startswith(_LEFT_OUT) or not line.startswith("/"):
            continue
        head, _, rest = line[1:].partition("/")
        if head in _LINKS and not rest:
            continue
        path = f"/usr/{head}/{rest}" if head in _LINKS else line
        if os.path.lexists(path) and path != "/.":
            yield path


class _Root:
    """A root file system as a tar; a name that is there already is not added again."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self._names: set[str] = set()

    def made(self, name: str, *, kind: bytes, mode: int, owner: int = 0, text: str = "") -> None:
        info = tarfile.TarInfo(name)
        info.type, info.mode, info.uid, info.gid = kind, mode, owner, owner
        if kind == tarfile.SYMTYPE:
            info.linkname, text = text, ""
        info.size = len(text.encode())
        self._names.add(name)
        self._tar.addfile(info, io.BytesIO(text.encode()))

    def copied(self, path: str) -> None:
        name = path.strip("/")
        if name in self._names:
            return
        self._names.add(name)
        self._tar.add(path, arcname=name, recursive=False)

    def copied_whole(self, folder: str) -> None:
        for base, folders, files in os.walk(folder):
            for name in ["", *folders, *files]:
                path = f"{base}/{name}".rstrip("/")
                if os.path.lexists(path) and "__pycache__" not in path:
                    self.copied(path)


def build_tar(out: Path, packages: Iterable[str], folders: Iterable[str] = ()) -> None:
    """Write a root file system: packages' files and whole folders of this machine."""
    with tarfile.open(out, "w") as tar:
        root = _Root(tar)
        for name, to in _LINKS.items():
            root.made(name, kind=tarfile.SYMTYPE, mode=0o777, text=to)
        for name, mode in {
            "tmp": 0o1777,
            "proc": 0o755,
            "sys": 0o755,
            "dev": 0o755,
            "run": 0o755,
            "run/sshd": 0o755,
            "root": 0o700,
        }.items():
            root.made(name, kind=tarfile.DIRTYPE, mode=mode)
        root.made("home/u", kind=tarfile.DIRTYPE, mode=0o755, owner=1000)
        for name, text, mode in (
            ("etc/passwd", _PASSWD, 0o644),
            ("etc/group", _GROUP, 0o644),
            ("etc/shadow", _SHADOW, 0o600),
            ("etc/ssh/sshd_config", _SSHD, 0o644),
            ("etc/sudoers.d/u", "u ALL=(ALL) NOPASSWD: ALL\n", 0o440),
        ):
            root.made(name, kind=tarfile.REGTYPE, mode=mode, text=text)
        for path in package_files(closure(packages)):
            root.copied(path)
        for name in ("/etc/ld.so.cache", "/etc/ld.so.conf"):
            root.copied(name)
        for folder in ("/etc/alternatives", "/etc/ssl", "/etc/pam.d", *folders):
            root.copied_whole(folder)


def import_image(
    client: docker.DockerClient,
    tag: str,
    scratch: Path,
    folders: Iterable[str] = (),
    changes: Iterable[str] = (),
    packages: Iterable[str] = PACKAGES,
) -> str:
    """Make an image of this machine's packages; returns its tag."""
    archive = scratch / "base.tar"
    build_tar(archive, packages, folders)
    repository, _, version = tag.partition(":")
    client.api.import_image(
        str(archive),
        repository=repository,
        tag=version or "latest",
        changes=list(changes) or ['CMD ["/bin/bash"]'],
    )
    archive.unlink()
    return tag
