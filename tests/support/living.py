"""Gates asked of this very machine: a home under a test's own folder, and what runs there."""

import json
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from support.facts import NONCE, target
from support.probing import Shell, answer
from support.tools import PiTool

from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret
from fleet.systems.ask import request_for
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.judge import Expectations, judge
from fleet.verifier.model import Finding

SYSTEM = "/usr/bin:/bin"


@dataclass(frozen=True, slots=True)
class Living:
    """A home of its own on this machine, asked by the real probe.

    Attributes:
        systems: what is declared to be deployed there.
    """

    home: Path
    shell: Shell
    systems: tuple[str, ...] = ("pi",)

    @property
    def agent(self) -> Path:
        """The agent folder of pi."""
        return self.home / ".pi" / "agent"

    def path(self, *folders: Path | str) -> "Living":
        """Let login shells of this home have these folders on their PATH, and nothing else."""
        search = ":".join(map(str, folders))
        (self.home / ".bash_profile").write_text(f"export PATH='{search}'\n")
        return self

    def configure(self, name: str, content: object) -> Path:
        """Write one of pi's files; text as it is, all else as JSON."""
        path = self.agent / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def declared(self, **variables: Value) -> Target:
        made = target(*self.systems, address="local:", launches=["bash -lc"])
        return replace(made, variables=variables)

    def findings(
        self,
        where: Target | None = None,
        *,
        secrets: Mapping[SecretRef, Secret] | None = None,
        troubles: Mapping[SecretRef, str] | None = None,
        templates: Mapping[str, str] | None = None,
        uid: int | None = None,
    ) -> dict[str, Finding]:
        """Ask and judge; findings by gate. What was deployed is held against ``templates``."""
        where = where or self.declared()
        catalogue = load_catalogue()
        resolved = resolve([catalogue.system(name) for name in where.systems], where)
        request = request_for(where, resolved, nonce=NONCE)
        done = self.shell.run(probe_script(request), home=self.home, uid=uid)
        for secret in (secrets or {}).values():
            assert secret.reveal().encode() not in done.stdout + done.stderr
        facts: Facts = answer(done.stdout, request)
        expectations = Expectations(
            today=datetime.now(UTC).date(),
            secrets=secrets or {},
            troubles=troubles or {},
            templates=templates or {},
        )
        return {f.gate: f for f in judge(where, resolved, facts, catalogue, expectations)}

    @contextmanager
    def running(
        self, pi: PiTool, environment: Mapping[str, str] | None = None
    ) -> Iterator[subprocess.Popen[bytes]]:
        """Let the real pi run in this home, as an editor would start it, until the end."""
        held = {"HOME": str(self.home), "PATH": f"{pi.bin_dir}:{SYSTEM}", **(environment or {})}
        command = [str(pi.pi_cli), "--offline", "--no-session", "--mode", "rpc"]
        with subprocess.Popen(
            command,
            env=held,
            cwd=self.home,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        ) as process:
            try:
                _wait_for_title(process)
                yield process
            finally:
                process.kill()


def let_others_see(home: Path) -> None:
    """Let other users into a home; what in it is its owner's alone stays so."""
    for folder in (home, *home.parents):
        if folder.stat().st_uid == 0 and folder not in (Path("/"), Path("/tmp")):
            folder.chmod(folder.stat().st_mode | 0o055)


def _wait_for_title(process: subprocess.Popen[bytes]) -> None:
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if Path(f"/proc/{process.pid}/cmdline").read_bytes().startswith(b"pi\0"):
            return
        assert process.poll() is None, "pi ended"
        time.sleep(0.05)
    raise AssertionError("pi did not take its name")
