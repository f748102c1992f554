"""A shell that stays after its answer, to be asked again."""

import os
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from support.probing import Shell, answer, otherwise

from fleet.facts.again import ASK, asked_again, joined, stays
from fleet.facts.compile import standing_script
from fleet.facts.model import Facts
from fleet.facts.request import Request

SECONDS = 20.0
LONG_AGO = -3600  # so that whatever is made in the hour to come is old enough too


def rested_script(request: Request, seconds: int = LONG_AGO) -> str:
    """Return the program to which what was made that many seconds ago is old enough."""
    return otherwise(standing_script(request), "$((_q + 60))", f"$((_q + {seconds}))")


@dataclass
class Staying:
    """One that was asked a request."""

    request: Request
    process: "subprocess.Popen[bytes]"
    facts: Facts | None = None

    def heard(self) -> bytes | None:
        """Return an answer; None where the shell ends before it says that it stays."""
        assert self.process.stdout is not None
        last, output, until = stays(self.request.nonce), b"", time.monotonic() + SECONDS
        while not output.endswith(last):
            ready, _, _ = select.select([self.process.stdout], [], [], until - time.monotonic())
            assert ready, f"no whole answer: {output[-200:]!r}"
            chunk = os.read(self.process.stdout.fileno(), 65536)
            if not chunk:
                self.facts = self.facts or answer(output, self.request)
                return None
            output += chunk
        return output

    def begins(self) -> bool:
        """Read the first answer; whether it stays."""
        output = self.heard()
        if output is None:
            return False
        self.facts = answer(output, self.request)
        return True

    def again(self) -> Facts | None:
        """Ask again; None where all has to be asked anew."""
        assert self.process.stdin is not None
        assert self.facts is not None
        self.process.stdin.write(ASK)
        self.process.stdin.flush()
        output = self.heard()
        if output is None:
            return None
        return joined(self.facts, answer(output, asked_again(self.request)))


@contextmanager
def staying(
    shell: Shell,
    request: Request,
    home: Path,
    *,
    seconds: int | None = LONG_AGO,
) -> Iterator[Staying]:
    """Ask a request of a shell that may stay, for the length of the block.

    Args:
        shell: the shell.
        request: what is asked.
        home: of the user.
        seconds: how old is old enough to be relied on; without it as in life.
    """
    script = standing_script(request) if seconds is None else rested_script(request, seconds)
    process = subprocess.Popen(
        shell.words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={"PATH": shell.path, "HOME": str(home)},
        cwd=home,
    )
    assert process.stdin is not None
    process.stdin.write(script.encode())
    process.stdin.flush()
    try:
        yield Staying(request, process)
    finally:
        _, errors = process.communicate(timeout=SECONDS)
        assert errors == b""


def programs(folder: Path, **texts: str) -> None:
    """Write programs into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
