"""How much a history takes: a year of nightly audits of a fleet, made of one real audit.

``python benchmarks/history.py [TARGETS] [NIGHTS]``: provisions a scratch home, audits it as a
target with every system that a workstation may have, and keeps that run once a night for each
target, with what a year does to it: digests under each night's nonce, a palace that grows, a
reboot now and then, an update of the toolkit that goes through the fleet, notes that are written,
targets that are off, gates that fail for some days. Prints the file's size and the time a night
takes.
"""

import hashlib
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from fleet.errors import Unreachable
from fleet.facts.endpoints import Answer, EndpointFact
from fleet.facts.model import Facts
from fleet.facts.notes import NoteFact
from fleet.facts.running import ProcessFact
from fleet.history.model import Beside
from fleet.history.split import Json
from fleet.history.store import History
from fleet.inventory.model import Address, Scheme, Target
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run, TargetResult

BEGIN = datetime(2026, 1, 1, 2, 0, tzinfo=UTC)
SYSTEMS = "pi, mempalace-bridge, env, pi-mnemo, opencode, claude-code, mcp-clients, skills"
OFF = 0.03  # of targets, each night
UPDATED = 1 / 14  # of targets, each night: two weeks until all have a new toolkit
REBOOTED = 1 / 30
NOTED = 0.4
FAILS = 0.002  # of findings, each night, for some days
RANDOM = random.Random(8)  # noqa: S311 - no secret is made of it


def real_run(folder: Path) -> Run:
    """Provision and audit one home."""
    (folder / "home").mkdir()
    inventory = folder / "fleet.yml"
    inventory.write_text(
        "vars: {toolkit: ~/mempalace-toolkit, toolkit_source: builtin,"
        " palace_url: 'http://127.0.0.1:9/mcp', palace_token: !secret env:BENCH_TOKEN}\n"
        f"groups:\n  all-of-it:\n    systems: [{SYSTEMS}]\n    require: [feed, stamp]\n"
        f"    hosts:\n      box:\n        local: {folder / 'home'}\n        shell: bash -lc\n"
        "        vars: {device: box}\n"
    )
    fleet = [sys.executable, "-m", "fleet"]
    for words in (
        ["apply", "--yes", "-q", "--no-history", "--system", "mempalace-bridge,env"],
        ["audit", "-q", "--history", str(folder / "one.db")],
    ):
        subprocess.run(
            [*fleet, *words, "-i", str(inventory)],
            env={"BENCH_TOKEN": "token-of-the-bench", "PATH": "/usr/bin:/bin:/usr/local/bin"},
            check=False,
            stdout=subprocess.DEVNULL,
        )
    with History(folder / "one.db") as history:
        return history.load("last")


def nightly(first: Run, targets: int, nights: int) -> Iterator[Run]:
    """Yield a year of runs."""
    base = first.results[0]
    states = [State(number, base) for number in range(targets)]
    drawers = 40_000
    for night in range(nights):
        started = BEGIN + timedelta(days=night, seconds=RANDOM.random() * 60)
        nonce = f"{RANDOM.getrandbits(128):032x}"
        drawers += RANDOM.randrange(900)
        results = tuple(state.tonight(started, nonce, drawers, night) for state in states)
        yield replace(
            first,
            id=started.strftime("%Y%m%dT%H%M%S.%fZ"),
            started=started,
            finished=started + timedelta(seconds=40),
            results=results,
        )


class State:
    """One target through the year."""

    def __init__(self, number: int, base: TargetResult) -> None:
        self.name = f"box-{number:03}"
        self.base = base
        self.random = random.Random(number)  # noqa: S311 - no secret is made of it
        self.toolkit = 0
        self.boot = 1_700_000_000 + number
        self.notes = [self._note(n, 0) for n in range(12)]
        self.failing: dict[str, int] = {}
        self.target = Target(
            self.name,
            Address(Scheme.SSH, f"{self.name}.example.net", user="me"),
            systems=base.target.systems,
            require=base.target.require,
            groups=("all-of-it",),
            launches=base.target.launches,
        )

    def _note(self, number: int, night: int) -> NoteFact:
        size = 900 + self.random.randrange(4000)
        return NoteFact(name=f"{number}.md", size=size, lines=size // 40 + night)

    def tonight(self, started: datetime, nonce: str, drawers: int, night: int) -> TargetResult:
        """Return what this night's audit finds."""
        if self.random.random() < OFF:
            trouble = Unreachable("connection timed out after 10 s", stage="connect")
            findings = tuple(
                f._replace(
                    target=self.name,
                    verdict=Verdict.UNREACHABLE,
                    message=trouble.what,
                    evidence=(),
                )
                for f in self.base.findings
            )
            return TargetResult(self.target, None, findings, trouble, 10_000)
        if self.random.random() < UPDATED:
            self.toolkit = night // 14
        if self.random.random() < REBOOTED:
            self.boot += 86_400 * 30
        if self.random.random() < NOTED:
            self.notes[self.random.randrange(len(self.notes))] = self._note(night % 12, night)
        facts = self._facts(started, nonce, drawers)
        return TargetResult(
            self.target, facts, self._findings(drawers), None, 300 + self.random.randrange(900)
        )

    def _facts(self, started: datetime, nonce: str, drawers: int) -> Facts:
        base = self.base.facts
        if base is None:
            raise SystemExit("the audit saw nothing")
        text = json.dumps(base.model_dump(mode="json", exclude={"contents"}))
        tree = json.loads(text.replace("/home", f"/home/{self.name}"))
        self._keyed(tree, nonce)
        tree |= {
            "target": self.name,
            "address": str(self.target.address),
            "taken_at": (started + timedelta(seconds=self.random.random() * 20)).isoformat(),
            "nonce": nonce,
        }
        facts = Facts.model_validate(tree)
        contents = dict(base.contents)
        paths = dict(facts.paths)
        for path, fact in facts.paths.items():
            if fact.sha256 and "mempalace" in path and self.toolkit:
                data = contents.pop(fact.sha256, None)
                if data is None:
                    continue
                data += f"\n// release {self.toolkit}\n".encode()
                sha = hashlib.sha256(data).hexdigest()
                contents[sha] = data
                paths[path] = fact.model_copy(
                    update={"sha256": sha, "size": len(data), "mtime": self.toolkit * 86_400}
                )
        first = next(iter(paths))
        paths["~/.pi/mnemo"] = paths[first].model_copy(
            update={"path": "~/.pi/mnemo", "notes": tuple(self.notes)}
        )
        return facts.model_copy(
            update={
                "paths": paths,
                "contents": contents,
                "endpoints": tuple(
                    self._endpoint(place, drawers) for place in ("target", "controller")
                ),
                "processes": {
                    "pi": (ProcessFact(pid=self.boot % 32_768, user="me", started=self.boot),)
                },
            }
        )

    def _keyed(self, tree: Json, nonce: str) -> None:
        """Digest every secret anew: the token is the fleet's, two more are the target's own."""
        if isinstance(tree, dict):
            for key, value in tree.items():
                if key in ("digest", "raw", "unquoted", "trimmed") and isinstance(value, str):
                    own = "" if key == "digest" else self.name + str(value)
                    tree[key] = hashlib.sha256(f"{nonce}:{own}".encode()).hexdigest()
                else:
                    self._keyed(value, nonce)
        elif isinstance(tree, list):
            for one in tree:
                self._keyed(one, nonce)

    def _endpoint(self, place: str, drawers: int) -> EndpointFact:
        names = ("healthz", "no-token", "wrong-token", "initialize", "tools", "status", "statusz")
        answers = {n: Answer(status=200, milliseconds=self.random.randrange(5, 300)) for n in names}
        return EndpointFact.model_validate(
            {
                "url": "https://palace.example.net/mcp",
                "place": place,
                "answers": answers,
                "server": "mempalace",
                "version": "3.11.0",
                "tools": [f"mempalace_tool_{n}" for n in range(24)],
                "palace": "/srv/palace",
                "drawers": drawers,
                "usable": True,
            }
        )

    def _findings(self, drawers: int) -> tuple[Finding, ...]:
        found = []
        for finding in self.base.findings:
            told = finding._replace(
                target=self.name,
                evidence=tuple(e.replace("/home", f"/home/{self.name}") for e in finding.evidence),
            )
            if self.random.random() < FAILS:
                self.failing[finding.gate] = self.random.randrange(1, 10)
            if self.failing.get(finding.gate, 0):
                self.failing[finding.gate] -= 1
                told = told._replace(verdict=Verdict.FAIL, message="is not there any more")
            if finding.gate == "flip.path":
                told = told._replace(evidence=(f"{drawers} drawers",))
            found.append(told)
        return tuple(found)


def main(targets: int, nights: int) -> None:
    """Make the year, and tell what it takes."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        first = real_run(folder)
        facts = first.results[0].facts
        if facts is None:
            raise SystemExit("the audit saw nothing")
        plain = len(facts.model_dump_json())
        print(f"one target: {len(first.findings)} findings, {plain:,} bytes of facts as JSON")
        path = folder / "year.db"
        spent = 0.0
        with History(path, write=True) as history:
            for night, run in enumerate(nightly(first, targets, nights), start=1):
                begun = time.perf_counter()
                history.save(run, Beside("me", "desk", code=2))
                spent += time.perf_counter() - begun
                if night in (1, 2, 30, 90, 180) or night == nights:
                    size = sum(f.stat().st_size for f in folder.glob("year.db*"))
                    print(
                        f"night {night}: {size / 1e6:.1f} MB, {spent / night:.2f} s a night",
                        flush=True,
                    )
        with History(path) as history:
            begun = time.perf_counter()
            history.load("last")
            loaded = time.perf_counter() - begun
            begun = time.perf_counter()
            history.sinces("box-007")
            print(f"load a run: {loaded:.2f} s, since: {time.perf_counter() - begun:.2f} s")


if __name__ == "__main__":
    main(*(int(word) for word in (*sys.argv[1:], "300", "365")[:2]))
