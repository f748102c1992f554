"""Many hosts made of a good one: no two alike, most of them well, and faults planted in the rest.

A host has its own name, home, device, times, inodes and latencies. All share the contents of their
files, as machines do that one toolkit provisioned; that one carries an older bridge is a fault.
"""

import hashlib
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

from benchmarks.judging.host import NAME, Good, described
from fleet.demo.history import bridge_of
from fleet.facts.endpoints import Answer, Trouble
from fleet.facts.model import Facts
from fleet.facts.paths import PathFact, State
from fleet.facts.running import EnvValue
from fleet.facts.saved import dumps, file_name, loads
from fleet.facts.shared import FOLDER

EVERY = 100  # hosts, of which each fault has one
HOMES = ("/home/ops", "/home/deploy", "/Users/ada", "/srv/agent")
BRIDGE = "~/.pi/agent/extensions/mempalace.ts"
CLONE = "~/mempalace-toolkit/extensions/pi/mempalace.ts"
ENV = "~/.config/pi/.env"
OLD = bridge_of("2026-08-10.ts")
_COUNTED = re.compile(r'"(mtime|inode|milliseconds)": (\d+)')


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong with a host.

    Attributes:
        told: required gates that must tell it, and how.
        plant: puts it into the facts.
        spoil: puts it into the file; None for what it returns means that there is none.
    """

    told: Mapping[str, str]
    plant: Callable[[Facts], Facts] = lambda facts: facts
    spoil: Callable[[str], str | None] = lambda text: text


def _at(facts: Facts, path: str, **update: object) -> Facts:
    fact: PathFact = facts.paths[path].model_copy(update=update)
    return facts.model_copy(update={"paths": {**facts.paths, path: fact}})


def _old_bridge(facts: Facts) -> Facts:
    digest = hashlib.sha256(OLD).hexdigest()
    for path in (BRIDGE, CLONE):
        facts = _at(facts, path, sha256=digest, size=len(OLD))
    return facts.model_copy(update={"contents": {**facts.contents, digest: OLD}})


def _open_to_all(facts: Facts) -> Facts:
    return _at(facts, ENV, mode=0o644)


def _dangling(facts: Facts) -> Facts:
    link = facts.paths[BRIDGE].hops[0].target
    return _at(facts, BRIDGE, state=State.DANGLING, at=link, final=None, kind=None, sha256=None)


def _not_loaded(facts: Facts) -> Facts:
    launches = {
        name: launch.model_copy(
            update={"variables": dict.fromkeys(launch.variables, EnvValue(set=False))}
        )
        for name, launch in facts.launches.items()
    }
    return facts.model_copy(update={"launches": launches})


def _refused(facts: Facts) -> Facts:
    refused = Answer(trouble=Trouble.REFUSED, detail="connection refused")
    silent = {"server": "", "version": "", "tools": (), "palace": None, "usable": None}
    heard = tuple(
        endpoint.model_copy(update={**silent, "answers": dict.fromkeys(endpoint.answers, refused)})
        for endpoint in facts.endpoints
    )
    return facts.model_copy(update={"endpoints": heard})


_UNSEEN = {"bridge.placed": "unreachable", "env.mode": "unreachable"}
#: By the last two digits of a host's number.
FAULTS: Mapping[int, Fault] = {
    11: Fault({"bridge.feed": "fail", "bridge.stamp": "fail"}, _old_bridge),
    22: Fault({"env.mode": "fail"}, _open_to_all),
    33: Fault({"bridge.placed": "fail", "bridge.feed": "not-checked"}, _dangling),
    44: Fault({"env.loaded": "fail"}, _not_loaded),
    55: Fault({"flip.path": "fail"}, _refused),
    66: Fault(_UNSEEN, spoil=lambda text: text[:-2000]),
    77: Fault(_UNSEEN, spoil=lambda _: None),
}


def names(hosts: int) -> list[str]:
    """Return the names of so many hosts."""
    return [f"host-{number:05d}" for number in range(hosts)]


def write_fleet(good: Good, folder: Path, hosts: int) -> None:
    """Write an inventory (``fleet.yml``) and a folder of saved facts (``facts``)."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "facts" / FOLDER).mkdir(parents=True)
    small = dumps(good.facts.model_copy(update={"contents": {}}))
    with (folder / "fleet.yml").open("w") as inventory:
        inventory.write(good.inventory)
        for number, name in enumerate(names(hosts)):
            inventory.write(described(name, f"ops@{name}.example.net", name))
            fault = FAULTS.get(number % EVERY, Fault({}))
            facts = fault.plant(_host(small, good.facts, number, name))
            for digest, content in facts.contents.items():
                held = folder / "facts" / FOLDER / digest
                if not held.exists():
                    held.write_bytes(content)
            text = fault.spoil(dumps(facts, beside=True))
            if text is not None:
                (folder / "facts" / file_name(name)).write_text(text)


def _host(small: str, good: Facts, number: int, name: str) -> Facts:
    text = small.replace(NAME, name).replace(good.platform.home, HOMES[number % len(HOMES)])
    text = _COUNTED.sub(lambda m: f'"{m[1]}": {int(m[2]) + 17 * number}', text)
    taken = good.taken_at + timedelta(milliseconds=23 * number)
    facts = loads(text, where=name)
    return facts.model_copy(update={"taken_at": taken, "contents": good.contents})


def expected(hosts: int) -> dict[tuple[str, str], str]:
    """Return what has to be told: by host and gate the verdict."""
    return {
        (name, gate): verdict
        for number, name in enumerate(names(hosts))
        for gate, verdict in FAULTS.get(number % EVERY, Fault({})).told.items()
    }
