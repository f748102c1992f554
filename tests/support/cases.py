"""Cases of links and content: built as a tree, audited as an unpacked root file system."""

import subprocess
from dataclasses import replace
from datetime import date
from pathlib import Path

from support.facts import target
from support.places import CASES

from fleet.connectors.registry import connect
from fleet.inventory.address import parse_address
from fleet.systems.ask import request_for
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.judge import Expectations, judge
from fleet.verifier.model import Finding
from fleet.verifier.toolkit import Toolkit


def built(case: str, root: Path, *words: str) -> Path:
    subprocess.run(["sh", str(CASES / case / "make.sh"), str(root), *words], check=True)
    return with_root_user(root)


def with_root_user(root: Path) -> Path:
    """Give a tree the file that says where its root user lives."""
    (root / "etc").mkdir(parents=True, exist_ok=True)
    (root / "etc/passwd").write_text("root:x:0:0::/root:/bin/sh\n")
    return root


def audited(root: Path, *, history: Toolkit | None = None, toolkit: str = "") -> dict[str, Finding]:
    """Audit the bridge in an unpacked root file system."""
    catalogue = load_catalogue()
    where = target("mempalace-bridge", launches=[], toolkit=toolkit)
    where = replace(where, address=parse_address(f"rootfs:{root}"))
    resolved = resolve([catalogue.system("mempalace-bridge")], where)
    connector = connect(where, timeout=20)
    facts = connector.collect(request_for(where, resolved, nonce="n0nce"))
    connector.close()
    found = judge(
        where, resolved, facts, catalogue, Expectations(today=date(2026, 12, 1), toolkit=history)
    )
    return {f.gate: f for f in found}
