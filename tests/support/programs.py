"""Programs of a target that only log how they were called."""

from pathlib import Path

from support.bench import Bench

from fleet.inventory.model import SecretRef
from fleet.secrets import Secret

TOKEN = SecretRef("env", "TOKEN")


def bench_of(folder: Path, shell: str) -> Bench:
    """A home whose PATH begins with a folder for such programs."""
    made = Bench(folder / "home", shell, values={TOKEN: Secret("tok-EXAMPLE-1")})
    (folder / "bin").mkdir()
    made.path = f"{folder}/bin:/usr/bin:/bin"
    return made


def fake(bench: Bench, name: str, body: str = "") -> None:
    """A program of the target that logs how it was called."""
    program_file = bench.home.parent / "bin" / name
    program_file.write_text(f'#!/bin/dash\necho "{name} $*" >>"{log(bench)}"\n{body}\n')
    program_file.chmod(0o755)


def log(bench: Bench) -> Path:
    return bench.home.parent / "log"


def calls(bench: Bench) -> list[str]:
    text = log(bench).read_text() if log(bench).exists() else ""
    log(bench).write_text("")
    return text.replace(str(bench.home), "~").splitlines()
