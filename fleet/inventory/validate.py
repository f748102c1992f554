"""Validation against a schema: pydantic finds what is wrong, this tells it with its place."""

from collections.abc import Sequence
from typing import TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from fleet.errors import Place
from fleet.inventory.nodes import ListNode, MapNode, Node
from fleet.inventory.problems import Problems, did_you_mean, wrapped

Part = TypeVar("Part", bound=BaseModel)

_WANTED = {
    "string_type": "a text",
    "tuple_type": "a list",
    "list_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
    "bool_type": "true or false",
    "bool_parsing": "true or false",
}


def validated(root: MapNode, problems: Problems, model: type[Part]) -> Part | None:
    """Check a mapping against a model; None when something is wrong, which is then noted."""
    try:
        return model.model_validate(root.words())
    except ValidationError as error:
        for details in error.errors(include_url=False, include_input=False):
            _tell(root, details, problems, model)
        return None


def _tell(root: Node, details: ErrorDetails, problems: Problems, base: type[BaseModel]) -> None:
    loc = details["loc"]
    kind = details["type"]
    if loc and loc[-1] == "[key]":
        place = _place(root, loc[:-1], of_key=True)
        problems.add(_reason(details), place)
    elif kind == "extra_forbidden":
        model = _model_at(base, loc[:-1])
        known, aliases = _keys(model)
        key = str(loc[-1])
        hint = f"write {aliases[key]}" if key in aliases else did_you_mean(key, known, kind="keys")
        problems.add(f"unknown key `{key}`", _place(root, loc, of_key=True), hint)
    elif kind == "missing":
        what = f"`{loc[-1]}` is missing"
        problems.add(what, _place(root, loc[:-1], of_key=True), _about(base, loc))
    else:
        problems.add(_wrong(root, details), _place(root, loc), _about(base, loc))


def _wrong(root: Node, details: ErrorDetails) -> str:
    loc, kind = details["loc"], details["type"]
    name = next((str(part) for part in reversed(loc) if isinstance(part, str)), "the file")
    if kind in _WANTED:
        node = _walk(root, loc)[-1]
        whole = f"each item of `{name}`" if isinstance(loc[-1], int) else f"`{name}`"
        return f"{whole} must be {_WANTED[kind]}, and this is {node.kind}"
    return f"`{name}`: {_reason(details)}" if kind != "value_error" else _reason(details)


def _reason(details: ErrorDetails) -> str:
    context = details.get("ctx", {})
    if details["type"] == "value_error" and "error" in context:
        return str(context["error"])
    if "pattern" in context:
        dotted = "." in str(context["pattern"]).replace("*.", "")
        example = "words joined by dots, such as bridge.mine" if dotted else "a word such as feed"
        return f"it must be {example}: a-z, 0-9 and -"
    if details["type"] in ("literal_error", "enum"):
        return f"it must be {context['expected']}"
    return details["msg"][:1].lower() + details["msg"][1:]


def _walk(root: Node, loc: Sequence[str | int]) -> list[Node]:
    """Return the nodes along a location, as far as there are any."""
    nodes = [root]
    for part in loc:
        node = nodes[-1]
        if isinstance(node, MapNode) and part in node.pairs:
            nodes.append(node.pairs[str(part)].value)
        elif isinstance(node, ListNode) and isinstance(part, int) and part < len(node.items):
            nodes.append(node.items[part])
    return nodes


def _place(root: Node, loc: Sequence[str | int], *, of_key: bool = False) -> Place:
    nodes = _walk(root, loc)
    if of_key and loc:
        parents = _walk(root, loc[:-1])
        parent = parents[-1]
        if isinstance(parent, MapNode) and loc[-1] in parent.pairs:
            return parent.pairs[str(loc[-1])].place
    return nodes[-1].place


def _model_at(base: type[BaseModel], loc: Sequence[str | int]) -> type[BaseModel]:
    """Return the model that describes what stands at a location."""
    model = base
    for part in loc:
        field = _field(model, part)
        found = _model_in(field.annotation) if field else None
        model = found or model
    return model


def _field(model: type[BaseModel], part: str | int) -> FieldInfo | None:
    for name, field in model.model_fields.items():
        if part in (field.alias, name):
            return field
    return None


def _model_in(annotation: object) -> type[BaseModel] | None:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    for inner in get_args(annotation):
        found = _model_in(inner)
        if found:
            return found
    return None


def _keys(model: type[BaseModel]) -> tuple[list[str], dict[str, str]]:
    known = [field.alias or name for name, field in model.model_fields.items()]
    aliases = getattr(model, "ALIASES", {})
    return known, aliases


def _about(base: type[BaseModel], loc: Sequence[str | int]) -> str:
    """Return what a key means, as a hint."""
    names = [part for part in loc if isinstance(part, str)]
    if not names:
        return ""
    model = _model_at(base, loc[: loc.index(names[-1])])
    field = _field(model, names[-1])
    about = (field.description if field else "") or ""
    return wrapped(f"`{names[-1]}`: {about}") if about else ""
