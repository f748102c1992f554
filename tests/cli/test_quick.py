"""What needs no target imports nothing that reaches one, and starts at once."""

import resource
import subprocess
import sys

import pytest

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


@pytest.mark.parametrize("words", WORDS, ids=" ".join)
def test_no_heavy_import(words: tuple[str, ...]) -> None:
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, *words],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = set(result.stderr.split())
    assert "click" in loaded
    assert not loaded & set(HEAVY)


def test_help_needs_neither_rich_nor_pydantic() -> None:
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, "--help"],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert not set(result.stderr.split()) & {"rich", "pydantic", "yaml"}


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
