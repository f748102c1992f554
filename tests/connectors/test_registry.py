"""A scheme leads to a connector, and nothing is imported before it is needed."""

import subprocess
import sys

import pytest

from fleet.connectors.registry import CONNECTORS, connect
from fleet.inventory.model import Address, Scheme, Target

HEAVY = ("docker", "requests", "paramiko", "cryptography", "fabric", "tarfile", "zstandard")


def test_every_scheme_leads_somewhere() -> None:
    assert set(CONNECTORS) == set(Scheme)


@pytest.mark.parametrize("scheme", Scheme)
def test_a_connector_is_made_without_opening_anything(scheme: Scheme) -> None:
    connector = connect(Target("t", Address(scheme, "/nonexistent")), timeout=5)
    assert (connector.connects, connector.round_trips) == (0, 0)
    for method in ("collect", "apply", "open_tcp"):
        assert callable(getattr(connector, method))
    connector.close()
    connector.close()


def loaded_after(statement: str) -> set[str]:
    check = f"import sys\n{statement}\nprint(*(m for m in {HEAVY!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", check], check=True, capture_output=True, text=True)
    return set(done.stdout.split())


def test_the_registry_itself_imports_nothing_heavy() -> None:
    assert loaded_after("import fleet.connectors.registry") == set()


def test_an_ssh_target_does_not_load_the_engines_library() -> None:
    loaded = loaded_after("import fleet.connectors.ssh")
    assert "paramiko" in loaded
    assert not loaded & {"docker", "requests", "fabric"}


def test_a_container_target_loads_it_only_when_it_connects() -> None:
    assert not loaded_after("import fleet.connectors.container") & {
        "docker",
        "paramiko",
        "requests",
    }
