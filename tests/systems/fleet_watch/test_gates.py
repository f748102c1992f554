"""fleet as a service: units that systemd takes, and gates over them."""

import shutil
import subprocess
from pathlib import Path

import pytest
from support.facts import World, findings, target

from fleet.data import shipped
from fleet.facts.running import ProcessFact
from fleet.inventory.model import Target, Value
from fleet.inventory.render import render
from fleet.systems.catalogue import load_catalogue
from fleet.systems.model import Service, Template
from fleet.systems.resolve import resolve
from fleet.verifier.model import Finding, Verdict

ANALYZE = shutil.which("systemd-analyze")
ODD = "/opt/a b/fleet%1$x"
CHOICES: tuple[dict[str, Value], ...] = (
    {},
    {"watch_options": '--tell "!secret env:FLEET_MAIL" --hold 20m', "watch_every": "60s"},
    {"fleet_bin": "/bin/true", "watch_inventory": ODD},
    {"watch_system": True, "fleet_bin": "/bin/true", "watch_inventory": "/etc/fleet"},
    {"watch_mode": "timer"},
    {"watch_mode": "timer", "watch_metrics": "/var/lib/node exporter/fleet.prom"},
    {"watch_mode": "timer", "watch_system": True, "watch_at": "Mon..Fri 03:00"},
)


def watching(**variables: Value) -> Target:
    return target("fleet-watch", address="local:", **variables)  # type: ignore[arg-type]  # as an inventory has them


def units(where: Target) -> dict[str, str]:
    """Render what is deployed, by path."""
    (resolved,) = resolve([load_catalogue().system("fleet-watch")], where)
    return {
        artifact.path: render(
            (shipped("templates") / artifact.template).read_text("utf-8"),
            resolved.variables,
            where=artifact.path,
        )
        for artifact in resolved.artifacts.values()
        if isinstance(artifact, Service | Template)
    }


@pytest.mark.parametrize("variables", CHOICES)
@pytest.mark.skipif(ANALYZE is None, reason="systemd-analyze is not installed")
def test_systemd_takes_every_unit(variables: dict[str, Value], tmp_path: Path) -> None:
    made = units(watching(**{"fleet_bin": "/bin/true", **variables}))
    assert made
    for path, text in made.items():
        (tmp_path / Path(path).name).write_text(text.replace("User=fleet\n", ""), "utf-8")
    names = [str(tmp_path / Path(path).name) for path in made]
    assert ANALYZE is not None
    ended = subprocess.run(
        [ANALYZE, "verify", "--man=no", "--recursive-errors=no", *names],
        capture_output=True,
        text=True,
        check=False,
    )
    told = [line for line in ended.stderr.splitlines() if str(tmp_path) in line]
    assert told == []
    assert ended.returncode == 0, ended.stderr


def test_a_user_finds_his_own_files() -> None:
    (text,) = units(watching()).values()
    assert 'ExecStart="%h/.local/bin/fleet" watch -i "%h/fleet" --every 5m\n' in text
    assert "EnvironmentFile=-%h/.config/fleet/watch.env\n" in text
    assert "WantedBy=default.target" in text
    assert "User=" not in text


def test_odd_paths_reach_the_program_as_they_are() -> None:
    (text,) = units(watching(watch_inventory=ODD)).values()
    assert '"/opt/a b/fleet%%1$$x"' in text


def seen(where: Target, *, files: bool = True, running: bool = True) -> World:
    world = World()
    for name in ("watch/fleet-watch.service.j2", "watch/fleet-audit.service.j2"):
        world.templates[name] = (shipped("templates") / name).read_text("utf-8")
    name = "watch/fleet-audit.timer.j2"
    world.templates[name] = (shipped("templates") / name).read_text("utf-8")
    if files:
        for path, text in units(where).items():
            world.file(path, text.encode())
        world.file("~/.local/bin/fleet", b"#!")
        world.folder("~/fleet")
    process = ProcessFact(pid=7, user="me", command="fleet watch")
    world.also(processes={"watch": (process,) if running else ()})
    return world


def judged(where: Target, world: World) -> dict[str, Finding]:
    return findings(where, world)


@pytest.mark.parametrize("mode", ["service", "timer"])
def test_all_holds_where_all_is_as_meant(mode: str) -> None:
    where = watching(watch_mode=mode)
    found = judged(where, seen(where))
    assert found["watch.units"].verdict is Verdict.PASS
    assert found["watch.ground"].verdict is Verdict.PASS
    runs = found["watch.runs"].verdict
    assert runs is (Verdict.PASS if mode == "service" else Verdict.NOT_APPLICABLE)
    assert found["watch.env"].verdict is Verdict.NOT_APPLICABLE


@pytest.mark.parametrize("mode", ["service", "timer"])
def test_a_unit_that_is_another_or_missing_fails(mode: str) -> None:
    where = watching(watch_mode=mode)
    for path in units(where):
        world = seen(where)
        world.file(path, b"[Unit]\n")
        assert judged(where, world)["watch.units"].verdict is Verdict.FAIL
    assert judged(where, seen(where, files=False))["watch.units"].verdict is Verdict.FAIL


def test_a_watch_that_does_not_run_fails() -> None:
    where = watching()
    assert judged(where, seen(where, running=False))["watch.runs"].verdict is Verdict.FAIL
    unseen = seen(where).also(processes={}, unseen={"processes": "no /proc"})
    assert judged(where, unseen)["watch.runs"].verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize("mode, verdict", [(0o600, Verdict.PASS), (0o640, Verdict.FAIL)])
def test_secrets_are_the_owners(mode: int, verdict: Verdict) -> None:
    where = watching()
    world = seen(where).file("~/.config/fleet/watch.env", b"A=b", mode=mode)
    assert judged(where, world)["watch.env"].verdict is verdict


def test_a_mode_that_is_none_deploys_nothing() -> None:
    where = watching(watch_mode="none")
    assert units(where) == {}
    assert judged(where, World())["watch.units"].verdict is Verdict.NOT_APPLICABLE
