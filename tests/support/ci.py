"""The files in ``ci/``: what they tell a runner to do, and doing it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml
from support.places import ROOT

CI = ROOT / "ci"
SECONDS = 600


def load(name: str) -> dict[Any, Any]:
    """Read one of the YAML files."""
    found: dict[Any, Any] = yaml.safe_load((CI / name).read_text("utf-8"))
    return found


def ran(
    script: str, folder: Path, environment: Mapping[str, str], shell: tuple[str, ...]
) -> tuple[int, str, str]:
    """Run a step as a runner does; returns the exit code, stdout and stderr."""
    ended = subprocess.run(
        [*shell, script],
        cwd=folder,
        env={
            "HOME": str(folder),
            "PATH": f"{Path(sys.executable).parent}:{os.environ.get('PATH', os.defpath)}",
            "LC_ALL": "C.UTF-8",
            **{k: v for k, v in os.environ.items() if k.startswith("DOCKER_")},
            **environment,
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    return ended.returncode, ended.stdout, ended.stderr
