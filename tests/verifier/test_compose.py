"""A compose file as a model, and the rules beyond the collected cases."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fleet.verifier.compose import read_compose
from fleet.verifier.compose_forms import (
    EnvFile,
    Plain,
    Port,
    Volume,
    command,
    env_files,
    port,
    variables,
    volume,
)
from fleet.verifier.compose_lint import Ground, flag, lint, unbindable


def problems(service: dict[str, Any], ground: Ground | None = None, **env: str) -> list[str]:
    text = json.dumps({"services": {"palace": {"image": "e/p:1", **service}}})
    return [
        f"{p.verdict}: {p.message}"
        for p in lint(read_compose(text, "c.yml", env), ground or Ground())
    ]


@pytest.mark.parametrize(
    "text, read",
    [
        ("80", Port("80")),
        ("8080:80", Port("80", "8080")),
        ("127.0.0.1:8080:80/udp", Port("80", "8080", "127.0.0.1", "udp")),
        ("127.0.0.1::80", Port("80", "", "127.0.0.1")),
        ("[::1]:8080:80", Port("80", "8080", "::1")),
        ("3000-3005:3000-3005", Port("3000-3005", "3000-3005")),
        ("", None),
        ("a:b:c", None),
        ("80:", None),
        (None, None),
        (
            {"target": "80", "published": "8080", "host_ip": "::1", "protocol": "udp"},
            Port("80", "8080", "::1", "udp"),
        ),
    ],
)
def test_ports(text: Plain, read: Port | None) -> None:
    assert port(text) == read


@pytest.mark.parametrize(
    "text, read",
    [
        ("/data", Volume("/data")),
        ("C:\\data", Volume("C:\\data")),
        ("named:/data", Volume("/data", "named")),
        ("C:\\a:D:\\b:ro,z", Volume("D:\\b", "C:\\a", "ro,z")),
        (":/data", None),
        ("named:", None),
        ({"source": "./a", "target": "/b", "read_only": True}, Volume("/b", "./a", "ro")),
        (True, None),
    ],
)
def test_volumes(text: Plain, read: Volume | None) -> None:
    assert volume(text) == read


def test_environment_in_both_forms() -> None:
    assert variables({"A": "1", "B": None, "C": True}) == {"A": "1", "B": None, "C": "true"}
    assert variables(["A=1=2", "B", "C="]) == {"A": "1=2", "B": None, "C": ""}


def test_env_files_in_all_forms() -> None:
    assert env_files("a.env") == [EnvFile("a.env")]
    assert env_files(["a", {"path": "b", "required": False}, {"path": "c"}, {}, None]) == [
        EnvFile("a"),
        EnvFile("b", required=False),
        EnvFile("c"),
    ]


def test_a_command_line_is_split_as_a_shell_does() -> None:
    assert command('serve --host "0.0.0.0"') == ("serve", "--host", "0.0.0.0")
    assert command('unclosed "') == ('unclosed "',)


@pytest.mark.parametrize(
    "words, value",
    [(("--host", "a"), "a"), (("--host=a",), "a"), (("--host",), ""), (("--hosts", "a"), "")],
)
def test_flags(words: tuple[str, ...], value: str) -> None:
    assert flag(words, "--host") == value


IDLE = "warn: palace exits after {} idle hours and nothing restarts it"


@pytest.mark.parametrize(
    "service, told",
    [
        ({"restart": "unless-stopped"}, []),
        ({"restart": "always"}, []),
        ({"deploy": {"restart_policy": {"condition": "any"}}}, []),
        ({"restart": "on-failure"}, [IDLE.format(8)]),
        ({"restart": "no"}, [IDLE.format(8)]),
        ({"environment": {"MEMPALACE_MCP_IDLE_HOURS": 0}}, []),
        ({"environment": ["MEMPALACE_MCP_IDLE_HOURS=0.0"]}, []),
        ({"environment": {"MEMPALACE_MCP_IDLE_HOURS": "24"}}, [IDLE.format(24)]),
        ({"command": "mempalace serve"}, [IDLE.format(8)]),
        ({"command": "python -m mempalace.mcp_server --transport http"}, [IDLE.format(8)]),
        ({"command": ["qdrant"]}, []),
        ({"command": [], "entrypoint": ["/usr/local/bin/mempalace", "serve"]}, [IDLE.format(8)]),
    ],
)
def test_e12_the_idle_exit(service: dict[str, Any], told: list[str]) -> None:
    assert problems({"command": ["serve"], **service}) == told


def test_a_token_in_the_file_or_in_an_argument_is_told_without_it() -> None:
    service = {
        "command": ["serve", "--token", "tok-EXAMPLE-1"],
        "restart": "always",
        "environment": {"MEMPALACE_MCP_HTTP_TOKEN": "tok-EXAMPLE-2", "TOKEN_FILE": "/run/t"},
    }
    told = problems(service)
    assert told == [
        "fail: the value of MEMPALACE_MCP_HTTP_TOKEN stands in the file itself",
        "fail: --token shows the token to everyone who may inspect the container",
    ]
    assert "tok-EXAMPLE" not in "".join(told)


@pytest.mark.parametrize("as_list", [True, False])
def test_a_token_taken_from_the_environment_is_right(as_list: bool) -> None:
    name, text = "MEMPALACE_MCP_HTTP_TOKEN", "${MEMPALACE_MCP_HTTP_TOKEN:?set it}"
    environment: Any = [f"{name}={text}"] if as_list else {name: text}
    assert problems({"environment": environment}, MEMPALACE_MCP_HTTP_TOKEN="x") == []
    assert problems({"environment": environment}) == [f"fail: {name} is not set: set it"]


def test_unset_and_empty_variables_are_two_messages() -> None:
    environment = {"MEMPALACE_MCP_HTTP_TOKEN": "${TOKEN}"}
    assert problems({"environment": environment}) == [
        "warn: TOKEN is not set; compose puts an empty text"
    ]
    assert problems({"environment": environment}, TOKEN="") == ["fail: TOKEN is set but empty"]


def test_an_operators_own_variable_is_told_however_it_gets_in() -> None:
    told = [
        f"warn: {n} is that of whoever runs compose, not the container's" for n in ("HOME", "USER")
    ]
    assert problems({"environment": ["X=${HOME}/x", "USER"]}) == told


def test_every_interface_is_told_unless_the_lan_is_meant() -> None:
    service = {"command": ["serve"], "restart": "always", "ports": ["8765:8765"]}
    told = ["warn: published on every interface of the host, the LAN's included"]
    assert problems(service) == told
    assert problems(service, Ground(lan=True)) == []
    assert problems({**service, "command": ["qdrant"]}) == []


def test_a_host_network_server_needs_its_address() -> None:
    service = {"command": "serve --host 172.17.0.1", "network_mode": "host", "restart": "always"}
    assert problems(service, Ground(interfaces={"docker0": ("10.0.0.1",)})) == [
        "fail: 172.17.0.1 is on no interface of this host; docker0 is 10.0.0.1"
    ]


@pytest.mark.parametrize("address", ["", "0.0.0.0", "::", "127.0.0.1", "127.0.0.2", "localhost"])
def test_addresses_every_host_has(address: str) -> None:
    assert unbindable(address, {}) == ""


@pytest.mark.parametrize(
    "check, told",
    [
        (["CMD", "curl", "-X", "POST", "http://x/mcp"], 1),
        (["CMD-SHELL", "wget -qO- http://x:1/messages/ || exit 1"], 2),
        ("curl http://x/mcp-docs", 1),
        (["CMD", "python", "-c", "urlopen('http://127.0.0.1:8765/healthz')"], 0),
        (["NONE"], 0),
        (["CMD", "check", "${PORT:-8765}"], 0),
        (["CMD", "libcurl-test"], 0),
    ],
)
def test_c12_health_checks(check: Any, told: int) -> None:
    assert len(problems({"healthcheck": {"test": check}})) == told


@pytest.mark.parametrize(
    "text, message",
    [
        ("services: [a]", "`services` is no mapping"),
        ("services: {a: 1}", "`a` is no mapping"),
        ("services: {a: }", "`a` is no mapping"),
        ("services: {a: {ports: [x]}}", "this is no port that compose knows"),
        ("services: {a: {volumes: [':x']}}", "this is no volume that compose knows"),
        ("services: {a: {image: '${X'}}", "`${` is never closed in `${X`"),
        ("a: b: c", "a second `: ` in one line"),
        ("services: {a: !reset {}}", "unknown tag `!reset`"),
    ],
)
def test_a_file_that_is_wrong_is_told(text: str, message: str) -> None:
    compose = read_compose(text, "c.yml", {})
    assert [p.verdict for p in compose.problems] == ["fail"]
    assert compose.problems[0].message.startswith(message)
    assert str(compose.problems[0]).startswith("c.yml:1:")


@pytest.mark.parametrize(("text", "warned"), [("8765:55", 1), ("'8765:55'", 0), ('"8765:55"', 0)])
def test_only_an_unquoted_port_can_be_misread(text: str, warned: int) -> None:
    compose = read_compose(f"services: {{a: {{ports: [{text}]}}}}", "c.yml", {})
    assert len(compose.problems) == warned
    assert compose.services["a"].ports == (Port("55", "8765"),)


def test_a_dependency_that_no_profile_selects() -> None:
    text = "services: {a: {depends_on: {b: }}, b: {profiles: [x]}}"
    assert [p.message for p in lint(read_compose(text, "c.yml", {})) if p.verdict == "fail"] == [
        "a depends on b, which no active profile selects"
    ]
    active = read_compose(text, "c.yml", {"COMPOSE_PROFILES": "x"})
    assert lint(active) == []


def test_a_required_service_that_is_not_there() -> None:
    compose = read_compose("services: {a: {}}", "c.yml", {})
    assert [p.message for p in lint(compose, Ground(required=["palace"]))] == [
        "there is no service palace"
    ]


VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text("a$:{}-/1", max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", min_size=1), inner, max_size=3)
    ),
    max_leaves=6,
)
KEYS = st.sampled_from(
    [
        "image",
        "command",
        "entrypoint",
        "environment",
        "env_file",
        "ports",
        "volumes",
        "depends_on",
        "profiles",
        "secrets",
        "healthcheck",
        "network_mode",
        "restart",
        "deploy",
    ]
)


@given(st.dictionaries(KEYS, VALUES), VALUES)
def test_no_shape_raises(service: dict[str, Any], secrets: Any) -> None:
    text = json.dumps({"services": {"a": service, "b": service}, "secrets": secrets})
    for problem in lint(read_compose(text, "c.yml", {}), Ground(files=(), interfaces={})):
        assert problem.message


@given(st.binary(max_size=80))
def test_no_bytes_raise(content: bytes) -> None:
    lint(read_compose(content, "c.yml", {}))
