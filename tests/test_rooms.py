"""The pure rooms stay pure, and a command imports only what it needs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import fleet

ROOT = Path(fleet.__file__).parent
PURE = ("facts", "systems", "verifier", "installers", "inventory")
IMPURE = frozenset(
    {
        "docker",
        "paramiko",
        "fabric",
        "httpx",
        "httpcore",
        "click",
        "rich",
        "sqlite3",
        "subprocess",
        "socket",
        "requests",
        "urllib.request",
        "http.client",
    }
)
TOP = ("cli", "demo", "pytest_plugin", "testing", "watch")
ABOVE = {
    "pure": ("connectors", "probes", "reports", "engine", *TOP),
    "connectors": ("engine", "reports", *TOP),
    "probes": ("engine", "reports", *TOP),
    "reports": ("engine", "connectors", "probes", *TOP),
    "history": ("engine", "connectors", "probes", "reports", *TOP),
    "engine": TOP,
    "testing": ("engine", "reports", "probes", "cli", "demo", "pytest_plugin"),
    "cli": ("pytest_plugin", "testing"),
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {node.module} | {f"{node.module}.{alias.name}" for alias in node.names}
    return found


def files(*rooms: str) -> list[Path]:
    return [p for room in rooms for p in sorted((ROOT / room).rglob("*.py"))]


@pytest.mark.parametrize("path", files(*PURE), ids=lambda p: str(p.relative_to(ROOT)))
def test_a_pure_room_imports_no_input_or_output(path: Path) -> None:
    for name in imports(path):
        parts = name.split(".")
        assert not {".".join(parts[: i + 1]) for i in range(len(parts))} & IMPURE, name


@pytest.mark.parametrize("room", [*PURE, *list(ABOVE)[1:]])
def test_no_room_looks_upward(room: str) -> None:
    above = ABOVE["pure" if room in PURE else room]
    for path in files(room):
        for name in imports(path):
            parts = name.split(".")
            assert not (parts[0] == "fleet" and len(parts) > 1 and parts[1] in above), (path, name)


def loaded_by(code: str) -> set[str]:
    program = f"import sys\n{code}\nprint(*sorted(m.split('.')[0] for m in sys.modules))"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(ended.stdout.split())


def test_the_judging_rooms_load_no_connector_library() -> None:
    loaded = loaded_by("import fleet.verifier.judge, fleet.facts.model, fleet.systems.catalogue")
    assert not loaded & {"docker", "paramiko", "fabric", "httpx", "click", "rich", "sqlite3"}


def test_the_pytest_plugin_costs_nothing_where_it_is_not_wanted() -> None:
    loaded = loaded_by("import pytest, fleet.pytest_plugin.plugin")
    assert not loaded & {"pydantic", "yaml", "docker", "paramiko", "httpx", "click", "rich"}
    program = "import sys, pytest; import fleet.pytest_plugin.plugin; print(*sys.modules)"
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    ours = {name for name in ended.stdout.split() if name.split(".")[0] == "fleet"}
    assert ours == {"fleet", "fleet.pytest_plugin", "fleet.pytest_plugin.plugin"}
