"""Targets' names as they stand in ids."""

import pytest

from fleet.pytest_plugin.asked import node_name


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
