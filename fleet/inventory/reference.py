"""The reference of inventory keys, made from the schema so that it cannot be out of date."""

from pydantic import BaseModel

from fleet.inventory.schema import (
    ContainerPart,
    GatePart,
    GroupPart,
    HostPart,
    ImagePart,
    InventoryPart,
    WaiverPart,
)

BEGIN = "<!-- keys: made from the schema -->"
END = "<!-- /keys -->"

_PARTS: tuple[tuple[str, str, type[BaseModel]], ...] = (
    ("The top of a file", "Holds for every target.", InventoryPart),
    ("A group", "Under `groups:`, by name.", GroupPart),
    ("A host", "Under `hosts:`, by name.", HostPart),
    ("A container", "Under `containers:`, by name.", ContainerPart),
    ("An image", "Under `images:`, by name.", ImagePart),
)
_GATE = (
    ("id", "unique, two or more words joined by dots: bridge.mine"),
    ("system", "the system it extends; mempalace-bridge when nothing is said"),
    ("marker", "`{in: ARTIFACT, all: [WORD, ...]}`: code that must stand in that artifact"),
    ("gives", "the capability it proves, for `require`"),
    ("able", "what a copy with the capability can do, as in: cannot feed"),
    ("serves", "capabilities that are worth nothing where this gate fails"),
    ("asks", "the question, as a sentence that is true when the gate passes"),
    ("always", "true: required wherever its system is deployed"),
    ("where_seen", "true: required wherever its answer could be seen"),
    ("severity", "critical, major (when nothing is said) or minor"),
    ("needs", "ids of gates whose failure makes this one pointless"),
    ("since", "`{commit: ..., version: ..., date: ...}`: what brought it"),
    ("without", "what it costs not to have it"),
    ("remedy", "what to do about it"),
    ("source", "where the rule comes from"),
    ("kinds", "host, container, image: what it can be asked of; all when nothing is said"),
    ("deep", "true: asked with `--deep` only"),
    (
        "fixed_by",
        "artifacts that put it right when deployed again; another system's as `pi.node`",
    ),
)


def keys_reference() -> str:
    """Return the reference in Markdown: a heading and a table for each part."""
    parts = [_table(title, about, list(_described(model))) for title, about, model in _PARTS]
    gates = [row for row in _GATE if row[0] in GatePart.model_fields]
    parts.append(_table("A gate of your own", "Under `gates:`, a list.", gates))
    waivers = list(_described(WaiverPart))
    parts.append(_table("A waiver", "Under `waivers:`, a list; every key is needed.", waivers))
    return "\n\n".join(parts)


def _described(model: type[BaseModel]) -> list[tuple[str, str]]:
    return [
        (field.alias or name, field.description or "") for name, field in model.model_fields.items()
    ]


def _table(title: str, about: str, rows: list[tuple[str, str]]) -> str:
    lines = [f"### {title}", "", about, "", "| key | meaning |", "|---|---|"]
    lines += [f"| `{key}` | {_escaped(meaning)} |" for key, meaning in rows]
    return "\n".join(lines)


def _escaped(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")
