"""The rig: many ssh hosts on this machine, each in namespaces of its own.

A host's files are layers over one root file system, and what it changes lies in memory. Its network
is a pair of interfaces to this machine and no bridge, on which every host would hear what every
other one asks. All of it goes with the host's first process, which goes with whoever made the rig,
however that ends; so nothing has to be found and taken away afterwards.
"""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from ipaddress import IPv4Address
from pathlib import Path

_SCRIPT = Path(__file__).with_name("host.sh")
#: Of the block that RFC 2544 keeps for benchmarks: a rig's thousand addresses begin at a multiple.
_BLOCK = int(IPv4Address("198.18.0.0"))
_RIGS = 128
_SIZE = 1024
MOST = _SIZE - 24
_SECONDS = 120.0
_NEEDED = ("unshare", "setpriv", "ip", "mount", "chroot", "tar", "ssh", "ssh-keygen")
_TICKS = os.sysconf("SC_CLK_TCK")


class RigError(Exception):
    """The rig cannot be built here."""


@dataclass(frozen=True, slots=True)
class Host:
    """One host of the rig.

    Attributes:
        number: counted from 1.
        fault: the layer with what is wrong there; empty for a good host.
        log: what its ssh server says, a line for every login and every session.
    """

    number: int
    name: str
    address: str
    fault: str
    log: Path


@dataclass(slots=True)
class Rig:
    """Hosts that are up, and the files to reach them with."""

    hosts: tuple[Host, ...]
    folder: Path
    processes: list[subprocess.Popen[bytes]]
    silent: tuple[str, ...]
    number: int

    def link(self, host: Host) -> str:
        """Return this machine's end of a host's network."""
        return f"fb{self.number}h{host.number}"

    @property
    def key(self) -> Path:
        """The private key that every host lets in as root."""
        return self.folder / "id_ed25519"

    @property
    def config(self) -> Path:
        """The ssh configuration that names key and known hosts."""
        return self.folder / "ssh_config"

    @property
    def known_hosts(self) -> Path:
        """The host keys, a line for each host."""
        return self.folder / "known_hosts"

    def root(self, host: Host) -> Path:
        """Return a host's root folder as this machine sees it."""
        (child,) = _children(self.processes[host.number - 1].pid)
        return Path(f"/proc/{child}/root")

    def processor(self) -> float:
        """Return the seconds of processor time that all hosts used since they are up."""
        return tree_seconds([process.pid for process in self.processes])

    def counted(self, hosts: Sequence[Host]) -> tuple[int, int]:
        """Return how many logins and sessions the servers saw since they are up."""
        logins = sessions = 0
        for host in hosts:
            text = host.log.read_bytes()
            logins += text.count(b"Accepted publickey")
            sessions += text.count(b"Starting session:")
        return logins, sessions


def refusal() -> str:
    """Return why no rig can be built here; empty where one can."""
    if os.geteuid() != 0:
        return "the rig needs root: it makes network namespaces and mounts"
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    absent = [name for name in _NEEDED if shutil.which(name, path=path) is None]
    if absent:
        return (
            f"the rig needs {', '.join(absent)}: apt-get install iproute2 util-linux openssh-client"
        )
    overlay = "overlay" in Path("/proc/filesystems").read_text()
    return "" if overlay else "the rig needs overlayfs in the kernel"


@contextmanager
def rig(
    folder: Path, root: Path, faults: Sequence[str], *, layers: Sequence[Path] = (), silent: int = 0
) -> Iterator[Rig]:
    """Bring up a host for each of ``faults``, and take all of them down at the end.

    Args:
        folder: an empty folder of the rig's own, which stays.
        root: the root file system, with an ssh server.
        faults: for each host the folder of a further layer, below ``folder``; or empty.
        layers: folders that lie between the root file system and the fault, upper ones first.
        silent: how many addresses are given beside, from which nothing ever answers.

    Raises:
        RigError: it cannot be built here.
    """
    why = refusal()
    if why:
        raise RigError(why)
    if not 1 <= len(faults) <= MOST:
        raise RigError(f"a rig has 1 to {MOST} hosts, not {len(faults)}")
    with _number() as number:
        first = _BLOCK + number * _SIZE
        hosts = tuple(
            Host(n, f"h{n}", str(IPv4Address(first + n)), fault, folder / f"log/{n}")
            for n, fault in enumerate(faults, 1)
        )
        unheard = tuple(str(IPv4Address(first + MOST + 1 + n)) for n in range(silent))
        _write_keys(folder, hosts)
        made = Rig(hosts, folder, [], unheard, number)
        try:
            _start(made, [*layers, folder / "site", root], str(IPv4Address(first + _SIZE - 1)))
            yield made
        finally:
            _end(made)


@contextmanager
def _number() -> Iterator[int]:
    """Hold a number that no other rig on this machine has, as long as the process lives."""
    for number in range(_RIGS):
        held = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        try:
            held.bind(f"\0fleet-bench-rig-{number}")
        except OSError:
            held.close()
            continue
        with held:
            yield number
        return
    raise RigError(f"{_RIGS} rigs are up on this machine already")


def _write_keys(folder: Path, hosts: Sequence[Host]) -> None:
    """Write the keys of both sides, and the layer that brings a host its own."""
    server = folder / "site/etc/ssh"
    account = folder / "site/root/.ssh"
    (folder / "log").mkdir()
    server.mkdir(parents=True)
    account.mkdir(parents=True)
    for made, mode in ((folder / "site/root", 0o700), (account, 0o700)):
        made.chmod(mode)
    for name in (folder / "id_ed25519", server / "ssh_host_ed25519_key"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-C", "bench", "-f", str(name)],
            check=True,
            stdin=subprocess.DEVNULL,
        )
    (account / "authorized_keys").write_bytes((folder / "id_ed25519.pub").read_bytes())
    (account / "authorized_keys").chmod(0o600)
    # Debian's own settings, but for how many may be logging in at once: 10 is too few here.
    (server / "sshd_config").write_text(
        "HostKey /etc/ssh/ssh_host_ed25519_key\nUsePAM yes\nUseDNS no\n"
        "PermitRootLogin prohibit-password\nPasswordAuthentication no\n"
        "KbdInteractiveAuthentication no\nMaxStartups 2000:30:2000\nMaxSessions 100\n"
        "LogLevel VERBOSE\nPrintMotd no\nSubsystem sftp internal-sftp\n"
    )
    public = " ".join((server / "ssh_host_ed25519_key.pub").read_text().split()[:2])
    (folder / "known_hosts").write_text("".join(f"{h.address} {public}\n" for h in hosts))
    (folder / "ssh_config").write_text(
        f"Host *\n  User root\n  IdentityFile {folder / 'id_ed25519'}\n  IdentitiesOnly yes\n"
        f"  IdentityAgent none\n  UserKnownHostsFile {folder / 'known_hosts'}\n"
        "  GlobalKnownHostsFile /dev/null\n"
    )


def _start(made: Rig, layers: Sequence[Path], controller: str) -> None:
    for host in made.hosts:
        lower = [made.folder / host.fault, *layers] if host.fault else layers
        with host.log.open("wb") as log:
            made.processes.append(
                subprocess.Popen(
                    [
                        *("setpriv", "--pdeathsig", "KILL"),
                        *("unshare", "--net", "--mount", "--uts", "--pid", "--fork"),
                        *("--kill-child", "sh", str(_SCRIPT), host.name, host.address, controller),
                        ":".join(map(str, lower)),
                    ],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    start_new_session=True,
                )
            )
    for host, process in zip(made.hosts, made.processes, strict=True):
        if process.stdout is None or process.stdout.readline() != b"mounted\n":
            raise RigError(f"{host.name} did not start: {host.log.read_text()[-500:].strip()}")
    lines = [line for h in made.hosts for line in _links(made, h, controller)]
    via = f"dev {made.link(made.hosts[0])}"
    # A host that is not meant, and passes nothing on, drops what comes for these.
    lines += [
        f"route add {address}/32 via {made.hosts[0].address} {via}" for address in made.silent
    ]
    _ip(lines)
    for process in made.processes:
        if process.stdin is not None:
            process.stdin.write(b"go\n")
            process.stdin.flush()
    until = time.monotonic() + _SECONDS
    for host in made.hosts:
        _await_banner(host, until)


def _links(made: Rig, host: Host, controller: str) -> Iterator[str]:
    link, process = made.link(host), made.processes[host.number - 1]
    yield f"link add {link} type veth peer name eth0 netns {process.pid}"
    yield f"link set {link} addrgenmode none"
    yield f"link set {link} up"
    yield f"addr add {controller} peer {host.address} dev {link}"


def _ip(lines: Sequence[str]) -> None:
    ended = subprocess.run(
        ["ip", "-batch", "-"],
        input="\n".join(lines).encode(),
        capture_output=True,
        check=False,
        timeout=_SECONDS,
    )
    if ended.returncode != 0:
        raise RigError(f"ip refuses: {ended.stderr.decode(errors='replace')[-500:].strip()}")


def _await_banner(host: Host, until: float) -> None:
    while time.monotonic() < until:
        try:
            with socket.create_connection((host.address, 22), 2) as stream:
                if stream.recv(4) == b"SSH-":
                    return
        except OSError:
            time.sleep(0.02)
    raise RigError(f"{host.name} does not answer: {host.log.read_text()[-500:].strip()}")


def _end(made: Rig) -> None:
    """End every host by its process; the kernel takes away what was in its namespaces."""
    for process in made.processes:
        process.send_signal(signal.SIGKILL)  # unshare lets no other one through
    for process in made.processes:
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()
    until = time.monotonic() + _SECONDS
    names = {made.link(host) for host in made.hosts}
    while names & set(os.listdir("/sys/class/net")) and time.monotonic() < until:  # noqa: PTH208 - names
        time.sleep(0.05)


def _children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def tree_seconds(roots: Sequence[int]) -> float:
    """Return the processor time of processes, of all below them and of those that have ended."""
    ticks: dict[int, int] = {}
    below: dict[int, list[int]] = {}
    for entry in os.scandir("/proc"):
        if not entry.name.isdigit():
            continue
        try:
            text = Path(entry.path, "stat").read_text()
        except OSError:
            continue
        fields = text.rpartition(")")[2].split()
        pid = int(entry.name)
        ticks[pid] = sum(map(int, fields[11:15]))
        below.setdefault(int(fields[1]), []).append(pid)
    found, total = list(roots), 0
    while found:
        pid = found.pop()
        total += ticks.get(pid, 0)
        found += below.get(pid, [])
    return total / _TICKS
