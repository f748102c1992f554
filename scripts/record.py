#!/usr/bin/env python3
"""Record a real report for the README: ``scripts/record.py [DIR]`` writes report.svg and .txt.

The demo's stage is set, its fleet is audited with colours, and what the program printed is drawn
as it is, but for two things: the scratch folder is called ~/demo, and the advisory findings are
cut, with a line that says so. Needs the network the first time, as the demo does.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

from fleet.demo.palace import palace_program, serving
from fleet.demo.stage import TOKEN, Stage

DOCS = Path(__file__).resolve().parents[1] / "docs"
WIDTH = 88
SHOWN = ("audit",)
CUT_FROM, CUT_TO = "Advisory: ", "Not checked, "
AUDITED = 2
NO_FONT = "font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace;"


def recorded() -> str:
    """Audit the demo's fleet and return what was printed, with its colours."""
    with tempfile.TemporaryDirectory(prefix="fleet-record-") as name:
        stage = Stage(Path(name))
        stage.build()
        with serving(palace_program(), stage.home("vault"), Path(name) / "palace.log") as palace:
            stage.flip_by_half(palace)
            stage.write_inventory(palace)
            told = _fleet(stage, palace.token.reveal(), "provision", "--limit", "laptop", "--yes")
            if told.returncode:
                raise SystemExit(told.stdout + told.stderr)
            told = _fleet(stage, palace.token.reveal(), *SHOWN)
        if told.returncode != AUDITED:
            raise SystemExit(told.stdout + told.stderr)
        return told.stdout.replace(name, "~/demo")


def _fleet(stage: Stage, token: str, *words: str) -> "subprocess.CompletedProcess[str]":
    environment = {
        **os.environ,
        TOKEN: token,
        "FLEET_INVENTORY": str(stage.inventory),
        "COLUMNS": str(WIDTH),
        "FORCE_COLOR": "1",
    }
    environment.pop("NO_COLOR", None)
    return subprocess.run(
        [sys.executable, "-m", "fleet", *words],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def main() -> None:
    """Write both forms of the report."""
    docs = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    text = _cut(Text.from_ansi(f"$ fleet {' '.join(SHOWN)}\n{recorded()}".rstrip()))
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=WIDTH, file=nowhere, force_terminal=True)
        console.print(text)
    drawn = console.export_svg(title="fleet audit", theme=MONOKAI, clear=False, unique_id="report")
    (docs / "report.svg").write_text(_without_web_fonts(drawn), encoding="utf-8")
    plain = "\n".join(line.rstrip() for line in text.plain.splitlines())
    (docs / "report.txt").write_text(plain + "\n", encoding="utf-8")


def _cut(text: Text) -> Text:
    """Leave out the advisory findings, and say so in their place."""
    lines = list(text.split())
    first, last = (
        next(at for at, line in enumerate(lines) if line.plain.startswith(head))
        for head in (CUT_FROM, CUT_TO)
    )
    findings = sum(line.plain[:1] not in (" ", "") for line in lines[first + 1 : last])
    mark = Text(f"[cut from this recording: {findings} advisory findings]", style="dim italic")
    return Text("\n").join([*lines[:first], mark, Text(), *lines[last:]])


def _without_web_fonts(svg: str) -> str:
    """Let the reader's own fixed-width font be used: a picture in a page may load nothing."""
    head, *faces = svg.split("@font-face")
    rest = faces[-1].partition("}")[2] if faces else ""
    return (head + rest).replace("font-family: Fira Code, monospace;", NO_FONT)


if __name__ == "__main__":
    main()
