"""An audit over ssh: one connection, one exec, and answers that are not believed as they come."""

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from support.client import Client
from support.sshd import USER, Sshd

from fleet.errors import ProbeError
from fleet.facts.paths import State
from fleet.facts.request import (
    CommandQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)

pytestmark = pytest.mark.usefixtures("no_thread_is_left")
StartSshd = Callable[..., Sshd]
NONCE = "collect-nonce"


@pytest.fixture
def palace(client: Client, sshd: Sshd) -> Client:
    client.host("palace", sshd)
    client.know(sshd.known())
    return client


def test_a_whole_audit_is_one_connection_and_one_exec(
    palace: Client, sshd: Sshd, tmp_path: Path
) -> None:
    code = tmp_path / "code 'n\nmore.ts"
    code.write_bytes(b"export {}\n" * 1000)
    (tmp_path / "link.ts").symlink_to(code)
    paths = [PathQuestion(str(tmp_path / f"absent{n}"), Read.WHOLE) for n in range(60)]
    request = Request(
        NONCE,
        paths=(*paths, PathQuestion(str(tmp_path / "link.ts"), Read.WHOLE)),
        launches=(LaunchQuestion("sh -c", public=("HOME",), commands=(CommandQuestion("sh"),)),),
        processes=(ProcessQuestion("sshd", ("sshd",)),),
        listeners=True,
        interfaces=True,
    )
    connector = palace.connect("palace", timeout=60)
    facts = connector.collect(request)
    assert (sshd.connections, sshd.sessions) == (1, 1)
    assert (connector.connects, connector.round_trips) == (1, 1)
    assert (facts.target, facts.address, facts.kind) == ("palace", "ssh://palace", "host")
    assert facts.platform.user == USER
    link = facts.paths[str(tmp_path / "link.ts")]
    assert link.sha256 == hashlib.sha256(code.read_bytes()).hexdigest()
    assert facts.content(link) == code.read_bytes()
    assert all(facts.paths[path.path].state is State.ABSENT for path in paths)
    assert facts.launches["sh -c"].state == "ok"
    assert any(listener.port == sshd.port for listener in facts.listeners or ())


@pytest.mark.parametrize(
    "command",
    [
        # cut in the middle of the answer
        'eval "$SSH_ORIGINAL_COMMAND" | head -c 150',
        # an answer to another question
        'eval "$SSH_ORIGINAL_COMMAND" | sed s/absent/present/',
        # fifty bytes of anything, in front and behind the mark
        "cat | head -n 1 | sed s/^echo.//; head -c 50 /dev/urandom",
        "head -c 50 /dev/urandom",
        # an answer made up whole
        'read e m; echo "$m"; printf "@fleet\\tcollect-nonce\\t1\\tbegin\\t=fleet.answer/1\\t.\\n"',
        "true",
    ],
)
def test_an_answer_that_is_none_leaves_no_facts(
    client: Client, start_sshd: StartSshd, command: str
) -> None:
    odd = start_sshd(f"ForceCommand {command}")
    client.host("odd", odd)
    client.know(odd.known())
    request = Request(NONCE, paths=(PathQuestion("/absent", Read.WHOLE),))
    with pytest.raises(ProbeError) as caught:
        client.connect("odd").collect(request)
    assert str(caught.value).replace("\n", "").isprintable()
    odd.stop()


@pytest.mark.parametrize(
    "ending, told", [("exit 137", "status 137 (SIGKILL); "), ("kill -9 $$", "no status; ")]
)
def test_how_a_shell_ended_that_did_not_answer_to_the_end_is_told(
    client: Client, start_sshd: StartSshd, ending: str, told: str
) -> None:
    begun = "printf '@fleet\\t%s\\t1\\tbegin\\t=fleet.answer/1\\t.\\n'"
    odd = start_sshd(f'ForceCommand read e m; echo "$m"; {begun} {NONCE}; {ending}')
    client.host("odd", odd)
    client.know(odd.known())
    with pytest.raises(ProbeError, match="cut off") as caught:
        client.connect("odd").collect(Request(NONCE))
    assert f"its sh ended with {told}" in caught.value.hint
    odd.stop()


def test_an_endless_answer_is_refused(client: Client, start_sshd: StartSshd) -> None:
    endless = start_sshd("ForceCommand cat /dev/zero")
    client.host("endless", endless)
    client.know(endless.known())
    with pytest.raises(ProbeError, match="more than 1 MiB"):
        client.connect("endless").collect(Request(NONCE))
    endless.stop()
