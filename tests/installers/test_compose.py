"""Compose projects: checked, started, recreated when what runs is not what is wanted."""

from collections.abc import Mapping
from pathlib import Path

import pytest
from support.bench import SHELLS, Bench
from support.programs import TOKEN, bench_of, calls, fake

from fleet.facts.environment import command_text
from fleet.facts.model import Facts
from fleet.facts.running import ContainerFact, EnvValue, Publication
from fleet.installers.content import written
from fleet.installers.items import ComposeBody, Item
from fleet.installers.model import Plan
from fleet.installers.planning import plan, questions
from fleet.inventory.render import secret_mark
from fleet.secrets import Secret, keyed_digest


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return bench_of(tmp_path, request.param)


COMPOSE = "services:\n  palace:\n    image: palace\n    env_file: .env\n"


def project(text: str = COMPOSE, more: str = "") -> Item:
    env = written(f"MEMPALACE_MCP_HTTP_TOKEN='{secret_mark(TOKEN)}'\n{more}", "env")
    return Item(
        "serve", "palace", "~/srv/palace/compose.yml", ComposeBody(written(text), env, "pal")
    )


WORDS = (
    "--project-directory ~/srv/palace --env-file ~/srv/palace/.env -p pal "
    "-f ~/srv/palace/compose.yml"
)


@pytest.mark.parametrize("plugin", [True, False])
def test_a_project_is_checked_started_recreated_and_taken_down(bench: Bench, plugin: bool) -> None:
    fake(bench, "docker", "exit 0" if plugin else "exit 1")
    fake(bench, "docker-compose")
    before = bench.tree()
    head = f"docker compose {WORDS}" if plugin else f"docker-compose {WORDS}"

    def called() -> list[str]:
        return [line for line in calls(bench) if line != "docker compose version"]

    bench.bring(project())
    assert called() == [f"{head} config -q", f"{head} up -d --remove-orphans --force-recreate"]
    assert (bench.home / "srv/palace/.env").stat().st_mode & 0o777 == 0o600
    assert bench.plan(project()).changes == 0
    bench.values[TOKEN] = Secret("tok-EXAMPLE-2")
    made = bench.bring(project())
    assert made.steps[0].summary == "recreate the compose project pal"
    assert called()[-1].endswith("--force-recreate")
    bench.uninstall()
    assert called() == [f"{head} down"]

    assert bench.tree() == before


def test_a_project_that_is_wrong_is_never_started(bench: Bench) -> None:
    fake(bench, "docker", '[ "$2" = version ] && exit 0; echo "no such service"; exit 15')

    applied = bench.apply(bench.plan(project()))

    assert applied.failure is not None
    assert applied.failure.detail == ("no such service",)
    assert [c for c in calls(bench) if " up " in c] == []
    assert bench.tree() == {}


def test_a_project_that_does_not_start_gets_its_old_files_back_and_starts_again(
    bench: Bench,
) -> None:
    fake(bench, "docker")
    bench.bring(project())
    calls(bench)
    before = (bench.home / "srv/palace/compose.yml").read_bytes()
    fake(bench, "docker", f'grep -q broken "{bench.home}/srv/palace/compose.yml" && '
         'case "$*" in *" up "*) exit 1 ;; esac; exit 0')  # fmt: skip

    applied = bench.apply(bench.plan(project(COMPOSE + "# broken\n")))

    assert applied.undone
    assert (bench.home / "srv/palace/compose.yml").read_bytes() == before
    ups = [c for c in calls(bench) if " up " in c]
    assert len(ups) == 2, "the failed start, and the old project again"


def test_without_compose_the_step_says_so(tmp_path: Path) -> None:
    bench = Bench(tmp_path / "home", "busybox", values={TOKEN: Secret("tok-EXAMPLE-1")})

    applied = bench.apply(bench.plan(project()))

    assert applied.failure is not None
    assert applied.failure.reason == "the program is not there"
    assert "neither 'docker compose' nor 'docker-compose'" in applied.failure.detail[0]
    assert bench.tree() == {}


def with_container(facts: Facts, **values: str) -> Facts:
    variables = {
        name: EnvValue(set=True, length=len(v), digest=keyed_digest(facts.nonce, v))
        for name, v in values.items()
    }
    container = ContainerFact(name="pal-palace-1", state="running", variables=variables)
    return facts.model_copy(update={"containers": {"pal": (container,)}})


def test_b10_a_container_of_an_older_environment_is_recreated(bench: Bench) -> None:
    fake(bench, "docker")
    bench.bring(project())
    facts = bench.look(questions([project()]))
    token = {"MEMPALACE_MCP_HTTP_TOKEN": "tok-EXAMPLE-1"}

    current = plan([project()], with_container(facts, **token), secrets=bench.values)
    stale = plan(
        [project()],
        with_container(facts, MEMPALACE_MCP_HTTP_TOKEN="tok-EXAMPLE-0"),
        secrets=bench.values,
    )
    gone = plan(
        [project()], facts.model_copy(update={"containers": {"pal": ()}}), secrets=bench.values
    )

    assert current.changes == 0
    [step] = stale.steps
    assert "was created with another MEMPALACE_MCP_HTTP_TOKEN" in step.summary
    assert "no container of it is there" in gone.steps[0].summary


# --- what runs, against the file ---

SERVED = """\
services:
  palace:
    image: palace:1
    entrypoint: [mempalace, serve]
    restart: unless-stopped
    ports: ["127.0.0.1:${PORT}:8765"]
    volumes: ["data:/data", "./conf:/conf"]
    environment: {PALACE: /data/p, WHERE: "${PLACE:-here}", TOKEN: "${MEMPALACE_MCP_HTTP_TOKEN}"}
volumes:
  data: {name: attic}
"""
PORT = Publication(inner=8765, port=8765, address="127.0.0.1")


def variables(nonce: str, values: Mapping[str, str]) -> dict[str, EnvValue]:
    return {
        name: EnvValue(set=True, length=len(v), digest=keyed_digest(nonce, v))
        for name, v in values.items()
    }


@pytest.fixture
def served(tmp_path: Path) -> tuple[Bench, Facts, ContainerFact]:
    """A project that was brought up, and its container as the engine would tell of it."""
    bench = bench_of(tmp_path, "dash")
    fake(bench, "docker")
    bench.bring(project(SERVED, "PORT=8765\n"))
    facts = bench.look(questions([project(SERVED)]))
    values = {"PALACE": "/data/p", "WHERE": "here", "TOKEN": "tok-EXAMPLE-1"}
    container = ContainerFact(
        name="pal-palace-1",
        service="palace",
        state="running",
        image="sha256:1",
        image_name="palace:1",
        image_now="sha256:1",
        restart="unless-stopped",
        ports=(PORT,),
        mounts={"/data": "attic", "/conf": f"{bench.home}/srv/palace/conf", "/v": "f" * 64},
        command=keyed_digest(facts.nonce, command_text(("mempalace", "serve"))),
        variables=variables(facts.nonce, values),
    )
    return bench, facts, container


def planned(bench: Bench, facts: Facts, *containers: ContainerFact, text: str = SERVED) -> Plan:
    seen = facts.model_copy(update={"containers": {"pal": containers}})
    return plan([project(text, "PORT=8765\n")], seen, secrets=bench.values)


def test_a_container_that_is_as_the_file_says_is_left(
    served: tuple[Bench, Facts, ContainerFact],
) -> None:
    made = planned(*served)

    assert (made.changes, made.notes, made.unchanged) == (0, (), 1)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"ports": ()}, "does not publish 127.0.0.1:8765:8765"),
        (
            {"ports": (PORT.model_copy(update={"address": "0.0.0.0"}),)},
            "does not publish 127.0.0.1:8765:8765, and 1 more",
        ),
        ({"image_now": "sha256:2"}, "made of an older image than palace:1 is today"),
        ({"image_name": "other"}, "made of the image other, the file says palace:1"),
        ({"restart": "no"}, "restart is no, the file says unless-stopped"),
        ({"mounts": {"/conf": "/x", "/data": "attic"}}, "/x is mounted at /conf"),
        ({"command": "0" * 64}, "its command is not the one in the file"),
        ({"state": "exited"}, "is exited"),
    ],
)
def test_a_container_that_differs_is_recreated(
    served: tuple[Bench, Facts, ContainerFact], change: dict[str, object], why: str
) -> None:
    bench, facts, container = served

    made = planned(bench, facts, container.model_copy(update=change))

    [step] = made.steps
    assert step.change == "change"
    assert step.summary.startswith("recreate the compose project pal: pal-palace-1")
    assert why in step.summary
    calls(bench)
    assert bench.apply(made).committed
    assert calls(bench)[-1].endswith("up -d --remove-orphans --force-recreate")


@pytest.mark.parametrize("name", ["PALACE", "WHERE", "TOKEN"])
def test_another_value_of_a_variable_is_named_and_not_shown(
    served: tuple[Bench, Facts, ContainerFact], name: str
) -> None:
    bench, facts, container = served
    there = {**container.variables, **variables(facts.nonce, {name: "tok-EXAMPLE-0"})}

    made = planned(bench, facts, container.model_copy(update={"variables": there}))

    assert made.steps[0].summary.endswith(f"pal-palace-1 was created with another {name}")
    assert "tok-EXAMPLE" not in made.to_json()


def test_a_secret_in_a_text_that_is_compared_is_not_shown(
    served: tuple[Bench, Facts, ContainerFact],
) -> None:
    bench, facts, container = served
    text = SERVED.replace("palace:1", "palace:${MEMPALACE_MCP_HTTP_TOKEN}")

    made = planned(bench, facts, container, text=text)

    assert made.steps[0].summary.endswith("the file says palace:***")
    assert "tok-EXAMPLE" not in made.to_json()


def test_a_service_without_a_container_is_brought_up(
    served: tuple[Bench, Facts, ContainerFact],
) -> None:
    bench, facts, container = served

    made = planned(bench, facts, container.model_copy(update={"service": "old"}))

    assert "the service palace has no container" in made.steps[0].summary


def test_what_the_file_does_not_tell_is_not_compared_and_said(
    served: tuple[Bench, Facts, ContainerFact],
) -> None:
    bench, facts, container = served
    text = SERVED.replace("palace:1", "${ELSEWHERE}")
    bench.bring(project(text, "PORT=8765\n"))
    facts = bench.look(questions([project(text)]))
    moved = container.model_copy(update={"command": None, "variables": {}})

    made = planned(bench, facts, moved, text=text)

    assert made.changes == 0
    assert made.notes == (
        "pal-palace-1: its command was not seen",
        "pal-palace-1: image: the value of ELSEWHERE is not known here",
    )


def test_a_project_that_others_started_is_not_taken_down_to_undo_that(
    served: tuple[Bench, Facts, ContainerFact],
) -> None:
    bench, _, container = served
    (bench.home / ".local/state/fleet/ledger.json").unlink()
    strange = bench.look(questions([project(SERVED)]))
    seen = container.model_copy(update={"ports": (), "command": None, "variables": {}})

    [step] = planned(bench, strange, seen).steps

    assert step.change == "change"
    assert "down" not in str(step.actions)
