"""What YAML cannot say about skills."""

import re

from fleet.errors import FleetError
from fleet.inventory.yaml import load
from fleet.verifier.code import read_code
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.paths import missing, way

#: A skill's path as a bridge spells it in its wake-up.
_NAMED = re.compile(r"~/(\.[\w./-]*skills/mempalace/SKILL\.md)")
_HEAD = re.compile(r"\A\ufeff?---\r?\n(.*?)^---\s*$", re.DOTALL | re.MULTILINE)


def mempalace(look: Look) -> Judgement:
    """There is a skill with a description, and no bridge refers to another place."""
    fact = look.artifact("skill") or look.artifact("skill-copy")
    if fact is None:
        return not_applicable("no skill is declared here")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    content = look.content(fact)
    if content is None:
        return not_checked(f"it was not read: {fact.why or fact.kind or fact.state}", fact.path)
    wrong = _wrong(content)
    if wrong:
        return failed(wrong, way(fact))
    named = _named(look)
    elsewhere = [path for path in named if path != fact.absolute]
    if elsewhere:
        return failed("the wake-up refers to another place", *elsewhere, way(fact))
    told = ("the bridge refers to it",) if named else ()
    return passed("is there, and loads", way(fact), *told)


def _wrong(content: bytes) -> str:
    """Say why an agent would not load a skill; empty where it would."""
    head = _HEAD.match(content.decode("utf-8", "replace"))
    if head is None:
        return "it has no front matter, so no agent loads it"
    try:
        told = load(head[1], "SKILL.md")
    except FleetError as error:
        return f"its front matter does not parse: {error.what}"
    described = told.get("description") if isinstance(told, dict) else None
    if not isinstance(described, str) or not described.strip():
        return "it has no description, so no agent loads it"
    return ""


def _named(look: Look) -> list[str]:
    """Return where the deployed bridge says that the skill lies, absolute, each once."""
    content = look.content(look.artifact("bridge"))
    if content is None:
        return []
    home = look.facts.platform.home
    texts = (token.text for token in read_code(content, script=True).tokens if token.literal)
    found = (match[1] for text in texts for match in _NAMED.finditer(text))
    return list(dict.fromkeys(f"{home}/{path}" for path in found))
