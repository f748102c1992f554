"""How each package manager is spoken to, and what it leaves where a package is installed."""

import json
import posixpath
import tomllib
from collections.abc import Callable, Mapping
from typing import TypeAlias

from fleet.dataclass import dataclass
from fleet.facts.paths import State
from fleet.installers.items import PackageBody
from fleet.installers.site import Site
from fleet.verifier.pi_sources import source_of, sources

#: What the ledger keeps of a package: enough to remove it without its description.
About: TypeAlias = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Manager:
    """How one package manager is spoken to. ``pin`` joins a package and its version.

    ``newest`` is the version that means the newest one, where what is there would do without it;
    ``install`` and ``remove`` return the words before the package, from what the ledger keeps.
    """

    pin: str
    install: Callable[[About], tuple[str, ...]]
    remove: Callable[[About], tuple[str, ...]]
    newest: str = ""

    def words(self, about: About, version: str) -> tuple[str, ...]:
        """Return the command that installs a package, at a version or any."""
        package = about.get("package", "")
        return (*self.install(about), f"{package}{self.pin}{version}" if version else package)

    def without(self, about: About) -> tuple[str, ...]:
        """Return the command that takes a package away."""
        return (*self.remove(about), about.get("package", ""))


def _plain(*words: str) -> Callable[[About], tuple[str, ...]]:
    return lambda _about: words


def _npm(*words: str) -> Callable[[About], tuple[str, ...]]:
    return lambda about: ("npm_in", about.get("folder", ""), *words)


def _apt(*words: str) -> Callable[[About], tuple[str, ...]]:
    return lambda about: ("apt_as", about.get("sudo", ""), *words)


def _pi(verb: str) -> Callable[[About], tuple[str, ...]]:
    return lambda about: ("pi_in", about.get("folder", ""), about.get("programs", ""), verb)


MANAGERS = {
    "uv": Manager(
        "==", _plain("uv", "tool", "install", "--quiet"), _plain("uv", "tool", "uninstall")
    ),
    "npm": Manager(
        "@",
        _npm("install", "--global", "--no-fund", "--no-audit", "--silent"),
        _npm("uninstall", "--global", "--silent"),
        newest="latest",
    ),
    "apt": Manager(
        "=",
        _apt("install", "--yes", "--quiet", "--no-install-recommends"),
        _apt("remove", "--yes", "--quiet"),
    ),
    "pipx": Manager("==", _plain("pipx_run", "install"), _plain("pipx_run", "uninstall")),
    "pi": Manager("@", _pi("install"), _pi("remove")),
}


def about(body: PackageBody, site: Site, trace: str = "") -> dict[str, str]:
    """Return what the ledger keeps of a package.

    Where a trace tells that npm put it below a folder, it is replaced there: a launch may have an
    npm with a folder of its own.
    """
    told = {"manager": body.manager, "package": body.package, "version": body.version}
    if body.manager == "pi":
        told["package"] = pi_source(body)
        told["folder"] = site.absolute(body.folder)
        told["programs"] = _programs(site)
    elif body.folder:
        told["folder"] = site.absolute(body.folder)
    elif body.manager == "npm" and trace:
        told["folder"] = _prefix(site.absolute(trace))
    if body.sudo and site.facts.platform.uid != 0:
        told["sudo"] = "sudo"
    return told


def _prefix(trace: str) -> str:
    """Return the folder below which ``lib/node_modules`` holds the package of a trace."""
    return trace.partition("/lib/node_modules/")[0]


def pi_source(body: PackageBody) -> str:
    """Return a package as pi spells it, without a version: a bare name is one of npm."""
    return body.package if source_of(body.package).kind == "git" else f"npm:{body.package}"


def _programs(site: Site) -> str:
    """Return the folders of pi and node as a launch finds them: they may be on its PATH only."""
    for launch in site.facts.launches.values():
        found = [launch.commands.get(name) for name in ("pi", "node")]
        files = [command.file.absolute for command in found if command and command.file]
        if found[0] and found[0].file and found[0].file.state is State.PRESENT:
            return ":".join(dict.fromkeys(posixpath.dirname(file) for file in files))
    return ""


_NPM = ("/usr/local/lib", "/usr/lib", "~/.local/lib", "~/.npm-global/lib")
_PIPX = ("~/.local/share/pipx", "~/.local/pipx")


def traces(body: PackageBody) -> tuple[str, ...]:
    """Return the files of which one is there where a package is installed."""
    if body.manager == "uv":
        return (f"~/.local/share/uv/tools/{body.package}/uv-receipt.toml",)
    if body.manager == "apt":
        # Of a package that was removed, `.list` may stay.
        return (f"/var/lib/dpkg/info/{body.package}.md5sums",)
    if body.manager == "pipx":
        return tuple(f"{root}/venvs/{body.package}/pipx_metadata.json" for root in _PIPX)
    if body.manager == "pi":
        source = source_of(pi_source(body))
        place = source.place(body.folder)
        return (place if source.kind == "git" else f"{place}/package.json",)
    own = (posixpath.join(body.folder, "lib"),) if body.folder else ()
    return tuple(
        posixpath.join(root, "node_modules", body.package, "package.json")
        for root in dict.fromkeys((*own, *_NPM))
    )


def version_in_trace(body: PackageBody, content: bytes | None) -> str:
    """Return the version that a trace tells; empty where it tells none."""
    try:
        text = (content or b"").decode()
        if body.manager in ("npm", "pi"):
            return _text(json.loads(text), "version")
        if body.manager == "uv":
            return _pinned(body.package, tomllib.loads(text))
        if body.manager == "pipx":
            metadata = json.loads(text)
            main = metadata.get("main_package") if isinstance(metadata, dict) else None
            return _text(main, "package_version")
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


def _text(mapping: object, key: str) -> str:
    value = mapping.get(key) if isinstance(mapping, dict) else None
    return value if isinstance(value, str) else ""


def pi_settings(body: PackageBody) -> str:
    """Return where pi keeps the list of its packages."""
    return posixpath.join(body.folder, "settings.json")


def listed(body: PackageBody, content: bytes) -> str | None:
    """Return the version that pi's settings ask for of a package, None where they do not name it.

    Raises:
        ValueError: they do not parse. pi then installs without noting it, and says that all is
            well.
    """
    settings = json.loads(content)
    wanted = source_of(pi_source(body))
    for text in sources(settings, "packages") if isinstance(settings, dict) else ():
        found = source_of(text)
        if (found.kind, found.name) == (wanted.kind, wanted.name):
            return found.version
    return None
