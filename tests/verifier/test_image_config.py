"""Secrets in image configurations: case F05 and its kind."""

import json

import pytest
from support.places import CASES

from fleet.verifier.image_config import secrets_in_config, shown_labels


def test_f05_three_findings_no_decoy_and_no_value() -> None:
    config = json.loads((CASES / "F05" / "config.json").read_text())
    found = secrets_in_config(config)
    assert sorted(found) == [
        ("env", "MEMPALACE_REMOTE_TOKEN"),
        ("history 2", "NPM_TOKEN"),
        ("label build.args", "GIT_TOKEN"),
    ]
    assert "tok-EXAMPLE" not in repr(found)


def found_in(*, env: str = "", step: str = "", label: str = "", cmd: str = "") -> list[str]:
    inner: dict[str, object] = {"Env": [env], "Labels": {"l": label}, "Cmd": ["sh", "-c", cmd]}
    found = secrets_in_config({"config": inner, "history": [{"created_by": step}]})
    return [key for _, key in found]


@pytest.mark.parametrize(
    "env",
    [
        "API_KEY=abc123def",
        "AWS_SECRET_ACCESS_KEY=wJalr/XUtn",
        "dbPassword=hunter2",
        "TOKEN_2=;odd value",
        "PALACE_URL=https://me:pw-EXAMPLE@palace.example.net/mcp",
        "JAVA_OPTS=-Xmx1g -Dtrust.password=pw-EXAMPLE",
        "X=ghp_" + "a" * 36,
    ],
)
def test_a_variable_that_holds_a_secret_is_named(env: str) -> None:
    assert found_in(env=env), env


@pytest.mark.parametrize(
    "env",
    [
        "TOKEN=",
        "TOKEN=''",
        "TOKEN=${TOKEN}",
        "TOKEN=$TOKEN",
        "TOKEN=/run/secrets/token",
        "TOKEN_FILE=anything",
        "TOKEN=<your token>",
        "TOKEN=****",
        "MAX_TOKENS=4096",
        "TOKENIZERS_PARALLELISM=false",
        "PASSWORD_MIN_LENGTH=12",
        "REQUIRE_PASSWORD=true",
        "GPG_KEY=E3FF2839C048B25C084DEBE9B26995E310250568",
        "PATH=/usr/bin:/bin",
        "SECRET_NAME=palace",
        "URL=https://palace.example.net/mcp",
        "URL=https://me:${PASSWORD}@palace.example.net",
    ],
)
def test_a_decoy_is_no_finding(env: str) -> None:
    assert found_in(env=env) == []


@pytest.mark.parametrize(
    "step",
    [
        "|2 A=1 NPM_TOKEN=tok-EXAMPLE-1 /bin/sh -c npm ci",
        "/bin/sh -c #(nop)  ENV NPM_TOKEN=tok-EXAMPLE-1",
        'RUN /bin/sh -c export NPM_TOKEN="tok EXAMPLE" && npm ci # buildkit',
        "ARG NPM_TOKEN=tok-EXAMPLE-1",
    ],
)
def test_history_in_every_builders_form(step: str) -> None:
    assert found_in(step=step) == ["NPM_TOKEN"]


@pytest.mark.parametrize(
    "step",
    [
        "ARG NPM_TOKEN",
        "RUN /bin/sh -c echo ${NPM_TOKEN}",
        "RUN --mount=type=secret,id=npm_token npm ci",
        "RUN /bin/sh -c NPM_TOKEN=$(cat /run/secrets/npm) npm ci",
        "COPY token.txt /token.txt",
    ],
)
def test_history_that_only_speaks_of_a_secret(step: str) -> None:
    assert found_in(step=step) == []


def test_a_flag_in_the_command_is_a_finding() -> None:
    assert found_in(cmd="mempalace serve --token tok-EXAMPLE-1") == ["token"]
    assert found_in(cmd="mempalace serve --token-file /run/secrets/t") == []
    assert found_in(cmd="curl -H 'Authorization: Bearer tok-EXAMPLE-1'")


def test_labels_travel_only_where_harmless() -> None:
    labels = {"version": "1.2", "build.args": "GIT_TOKEN=tok-EXAMPLE-1", "deploy-token": "abcdef"}
    assert shown_labels(labels) == {"version": "1.2", "build.args": "***", "deploy-token": "***"}


def test_a_label_too_long_to_look_through_does_not_travel() -> None:
    assert shown_labels({"l": "x " * 20_000 + "TOKEN=tok-EXAMPLE-1"}) == {"l": "***"}


@pytest.mark.parametrize("config", [{}, {"config": None}, {"config": 3, "history": "x"}])
def test_a_configuration_of_any_shape_is_survived(config: dict[str, object]) -> None:
    assert secrets_in_config(config) == []
