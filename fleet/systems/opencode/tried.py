"""The palace among opencode's servers as a deep check sees it: tried, and as opencode tells it."""

from collections.abc import Mapping, Sequence

from fleet.facts.deep import DeepTrial
from fleet.systems.opencode.files import configuration
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_checked, passed
from fleet.verifier.trials import NOT_ASKED, Declared, Trial, answered, tries

_ITSELF = "opencode"
_KINDS: Mapping[object, tuple[str, str]] = {"local": ("stdio", "list"), "remote": ("http", "url")}


def trials(look: Look) -> Sequence[Trial]:
    """Return the palace's server, and opencode's own word on its files."""
    name, project = look.text("opencode_server"), look.text("project_dir")
    itself = Trial(_ITSELF, "opencode", (), name, project=project)
    return [itself, *tries(look, _declared(look))]


def initialize(look: Look) -> Judgement:
    """The palace's server answers as an MCP server."""
    return answered(look, _declared(look))


def _declared(look: Look) -> list[Declared]:
    found, name = configuration(look), look.text("opencode_server")
    files = found.naming(name)
    if not files:
        return []
    fields, where = found.entry(name), f"mcp.{name} in {files[-1].path}"
    if found.unread:
        return [Declared(where, why=found.unread[0])]
    if fields.get("enabled") is False:
        return [Declared(where, why="it is turned off")]
    places = tuple((file.fact.absolute, ("mcp", name)) for file in files)
    key = f"{_ITSELF}.{name}"
    if fields.get("type") == "local":
        return [Declared(where, Trial(key, "stdio", places, "list"))]
    if fields.get("type") == "remote":
        return [Declared(where, Trial(key, "http", places, "url"))]
    return [Declared(where, why="its type is neither `local` nor `remote`")]


def resolved(look: Look) -> Judgement:
    """What opencode makes of its files is the declared palace, turned on."""
    deep = look.facts.deep
    told = deep.trial(_ITSELF) if deep else None
    if deep is None or told is None:
        return not_checked((deep.why if deep else "") or NOT_ASKED)
    if told.state == "untried":
        return not_checked(told.why)
    if told.state == "failed":
        return failed(told.why, *(f"it said: {line}" for line in told.said))
    return _compared(look, told)


def _compared(look: Look, told: DeepTrial) -> Judgement:
    name, url = look.text("opencode_server"), look.text("palace_url")
    fields = told.resolved
    folder = look.text("project_dir") or "a folder outside of projects"
    if not fields:
        return failed(f"opencode has no server {name!r}", f"asked in {folder}")
    wanted = {"type": "remote" if url else "local"}
    wanted["url" if url else "command"] = url or look.text("mempalace_mcp")
    differs = [
        f"`{key}` is {fields[key]!r}, declared is {value!r}"
        for key, value in wanted.items()
        if key in fields and fields[key] != value
    ]
    if fields.get("enabled") == "false":
        differs.append("it is turned off")
    if differs:
        return failed("what opencode makes of its files is another server", *differs)
    hidden = [key for key in wanted if key not in fields]
    if hidden:
        return not_checked(f"`{hidden[0]}` may hold a credential, and was not told")
    return passed(f"opencode takes {name} as declared", f"asked in {folder}")
