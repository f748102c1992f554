"""A small fleet of local homes."""

from pathlib import Path

import pytest
from support.homes import CANARY, VARIABLE, Homes
from support.loopback import free_port


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Homes:
    """Four empty homes whose palace is declared and does not run."""
    monkeypatch.setenv(VARIABLE, CANARY)
    monkeypatch.chdir(tmp_path)
    names = ("one", "two", "three", "four")
    lines = [
        f"    {name}: {{local: {tmp_path / name}, shell: bash -lc, vars: {{device: {name}}}}}"
        for name in names
    ]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "notes").write_text("mine\n")
    inventory = tmp_path / "fleet.yml"
    inventory.write_text(
        "vars:\n  toolkit: ~/mempalace-toolkit\n  toolkit_source: builtin\n"
        f"  palace_url: http://127.0.0.1:{free_port()}/mcp\n"
        f"  palace_token: !secret env:{VARIABLE}\n"
        "groups:\n  machines:\n   systems: [mempalace-bridge, env]\n   require: [stamp]\n"
        "   hosts:\n" + "\n".join(lines) + "\n"
    )
    return Homes(tmp_path, inventory, names)
