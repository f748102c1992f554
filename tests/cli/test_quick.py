"""What needs no target imports nothing that reaches one, and starts at once."""

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from fleet.data import shipped
from fleet.demo.bake import bake
from fleet.demo.history import BRIDGE

LONGEST = 0.4  # seconds; usually 0.1
HEAVY = (
    "paramiko",
    "docker",
    "httpx",
    "fabric",
    "invoke",
    "tree_sitter",
    "requests",
    "cryptography",
)
WORDS = (
    ("--help",),
    ("--version",),
    ("audit", "--help"),
    ("gates",),
    ("explain", "bridge.feed"),
    ("inventory", "--help"),
    ("inventory", "schema"),
    ("completion", "bash"),
)
SCRIPT = """
import sys
from fleet.cli.main import main
try:
    main(sys.argv[1:])
except SystemExit as end:
    assert not end.code, end.code
print(*sorted({name.partition(".")[0] for name in sys.modules}), sep="\\n", file=sys.stderr)
"""

MODULES = SCRIPT.replace('{name.partition(".")[0] for name in sys.modules}', "sys.modules")
#: What a check of an image has no use for: what changes a target, what it is asked live, and what
#: only containers, hosts and an inventory have.
NEEDLESS = (
    "fleet.installers",
    "fleet.probes",
    "fleet.connectors.ssh",
    "fleet.connectors.container",
    "fleet.connectors.oci.remote",
    "fleet.connectors.engine_http",
    "fleet.history.compare",
    "fleet.verifier.compose.",
    "fleet.verifier.composed",
    "fleet.inventory.draft",
    "fleet.reports.document",
    "fleet.demo",
    "rich.console",
    "pathspec",
    "jsonschema",
    "asyncio",
)


def loaded_by(script: str, *words: str, folder: Path | None = None) -> set[str]:
    """Return the modules that a command line imports, as the script tells them."""
    result = subprocess.run(
        [sys.executable, "-c", script, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        cwd=folder,
    )
    return set(result.stderr.split())


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_no_heavy_import(words: tuple[str, ...]) -> None:
    loaded = loaded_by(SCRIPT, *words)
    assert "click" in loaded
    assert not loaded & set(HEAVY)


def test_help_needs_neither_rich_nor_pydantic() -> None:
    assert not loaded_by(SCRIPT, "--help") & {"rich", "pydantic", "yaml"}


def test_a_check_of_an_image_imports_what_it_needs_and_no_more(tmp_path: Path) -> None:
    bake(tmp_path / "image.tar", (shipped("toolkit") / BRIDGE).read_bytes(), date="2026-12-01")
    words = ["check", "oci-archive:image.tar", "--system", "mempalace-bridge", "--require", "feed"]
    loaded = loaded_by(MODULES, *words, folder=tmp_path)
    assert "fleet.connectors.oci" in loaded
    assert not {name.partition(".")[0] for name in loaded} & (set(HEAVY) - {"tree_sitter"})
    assert not {name for name in loaded if name.startswith(NEEDLESS)}


def test_a_look_at_a_host_imports_nothing_that_plans(tmp_path: Path) -> None:
    file = tmp_path / "fleet.yml"
    file.write_text(
        "vars: {palace_url: https://palace.example.net/mcp, device: here}\n"
        f"hosts: {{here: {{local: {tmp_path}, systems: [env]}}}}\n"
    )
    words = ["audit", "-i", "fleet.yml"]
    script = MODULES.replace("not end.code", "end.code != 1")
    loaded = loaded_by(script, *words, folder=tmp_path)
    assert "fleet.engine.controller_files" in loaded
    assert not {name for name in loaded if name.startswith("fleet.installers")}


def test_what_was_made_is_not_searched_for_garbage_as_it_ends() -> None:
    last = "import atexit, gc; atexit.register(lambda: print('frozen', gc.get_freeze_count()))\n"
    program = f"{last}from fleet.cli.main import main; main(['--version'])"
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=60
    )
    word, count = result.stdout.splitlines()[-1].split()
    assert word == "frozen"
    assert int(count) > 1000


def test_it_starts_at_once() -> None:
    """Count the processor's time: it hardly depends on what else the machine does."""

    def spent() -> float:
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        return used.ru_utime + used.ru_stime

    taken = []
    for _ in range(5):
        before = spent()
        subprocess.run(
            [sys.executable, "-m", "fleet", "--help"], capture_output=True, check=True, timeout=60
        )
        taken.append(spent() - before)
    assert min(taken) < LONGEST
