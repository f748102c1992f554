"""What a container was created with, which no restart and no file changes."""

from dataclasses import replace

import pytest
from support.facts import NONCE, World, findings, target

from fleet.facts.model import Facts
from fleet.facts.running import ContainerFact, EnvValue
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret, keyed_digest
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
TOKEN = Secret("tok-EXAMPLE-1")
REF = SecretRef("env", "PALACE_TOKEN")
GOOD: dict[str, str | Secret] = {"MEMPALACE_REMOTE_URL": URL, "MEMPALACE_REMOTE_TOKEN": TOKEN}
OLD = {**GOOD, "MEMPALACE_REMOTE_TOKEN": Secret("tok-EXAMPLE-0")}


class Created(World):
    """A container's world, created with an environment."""

    def __init__(self, variables: dict[str, str | Secret] | None) -> None:
        super().__init__("container")
        self.variables = variables

    def facts(self, target: Target) -> Facts:
        found = super().facts(target)
        if self.variables is None:
            return found
        held = {name: _value(self.variables.get(name)) for name in GOOD if name in self.variables}
        held |= {name: EnvValue(set=False) for name in GOOD if name not in self.variables}
        fact = ContainerFact(
            name="devbox", state="running", created="2026-11-01T08:00:00Z", variables=held
        )
        return found.model_copy(update={"container": fact})


def _value(value: str | Secret | None) -> EnvValue:
    if isinstance(value, Secret):
        plain = value.reveal()
        return EnvValue(set=True, length=len(plain), digest=keyed_digest(NONCE, plain))
    return EnvValue(set=value is not None, length=len(value or ""), value=value)


def judged(
    created: dict[str, str | Secret] | None,
    exported: dict[str, str | Secret],
    *,
    launch: str = "container",
    troubles: dict[SecretRef, str] | None = None,
) -> dict[str, Finding]:
    declared: dict[str, Value] = {"palace_url": URL, "palace_token": REF}
    base = target("mempalace-bridge", "env", address="container:devbox", launches=[launch])
    secrets = {} if troubles else {REF: TOKEN}
    world = Created(created).launch(launch, exported)
    where = replace(base, variables=declared)
    return findings(where, world, secrets=secrets, troubles=troubles)


def test_a_container_of_today_passes() -> None:
    found = judged(GOOD, GOOD)
    assert (found["env.container"].verdict, found["env.container"].required) == (Verdict.PASS, True)
    assert found["env.loaded"].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("created", "told"),
    [
        (OLD, "MEMPALACE_REMOTE_TOKEN is not the declared value"),
        ({"MEMPALACE_REMOTE_URL": URL}, "MEMPALACE_REMOTE_TOKEN is not set"),
    ],
)
def test_b10_one_created_before_the_change_must_be_recreated(
    created: dict[str, str | Secret], told: str
) -> None:
    found = judged(created, created)
    gate = found["env.container"]
    assert gate.verdict is Verdict.FAIL
    assert gate.evidence[0] == told
    assert "created on 2026-11-01T08:00:00Z, before the change" in gate.evidence[1]
    assert gate.remedy == "recreate the container; a restart does not reload its environment"
    assert found["env.loaded"].follows == "env.container"
    assert found["flip.path"].follows == "env.container"


def test_a_shell_that_sets_it_all_needs_nothing_of_the_container() -> None:
    found = judged(OLD, GOOD, launch="bash -lc")
    assert found["env.container"].verdict is Verdict.NOT_APPLICABLE
    assert found["env.loaded"].verdict is Verdict.PASS


def test_a_shell_that_spoils_it_is_told_by_the_launch() -> None:
    found = judged(GOOD, OLD, launch="bash -lc")
    assert found["env.container"].verdict is Verdict.PASS
    assert found["env.loaded"].verdict is Verdict.FAIL


def test_what_cannot_be_seen_is_not_checked() -> None:
    assert judged(None, GOOD)["env.container"].verdict is Verdict.NOT_CHECKED
    unknown = judged(GOOD, GOOD, troubles={REF: "PALACE_TOKEN is not set"})["env.container"]
    assert unknown.verdict is Verdict.NOT_CHECKED


def test_a_host_is_not_asked() -> None:
    found = findings(target("env"), World().launch())
    assert found["env.container"].verdict is Verdict.NOT_APPLICABLE
