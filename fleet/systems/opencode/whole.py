"""opencode as a whole: the program, the form of its files, its project, its plugins."""

import posixpath

from packaging.version import Version

from fleet.facts.paths import Entry, State
from fleet.facts.running import LaunchFact
from fleet.systems.opencode.entries import faults
from fleet.systems.opencode.files import OF_PROJECT, configuration
from fleet.verifier.launches import over_launches, unseen_launches
from fleet.verifier.look import Look
from fleet.verifier.manifests import version_told
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import hidden
from fleet.verifier.registrations import lacks_program

#: Known to add a project's servers to the user's: measured. Of 1.15 the opposite is reported.
MERGES = Version("1.18")
#: Keeps its servers under another key, which is not known here.
OTHER_FORM = Version("2")
_SUFFIXES = (".ts", ".js")


def program(look: Look) -> Judgement:
    """Every launch finds opencode."""
    versions = _versions(look)
    return over_launches(
        look,
        lambda launch: lacks_program(look, launch, "opencode"),
        good=f"opencode {', '.join(map(str, versions))}" if versions else "opencode is there",
        bad="opencode is not there",
    )


def _versions(look: Look) -> list[Version]:
    """Return the versions that launches find, each once; one that no package tells is left out."""
    found = [_version(look, launch) for launch in look.launches()]
    return sorted({version for version in found if version})


def _version(look: Look, launch: LaunchFact) -> Version | None:
    command = launch.commands.get("opencode")
    version = version_told(look.content(command.manifest if command else None))
    return Version(version) if version else None


def config(look: Look) -> Judgement:
    """Every file parses, and every server in it is in opencode's form."""
    found = configuration(look)
    newer = [version for version in _versions(look) if version >= OTHER_FORM]
    if newer:
        return not_checked(f"the form of opencode {newer[0]} is not known here")
    wrong = list(found.broken)
    for file in found.files:
        for name, fields in file.servers.items():
            wrong += [f"{file.path}: mcp.{name}: {fault}" for fault in faults(fields)]
    if wrong:
        return failed("opencode does not take its configuration as it is meant", *wrong)
    if found.unread:
        return not_checked(f"not everything could be seen: {found.unread[0]}", *found.unread)
    if not found.files:
        return passed("there is no configuration yet")
    return passed("opencode takes every file as it is", *(file.path for file in found.files))


def project(look: Look) -> Judgement:
    """A project's servers stand beside the user's, or name the palace themselves."""
    folder = look.text("project_dir")
    if not folder:
        return not_applicable("no project folder is declared (`project_dir`)")
    found = configuration(look)
    name = look.text("opencode_server")
    looked = f"looked at as in {folder}"
    unseen = [*found.unread, *found.broken]
    if unseen:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    named = [file.path for file in found.naming(name) if file.name not in OF_PROJECT]
    own = [f for f in found.files if f.name in OF_PROJECT and f.servers]
    if not own or any(name in file.servers for file in own) or not named:
        return passed("no file of the project hides the palace", looked)
    versions = _versions(look)
    told = [f"{file.path} names servers, {name} is in {named[-1]}" for file in own]
    if versions and not unseen_launches(look) and all(v >= MERGES for v in versions):
        shown = ", ".join(map(str, versions))
        return passed(f"opencode {shown} adds the project's servers to the user's", *told, looked)
    blind = unseen_launches(look)
    if blind and not any(version < MERGES for version in versions):
        return not_checked(
            f"which opencode is launched could not be seen: {blind[0]}", *told, looked
        )
    which = f"opencode {versions[0]}" if versions else "this opencode, whose version is not known,"
    return warned(f"{which} may show the project's servers only", *told, looked)


def plugins(look: Look) -> Judgement:
    """Every plugin resolves, and the palace's tools come from one place."""
    found: list[tuple[str, Entry]] = []
    for artifact in ("plugins", "plugin"):
        fact = look.artifact(artifact)
        if fact is None or fact.state is State.ABSENT:
            continue
        blind = hidden(fact)
        if blind:
            return blind
        entries = [e for e in fact.entries or () if e.name.endswith(_SUFFIXES)]
        found += [(posixpath.join(fact.path, entry.name), entry) for entry in entries]
    wrong = [f"{path} -> {e.target}: it leads nowhere" for path, e in found if e.dangling]
    if wrong:
        return failed("a plugin leads nowhere", *wrong)
    registered = bool(configuration(look).naming(look.text("opencode_server")))
    odd = [path for path, entry in found if "mempalace" in entry.name.lower()]
    if odd and registered:
        return warned("a plugin of the palace stands beside its registration", *odd)
    if not found:
        return not_applicable("there is no plugin in opencode's folder")
    return passed("every plugin leads somewhere", *(path for path, _ in found))
