"""What YAML cannot say about pi's base configuration."""

import json
import re
from collections.abc import Mapping

from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.inventory.model import Value
from fleet.systems.pi_toolkit.keybindings import old_names, renamed
from fleet.systems.pi_toolkit.loader import loader
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import missing, way

__all__ = ["PROVISIONAL", "derived", "keybindings", "loader", "rewritten", "settings"]

CUSTOM = "~/.oh-my-zsh/custom"
BEDROCK = "amazon-bedrock"
#: Of a model that is offered on demand, the region's or `global` inference profile is asked.
_PROFILE = re.compile(r"(?:arn:|(?:[a-z]{2,6}|us-gov)\.)")

#: While a plan only collects its questions, both ways of loading are asked about.
PROVISIONAL: dict[str, Value] = {}


def derived(variables: Mapping[str, Value], facts: Facts) -> dict[str, Value]:
    """Tell whether there is an oh-my-zsh, where the inventory leaves that open."""
    if variables.get("oh_my_zsh") != "unknown":
        return {}
    fact = facts.paths.get(CUSTOM)
    there = fact is not None and fact.state is State.PRESENT
    return {"oh_my_zsh": "yes" if there else "no"}


def rewritten(path: str, content: bytes) -> object:
    """Tell what pi makes of the toolkit's keybindings through their link when it starts."""
    bindings = _parsed(content) if path == "keybindings.json" else None
    return renamed(bindings) if isinstance(bindings, dict) and old_names(bindings) else None


def keybindings(look: Look) -> Judgement:
    """They are a link to the toolkit's, through which pi itself may have renamed keys."""
    fact = look.artifact("keybindings")
    if fact is None:
        return not_applicable("no keybindings are declared here")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if not fact.link:
        return failed("a file of its own, no link to the toolkit", way(fact))
    declared = look.path(f"{look.text('pi_toolkit')}/keybindings.json")
    told = _elsewhere(look, fact, declared)
    if told:
        return told
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", fact.path)
    bindings = _parsed(content)
    if not isinstance(bindings, dict):
        return failed("pi ignores it: it is no JSON object", way(fact))
    old = old_names(bindings)
    if old:
        lines = [f"{name} is {new} now" for name, new in old.items()]
        what = "pi renames keys in the toolkit's own file when it starts next"
        return warned(what, *lines[:5], remedy="rename them in the toolkit")
    return passed(f"{len(bindings)} keys of the toolkit", way(fact))


def _elsewhere(look: Look, fact: PathFact, declared: PathFact) -> Judgement | None:
    """Judge a link that leads to another file than the declared one."""
    home = look.facts.platform.home.rstrip("/")
    wanted = re.sub(r"^~(?=/)", home, f"{look.text('pi_toolkit').rstrip('/')}/keybindings.json")
    if wanted in (fact.final, *(hop.target for hop in fact.hops)) or (
        declared.final and declared.final == fact.final
    ):
        return None
    return failed("leads to another file than the toolkit's", way(fact), f"declared: {wanted}")


def settings(look: Look) -> Judgement:
    """They are there and name a provider; Bedrock's models have the prefix of a profile."""
    fact = look.artifact("settings") or look.path(f"{look.text('agent_dir')}/settings.json")
    if fact.state is State.UNSUPPORTED:
        return not_checked(fact.why or "cannot be read here", fact.path)
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", fact.path)
    found = _parsed(content)
    if not isinstance(found, dict):
        return failed("pi ignores it: it is no JSON object", way(fact))
    provider, model = found.get("defaultProvider"), found.get("defaultModel")
    if not isinstance(provider, str) or not provider:
        return failed("names no provider (defaultProvider)", way(fact))
    if provider == BEDROCK and isinstance(model, str) and not _PROFILE.match(model):
        return failed(
            "the model lacks the prefix of a region or `global`", "defaultModel: " + model
        )
    return passed(f"provider {provider}" + (f", model {model}" if isinstance(model, str) else ""))


def _parsed(content: bytes) -> object:
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        return None
