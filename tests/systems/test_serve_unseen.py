"""A machine on which no server can be seen: what only one would show is not checked."""

import subprocess
from pathlib import Path

import pytest
from support.living import Living
from support.probing import Shell, need_root, shells

from fleet.inventory.model import Value
from fleet.verifier.model import Verdict

UNSEEN = Verdict.NOT_CHECKED
ALONE = ("unshare", "--fork", "--pid", "--mount-proc", "--net")
HEARD = ("reach", "auth", "version", "origin", "palace", "health", "routes", "stale")


@pytest.fixture
def alone(tmp_path: Path) -> Living:
    """A home whose shells see no process but their own: other tests run servers meanwhile."""
    need_root()
    if subprocess.run([*ALONE, "true"], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not allowed here")
    for name in ("tools", "home"):
        (tmp_path / name).mkdir()
    dash = shells(tmp_path / "tools")["dash"]
    shell = Shell((*ALONE, *dash.words), dash.path)
    return Living(tmp_path / "home", shell, ("mempalace-serve",))


def verdicts(here: Living, **variables: Value) -> dict[str, tuple[Verdict, str]]:
    """Return verdict and message by the gate's last word; no palace is declared to be asked."""
    where = here.declared(port=8765, bind="loopback", **variables)
    found = here.findings(where).items()
    return {gate.removeprefix("serve."): (one.verdict, one.message) for gate, one in found}


def test_neither_server_nor_palace_is_taken_for_a_good_one(alone: Living) -> None:
    found = verdicts(alone, palace_path="/srv/palace", serve_home=str(alone.home))
    for gate in HEARD:
        assert found[gate] == (UNSEEN, "palace_url is not declared, so no palace was asked")
    assert found["stays"] == (UNSEEN, "neither the server nor its container was seen")
    assert found["writer"] == (UNSEEN, "no writing server was seen here")
    assert found["token"] == (UNSEEN, "neither the server nor a file with its token was seen")
    assert found["bind"] == (Verdict.FAIL, "nothing listens on port 8765")


def test_a_compose_file_that_could_not_be_read(alone: Living) -> None:
    folder = alone.home / "serve"
    folder.mkdir()
    (folder / "compose.yml").write_text("#" * 600_000)
    found = verdicts(alone, serve_mode="compose", compose_dir=str(folder), image="palace:1")
    for gate in ("compose", "compose-lint"):
        assert found[gate] == (UNSEEN, "larger than 524288 bytes: not read")
