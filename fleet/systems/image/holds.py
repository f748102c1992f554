"""What was looked for in an image's files, and what hides it later."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping

from fleet.facts.paths import PathFact, State
from fleet.facts.text import printable
from fleet.inventory.model import Kind
from fleet.systems.image.baked import NO_IMAGE
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)

_HIDDEN = (State.UNREADABLE, State.UNSUPPORTED)
_MOST = 12


def artifacts(look: Look) -> Judgement:
    """Every path that the target's systems ask for was looked for in the image's own files."""
    own = {artifact.path for artifact in look.resolved.artifacts.values()}
    asked = [fact for path, fact in look.facts.paths.items() if path not in own]
    if not asked:
        return not_applicable("no system is named that lays anything down in it")
    hidden = [fact for fact in asked if fact.state in _HIDDEN]
    there = [fact for fact in asked if fact.state is State.PRESENT]
    home = printable(f"`~` is {look.facts.platform.home}, by {look.facts.platform.rule}")
    flaws = look.facts.unseen.get("layers", "")
    odd = [printable(f"a layer holds what means nothing: {flaws}")] if flaws else []
    if not there and not hidden:
        what = f"nothing of what its systems ask for is in it: {len(asked)} paths"
        return failed(what, home, *odd)
    if hidden:
        lines = [printable(f"{f.path}: {f.why or f.state.value}") for f in hidden][:_MOST]
        return not_checked(f"{len(hidden)} of {len(asked)} paths could not be seen", *lines, *odd)
    if flaws:
        return warned("a layer holds what means nothing", printable(flaws))
    return passed(f"{len(there)} of {len(asked)} paths asked for are in it, none was run", home)


def volume(look: Look) -> Judgement:
    """Nothing that was read in the image, or lies in its agent folder, is under a volume."""
    image, container = look.facts.image, look.facts.container
    if look.target.kind is Kind.CONTAINER:
        if container is None:
            return not_checked("what is mounted in the container could not be seen")
        return _mounted(look, container.mounts)
    if image is None:
        return not_applicable(NO_IMAGE)
    hides = list(_shadowed(look, image.volumes))
    if hides:
        what = f"{_named(volume for volume, _ in hides)} hides what was baked"
        return failed(what, *(f"{path} is under it" for _, path in hides[:_MOST]))
    unseen = _unlisted(look)
    if unseen:
        return not_checked(f"what lies under its agent folder could not be seen: {unseen}")
    if image.volumes:
        return passed(f"its volumes hide nothing that was looked for: {_named(image.volumes)}")
    return passed("it declares no volume")


def _mounted(look: Look, mounts: Mapping[str, str]) -> Judgement:
    """In a container the mount is what was read; what the image baked there is out of sight."""
    agent = _agent(look)
    if agent is None:
        return not_checked("where the agent folder is could not be seen")
    over = [path for path in sorted(mounts) if _within(agent, path) or _extends(agent, path)]
    if over:
        lines = [printable(f"{path} is mounted from {mounts[path]}") for path in over]
        return warned("what the image baked under a mount is not what runs", *lines)
    return passed("nothing is mounted over the agent folder", agent)


def _agent(look: Look) -> str | None:
    fact = look.artifact("agent-dir")
    return None if fact is None or fact.state in _HIDDEN else fact.final or fact.absolute


def _extends(agent: str, path: str) -> bool:
    return _within(path, posixpath.join(agent, "extensions"))


def _shadowed(look: Look, volumes: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Yield each volume with what was read under it: a file, a link on the way, an entry."""
    told: set[str] = set()
    for fact in look.facts.paths.values():
        for path in _lies(fact):
            volume = next((v for v in volumes if _within(path, v)), None)
            if volume and path not in told:
                told.add(path)
                yield printable(volume), printable(path)


def _lies(fact: PathFact) -> Iterator[str]:
    yield from (hop.path for hop in fact.hops)
    if fact.state is State.PRESENT and fact.final and fact.kind == "file":
        yield fact.final
    for entry in fact.entries or ():
        if entry.kind != "directory" and fact.final:
            yield posixpath.join(fact.final, entry.name)


def _unlisted(look: Look) -> str:
    for name in ("agent-dir", "extensions"):
        fact = look.artifact(name)
        if fact is not None and fact.state in _HIDDEN:
            return printable(fact.why or fact.state.value)
    return ""


def _within(path: str, folder: str) -> bool:
    above = posixpath.normpath(folder)
    return path == above or path.startswith("/" if above == "/" else f"{above}/")


def _named(paths: Iterable[str]) -> str:
    return ", ".join(dict.fromkeys(printable(path) for path in paths))
