"""Whether a package is wanted at all, whether what is there will do, and whether it can be brought.

What would fail on the target for want of rights or of a package manager is a conflict of the plan.
What an earlier artifact of the same plan brings (node, npm, uv) is no want.
"""

import json
import re

from packaging.version import InvalidVersion, Version

from fleet.facts.paths import State as Seen
from fleet.facts.request import PathQuestion, Read
from fleet.facts.running import CommandFact, LaunchFact
from fleet.installers.items import Item, PackageBody
from fleet.installers.model import Conflict
from fleet.installers.site import Site

DPKG = "/var/lib/dpkg/status"


def ground_questions(body: PackageBody) -> tuple[PathQuestion, ...]:
    """Return what tells whether a package's manager can do its work."""
    return (PathQuestion(DPKG, Read.STAT),) if body.manager == "apt" else ()


def needless(body: PackageBody, site: Site) -> bool:
    """Tell whether every launch finds one of the programs that make a package needless.

    So is such a package of apt where there is no apt: it is a means, and others bring it along.
    """
    if not body.unless:
        return False
    dpkg = site.seen(DPKG)
    if body.manager == "apt" and dpkg is not None and dpkg.state is Seen.ABSENT:
        return True
    launches = _answered(site)
    return bool(launches) and all(
        any(_there(launch.commands.get(name)) for name in body.unless) for launch in launches
    )


def will_do(body: PackageBody, version: str) -> bool:
    """Tell whether an installed version is one that is wanted; one that is not told will do."""
    if not body.least:
        return not body.version or version in (body.version, "")
    found = _version(version)
    return found is None or found >= Version(body.least)


def launched(body: PackageBody, site: Site) -> frozenset[str]:
    """Return the manifests of the packages whose program launches find."""
    found = [launch.commands.get(body.command) for launch in _answered(site)]
    manifests = [command.manifest for command in found if command and command.manifest]
    return frozenset(path for fact in manifests for path in (fact.path, fact.final) if path)


def on_path(body: PackageBody, site: Site) -> str | None:
    """Return the version of the program that launches find, empty where none is told.

    None where no launch finds it. Where an oldest version is wanted, every launch that answered
    has to find one that will do; otherwise it is as good as not there.
    """
    launches = _answered(site)
    found = [launch.commands.get(body.command) for launch in launches]
    told = [_told(site, command) if _there(command) else None for command in found]
    if body.least:
        fit = [version for version in told if version is not None and will_do(body, version)]
        return fit[0] if fit and len(fit) == len(told) else None
    return next((version for version in told if version is not None), None)


def unable(item: Item, body: PackageBody, site: Site) -> Conflict | None:
    """Return why a package cannot be brought here, None where nothing is known against it."""
    if body.manager != "apt":
        return None
    fact, uid = site.seen(DPKG), site.facts.platform.uid
    who = site.facts.platform.user or f"uid {uid}"
    if fact is not None and fact.state is Seen.ABSENT:
        what = f"{body.package} is not there, and there is no apt here to install it with"
        return _conflict(item, what, f"install {body.package} yourself, then plan again")
    if uid not in (0, None) and not body.sudo:
        what = f"{body.package} is not there; apt installs it as root only, and fleet is {who} here"
        hint = f"have root install {body.package}, or set apt_sudo where sudo asks no password"
        return _conflict(item, what, hint)
    return None


def _conflict(item: Item, what: str, hint: str) -> Conflict:
    return Conflict(key=item.key, path=_name(item), what=what, hint=hint)


def _name(item: Item) -> str:
    return item.body.package if isinstance(item.body, PackageBody) else item.path


def _answered(site: Site) -> list[LaunchFact]:
    return [launch for launch in site.facts.launches.values() if launch.state == "ok"]


def _there(command: CommandFact | None) -> bool:
    return command is not None and command.file is not None


def _told(site: Site, command: CommandFact | None) -> str:
    """Return what a program printed as its version, or what the package it is of says."""
    if command is None:
        return ""
    if command.version:
        return command.version
    try:
        manifest = json.loads((site.content(command.manifest) or b"").decode())
    except (ValueError, RecursionError):
        return ""
    version = manifest.get("version") if isinstance(manifest, dict) else None
    return version if isinstance(version, str) else ""


def _version(text: str) -> Version | None:
    found = re.search(r"\d+(?:\.\d+)*", text)
    try:
        return Version(found[0]) if found else None
    except InvalidVersion:
        return None
