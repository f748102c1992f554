"""An ssh client's side: its configuration, its known hosts, the connectors it opened."""

from dataclasses import dataclass, field
from pathlib import Path

from support.sshd import USER, Sshd

from fleet.connectors.ssh import SshConnector
from fleet.inventory.model import Address, Become, Scheme, Target


@dataclass
class Client:
    folder: Path
    key: Path
    opened: list[SshConnector] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    @property
    def config(self) -> Path:
        return self.folder / "config"

    @property
    def known_hosts(self) -> Path:
        return self.folder / "known_hosts"

    def host(self, alias: str, server: Sshd, *extra: str, port: int | None = None) -> None:
        """Add a host to the configuration; the first of equal options counts, as in ssh."""
        self.lines += [
            f"Host {alias}",
            *(f"  {line}" for line in extra),
            "  HostName 127.0.0.1",
            f"  Port {port or server.port}",
            f"  User {USER}",
            f"  IdentityFile {self.key}",
            "  IdentitiesOnly yes",
            "  IdentityAgent none",
            f"  UserKnownHostsFile {self.known_hosts}",
            "  GlobalKnownHostsFile none",
        ]
        self.config.write_text("\n".join(self.lines) + "\n")

    def know(self, *lines: str) -> None:
        with self.known_hosts.open("a") as stream:
            stream.writelines(lines)

    def connect(
        self,
        alias: str,
        *,
        timeout: float = 20,
        connect_timeout: float = 10,
        max_bytes: int = 1 << 20,
        become: Become | None = None,
        identity: Path | None = None,
    ) -> SshConnector:
        target = Target(
            alias,
            Address(Scheme.SSH, alias),
            become=become,
            identity=str(identity) if identity else None,
        )
        connector = SshConnector(
            target,
            timeout=timeout,
            connect_timeout=connect_timeout,
            max_bytes=max_bytes,
            config=str(self.config),
        )
        self.opened.append(connector)
        return connector

    def close(self) -> None:
        for connector in self.opened:
            connector.close()
            connector.close()
