"""MCP clients that read a JSON file: their registrations, as each of them takes them."""

from collections.abc import Iterator, Mapping
from dataclasses import field
from functools import cache
from importlib.resources import files

from pydantic import BaseModel, ConfigDict

from fleet.dataclass import dataclass
from fleet.facts.paths import PathFact
from fleet.inventory.yaml import load as load_yaml
from fleet.verifier.json_files import json_files
from fleet.verifier.look import Look


class Client(BaseModel):
    """One client; the fields are told in ``clients.yml``."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    label: str
    files: tuple[str, ...]
    key: str
    url: str
    not_url: tuple[str, ...]
    types: tuple[str, ...]
    typed: bool = False
    local: bool = False
    comments: bool = False
    desktop: bool = False
    asks: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One server in one file.

    Attributes:
        where: the file, and the project within it where there is one.
        mode: the file's permission bits, where they are known.
        fields: values that may hold a secret are masked.
        place: the file, with the home filled in, and the keys that lead to the entry.
    """

    name: str
    where: str
    mode: int | None
    fields: Mapping[str, object]
    place: tuple[str, tuple[str, ...]]

    def text(self, name: str) -> str:
        """Return a field that is text; empty where it is not."""
        value = self.fields.get(name)
        return value if isinstance(value, str) else ""


@dataclass(slots=True)
class Registered:
    """What one client reads.

    Attributes:
        entries: in the order of files; of one name the last one decides.
        broken: lines about files that it cannot parse.
        unread: lines about files that are there and were not seen.
        offered: entries that the client takes only once its user agreed.
        elsewhere: lines about servers under a key that it does not read.
        local: those of ``entries`` that a user's file keeps for one project.
    """

    client: Client
    entries: list[Entry] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)
    unread: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)
    local: list[Entry] = field(default_factory=list)
    offered: list[Entry] = field(default_factory=list)

    def deciding(self) -> dict[str, Entry]:
        """Return the entry that decides, by the name of the server."""
        return {entry.name: entry for entry in self.entries}


@cache
def clients() -> Mapping[str, Client]:
    """Return every known client by name."""
    table = load_yaml(files(__package__).joinpath("clients.yml").read_text("utf-8"), "clients.yml")
    if not isinstance(table, dict):
        raise TypeError("clients.yml holds no table")
    return {str(name): Client.model_validate(told) for name, told in table.items()}


def registered(look: Look, client: Client) -> Registered:
    """Read every file of a client that is looked at on this target."""
    found = Registered(client)
    for file in json_files(look, client.files, comments=client.comments):
        if file.unread:
            found.unread.append(f"{file.fact.path}: {file.unread}")
        elif file.document is None:
            told = f"{file.fact.path} is no JSON that {client.label} takes: {file.broken}"
            found.broken.append(told)
        elif file.name == client.asks:
            found.offered += _entries(file.document, (client.key,), file.fact, file.fact.path)
        else:
            _collect(look, found, file.document, file.fact)
    found.entries += found.local  # what a user keeps for one project goes over all else
    return found


def _collect(look: Look, found: Registered, document: Mapping[str, object], fact: PathFact) -> None:
    client, path = found.client, fact.path
    project = look.text("project_dir")
    found.entries += _entries(document, (client.key,), fact, path)
    if client.local:
        where = f"{path} (projects, {project})"
        found.local += _entries(document, ("projects", project, client.key), fact, where)
    other = "servers" if client.key == "mcpServers" else "mcpServers"
    if isinstance(document.get(other), Mapping) and client.key not in document:
        found.elsewhere.append(f"{path}: `{other}` is not read; `{client.key}` is")


def _entries(
    document: object, keys: tuple[str, ...], fact: PathFact, where: str
) -> Iterator[Entry]:
    servers = document
    for key in keys:
        servers = servers.get(key) if isinstance(servers, Mapping) else None
    for name, fields in servers.items() if isinstance(servers, Mapping) else ():
        if isinstance(fields, Mapping):
            place = (fact.absolute, (*keys, str(name)))
            yield Entry(str(name), where, fact.mode, fields, place)


def faults(client: Client, entry: Entry) -> Iterator[str]:
    """Yield what is wrong with the form of one entry."""
    kind = entry.fields.get("type")
    if kind is not None and kind not in client.types:
        yield f"`type` is {kind!r}: it would be one of {', '.join(client.types)}"
    for key in client.not_url:
        if key in entry.fields:
            meant = f"`{client.url}` is meant" if client.url else "it only starts programs"
            yield f"`{key}` is not read by {client.label}: {meant}"
    remote = bool(client.url) and client.url in entry.fields
    if remote and client.typed and kind is None:
        yield f"`type` is missing: without it {client.label} takes the server for a program"
    if remote and kind == "stdio":
        yield f"`type` is 'stdio', and `{client.url}` is set"
    if remote and "command" in entry.fields:
        yield f"both `{client.url}` and `command` are set"
    command = entry.fields.get("command")
    if command is not None and not isinstance(command, str):
        yield "`command` is no text: the program alone, its words go into `args`"
    if not remote and command is None and not any(key in entry.fields for key in client.not_url):
        yield "neither a URL nor a `command` is set"
    if "environment" in entry.fields:
        yield "`environment` is not read: `env` is meant"
