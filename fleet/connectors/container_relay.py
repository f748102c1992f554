"""A TCP connection that begins inside a container: a program there holds it, the engine carries it.

The engine's API leads into a container's files and programs, not into its network. So one of the
programs that are there anyway (pi brings node, a palace brings Python) connects, says whether it
could, and passes bytes on. What is asked, and with which token, goes through its stdin only.
"""

import socket
import threading
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from fleet.connectors.bounded import CHUNK, MAX_BYTES
from fleet.connectors.container_exec import Exec, Frames
from fleet.connectors.deadline import Deadline
from fleet.errors import ProbeError, Unreachable, Unsupported

if TYPE_CHECKING:
    from docker import APIClient

_JOIN = 5.0
_FIRST_LINE = 200

_NODE = """
const s = require("net").connect({ host: process.argv[1], port: +process.argv[2] });
let up = false;
s.setTimeout(10000, () => up || s.destroy(Object.assign(new Error(), { code: "ETIMEDOUT" })));
s.on("connect", () => {
  up = true; s.setTimeout(0); process.stdout.write("+\\n");
  process.stdin.pipe(s); s.pipe(process.stdout);
});
s.on("error", (e) => { if (!up) process.stdout.write("-" + e.code + "\\n"); });
s.on("close", () => { process.stdin.unpipe(); process.stdin.destroy(); });
"""

_PYTHON = """
import errno, os, socket, sys, threading
def told(code):
    os.write(1, ("-" + code + chr(10)).encode()); sys.exit(1)
try:
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])), 10)
except socket.gaierror:
    told("ENOTFOUND")
except TimeoutError:
    told("ETIMEDOUT")
except OSError as e:
    told(errno.errorcode.get(e.errno, "EFAILED"))
s.settimeout(None); os.write(1, b"+" + bytes([10]))
def out():
    while d := os.read(0, 65536):
        s.sendall(d)
    s.shutdown(socket.SHUT_WR)
threading.Thread(target=out, daemon=True).start()
while d := s.recv(65536):
    while d:
        d = d[os.write(1, d):]
"""

_BASH = """
exec 3<>"/dev/tcp/$0/$1" || { echo -EFAILED; exit 1; }
echo +; cat <&0 >&3 & w=$!; cat <&3; kill $w
"""

_PROGRAM = """
can() { "$@" >/dev/null 2>&1 </dev/null; }
if can node -e 0; then exec node -e "$3" "$1" "$2"; fi
if can python3 -c 0; then exec python3 -c "$4" "$1" "$2"; fi
if can bash -c :; then exec bash -c "$5" "$1" "$2" 2>/dev/null; fi
echo -EUNSUPPORTED
"""

_STAGES = {
    "ENOTFOUND": ("resolve", "the name is not known there"),
    "EAI_AGAIN": ("resolve", "the name could not be looked up there"),
    "ETIMEDOUT": ("timeout", "no answer"),
    "ECONNREFUSED": ("connect", "connection refused"),
    "EHOSTUNREACH": ("connect", "no route to host"),
    "ENETUNREACH": ("connect", "network is unreachable"),
    "EFAILED": ("connect", "not connected"),
}


def relayed(
    api: "APIClient", container: str, host: str, port: int, deadline: Deadline, *, where: str
) -> "Relay":
    """Connect from inside a container.

    Raises:
        Unsupported: nothing in the container can connect.
        Unreachable: it could not, by stage.
        TimeoutError: the deadline passed first.
    """
    held = ExitStack()
    try:
        run = Exec(api, container, max_bytes=MAX_BYTES, where=where)
        words = ["sh", "-c", _PROGRAM, "relay", host, str(port), _NODE, _PYTHON, _BASH]
        stream = run.started(words, held)
        frames = Frames(MAX_BYTES, where)
        rest = _connected(stream, frames, deadline, where)
    except BaseException:
        held.close()
        raise
    return Relay(stream, frames, rest, held)


def _connected(stream: socket.socket, frames: Frames, deadline: Deadline, where: str) -> bytes:
    """Read what the program says first; returns what came after it."""
    said = b""
    while b"\n" not in said and len(said) < _FIRST_LINE:
        stream.settimeout(max(deadline.left(), 0.001))
        data = stream.recv(CHUNK)
        if not data:
            break
        frames.feed(data)
        said += frames.output.drain()
    first, _, rest = said.partition(b"\n")
    if first == b"+":
        stream.settimeout(None)
        return rest
    code = first[1:].decode("ascii", "replace")
    if code in _STAGES:
        stage, what = _STAGES[code]
        raise Unreachable(what, stage=stage, where=where)
    raise Unsupported(
        "nothing in the container can connect: it has no node, python3 or bash", where=where
    )


class Relay:
    """Carry bytes between the program in the container and one end of a socket pair.

    Attributes:
        socket: the caller's end; the caller closes it.
    """

    def __init__(
        self, stream: socket.socket, frames: Frames, first: bytes, held: ExitStack
    ) -> None:
        self._stream, self._frames, self._held = stream, frames, held
        self.socket, self._ours = socket.socketpair()
        if first:
            self._ours.sendall(first)
        self._threads = [
            threading.Thread(target=work, name=f"relay {work.__name__}", daemon=True)
            for work in (self._outward, self._inward)
        ]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        """End both directions, wait for them, and let go of the engine's connection."""
        for end in (self._stream, self._ours):
            with suppress(OSError):  # it may have ended already
                end.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(_JOIN)
        self._ours.close()
        self._held.close()

    def _outward(self) -> None:
        with suppress(OSError):  # the program ended; what it sent tells the rest
            while data := self._ours.recv(CHUNK):
                self._stream.sendall(data)
            self._stream.shutdown(socket.SHUT_WR)

    def _inward(self) -> None:
        with suppress(OSError, ProbeError):  # the caller's end closes: a cut answer, told as that
            while data := self._stream.recv(CHUNK):
                self._frames.feed(data)
                self._ours.sendall(self._frames.output.drain())
        with suppress(OSError):
            self._ours.shutdown(socket.SHUT_WR)
