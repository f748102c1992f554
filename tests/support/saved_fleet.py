"""A fleet of saved facts: hosts that carry much alike, and differ in what gates look at."""

import functools
import gc
import hashlib
from collections.abc import Sequence
from pathlib import Path

from support.facts import BRIDGE, World

from fleet.engine.context import Context, load_context
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.saved import dumps, file_name
from fleet.inventory.model import Target

OLD = b"export default function (pi) {}\n// MEMPALACE_FEED only in a comment\n"
LINK = "~/.pi/agent/extensions/mempalace.ts"
SOURCE = "~/mempalace-toolkit/extensions/pi/mempalace.ts"
SETTINGS = (b'{"defaultProvider": "anthropic"}', b'{"quietStartup": 3}', b"{", b"[]")
PI = b"@earendil-works/pi-coding-agent"
SCHEMA = b'{"type": "object", "properties": {"quietStartup": {"type": "boolean"}}}'
_ROOMS = ("fleet.facts.", "fleet.verifier.", "fleet.systems.pi.", "fleet.systems.resolve")
_INVENTORY = """\
vars: {toolkit: ~/mempalace-toolkit, palace_url: "https://palace.example.net/mcp"}
groups:
  machines:
    systems: [mempalace-bridge, env, pi, opencode, pi-mcp]
    require: [feed, stamp]
    hosts:
"""


def write_fleet(folder: Path, hosts: int) -> Path:
    """Write an inventory, and beside it the facts of its hosts; return the inventory."""
    inventory = folder / "fleet.yml"
    lines = (f"      host-{n}: {{{_said(n)}}}\n" for n in range(hosts))
    inventory.write_text(_INVENTORY + "".join(lines))
    (folder / "facts").mkdir()
    for number, target in enumerate(targets(load_context(inventory))):
        facts = _with_schema(_world(number).facts(target))
        (folder / "facts" / file_name(target.name)).write_text(dumps(facts))
    return inventory


def targets(context: Context) -> Sequence[Target]:
    """Return all targets of an inventory."""
    assert context.inventory is not None
    return context.inventory.targets


def forget() -> None:
    """Empty every cache of what judges, as if nothing had been judged before."""
    for found in gc.get_objects():
        if isinstance(found, functools._lru_cache_wrapper) and found.__module__.startswith(_ROOMS):
            found.cache_clear()


def _said(number: int) -> str:
    """Return what the inventory says of a host; of every fifth, that its agent lies elsewhere."""
    variables = f"device: host-{number if number != 4 else 3}"
    if number % 5 == 1:
        variables += ", agent_dir: ~/agent, feed: false"
    return f"ssh: host-{number}, shell: bash -lc, vars: {{{variables}}}"


def _world(number: int) -> World:
    exported = {"MEMPALACE_PI_DEVICE": f"host-{number}"} if number % 4 else {}
    version, wanted = (b"1.6.0", b">=22.19.0") if number % 3 else (b"0.80.1", b"^20")
    manifest = b'{"name": "%s", "version": "%s", "engines": {"node": "%s"}}'
    world = World().launch(
        variables=exported,
        commands={"pi": ("/usr/lib/pi/cli.js", b"#!/usr/bin/env node\n")},
        manifests={"pi": manifest % (PI, version, wanted)},
    )
    content = OLD if number % 4 == 2 else BRIDGE
    world.file(LINK, content, via=[SOURCE]).file(SOURCE, content)
    world.file("~/.pi/agent/settings.json", SETTINGS[number % len(SETTINGS)])
    line = b"MEMPALACE_PI_DEVICE=host-%d\n" % number
    return world.env_file("~/.config/pi/.env", line, mode=0o644 if number % 3 == 2 else 0o600)


def _with_schema(facts: Facts) -> Facts:
    """Lay the schema of its settings beside the pi of each launch."""
    digest = hashlib.sha256(SCHEMA).hexdigest()
    path = "/usr/lib/pi/schemas/settings.schema.json"
    schema = PathFact(path=path, absolute=path, state=State.PRESENT, final=path, sha256=digest)
    launches = {
        name: launch.model_copy(
            update={
                "commands": {
                    command: found.model_copy(
                        update={"beside": {"schemas/settings.schema.json": schema}}
                    )
                    for command, found in launch.commands.items()
                }
            }
        )
        for name, launch in facts.launches.items()
    }
    contents = {**facts.contents, digest: SCHEMA}
    return facts.model_copy(update={"launches": launches, "contents": contents})
