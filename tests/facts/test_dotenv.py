"""What each reader makes of an env file; where it can be, the real reader is asked too."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.places import CASES
from support.probing import NONCE

from fleet.facts.dotenv import SPANS, Dialect, Reading, interpret
from fleet.facts.envfile import read_env_file
from fleet.secrets import keyed_digest

SH, DOCKER, COMPOSE = Dialect.SH, Dialect.DOCKER, Dialect.COMPOSE
Table = dict[str, str | None]  # None: it cannot be told from the file


def reading(content: bytes, dialect: Dialect, *, public: tuple[str, ...] = ()) -> Reading:
    return interpret(read_env_file(content, nonce=NONCE, public=public), dialect)


def case(name: str) -> bytes:
    return (CASES / name).read_bytes()


def holds(read: Reading, expected: Table) -> None:
    """Check that a reading has just these variables, by digest, and tells the same length."""
    assert set(read.entries) == set(expected)
    for name, value in expected.items():
        entry = read.entries[name]
        assert entry.name == name
        if value is None:
            assert entry.unknown, name
            assert entry.value.digest is None, name
        else:
            assert not entry.unknown, name
            assert entry.value.digest == keyed_digest(NONCE, value), name
            assert entry.value.length == len(value.encode()), name


def fatal(read: Reading) -> list[int]:
    return [problem.line for problem in read.problems if problem.fatal]


def test_b02_quotes_are_kept_by_docker_only() -> None:
    url = "https://palace.example.net/mcp"
    for dialect in (SH, COMPOSE):
        holds(reading(case("B02/quoted.env"), dialect), {"TOKEN": "tok-EXAMPLE-1", "URL": url})
    read = reading(case("B02/quoted.env"), DOCKER)
    holds(read, {"TOKEN": '"tok-EXAMPLE-1"', "URL": f"'{url}'"})
    assert [str(problem) for problem in read.problems] == [
        "line 1: docker keeps the quotes as part of the value",
        "line 2: docker keeps the quotes as part of the value",
    ]
    assert fatal(read) == []
    assert read.entries["TOKEN"].quoted == '"'


def test_b03_forms() -> None:
    shell = reading(case("B03/forms.env"), SH)
    holds(shell, {"A": "1"})
    assert fatal(shell) == [2, 3]
    compose = reading(case("B03/forms.env"), COMPOSE)
    holds(compose, {"A": "1", "B": "2", "C": "3"})
    assert fatal(compose) == []
    docker = reading(case("B03/forms.env"), DOCKER)
    holds(docker, {})
    assert fatal(docker) == [1, 2, 3]


def test_b04_mark_breaks_the_shell_only() -> None:
    shell = reading(case("B04/bom.env"), SH)
    assert set(shell.entries) == {"MEMPALACE_PI_DEVICE"}
    assert fatal(shell) == [1]
    assert "U+FEFF at byte 0" in str(shell.problems[0])
    for dialect in (DOCKER, COMPOSE):
        read = reading(case("B04/bom.env"), dialect)
        assert set(read.entries) == {"MEMPALACE_REMOTE_URL", "MEMPALACE_PI_DEVICE"}
        assert fatal(read) == []


def test_b07_hash() -> None:
    for dialect in (SH, COMPOSE):
        holds(reading(case("B07/hash.env"), dialect), {"A": "tok#1", "B": "tok", "C": "tok #1"})
    docker: Table = {"A": "tok#1", "B": "tok #1", "C": '"tok #1"'}
    holds(reading(case("B07/hash.env"), DOCKER), docker)


@pytest.mark.parametrize("dialect", Dialect)
def test_b11_locked(dialect: Dialect) -> None:
    read = reading(case("B11/locked.env"), dialect)
    assert read.entries == {}
    assert [str(problem) for problem in read.problems] == ["encrypted by git-crypt, not unlocked"]
    assert fatal(read) == [0]


@pytest.mark.parametrize("dialect", Dialect)
def test_c02_empty_is_not_unset(dialect: Dialect) -> None:
    read = reading(case("C02/.env"), dialect)
    holds(read, {"MEMPALACE_MCP_HTTP_TOKEN": ""})
    assert read.entries["MEMPALACE_MCP_HTTP_TOKEN"].value.set
    assert "OTHER" not in read.entries


@pytest.mark.parametrize("dialect", Dialect)
def test_binary_and_too_large(dialect: Dialect) -> None:
    assert fatal(reading(b"A=\0", dialect)) == [0]
    assert fatal(reading(b"#\n" * 501, dialect)) == [0]


def test_crlf() -> None:
    content = b"A=x\r\n\r\nB='y'\r\n# c\r\nC=z #c\r\n"
    shell = reading(content, SH)
    holds(shell, {"A": "x\r", "B": None, "C": "z"})
    assert fatal(shell) == [1, 2, 3]
    holds(reading(content, COMPOSE), {"A": "x", "B": "y", "C": "z"})
    docker = reading(content, DOCKER)
    holds(docker, {"A": "x", "B": "'y'", "C": None})
    assert fatal(docker) == []


def test_what_is_expanded_or_escaped_cannot_be_told() -> None:
    content = b"A=$X\nB=\"$X\"\nC='$X'\nD=a\\ b\nE=\"a\\nb\"\nF=~/x\nG=`id`\nH=a'b'c\n"
    shell = reading(content, SH)
    holds(shell, dict.fromkeys("ABDEFGH") | {"C": "$X"})
    assert fatal(shell) == []
    holds(
        reading(content, COMPOSE),
        {"A": None, "B": None, "C": "$X", "D": "a\\ b", "E": None}
        | {"F": "~/x", "G": "`id`", "H": "a'b'c"},
    )
    docker = reading(content, DOCKER)
    assert docker.entries["A"].value.digest == keyed_digest(NONCE, "$X")


def test_a_quote_over_several_lines_hides_them() -> None:
    content = b"A='-----BEGIN KEY-----\nB=x\n-----END KEY-----'\nC=1\n"
    for dialect in (SH, COMPOSE):
        read = reading(content, dialect)
        holds(read, {"A": None, "C": "1"})
        assert fatal(read) == []
        assert fatal(reading(b"A='x\nB=1\n", dialect)) == [1]


def test_what_follows_a_value_is_a_command_for_the_shell() -> None:
    read = reading(b"A=x curl y\nB=a;b\nC=https://h/?a=1&b=2\nD= x\nE=1 F=2\nset -a\n", SH)
    holds(read, dict.fromkeys("ABCDE"))
    assert fatal(read) == [1, 2, 3, 4]
    assert [p.line for p in read.problems if not p.fatal] == [6]


def test_the_later_of_two_wins_and_is_told() -> None:
    read = reading(b"A=1\nA=2\n", SH)
    holds(read, {"A": "2"})
    assert [str(problem) for problem in read.problems] == ["line 2: A stands here again"]


@pytest.mark.parametrize("dialect", Dialect)
def test_public_values_are_told(dialect: Dialect) -> None:
    read = reading(b"U=https://palace.example.net/mcp\nV=1\n", dialect, public=("U",))
    assert read.entries["U"].value.value == "https://palace.example.net/mcp"
    assert read.entries["U"].value.digest is None
    assert read.entries["V"].value.value is None


F06_TABLE = {"clean.env": [], "bad.env": [2], "comment.env": [], "empty.env": []}


@pytest.mark.parametrize("name", F06_TABLE)
def test_f06_a_rule_over_values_sees_only_lines_that_assign(name: str) -> None:
    read = reading(case(f"F06/{name}"), SH, public=("U", "V"))
    lines = [e.line for e in read.entries.values() if "http://" in (e.value.value or "")]
    assert lines == F06_TABLE[name]


# --- against the readers themselves ----------------------------------------------------------

VALUES = st.lists(st.sampled_from([*"aZ7#'\"\\$;~ \t=:\r", " #"]), max_size=7).map("".join)
FILES = st.lists(
    st.tuples(st.sampled_from(["", "export ", " "]), st.sampled_from("ABC"), VALUES), max_size=4
).map(lambda lines: "".join(f"{head}V{name}={value}\n" for head, name, value in lines).encode())


def told(read: Reading) -> dict[str, str | None]:
    """Return digests of what the reading is sure of, None for the rest."""
    return {n: None if e.unknown else e.value.digest for n, e in read.entries.items()}


def agrees(read: Reading, real: dict[str, str]) -> None:
    digests = {name: keyed_digest(NONCE, value) for name, value in real.items()}
    sure = {name: digest for name, digest in told(read).items() if digest}
    assert {name: digests.get(name) for name in sure} == sure
    if not any(entry.unknown == SPANS for entry in read.entries.values()):
        assert set(real) <= set(read.entries)


@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(content=FILES)
def test_the_shell_agrees(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    read = reading(content, SH)
    if fatal(read):
        return
    file = tmp_path_factory.mktemp("sh") / "file.env"
    file.write_bytes(content)
    show = (
        "import os, json; print(json.dumps({k: v for k, v in os.environ.items() if k[0] == 'V'}))"
    )
    script = 'set -a; . "$1"; set +a; exec "$2" -c "$3"'
    done = subprocess.run(
        ["/bin/sh", "-c", script, "sh", str(file), sys.executable, show],
        env={"PATH": "/nonexistent", "HOME": "/home/u"},
        capture_output=True,
        check=True,
    )
    agrees(read, json.loads(done.stdout))


@pytest.fixture(scope="session")
def compose_binary() -> str:
    found = list(Path(sys.prefix).glob("lib/python*/site-packages/compose/docker-compose"))
    binary = str(found[0]) if found else shutil.which("docker-compose")
    if not binary or "v2" not in _version(binary):
        pytest.skip("no compose v2 on this machine")
    return binary


def _version(binary: str) -> str:
    done = subprocess.run([binary, "version"], capture_output=True, text=True, check=False)
    return done.stdout


@settings(max_examples=8, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
@given(content=FILES)
def test_compose_agrees(
    tmp_path_factory: pytest.TempPathFactory, compose_binary: str, content: bytes
) -> None:
    folder = tmp_path_factory.mktemp("compose")
    (folder / "file.env").write_bytes(content)
    (folder / "compose.yml").write_text("services: {c: {image: c, env_file: [file.env]}}\n")
    done = subprocess.run(
        [compose_binary, "-f", str(folder / "compose.yml"), "config", "--format", "json"],
        env={"PATH": "/nonexistent", "HOME": str(folder)},
        capture_output=True,
        check=False,
    )
    read = reading(content, COMPOSE)
    if done.returncode != 0:
        assert fatal(read) or None in told(read).values(), done.stderr
        return
    if fatal(read):
        return
    environment = json.loads(done.stdout)["services"]["c"].get("environment") or {}
    real = {name: (value or "").replace("$$", "$") for name, value in environment.items()}
    agrees(read, real)
