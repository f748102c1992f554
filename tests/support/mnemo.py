"""pi-mnemo as tests place it: a package in its stead, and canned worlds of it."""

from __future__ import annotations

import shutil
from pathlib import Path

from support.facts import World
from support.places import CASES

PACKAGE = CASES / "mnemo" / "package"
NAME = "@qltk/pi-mnemo"
AGENT = "~/.pi/agent"
SETTINGS = f"{AGENT}/settings.json"
NPM = f"{AGENT}/npm/node_modules/{NAME}"
GIT = f"{AGENT}/git/gitee.com/liubola/pi-mnemo"
LINKED = f"{AGENT}/extensions/pi-mnemo"
PI = b'{"name": "@earendil-works/pi-coding-agent", "version": "1.6.0"}'
MANIFEST = (PACKAGE / "package.json").read_bytes()


def files() -> dict[str, str]:
    """Return the package's files by their path."""
    found = [path for path in PACKAGE.rglob("*") if path.is_file()]
    return {str(path.relative_to(PACKAGE)): path.read_text() for path in found}


def copied(folder: Path) -> Path:
    """Copy the package to a folder that is not there yet."""
    shutil.copytree(PACKAGE, folder)
    return folder


def package(world: World, at: str, manifest: bytes = MANIFEST) -> World:
    """Let the package lie at a place."""
    world.file(f"{at}/package.json", manifest).file(f"{at}/index.ts", b"//")
    for name in ("inject", "extract", "dream"):
        world.file(f"{at}/prompts/{name}.md", b"words")
    return world


def installed(manifest: bytes = MANIFEST, settings: bytes | None = None) -> World:
    """Return a world in which pi has installed the package from npm."""
    world = package(World(), NPM, manifest)
    named = b'{"packages": ["npm:@qltk/pi-mnemo@0.1.0"]}' if settings is None else settings
    return world.file(SETTINGS, named).launch(manifests={"pi": PI})
