"""What is asked of whom, and targets' names as they stand in ids."""

import pytest
from support.facts import target

from fleet.engine.context import Context
from fleet.pytest_plugin.asked import CHECKED, asked_of, asked_of_fleet, node_name
from fleet.systems.catalogue import load_catalogue
from fleet.verifier.fleetwide.rules import RULES


def test_deep_gates_are_asked_where_pi_is_run() -> None:
    context, where = Context(load_catalogue()), target("mempalace-bridge")
    asked = {deep: [a.gate for a in asked_of(where, context, deep=deep)] for deep in (False, True)}
    further = set(asked[True]) - set(asked[False])
    assert further
    assert further == {g.id for g in load_catalogue().system("mempalace-bridge").gates if g.deep}


def test_every_rule_of_the_fleet_has_a_test_even_of_one_target() -> None:
    asked = asked_of_fleet([target("mempalace-bridge")], Context(load_catalogue()))
    assert [a.gate for a in asked] == [*RULES, CHECKED]
    assert {a.subject for a in asked} == {"fleet"}


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("laptop", "laptop"),
        ("me@laptop.example.net", "me@laptop.example.net"),
        ("ssh://me@laptop:22", "ssh:me@laptop:22"),
        ("local:/home/me", "local:/home/me"),
        ("docker-daemon:pi-devbox:latest", "docker-daemon:pi-devbox:latest"),
    ],
)
def test_a_name_stays_readable(name: str, shown: str) -> None:
    assert node_name(name) == shown


@pytest.mark.parametrize(
    "name", ["ssh://[fe80::1]:22", "oci:a::b", "a b", "a[b", "local:/a//b", "a\x1b[2Jb", "a\\b"]
)
def test_what_an_id_cannot_hold_is_replaced_and_told_apart(name: str) -> None:
    shown = node_name(name)
    assert not {"::", "//", "[", "]", " ", "\\"} & {
        shown[i : i + n] for n in (1, 2) for i in range(99)
    }
    assert shown.isprintable()
    assert node_name(f"{name}[") != node_name(f"{name}]")
