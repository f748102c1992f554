"""Packages of uv, npm and apt: installed where nothing shows that they are there."""

import json
import posixpath
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass

from fleet.facts.model import PathFact
from fleet.facts.model import State as Seen
from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import Decision
from fleet.installers.items import Item, PackageBody
from fleet.installers.ledger import Entry
from fleet.installers.model import Conflict, Run, Step
from fleet.installers.site import Site

SECONDS = 900


@dataclass(frozen=True, slots=True)
class Manager:
    """How one package manager is spoken to. ``pin`` joins a package and its version."""

    pin: str
    install: tuple[str, ...]
    remove: tuple[str, ...]

    def words(self, package: str, version: str) -> tuple[str, ...]:
        """Return the command that installs a package, at a version or any."""
        return (*self.install, f"{package}{self.pin}{version}" if version else package)


MANAGERS = {
    "uv": Manager("==", ("uv", "tool", "install", "--quiet"), ("uv", "tool", "uninstall")),
    "npm": Manager(
        "@",
        ("npm", "install", "--global", "--no-fund", "--no-audit", "--silent"),
        ("npm", "uninstall", "--global", "--silent"),
    ),
    "apt": Manager(
        "=",
        ("apt-get", "install", "--yes", "--quiet", "--no-install-recommends"),
        ("apt-get", "remove", "--yes", "--quiet"),
    ),
}


class PackageKind:
    """Brings one package; one that is there already is not fleet's, and stays on uninstall."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for what the package manager leaves behind where the package is installed."""
        return (PathQuestion(path, Read.WHOLE) for path in _traces(_body(item)))

    def decide(self, item: Item, site: Site) -> Decision:
        """Install what is missing; never touch another's version unless told to adopt."""
        body = _body(item)
        entry = next((e for e in site.ledger.entries if e.key == item.key), None)
        installed = _installed(body, site)
        if installed is not None and (not body.version or installed in (body.version, "")):
            return Decision(entries=(entry,) if entry else ())
        if installed is not None and entry is None and not site.adopt:
            return Decision(conflicts=(_other(item, installed),))
        return _install(item, site, installed, entry)


def _body(item: Item) -> PackageBody:
    if not isinstance(item.body, PackageBody):
        raise TypeError(f"{item.key} is no package")
    return item.body


def _traces(body: PackageBody) -> tuple[str, ...]:
    if body.manager == "uv":
        return (f"~/.local/share/uv/tools/{body.package}/uv-receipt.toml",)
    if body.manager == "apt":
        return (f"/var/lib/dpkg/info/{body.package}.list",)
    return tuple(
        posixpath.join(root, "node_modules", body.package, "package.json")
        for root in ("/usr/local/lib", "/usr/lib", "~/.local/lib", "~/.npm-global/lib")
    )


def _installed(body: PackageBody, site: Site) -> str | None:
    """Return the version that is there, empty where it is not told, None where nothing is there."""
    for path in _traces(body):
        fact = site.seen(path)
        if fact is not None and fact.state is Seen.PRESENT:
            return _version(body, site.content(fact))
    for launch in site.facts.launches.values():
        command = launch.commands.get(body.command)
        if command is not None and command.file is not None:
            return _manifest_version(site, command.manifest)
    return None


def _version(body: PackageBody, content: bytes | None) -> str:
    try:
        text = (content or b"").decode()
        if body.manager == "npm":
            return _text(json.loads(text), "version")
        if body.manager == "uv":
            return _pinned(body.package, tomllib.loads(text))
    except (ValueError, RecursionError):
        return ""
    return ""


def _pinned(package: str, receipt: dict[str, object]) -> str:
    tool = receipt.get("tool")
    wanted = tool.get("requirements") if isinstance(tool, dict) else None
    for requirement in wanted if isinstance(wanted, list) else ():
        if isinstance(requirement, dict) and requirement.get("name") == package:
            return _text(requirement, "specifier").removeprefix("==")
    return ""


def _manifest_version(site: Site, manifest: PathFact | None) -> str:
    try:
        return _text(json.loads((site.content(manifest) or b"").decode()), "version")
    except (ValueError, RecursionError):
        return ""


def _text(mapping: object, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""


def _other(item: Item, installed: str) -> Conflict:
    body = _body(item)
    return Conflict(
        key=item.key,
        path=body.package,
        what=f"{body.package} {installed} is installed, and fleet did not install it; "
        f"{body.version} is wanted",
        hint="install that version yourself, or use --adopt",
        adoptable=True,
    )


def _install(item: Item, site: Site, installed: str | None, entry: Entry | None) -> Decision:
    body = _body(item)
    manager = MANAGERS[body.manager]
    if installed is None:
        undo = (*manager.remove, body.package)
    else:
        undo = manager.words(body.package, installed)
    made = Entry(
        path=site.absolute(_traces(body)[0]),
        kind="package",
        system=item.system,
        artifact=item.artifact,
        about={
            "manager": body.manager,
            "package": body.package,
            "version": body.version,
            "former": entry.about.get("former", "") if entry else installed or "",
        },
        when=site.facts.taken_at,
    )
    wanted = f"{body.package} {body.version}".rstrip()
    step = Step(
        key=item.key,
        change="create" if installed is None else "change",
        summary=f"install {wanted} with {body.manager}"
        + (f" in place of {installed}" if installed else ""),
        actions=(Run(words=manager.words(body.package, body.version), undo=undo, seconds=SECONDS),),
    )
    return Decision(steps=(step,), entries=(made,))
