"""A mail server on loopback that takes every mail and remembers it."""

import email
import email.policy
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread


@dataclass
class Mailbox:
    """What was taken, and where."""

    port: int = 0
    mails: list[EmailMessage] = field(default_factory=list)


@contextmanager
def mail_server() -> Iterator[Mailbox]:
    """Serve SMTP until the block ends."""
    box = Mailbox()

    class Handler(StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 here\r\n")
            for line in self.rfile:
                word = line[:4].upper()
                if word == b"DATA":
                    self._mail()
                self.wfile.write(b"221 bye\r\n" if word == b"QUIT" else b"250 well\r\n")
                if word == b"QUIT":
                    return

        def _mail(self) -> None:
            self.wfile.write(b"354 go on\r\n")
            lines = [line.removeprefix(b".") for line in iter(self.rfile.readline, b".\r\n")]
            policy = email.policy.default
            box.mails.append(email.message_from_bytes(b"".join(lines), policy=policy))

    with ThreadingTCPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        box.port = int(server.server_address[1])
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield box
        finally:
            server.shutdown()
            thread.join()
