"""Real ssh servers on loopback, started and ended by the tests."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from support.loopback import free_port

SSHD = shutil.which("sshd", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
USER = pwd.getpwuid(os.getuid()).pw_name


def make_key(path: Path, *, kind: str = "ed25519", passphrase: str = "") -> Path:
    """Make a key pair; the public half lies beside it."""
    command = ["ssh-keygen", "-q", "-t", kind, "-N", passphrase, "-C", path.name, "-f", str(path)]
    subprocess.run([*command, *(["-b", "2048"] if kind == "rsa" else [])], check=True)
    return path


def public(path: Path) -> str:
    """Return ``type base64`` of a key's public half."""
    return " ".join(Path(f"{path}.pub").read_text().split()[:2])


@dataclass
class Sshd:
    """One sshd with its own host keys.

    Attributes:
        folder: where its files are.
        extra: more lines for sshd_config.
        kinds: types of its host keys.
    """

    folder: Path
    authorized: Path
    extra: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ("ed25519",)
    port: int = field(default_factory=free_port)
    process: subprocess.Popen[bytes] | None = None

    def start(self) -> "Sshd":
        assert SSHD, "openssh-server is not installed"
        self.folder.mkdir(parents=True, exist_ok=True)
        if os.getuid() == 0:
            Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
        for kind in self.kinds:
            if not self.host_key(kind).exists():
                make_key(self.host_key(kind), kind=kind)
        lines = [
            *self.extra,  # in front: as in ssh_config the first of equal options counts
            f"Port {self.port}",
            "ListenAddress 127.0.0.1",
            *(f"HostKey {self.host_key(kind)}" for kind in self.kinds),
            f"AuthorizedKeysFile {self.authorized}",
            "PidFile none",
            "UsePAM no",
            "PasswordAuthentication no",
            "KbdInteractiveAuthentication no",
            "StrictModes no",
            "MaxStartups 200",
            "LogLevel VERBOSE",
        ]
        config = self.folder / "sshd_config"
        config.write_text("\n".join(lines) + "\n")
        self.process = subprocess.Popen(
            [SSHD, "-D", "-f", str(config), "-E", str(self.log)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        self._wait()
        return self

    def _wait(self) -> None:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    break
            time.sleep(0.02)
        else:
            raise AssertionError(self.log.read_text())
        while "Connection from" not in self.log.read_text():
            time.sleep(0.01)
        self.forget()

    @property
    def log(self) -> Path:
        return self.folder / "log"

    def host_key(self, kind: str) -> Path:
        return self.folder / f"host_{kind}"

    def known(self, kind: str = "ed25519", *, name: str = "") -> str:
        """Return a line for known_hosts."""
        return f"{name or f'[127.0.0.1]:{self.port}'} {public(self.host_key(kind))}\n"

    def forget(self) -> None:
        """Count from here."""
        self._seen = len(self.log.read_text().splitlines())

    def new_lines(self) -> list[str]:
        return self.log.read_text().splitlines()[self._seen :]

    @property
    def connections(self) -> int:
        return sum(line.startswith("Connection from") for line in self.new_lines())

    @property
    def sessions(self) -> int:
        return sum(line.startswith("Starting session") for line in self.new_lines())

    def children(self) -> list[int]:
        """Return the processes that serve connections."""
        assert self.process is not None
        task = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return [int(pid) for pid in task.read_text().split()]

    def cut(self) -> None:
        """Cut every connection, as a failing network would."""
        self._signal(signal.SIGKILL)

    def freeze(self) -> None:
        """Let nothing more be said over the connections there are; new ones work."""
        self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        for child in self.children():
            with suppress(ProcessLookupError, FileNotFoundError):  # it may end by itself meanwhile
                inner = Path(f"/proc/{child}/task/{child}/children").read_text().split()
                os.kill(child, number)
                for pid in inner:
                    os.kill(int(pid), number)

    def stop(self) -> None:
        if self.process is not None:
            self.cut()
            self.process.terminate()
            self.process.wait()
            self.process = None
