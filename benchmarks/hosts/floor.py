"""The floor: connect to every host, log in, run ``true``, and nothing else.

Called with a key, a file of known hosts, how many at once, and the addresses. It uses the ssh
library that `fleet` uses, and the same key exchange.
"""

import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from paramiko import Ed25519Key, Transport

#: As `fleet` prefers them; the library's own first choice costs the servers more.
_EXCHANGES = ("curve25519-sha256@libssh.org", "ecdh-sha2-nistp256")


def touch(address: str, key: Ed25519Key, known: str) -> None:
    """Run ``true`` on one host."""
    transport = Transport((address, 22))
    options = transport.get_security_options()
    options.kex = [*_EXCHANGES, *(k for k in options.kex if k not in _EXCHANGES)]
    options.key_types = ["ssh-ed25519"]
    try:
        transport.start_client(timeout=60)
        if transport.get_remote_server_key().get_base64() != known:
            raise SystemExit(f"{address}: another host key")
        transport.auth_publickey("root", key)
        channel = transport.open_session()
        channel.exec_command("true")
        if channel.recv_exit_status() != 0:
            raise SystemExit(f"{address}: true failed")
    finally:
        transport.close()


def main(key: str, known_hosts: str, jobs: str, *addresses: str) -> None:
    """Touch every host."""
    loaded = Ed25519Key.from_private_key_file(key)
    known = {
        line.split()[0]: line.split()[2] for line in Path(known_hosts).read_text().splitlines()
    }
    with ThreadPoolExecutor(int(jobs)) as pool:
        list(pool.map(lambda address: touch(address, loaded, known[address]), addresses))
    print(f"{len(addresses)} hosts")


if __name__ == "__main__":
    main(*sys.argv[1:])
