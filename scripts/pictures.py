#!/usr/bin/env python3
"""Take the pictures of the page for the documentation: ``scripts/pictures.py [DIR]``.

The demo's fleet is audited as it is set up, provisioned, broken and mended, and the page of its
last run is looked at by Chromium: as it opens, with a story in dark colours, and on a phone. The
scratch folder is called ~/demo in it. Needs the network the first time, as the demo does.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from playwright.sync_api import sync_playwright

from fleet.demo.history import BRIDGE
from fleet.demo.palace import palace_program, serving
from fleet.demo.stage import TOKEN, Stage

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DOCS = Path(__file__).resolve().parents[1] / "docs"
ENDS = (0, 2)
CALM = 4  # audits between which nothing happens
NARROW = 500  # pixels; a phone's
ARGUMENTS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking")


class Fleet:
    """Runs ``fleet`` on the demo's stage, with a history of its own."""

    def __init__(self, stage: Stage, token: str) -> None:
        self._environment = {
            **os.environ,
            TOKEN: token,
            "FLEET_INVENTORY": str(stage.inventory),
            "FLEET_HISTORY": str(stage.folder / "history.db"),
        }

    def __call__(self, *words: str) -> None:
        """Run a command.

        Raises:
            SystemExit: it could not do its job.
        """
        ended = subprocess.run(
            [sys.executable, "-m", "fleet", *words],
            capture_output=True,
            text=True,
            env=self._environment,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        if ended.returncode not in ENDS:
            raise SystemExit(ended.stdout + ended.stderr)


def recorded() -> str:
    """Let some time pass for the demo's fleet, and return the page of its last run."""
    with tempfile.TemporaryDirectory(prefix="fleet-page-") as name:
        stage = Stage(Path(name))
        stage.build()
        with serving(palace_program(), stage.home("vault"), Path(name) / "palace.log") as palace:
            stage.write_inventory(palace)
            fleet = Fleet(stage, palace.token.reveal())
            fleet("audit")
            fleet("provision", "--limit", "machines", "--yes")
            for _ in range(CALM):
                fleet("audit")
            bridge = stage.home("desktop") / "mempalace-toolkit" / BRIDGE
            bridge.unlink()
            for _ in range(CALM // 2):
                fleet("audit")
            page = Path(name) / "page.html"
            fleet("report", "last", "--format", "html", "-o", str(page))
        return page.read_text(encoding="utf-8").replace(name, "~/demo")


def pictured(browser: "Browser", page: Path, docs: Path) -> None:
    """Take the three pictures."""
    for name, width, height, scheme, cell in (
        ("page", 1180, 760, "light", ""),
        ("page-story", 1000, 720, "dark", "desktop/bridge.placed"),
        ("page-phone", 380, 720, "light", ""),
    ):
        context = browser.new_context(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            has_touch=width < NARROW,
            is_mobile=width < NARROW,
        )
        opened = context.new_page()
        opened.goto(page.as_uri() + (f"#story={cell}" if cell else ""))
        opened.screenshot(path=docs / f"{name}.png")
        context.close()


def main() -> None:
    """Write the pictures."""
    docs = Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("there is no chromium here")
    with tempfile.TemporaryDirectory(prefix="fleet-page-") as name, sync_playwright() as playwright:
        page = Path(name) / "page.html"
        page.write_text(recorded(), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(ARGUMENTS))
        pictured(browser, page, docs)
        browser.close()


if __name__ == "__main__":
    main()
