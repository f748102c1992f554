"""Servers that a deep check tries: started, or asked, as a client's files declare them.

A configuration that is right in every key can still name a program that ends at once, or one that
is no MCP server (cases D10). Only its answer to ``initialize`` tells.
"""

from collections.abc import Collection
from typing import Literal, TypeAlias

from fleet.dataclass import dataclass
from fleet.facts.deep import DeepTrial
from fleet.inventory.model import Kind
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed

#: A file and the keys that lead to the entry in it.
Place: TypeAlias = tuple[str, tuple[str, ...]]

NOT_ASKED = "asked with --deep only"


@dataclass(frozen=True, slots=True)
class Trial:
    """One server to be tried.

    Attributes:
        key: names it in the facts.
        kind: ``stdio`` starts its program, ``http`` asks its URL, ``opencode`` asks opencode.
        entries: where it is declared; later ones go over earlier ones.
        form: of ``stdio``: ``list`` where the command is a list of words, ``words`` where its
            arguments stand in ``args``; of ``http``: the key of its URL; of ``opencode``: its name.
        commands: whether a value that begins with ``!`` is a command to its client.
        project: the folder in which opencode is asked.
    """

    key: str
    kind: Literal["stdio", "http", "opencode"]
    entries: tuple[Place, ...]
    form: str
    commands: bool = False
    project: str = ""


@dataclass(frozen=True, slots=True)
class Declared:
    """A server of the palace as a gate knows it.

    Attributes:
        where: how it is told to a reader.
        trial: how it is tried; None where it cannot be.
        why: why it cannot.
    """

    where: str
    trial: Trial | None = None
    why: str = ""


def tries(look: Look, declared: Collection[Declared]) -> list[Trial]:
    """Return what is tried on a target."""
    return [one.trial for one in _within_reach(look, declared) if one.trial]


def _within_reach(look: Look, declared: Collection[Declared]) -> list[Declared]:
    """Leave out what an image cannot do: it is started without a network."""
    image = look.target.kind is Kind.IMAGE
    return [d for d in declared if not (image and d.trial and d.trial.kind == "http")]


def answered(look: Look, declared: Collection[Declared]) -> Judgement:
    """Every server of the palace answers ``initialize``."""
    deep = look.facts.deep
    if deep is None:
        return not_checked(NOT_ASKED)
    if not declared:
        return not_applicable("the palace is registered nowhere yet")
    tried = _within_reach(look, declared)
    if not tried:
        return not_applicable("an image is started without a network, and asks no URL")
    good: list[str] = []
    unseen: list[str] = []
    for one in tried:
        told = deep.trial(one.trial.key) if one.trial else None
        if told is None:
            unseen.append(f"{one.where}: {one.why or deep.why or 'it was not tried'}")
        elif told.state == "untried":
            unseen.append(f"{one.where}: {told.why}")
        elif told.state == "failed":
            said = [f"it said: {line}" for line in told.said]
            launch = [f"in {deep.launch}"] if deep.launch else []
            return failed(told.why, one.where, *said, *launch)
        else:
            good.append(f"{one.where}: {_named(told)}")
    if unseen:
        return not_checked(f"not every server was tried: {unseen[0]}", *unseen, *good)
    return passed("the palace's server answers as its client asks it", *good)


def _named(told: DeepTrial) -> str:
    return f"{told.server or 'a server without a name'} {told.version}".rstrip()
