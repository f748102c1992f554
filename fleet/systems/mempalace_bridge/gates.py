"""What YAML cannot say about the bridge: where it lies, whether it is whole, which copy it is."""

import posixpath
import re

from fleet.facts.jsontext import read_json
from fleet.facts.model import git_blob
from fleet.facts.paths import PathFact, State
from fleet.systems.mempalace_bridge.client import feed_on, feed_remote, identity
from fleet.systems.mempalace_bridge.deep import closed as deep_closed
from fleet.systems.mempalace_bridge.deep import events as deep_events
from fleet.systems.mempalace_bridge.deep import feed as deep_feed
from fleet.systems.mempalace_bridge.deep import loaded as deep_loaded
from fleet.systems.mempalace_bridge.deep import mailbox as deep_mailbox
from fleet.systems.mempalace_bridge.deep import stamp as deep_stamp
from fleet.systems.mempalace_bridge.deep import tools as deep_tools
from fleet.systems.mempalace_bridge.deep import wakeup as deep_wakeup
from fleet.systems.mempalace_bridge.fallback import fallback
from fleet.systems.mempalace_bridge.flip import flip_path, symptom
from fleet.systems.mempalace_bridge.foreseen import foreseen
from fleet.systems.mempalace_bridge.local import archive, no_local
from fleet.systems.mempalace_bridge.notify import notify_path
from fleet.systems.mempalace_bridge.seen import seen
from fleet.systems.mempalace_bridge.single import single
from fleet.systems.mempalace_bridge.trust import client_ca
from fleet.systems.model import Link
from fleet.verifier.code import is_script, read_code
from fleet.verifier.look import Look
from fleet.verifier.marker_gate import lacking, named
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import hidden, hops, missing, way
from fleet.verifier.pi_events import events

__all__ = [
    "archive",
    "client_ca",
    "commit",
    "deep_closed",
    "deep_events",
    "deep_feed",
    "deep_loaded",
    "deep_mailbox",
    "deep_stamp",
    "deep_tools",
    "deep_wakeup",
    "events",
    "fallback",
    "feed_on",
    "feed_remote",
    "flip_path",
    "foreseen",
    "identity",
    "no_local",
    "notify_path",
    "placed",
    "seen",
    "single",
    "symptom",
    "sync",
    "whole",
]

_SYNC = re.compile(rb"MCP-STREAMABLE-HTTP-CLIENT-SYNC[:=\s]*([\w.:-]*)")


def placed(look: Look) -> Judgement:
    """The declared path leads to the declared file: by a link, a linked folder or a setting."""
    fact = look.artifact("bridge")
    if fact is None:
        return not_applicable("no bridge is declared here")
    declared = _declared(look)
    if fact.state is State.ABSENT and declared and _in_settings(look, declared):
        return passed("named in settings.json", declared.path)
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.kind != "file":
        kind = "folder" if fact.kind == "directory" else "special file"
        return failed(f"is a {kind}, not a file", way(fact))
    if declared is None:
        return passed("is there; where it should lead is not declared", way(fact), *hops(fact))
    return _compared(fact, declared)


def _declared(look: Look) -> PathFact | None:
    link = look.resolved.artifacts.get("bridge")
    if not isinstance(link, Link) or not link.source:
        return None
    return look.path(link.source)


def _compared(fact: PathFact, declared: PathFact) -> Judgement:
    unseen = hidden(declared)
    if unseen:
        return unseen
    wanted = declared.final or declared.absolute
    if fact.final == wanted:
        return passed("leads to the declared file", way(fact), *hops(fact))
    if not fact.hops:
        return failed(
            "is a regular file, not a link",
            f"{fact.path} is a copy of its own",
            f"should lead to {wanted}",
            remedy="compare it with the toolkit's, then `fleet apply --adopt` (keeps a backup)",
        )
    return failed("leads to another place", *hops(fact), f"should lead to {wanted}")


def _in_settings(look: Look, declared: PathFact) -> bool:
    """Tell whether settings.json names the declared file among ``extensions``."""
    content = look.content(look.artifact("settings"))
    agent_dir = look.facts.paths.get(look.text("agent_dir"))
    base = agent_dir.absolute if agent_dir else look.text("agent_dir")
    home = look.facts.platform.home
    wanted = {declared.absolute, declared.final}
    for entry in settings_list(content, "extensions"):
        path = entry.replace("~", home, 1) if entry.startswith("~/") else entry
        base_dir = base.replace("~", home, 1) if base.startswith("~/") else base
        if posixpath.normpath(posixpath.join(base_dir, path)) in wanted:
            return True
    return False


def settings_list(content: bytes | None, key: str) -> list[str]:
    """Return a list of texts from settings.json; pi ignores a file that does not parse."""
    try:
        settings = read_json(content or b"{}")
    except ValueError:
        return []
    found = settings.get(key) if isinstance(settings, dict) else None
    return [e for e in found if isinstance(e, str)] if isinstance(found, list) else []


def _readable(look: Look) -> tuple[PathFact, bytes] | Judgement:
    fact = look.artifact("bridge")
    if fact is None:
        return not_applicable("no bridge is declared here")
    unseen = hidden(fact)
    if unseen:
        return unseen
    if fact.state is not State.PRESENT or fact.kind != "file":
        return follows_from("bridge.placed")
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", way(fact))
    return fact, content


def whole(look: Look) -> Judgement:
    """Known to the toolkit's history, or it parses and exports the factory that pi calls."""
    read = _readable(look)
    if isinstance(read, Judgement):
        return read
    fact, content = read
    if not content.strip():
        return failed("is empty", way(fact), f"{len(content)} bytes")
    known = look.toolkit.name(git_blob(content)) if look.toolkit else None
    if known and is_script(known[0]):
        return passed("is a file of the toolkit's history", *named(look, fact, content))
    code = read_code(content, script=True)
    if code.broken is not None:
        lines = content.count(b"\n") + 1
        return failed(
            "is cut off or broken", way(fact), f"line {code.broken} of {lines} does not parse"
        )
    if not code.exports_default:
        return failed("exports no factory for pi to call", way(fact), "there is no default export")
    return passed("is whole", way(fact), f"{len(content)} bytes, parses")


def commit(look: Look) -> Judgement:
    """The deployed bytes stand in the toolkit's history, and are its newest."""
    read = _readable(look)
    if isinstance(read, Judgement):
        return read
    fact, content = read
    toolkit = look.toolkit
    if toolkit is None:
        return not_checked("no toolkit clone is declared (toolkit_clone)", way(fact))
    if toolkit.trouble:
        return not_checked(f"commit unknown ({toolkit.trouble})", way(fact))
    found = toolkit.name(git_blob(content))
    lines = (*named(look, fact, content), *lacking(look, "bridge", content, script=True))
    if found is None:
        return warned("unknown content", *lines, remedy="commit it to the toolkit, or deploy again")
    behind = found[1].behind
    if behind:
        return warned(f"{behind} {'commit' if behind == 1 else 'commits'} behind", *lines)
    return passed(f"is {found[1]}, the newest", *lines)


def sync(look: Look) -> Judgement:
    """The client's token in the bridge equals the one in mcp-loader.ts, where both are there."""
    peer = look.artifact("sync-peer")
    if peer is None or peer.state is State.ABSENT:
        return not_applicable("mcp-loader.ts is not deployed here")
    nowhere = missing(peer)
    if nowhere:
        return nowhere
    read = _readable(look)
    if isinstance(read, Judgement):
        return read
    other = look.content(peer)
    if other is None:
        return not_checked(peer.why or "its content was not read", way(peer))
    mine, theirs = _SYNC.search(read[1]), _SYNC.search(other)
    if mine is None or theirs is None:
        lacking = way(read[0]) if mine is None else way(peer)
        return failed("a copy carries no token", lacking)
    if mine.group(1) == theirs.group(1):
        return passed("both copies carry one token")
    return failed("the vendored client has drifted", way(read[0]), way(peer))
