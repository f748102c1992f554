"""Compose files that misled others, one folder a case (B14, C02 to C12, E12)."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.places import CASES

from fleet.verifier.compose import Compose, read_compose
from fleet.verifier.compose_lint import Ground, lint

FILE = "docker-compose.yml"


def cases() -> list[Any]:
    found = []
    for file in sorted(CASES.glob(f"*/{FILE}")):
        for number, run in enumerate(json.loads((file.parent / "expected.json").read_text()), 1):
            found.append(pytest.param(file, run, id=f"{file.parent.name}-{number}"))
    return found


def told(compose: Compose, service: str) -> dict[str, Any]:
    one = compose.services[service]
    return {
        "ports": [[p.address, p.published, p.target] for p in one.ports],
        "volumes": [[v.source, v.target, v.mode] for v in one.volumes],
        "environment": dict(one.environment),
        "command": list(one.command),
        "healthcheck": list(one.healthcheck),
    }


@pytest.mark.parametrize("file, run", cases())
def test_case(file: Path, run: dict[str, Any]) -> None:
    compose = read_compose(file.read_text(), FILE, run["environment"])
    interfaces = run.get("interfaces")
    ground = Ground(
        interfaces={n: tuple(a) for n, a in interfaces.items()} if interfaces else None,
        files=run.get("files"),
        required=run.get("required", ()),
    )
    assert [[p.verdict.value, str(p)] for p in lint(compose, ground)] == run["problems"]
    for key, value in run.get("values", {}).items():
        assert told(compose, run["service"])[key] == value
    if "selected" in run:
        assert [s.name for s in compose.selected] == run["selected"]


def test_the_cases_are_there() -> None:
    assert {p.values[0].parent.name for p in cases()} >= {
        *("B14", "C02", "C04", "C06", "C07", "C08", "C09", "C10", "C11", "C12", "E12"),
    }
