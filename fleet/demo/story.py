"""The demo: a small fleet is provisioned, audited and taken down, and every claim is checked.

Each step runs ``fleet`` as a person would, shows what it prints, and holds the result against what
must be true. The last line says how many of these expectations held.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from fleet.demo.palace import Palace, palace_program, serving
from fleet.demo.stage import TOKEN, Stage, snapshot
from fleet.errors import FleetError

COLUMNS = "80"
STEP_SECONDS = 120
OWNER_ONLY = 0o600
GATE_FAILED = 2
HOLDS = frozenset({"pass", "warn", "not-applicable"})


def _say(text: str) -> None:
    print(text, flush=True)  # noqa: T201 - the demo talks to a person


class Story:
    """Tells the steps and counts the expectations."""

    def __init__(self, stage: Stage, palace: Palace) -> None:
        self.stage = stage
        self.palace = palace
        self.held = 0
        self.broken = 0
        self.outputs: list[str] = []

    def title(self, text: str) -> None:
        """Begin a step."""
        _say(f"\n== {text}\n")

    def expect(self, claim: str, holds: bool) -> None:
        """Count and show one expectation."""
        self.held += holds
        self.broken += not holds
        _say(f"   {'ok ' if holds else 'NOT'}  {claim}")

    def fleet(self, *words: str, show: bool = True) -> int:
        """Run a command, show what it prints, and return its exit code."""
        code, output = self._run(words)
        if show:
            _say(f"$ fleet {' '.join(words)}\n{output}")
        return code

    def findings(self, *words: str) -> tuple[int, Mapping[tuple[str, str], Mapping[str, object]]]:
        """Run an audit for its JSON; returns the exit code and findings by target and gate."""
        code, output = self._run((*words, "--format", "json"))
        document = json.loads(output)
        return code, {(f["target"], f["gate"]): f for f in document["findings"]}

    def _run(self, words: tuple[str, ...]) -> tuple[int, str]:
        environment = {
            **os.environ,
            TOKEN: self.palace.token.reveal(),
            "FLEET_INVENTORY": str(self.stage.inventory),
            "COLUMNS": COLUMNS,
        }
        ended = subprocess.run(
            [sys.executable, "-m", "fleet", *words],
            capture_output=True,
            text=True,
            env=environment,
            timeout=STEP_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
        self.outputs += [ended.stdout, ended.stderr]
        if ended.stderr:
            sys.stderr.write(ended.stderr)
        return ended.returncode, ended.stdout


def play(folder: Path | None, *, keep: bool) -> int:
    """Play the whole story; returns 0 when every expectation held, else 2.

    Raises:
        FleetError: the stage could not be set.
    """
    with _scratch(folder, keep=keep) as scratch:
        _say(f"The demo plays in {scratch}")
        _say("Getting a palace (downloaded the first time, about a minute)")
        program = palace_program()
        stage = Stage(scratch)
        stage.build()
        with serving(program, stage.home("vault"), scratch / "palace.log") as palace:
            stage.flip_by_half(palace)
            stage.write_inventory(palace)
            story = Story(stage, palace)
            _tell(story)
    total = story.held + story.broken
    _say(f"\ndemo: {story.held} of {total} expectations held")
    return GATE_FAILED if story.broken else 0


def _tell(story: Story) -> None:
    before = snapshot(story.stage.home("laptop"))
    _provision(story)
    _audit(story)
    _uninstall(story, before)
    told = "".join(story.outputs)
    story.expect(
        "the palace's token is in nothing that fleet printed",
        story.palace.token.reveal() not in told,
    )


def _provision(story: Story) -> None:
    story.title("1. Provision a machine: show the plan, apply it, verify it")
    code = story.fleet("provision", "--limit", "laptop", "--yes", "--no-diff")
    story.expect("provisioning the laptop succeeds, and its gates hold", code == 0)
    mode = (story.stage.home("laptop") / ".config/pi/.env").stat().st_mode & 0o777
    story.expect("the file with the token is its owner's alone", mode == OWNER_ONLY)
    code = story.fleet("plan", "--limit", "laptop")
    story.expect("a second plan finds nothing to change", code == 0)


def _audit(story: Story) -> None:
    story.title("2. Audit the fleet: two machines, the palace, three images")
    code = story.fleet("audit")
    story.expect("an audit with failed gates exits with 2", code == GATE_FAILED)
    _, found = story.findings("audit")

    def verdict(target: str, gate: str) -> str:
        return str(found[target, gate]["verdict"])

    def failing(target: str) -> list[str]:
        return sorted(
            g
            for (t, g), f in found.items()
            if t == target and f["required"] and f["verdict"] not in HOLDS
        )

    story.expect("the laptop holds", not failing("laptop"))
    story.expect("the palace holds", not failing("vault"))
    for gate in ("serve.auth", "serve.palace", "serve.version"):
        story.expect(f"{gate} was really seen", verdict("vault", gate) == "pass")
    story.expect(
        "its health is told as that of a palace on its first day",
        verdict("vault", "serve.health") == "warn",
    )
    story.expect(
        "the half-flipped desktop fails on what its shell exports",
        verdict("desktop", "env.loaded") == "fail",
    )
    story.expect(
        "its bridge itself is whole and able",
        verdict("desktop", "bridge.whole") == verdict("desktop", "bridge.stamp") == "pass",
    )
    story.expect(
        "the image of 10 August cannot feed", verdict("devbox-2026-08-10", "bridge.feed") == "fail"
    )
    evidence = str(found["devbox-2026-08-10", "bridge.feed"]["evidence"])
    story.expect(
        "and is named by its commit's date and distance", "2026-08-11, 4 commits behind" in evidence
    )
    story.expect(
        "the image of 12 August feeds, and cannot stamp",
        verdict("devbox-2026-08-12", "bridge.feed") == "pass"
        and verdict("devbox-2026-08-12", "bridge.stamp") == "fail",
    )
    story.expect("the image of 25 August holds", not failing("devbox-2026-08-25"))


def _uninstall(story: Story, before: Mapping[str, str]) -> None:
    story.title("3. Uninstall: the machine is what it was")
    code = story.fleet("uninstall", "--limit", "laptop", "--yes", "--no-diff")
    story.expect("uninstalling succeeds", code == 0)
    story.expect(
        "the laptop's home is byte for byte what it was",
        snapshot(story.stage.home("laptop")) == before,
    )


@contextmanager
def _scratch(folder: Path | None, *, keep: bool) -> Iterator[Path]:
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise FleetError("the folder is not empty", where=str(folder), hint="name a new one")
    made = folder or Path(tempfile.mkdtemp(prefix="fleet-demo-"))
    try:
        yield made.resolve()
    finally:
        if not keep:
            shutil.rmtree(made, ignore_errors=True)
