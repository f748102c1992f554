"""Packages of each manager: installed where nothing shows that they are there."""

from collections.abc import Iterable

from fleet.facts.paths import State as Seen
from fleet.facts.request import PathQuestion, Read
from fleet.installers.decision import READABLE, Decision, unseen
from fleet.installers.items import Item, PackageBody
from fleet.installers.kinds.fit import (
    ground_questions,
    launched,
    needless,
    on_path,
    unable,
    will_do,
)
from fleet.installers.kinds.managers import (
    MANAGERS,
    about,
    listed,
    pi_settings,
    traces,
    version_in_trace,
)
from fleet.installers.ledger import Entry
from fleet.installers.model import Conflict, Run, Step
from fleet.installers.site import Site

SECONDS = 900


class PackageKind:
    """Brings one package; one that is there already is not fleet's, and stays on uninstall."""

    def questions(self, item: Item) -> Iterable[PathQuestion]:
        """Ask for what the package manager leaves behind where the package is installed."""
        body = _body(item)
        yield from (PathQuestion(path, Read.WHOLE) for path in traces(body))
        if body.manager == "pi":
            yield PathQuestion(pi_settings(body), Read.WHOLE)
        yield from ground_questions(body)

    def decide(self, item: Item, site: Site) -> Decision:
        """Install what is missing; never touch another's version unless told to adopt."""
        body = _body(item)
        entry = _entry(item, site)
        if body.manager == "pi":
            conflict = _unlisted(item, site)
            if conflict:
                return Decision(conflicts=(conflict,))
        installed = _installed(body, site)
        there = installed is not None and will_do(body, installed)
        if there or (entry is None and needless(body, site)):
            return Decision(entries=(entry,) if entry else ())
        if installed is not None and entry is None and not site.adopt:
            return Decision(conflicts=(_other(item, installed),))
        conflict = unable(item, body, site)
        if conflict:
            return Decision(conflicts=(conflict,))
        return _install(item, site, installed, entry)


def _entry(item: Item, site: Site) -> Entry | None:
    """Return what the ledger says of a package, also where another system had brought it."""
    body, entries = _body(item), site.ledger.entries
    own = next((e for e in entries if e.key == item.key), None)
    told = about(body, site)
    same = (told["manager"], told["package"])
    others = (e for e in entries if (e.about.get("manager"), e.about.get("package")) == same)
    return own or next(others, None)


def _body(item: Item) -> PackageBody:
    if not isinstance(item.body, PackageBody):
        raise TypeError(f"{item.key} is no package")
    return item.body


def _installed(body: PackageBody, site: Site) -> str | None:
    """Return the version that is there, empty where it is not told, None where nothing is there."""
    if body.manager == "pi":
        return _installed_by_pi(body, site)
    trace = _trace(body, site)
    if trace:
        return version_in_trace(body, site.content(site.seen(trace)))
    return on_path(body, site)


def _trace(body: PackageBody, site: Site) -> str:
    """Return the trace that is there; of several that of the copy which a launch finds."""
    found = launched(body, site)
    for path in sorted(traces(body), key=lambda path: site.absolute(path) not in found):
        fact = site.seen(path)
        if fact is not None and fact.state is Seen.PRESENT:
            return path
    return ""


def _installed_by_pi(body: PackageBody, site: Site) -> str | None:
    """Of pi both count: that its settings name the package, and that it lies where pi loads it."""
    settings = site.content(site.seen(pi_settings(body)))
    wanted = None if settings is None else listed(body, settings)
    fact = site.seen(traces(body)[0])
    if wanted is None or fact is None or fact.state is not Seen.PRESENT:
        return None
    # Of a checkout nothing tells the ref but the settings.
    return wanted if fact.kind == "directory" else version_in_trace(body, site.content(fact))


def _unlisted(item: Item, site: Site) -> Conflict | None:
    """Say why pi could not note a package in its settings; None where it could."""
    path = pi_settings(_body(item))
    fact = site.seen(path)
    if fact is not None and fact.state is Seen.ABSENT and not fact.blocked:
        return None
    shown = site.shown(site.absolute(path))
    content = site.content(fact)
    if content is None:
        what, hint = unseen(site, fact)
        return Conflict(key=item.key, path=path, what=f"{shown} {what}", hint=hint or READABLE)
    try:
        listed(_body(item), content)
    except (ValueError, RecursionError):
        return Conflict(
            key=item.key,
            path=path,
            what=f"{shown} does not parse: pi would install the package and not load it",
            hint="mend it, then plan again",
        )
    return None


def _other(item: Item, installed: str) -> Conflict:
    body = _body(item)
    wanted = body.version or f"{body.least} or later"
    return Conflict(
        key=item.key,
        path=body.package,
        what=f"{body.package} {installed} is installed, and fleet did not install it; "
        f"{wanted} is wanted",
        hint="install that version yourself, or use --adopt",
        adoptable=True,
    )


def _version(body: PackageBody) -> str:
    """Return what is asked for: an old one that is there would do where no version is named."""
    return body.version or (MANAGERS[body.manager].newest if body.least else "")


def _install(item: Item, site: Site, installed: str | None, entry: Entry | None) -> Decision:
    body = _body(item)
    manager = MANAGERS[body.manager]
    trace = _trace(body, site)
    told = about(body, site, trace)
    former = entry.about.get("former", "") if entry else installed or ""
    made = Entry(
        path=site.absolute(trace or traces(body)[0]),
        kind="package",
        system=entry.system if entry else item.system,
        artifact=entry.artifact if entry else item.artifact,
        about={**told, "former": former},
        when=site.facts.taken_at,
    )
    undo = manager.without(told) if installed is None else manager.words(told, installed)
    wanted = f"{body.package} {body.version}".rstrip()
    step = Step(
        key=item.key,
        change="create" if installed is None else "change",
        summary=f"install {wanted} with {body.manager}"
        + (f" in place of {installed}" if installed else ""),
        actions=(Run(words=manager.words(told, _version(body)), undo=undo, seconds=SECONDS),),
    )
    return Decision(steps=(step,), entries=(made,))
