"""Every test that takes ``shell`` runs once under each kind of shell and set of tools."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.probing import Shell, shells

KINDS = ("dash", "bash", "busybox", "zsh", "bsd")


@pytest.fixture(scope="session")
def all_shells(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Shell]:
    return shells(tmp_path_factory.mktemp("tools"))


@pytest.fixture(params=KINDS)
def shell(request: pytest.FixtureRequest, all_shells: dict[str, Shell]) -> Shell:
    found = all_shells.get(request.param)
    if found is None:
        pytest.skip(f"no {request.param} on this machine")
    return found


@pytest.fixture
def dash(all_shells: dict[str, Shell]) -> Shell:
    return next(iter(all_shells.values()))


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """Yield a folder that every user may search, unlike ``tmp_path``."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder
