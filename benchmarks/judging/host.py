"""One good host: a home on this machine that fleet provisions, and what it then reads there."""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.tools import mempalace_tool, pi_tool

from fleet.demo.history import build_toolkit
from fleet.demo.palace import Palace, serving
from fleet.facts.model import Facts
from fleet.facts.saved import file_name, loads
from fleet.facts.shared import FOLDER, Shared
from fleet.secrets import Secret

TOKEN = "FLEET_BENCH_TOKEN"  # noqa: S105 - the name of an environment variable
SECRET = Secret("tok-EXAMPLE-bench-0a1b2c3d4e5f")
NAME = "bench-original"  # stands in no path and no other name, so that it can be replaced
SETTINGS = {"defaultProvider": "anthropic", "quietStartup": True}
_HEAD = """\
vars:
  toolkit: ~/mempalace-toolkit
  toolkit_source: {toolkit}
  toolkit_clone: {toolkit}
  palace_url: {url}
  palace_path: {palace}
  palace_token: !secret env:{token}
  pi_ssh_target: palace

groups:
  machines:
    systems: [mempalace-bridge, env, pi]
    require: [feed, stamp, mailbox, remote, stall, heal, schema]
    hosts:
"""


@dataclass(frozen=True, slots=True)
class Good:
    """What was read on the good host, and the inventory's text up to its first host."""

    facts: Facts
    inventory: str


def good(folder: Path) -> Good:
    """Provision a home, serve it a palace, and read what an audit reads; kept in the folder."""
    kept, head = folder / file_name(NAME), folder / "head.yml"
    if not (kept.exists() and head.exists()):
        _read(folder)
    shared = Shared(lambda name: (folder / FOLDER / name).read_bytes())
    return Good(loads(kept.read_text(), where=str(kept), shared=shared), head.read_text())


def environment() -> dict[str, str]:
    """Return an environment in which the fleet's one secret can be fetched."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "FLEET_"))}
    return {**kept, TOKEN: SECRET.reveal()}


def fleet(*words: str) -> list[str]:
    """Return a command line of the fleet beside this Python."""
    return [str(Path(sys.executable).with_name("fleet")), *words]


def _read(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    toolkit, home = folder / "toolkit", folder / "home"
    home.mkdir(parents=True)
    build_toolkit(toolkit)
    (home / ".profile").write_text(f'export PATH="{pi_tool().bin_dir}:/usr/bin:/bin"\n')
    settings = home / ".pi/agent/settings.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps(SETTINGS))
    program = mempalace_tool() / "mempalace"
    with serving(program, folder / "vault", folder / "palace.log", token=SECRET) as palace:
        head = _head(toolkit, palace)
        inventory = folder / "fleet.yml"
        inventory.write_text(f"{head}      {NAME}: {{{_said(NAME, f'local: {home}')}}}\n")
        named = ["-i", str(inventory)]
        _run(fleet("apply", *named, "--yes", "--no-diff"), environment())
        _run(fleet("facts", *named, "-o", str(folder)), environment())
    (folder / "head.yml").write_text(head)


def described(name: str, address: str, device: str) -> str:
    """Return a host's line of the inventory."""
    return f"      {name}: {{{_said(device, f'ssh: {address}')}}}\n"


def _said(device: str, address: str) -> str:
    return f"{address}, shell: bash -lc, vars: {{device: {device}}}"


def _head(toolkit: Path, palace: Palace) -> str:
    return _HEAD.format(toolkit=toolkit, url=palace.url, palace=palace.path, token=TOKEN)


def _run(words: Sequence[str], environ: Mapping[str, str]) -> None:
    ended = subprocess.run(words, env=environ, capture_output=True, text=True, check=False)
    if ended.returncode:
        raise SystemExit(f"{' '.join(words)}: {ended.stdout[-2000:]}{ended.stderr[-2000:]}")
