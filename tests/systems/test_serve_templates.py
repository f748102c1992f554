"""What is rendered for a server: it reads back as meant, and holds no secret it should not."""

import json
import plistlib
from typing import Any

import pytest
from support.facts import World
from support.facts import target as some_target
from support.serve import DOCKER0, Serving, healthy, target

from fleet.data import shipped
from fleet.errors import PlanError
from fleet.inventory.model import Value
from fleet.inventory.render import render
from fleet.systems.catalogue import load_catalogue
from fleet.systems.mempalace_serve.gates import derived
from fleet.systems.model import Compose, Service, Template
from fleet.systems.resolve import resolve
from fleet.verifier.compose import read_compose
from fleet.verifier.compose_lint import Ground, lint
from fleet.verifier.model import Verdict

ENVIRONMENT = {"MEMPALACE_MCP_HTTP_TOKEN": "x"}
MARK = "\ue000env:PALACE_TOKEN\ue001"


def rendered(template: str, **variables: Value) -> str:
    """Render a template as an installer does: a system's defaults, then what the target knows."""
    given: dict[str, Value] = {"image": "example/palace:1", "serve_mode": "launchd", **variables}
    where = target(**given)
    (resolved,) = resolve([load_catalogue().system("mempalace-serve")], where)
    known = {
        **resolved.variables,
        **derived(resolved.variables, Serving().facts(where)),
    }
    text = (shipped("templates") / "serve" / template).read_text()
    return render(text, known, where=template)


def compose(**variables: Value) -> Any:
    return read_compose(rendered("compose.yml.j2", **variables), "compose.yml", ENVIRONMENT)


def test_the_compose_file_holds_no_trap() -> None:
    file = compose()
    assert (
        lint(file, Ground(interfaces={"docker0": (DOCKER0,)}, files=("compose.yml", ".env"))) == []
    )
    palace = file.services["palace"]
    assert palace.image == "example/palace:1"
    assert [(p.address, p.published, p.target) for p in palace.ports] == [(DOCKER0, "8765", "8765")]
    assert [(v.source, v.target) for v in palace.volumes] == [("palace", "/data")]
    assert palace.command == (
        "mempalace",
        "serve",
        "--host",
        "0.0.0.0",
        "--port",
        "8765",
        "--palace",
        "/data/palace",
    )
    assert palace.environment["MEMPALACE_MCP_IDLE_HOURS"] == "0"
    assert palace.environment["MEMPALACE_MCP_HTTP_TOKEN"] == "x"
    assert palace.restart == "unless-stopped"


def test_the_compose_file_stops_without_a_token() -> None:
    text = rendered("compose.yml.j2")
    assert MARK not in text
    for environment, state in (
        ({}, "not set"),
        ({"MEMPALACE_MCP_HTTP_TOKEN": ""}, "set but empty"),
    ):
        told = [p.message for p in read_compose(text, "c", environment).problems]
        assert told == [f"MEMPALACE_MCP_HTTP_TOKEN is {state}: set it in the .env beside this file"]


def test_odd_values_reach_the_compose_file_as_they_are() -> None:
    odd = 'a "b" $c: {d} # e'
    palace = compose(palace_path=f"/{odd}", image=odd, data_dir='/srv/a "b" $c').services["palace"]
    assert palace.image == odd
    assert palace.command[-1] == f"/{odd}"
    assert palace.volumes[0].source == '/srv/a "b" $c'


def test_an_ipv6_address_is_published_in_brackets() -> None:
    palace = compose(bind="fd00::7", port=9000).services["palace"]
    assert [(p.address, p.published) for p in palace.ports] == [("fd00::7", "9000")]


def test_a_folder_is_mounted_without_a_named_volume() -> None:
    assert "\nvolumes:\n" in rendered("compose.yml.j2")
    assert "\nvolumes:\n" not in rendered("compose.yml.j2", data_dir="/srv/palace")


def test_allowed_hosts_are_passed_on_where_there_are_any() -> None:
    name = "MEMPALACE_MCP_EXTRA_ALLOWED_HOSTS"
    assert name not in rendered("compose.yml.j2") + rendered("server.env.j2")
    given = compose(allowed_hosts="palace.example.net").services["palace"]
    assert given.environment[name] == "palace.example.net"
    assert f"\n{name}='palace.example.net'\n" in rendered(
        "server.env.j2", allowed_hosts="palace.example.net"
    )


@pytest.mark.parametrize("template", ["compose.env.j2", "server.env.j2"])
def test_env_files_hold_the_token_as_a_mark_in_quotes(template: str) -> None:
    assert f"\nMEMPALACE_MCP_HTTP_TOKEN='{MARK}'\n" in rendered(template)


@pytest.mark.parametrize("template", ["compose.env.j2", "server.env.j2"])
def test_a_server_without_a_token_is_not_rendered(template: str) -> None:
    with pytest.raises(PlanError, match="palace_token"):
        rendered(template, palace_token=None)


UNITS = ["mempalace-serve.service.j2", "mempalace-serve.user.service.j2"]


def settings(unit: str) -> dict[str, str]:
    lines = [line for line in unit.splitlines() if "=" in line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


@pytest.mark.parametrize("template", UNITS)
def test_a_unit_restarts_for_ever_and_names_its_palace(template: str) -> None:
    text = rendered(template, serve_bin="/opt/mp/bin/mempalace", server_env="/etc/mp.env")
    unit = settings(text)
    assert unit["ExecStart"] == (
        f'"/opt/mp/bin/mempalace" serve --host {DOCKER0} --port 8765 --palace "/data/palace"'
    )
    assert unit["EnvironmentFile"] == "/etc/mp.env"
    assert unit["Restart"] == "always"
    assert unit["RestartPreventExitStatus"] == "2"
    assert unit["StartLimitIntervalSec"] == "0"
    assert unit["NoNewPrivileges"] == "yes"
    assert MARK not in text


@pytest.mark.parametrize("template", UNITS)
def test_a_unit_quotes_odd_paths(template: str) -> None:
    unit = settings(rendered(template, palace_path='/p "a" 50%$x', serve_bin="/m", server_env="/e"))
    assert unit["ExecStart"].endswith(' --palace "/p \\"a\\" 50%%$$x"')


def test_a_system_unit_waits_for_docker_where_it_binds_its_bridge() -> None:
    paths: dict[str, Value] = {"serve_bin": "/m", "server_env": "/e"}
    assert settings(rendered(UNITS[0], **paths))["After"].endswith(" docker.service")
    other = settings(rendered(UNITS[0], bind="192.0.2.7", **paths))
    assert other["After"] == "network-online.target"


def test_the_launchd_job_gives_the_server_its_environment() -> None:
    odd = "/p & <q> \"r\" $s 't'"
    job = plistlib.loads(rendered("mempalace.serve.plist.j2", palace_path=odd).encode())
    assert job["Label"] == "mempalace.serve"
    assert job["KeepAlive"] is True
    assert job["RunAtLoad"] is True
    assert job["Umask"] == 0o077
    assert job["ProgramArguments"][3:] == [
        "/home/u/.config/mempalace/server.env",
        "/home/u/.local/bin/mempalace",
        "serve",
        "--host",
        DOCKER0,
        "--port",
        "8765",
        "--palace",
        odd,
    ]


def known(*, interfaces: Any = None, **variables: Value) -> dict[str, Value]:
    given: dict[str, Value] = {"serve_mode": "compose", **variables}
    where = target(**given)
    world = Serving().seen(unseen={} if interfaces else {"interfaces": "no ip here"})
    world.seen(interfaces=interfaces)
    return derived(where.variables, world.facts(where))


@pytest.mark.parametrize(
    ("bind", "address"),
    [
        ("docker0", "10.0.0.1"),
        ("eth1", "192.0.2.7"),
        ("loopback", "127.0.0.1"),
        ("192.0.2.9", "192.0.2.9"),
    ],
)
def test_the_address_is_looked_up_where_it_is_a_name(bind: str, address: str) -> None:
    interfaces = {"docker0": ("fe80::1", "10.0.0.1"), "eth1": ("192.0.2.7",)}
    assert known(interfaces=interfaces, bind=bind)["bind_address"] == address


def test_an_interface_that_is_not_there_is_no_address() -> None:
    with pytest.raises(PlanError, match="there is no interface docker0") as missing:
        known(interfaces={"lo": ("127.0.0.1",)})
    assert "interfaces there: lo" in str(missing.value)
    with pytest.raises(PlanError, match="is not known: no ip here"):
        known(bind="docker0")
    assert known(bind="192.0.2.9")["bind_address"] == "192.0.2.9"


def test_where_nothing_is_deployed_nothing_is_looked_up() -> None:
    assert known(interfaces={"lo": ("127.0.0.1",)}, serve_mode="none") == {}


def test_under_compose_paths_are_the_containers_own() -> None:
    assert known(bind="loopback", palace_path="~/p") == {"bind_address": "127.0.0.1"}


def test_no_unit_has_a_tilde_in_it() -> None:
    made = known(bind="loopback", serve_mode="launchd", palace_path="~/p", serve_bin="~/m")
    assert made == {
        "bind_address": "127.0.0.1",
        "palace_path": "/home/u/p",
        "serve_bin": "/home/u/m",
    }
    with pytest.raises(PlanError, match="serve_bin must be absolute"):
        known(bind="loopback", serve_mode="systemd", serve_bin="~/m")


@pytest.mark.parametrize(
    ("mode", "names"),
    [
        ("none", set()),
        ("compose", {"compose"}),
        ("systemd", {"server-env", "unit-systemd"}),
        ("systemd-user", {"server-env", "unit-systemd-user"}),
        ("launchd", {"server-env", "unit-launchd"}),
    ],
)
def test_what_is_deployed_follows_the_mode(mode: str, names: set[str]) -> None:
    system = load_catalogue().system("mempalace-serve")
    (resolved,) = resolve([system], target(serve_mode=mode))
    deployed = {
        name: a
        for name, a in resolved.artifacts.items()
        if isinstance(a, Compose | Service | Template)
    }
    assert set(deployed) == names
    for artifact in deployed.values():
        assert (shipped("templates") / artifact.template).is_file()


def test_a_target_that_only_verifies_needs_no_variable() -> None:
    system = load_catalogue().system("mempalace-serve")
    (resolved,) = resolve([system], some_target("mempalace-serve"))
    assert "token-file" not in resolved.artifacts


FOLDER = "~/mempalace-serve"


def deployed(text: str, env: bytes = b"MEMPALACE_MCP_HTTP_TOKEN='tok-EXAMPLE-1'\n") -> World:
    world = healthy()
    world.folder(FOLDER, "compose.yml", ".env")
    world.file(f"{FOLDER}/compose.yml", text.encode())
    world.env_file(f"{FOLDER}/.env", env)
    return world


def lint_gate(world: World) -> Any:
    assert isinstance(world, Serving)
    return world.judged(target(serve_mode="compose"))["compose-lint"]


def test_the_deployed_compose_file_is_linted() -> None:
    found = lint_gate(deployed(rendered("compose.yml.j2")))
    assert (found.verdict, found.message) == (Verdict.PASS, "no known trap")
    assert not found.required


def test_an_empty_token_beside_it_is_seen_without_any_value() -> None:
    found = lint_gate(deployed(rendered("compose.yml.j2"), b"MEMPALACE_MCP_HTTP_TOKEN=''\n"))
    assert found.verdict is Verdict.FAIL
    assert "MEMPALACE_MCP_HTTP_TOKEN is set but empty" in found.evidence[0]
    missing = lint_gate(deployed(rendered("compose.yml.j2"), b"# MEMPALACE_MCP_HTTP_TOKEN=x\n"))
    assert "MEMPALACE_MCP_HTTP_TOKEN is not set" in missing.evidence[0]


def test_traps_warn_and_mistakes_fail() -> None:
    service = {"image": "e/p:1", "command": ["serve"], "ports": [f"{DOCKER0}:8765:8765"]}
    text = json.dumps({"services": {"palace": service}})
    assert lint_gate(deployed(text)).verdict is Verdict.WARN
    service["ports"] = ["172.17.0.1:8765:8765"]
    found = lint_gate(deployed(json.dumps({"services": {"palace": service}})))
    assert found.verdict is Verdict.FAIL
    assert f"docker0 is {DOCKER0}" in found.evidence[0]


def test_a_compose_file_that_is_not_there_or_not_read() -> None:
    world = healthy()
    assert lint_gate(world).verdict is not Verdict.PASS
    world.folder(FOLDER)
    world.paths[f"{FOLDER}/compose.yml"] = (
        World()
        .file("x")
        .paths["x"]
        .model_copy(update={"sha256": None, "why": "larger than 524288 bytes"})
    )
    assert lint_gate(world).verdict is Verdict.NOT_CHECKED
