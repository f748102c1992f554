"""What Ansible's connection variables mean, and the few variables by which fleet is told its part.

A host that names no address of its own is reached as these say, and else by ssh under its name:
``ansible_connection``, ``ansible_host``, ``ansible_port``, ``ansible_user``,
``ansible_ssh_private_key_file``, ``ansible_become``, ``ansible_become_user``. What fleet is to do
there is said by ``fleet_systems``, ``fleet_require`` (lists, or names joined by commas) and
``fleet_shell``.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeAlias

from fleet.errors import InventoryError, Place
from fleet.inventory.address import parse_address, rooted, ssh_address
from fleet.inventory.draft import Named
from fleet.inventory.model import Address, Become, Scheme, Value
from fleet.inventory.nodes import WrittenFloat
from fleet.inventory.problems import did_you_mean
from fleet.inventory.schema import check_shell

PlaceOf: TypeAlias = Callable[[str], Place | None]

CONNECTIONS = {
    "ssh": Scheme.SSH,
    "smart": Scheme.SSH,
    "paramiko": Scheme.SSH,
    "paramiko_ssh": Scheme.SSH,
    "ansible.builtin.ssh": Scheme.SSH,
    "local": Scheme.LOCAL,
    "ansible.builtin.local": Scheme.LOCAL,
    "docker": Scheme.CONTAINER,
    "docker_api": Scheme.CONTAINER,
    "community.docker.docker": Scheme.CONTAINER,
    "community.docker.docker_api": Scheme.CONTAINER,
    "chroot": Scheme.ROOTFS,
    "community.general.chroot": Scheme.ROOTFS,
}
NEEDED = frozenset(
    {
        "ansible_connection",
        "ansible_host",
        "ansible_ssh_host",
        "ansible_port",
        "ansible_ssh_port",
        "ansible_user",
        "ansible_ssh_user",
        "ansible_ssh_private_key_file",
        "ansible_private_key_file",
        "ansible_become",
        "ansible_become_user",
        "fleet_systems",
        "fleet_require",
        "fleet_shell",
    }
)
"""Without a value for these a target cannot be reached as it is meant."""

_UNUSED = {
    "ansible_ssh_common_args": "write them into ~/.ssh/config",
    "ansible_ssh_extra_args": "write them into ~/.ssh/config",
    "ansible_password": "keys and agents are used, never passwords",
    "ansible_ssh_pass": "keys and agents are used, never passwords",
    "ansible_ssh_password": "keys and agents are used, never passwords",
    "ansible_become_password": "become works by sudo -n, which asks for none",
    "ansible_become_pass": "become works by sudo -n, which asks for none",
}
_TRUE = frozenset({"true", "yes", "on", "1", "y", "t"})
_FALSE = frozenset({"false", "no", "off", "0", "n", "f", ""})


class Terms:
    """The terms of one target."""

    def __init__(self, variables: Mapping[str, Value], place_of: PlaceOf) -> None:
        self._variables = variables
        self._place_of = place_of

    def address(self, name: str) -> Address:
        """Return where the target called ``name`` is.

        Raises:
            InventoryError: the variables say what cannot be.
        """
        said, place = self._said("ansible_connection")
        scheme = CONNECTIONS.get(said or "ssh")
        if scheme is None:
            raise InventoryError(
                f"`ansible_connection: {said}` cannot be used here",
                place=place,
                hint=did_you_mean(str(said), CONNECTIONS, kind="connections"),
            )
        if scheme is Scheme.LOCAL:
            return Address(scheme, "")
        host, place = self._said("ansible_host", "ansible_ssh_host")
        if scheme is not Scheme.SSH:
            return parse_address(f"{scheme}:{host or name}", place=place)
        user, user_place = self._said("ansible_user", "ansible_ssh_user")
        port, port_place = self._port()
        return ssh_address(host or name, user, port, place=port_place or user_place or place)

    def identity(self) -> str | None:
        """Return the private key file, None where none is named."""
        said, _ = self._said("ansible_ssh_private_key_file", "ansible_private_key_file")
        return rooted(said, None) if said else None

    def become(self) -> Become | None:
        """Return the user to act as, None where the connection's own is meant.

        Raises:
            InventoryError: ``ansible_become`` is neither true nor false.
        """
        value = self._variables.get("ansible_become", False)
        text = str(value).lower()
        if text not in _TRUE | _FALSE and value is not None:
            place = self._place_of("ansible_become")
            raise InventoryError("`ansible_become` is true or false", place=place)
        if text not in _TRUE:
            return None
        user, _ = self._said("ansible_become_user")
        return Become(user or "root")

    def named(self, variable: str) -> list[Named]:
        """Return the names in ``fleet_systems`` or ``fleet_require``.

        Raises:
            InventoryError: it is no list of names.
        """
        place = self._place_of(variable)
        return [
            Named(name, place) for name in words(self._variables.get(variable), variable, place)
        ]

    def shells(self) -> tuple[str, ...]:
        """Return ``fleet_shell``: one text, or a list of them.

        Raises:
            InventoryError: one of them cannot be a shell.
        """
        value = self._variables.get("fleet_shell")
        place = self._place_of("fleet_shell")
        found = [value] if isinstance(value, str) else words(value, "fleet_shell", place)
        for shell in found:
            try:
                check_shell(shell)
            except ValueError as error:
                raise InventoryError(str(error), place=place) from error
        return tuple(found)

    def notes(self, name: str) -> Iterator[str]:
        """Yield what is written for Ansible and plays no part here."""
        for variable, instead in _UNUSED.items():
            if variable in self._variables:
                yield f"{variable} of {name} is not used: {instead}"
        method = self._variables.get("ansible_become_method", "sudo")
        if method not in ("sudo", "ansible.builtin.sudo"):
            yield f"ansible_become_method of {name} is not used: become works by sudo -n"

    def _said(self, *names: str) -> tuple[str | None, Place | None]:
        for name in names:
            value = self._variables.get(name)
            if value is None:
                continue
            place = self._place_of(name)
            if isinstance(value, bool) or not isinstance(value, str | int | float):
                raise InventoryError(f"`{name}` must be a text", place=place)
            return str(value).strip() or None, place
        return None, None

    def _port(self) -> tuple[int | None, Place | None]:
        text, place = self._said("ansible_port", "ansible_ssh_port")
        if text is None:
            return None, None
        if not (text.isascii() and text.isdigit()):
            raise InventoryError("`ansible_port` must be a number", place=place)
        return int(text[:6]), place


def words(value: Value, name: str, place: Place | None) -> list[str]:
    """Return a list of names, written as a list or joined by commas or white space.

    Raises:
        InventoryError: it is neither.
    """
    if value is None:
        return []
    if isinstance(value, str):
        return value.replace(",", " ").split()
    if isinstance(value, list) and all(isinstance(v, str | WrittenFloat) for v in value):
        return [str(v) for v in value]
    raise InventoryError(f"`{name}` must be a list of names", place=place)
