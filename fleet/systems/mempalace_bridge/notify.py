"""A ping is an escape sequence on the terminal: can what is between carry it?"""

import re

from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact
from fleet.inventory.model import Kind
from fleet.verifier.launches import text, unseen_launch
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, not_applicable, not_checked, passed, warned

NOTIFY = "MEMPALACE_MAILBOX_NOTIFY"
#: How a program wraps a sequence that tmux is to hand on to the terminal outside.
WRAPPED = b"Ptmux;"
_CONFIGS = ("tmux-system", "tmux-home", "tmux-xdg")
_OPTION = re.compile(
    rb"^[ \t]*(?:set|set-option|setw|set-window-option)\b[^\n#]*\ballow-passthrough[ \t]+(\w+)",
    re.MULTILINE,
)


def notify_path(look: Look) -> Judgement:
    """Where a ping is wanted on the desktop, nothing on the way to the terminal swallows it."""
    launches = look.launches()
    wanted = [one for one in launches if text(one, NOTIFY).lower() == "desktop"]
    unseen = [unseen_launch(one) for one in launches if one.state != "ok"]
    if not wanted:
        if unseen:
            return not_checked(f"what is exported could not be seen: {unseen[0]}", *unseen)
        return not_applicable(f"{NOTIFY} is not desktop")
    if look.target.kind is Kind.CONTAINER:
        return not_checked("the terminal is outside of the container, and cannot be seen from here")
    with_tmux = [one.launch for one in wanted if _has_tmux(one)]
    if not with_tmux:
        return passed("there is no tmux between pi and the terminal")
    return _through_tmux(look, with_tmux)


def _has_tmux(launch: LaunchFact) -> bool:
    command = launch.commands.get("tmux")
    return bool(command and command.file)


def _through_tmux(look: Look, launches: list[str]) -> Judgement:
    configs = [fact for name in _CONFIGS if (fact := look.artifact(name))]
    hidden = [fact.path for fact in configs if _hidden(look, fact)]
    if hidden:
        return not_checked("how tmux is set up could not be read", *hidden)
    settings = [word for fact in configs for word in _OPTION.findall(look.content(fact) or b"")]
    if not settings or settings[-1] not in (b"on", b"all"):
        return warned(
            "tmux swallows the ping",
            "allow-passthrough is not on in tmux's configuration",
            f"there is a tmux for {', '.join(launches)}",
            remedy="put `set -g allow-passthrough on` into ~/.tmux.conf",
        )
    if WRAPPED not in (look.content(look.artifact("bridge")) or b""):
        return warned(
            "tmux swallows the ping",
            "allow-passthrough is on, and this copy of the bridge does not wrap what it sends",
            remedy="update the toolkit, or attach to pi without tmux",
        )
    return passed("tmux hands the ping on")


def _hidden(look: Look, fact: PathFact) -> bool:
    if fact.state in (State.ABSENT, State.DANGLING):
        return False
    return look.content(fact) is None
