"""Processes, sockets, interfaces and containers, as the probe sees them on this machine."""

import os
import pwd
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from support.places import CASES
from support.probing import NOBODY, NONCE, Shell, answer, need_root, otherwise

from fleet.facts.compile import probe_script
from fleet.facts.model import Facts
from fleet.facts.request import ContainerQuestion, ProcessQuestion, Request
from fleet.facts.running import ContainerFact, EnvValue, Listener, ProcessFact, Publication
from fleet.secrets import keyed_digest

TOKEN = "tok-EXAMPLE-canary"
WORD = "mempalace-under-test"
SERVE = ProcessQuestion(
    "serve",
    (WORD, "serve"),
    public=("--host", "--port", "--palace", "--open"),
    secret=("--token", "--key"),
    variables=("PUBLIC", "MISSING"),
    secret_variables=("SECRET",),
)

linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Yield a process that looks like a palace's server."""
    (tmp_path / WORD).write_text("#!/bin/sh\nread line\n")
    (tmp_path / WORD).chmod(0o755)
    words = ["serve", "--host", "127.0.0.1", "--port=8765", "--token", TOKEN, f"--key={TOKEN}"]
    env = {"PUBLIC": "a\nb=c", "SECRET": f"{TOKEN}\n", "PATH": os.environ["PATH"]}
    process = subprocess.Popen(
        [tmp_path / WORD, *words, "--open", "--palace", "/srv/my palace"],
        stdin=subprocess.PIPE,
        env=env,
    )
    while b"serve" not in Path(f"/proc/{process.pid}/cmdline").read_bytes():
        time.sleep(0.01)
    yield process
    process.communicate(b"\n")


def serving(facts: Facts, pid: int) -> ProcessFact:
    return next(process for process in facts.processes["serve"] if process.pid == pid)


@linux
def test_a_process(shell: Shell, tmp_path: Path, server: subprocess.Popen[bytes]) -> None:
    request = Request(NONCE, processes=(SERVE,))
    done = shell.run(probe_script(request))
    assert TOKEN.encode() not in done.stdout + done.stderr
    fact = serving(answer(done.stdout, request), server.pid)
    assert fact.user == pwd.getpwuid(os.getuid()).pw_name
    assert fact.command == f"/bin/sh {tmp_path / WORD} serve"
    assert fact.flags == {
        "--host": "127.0.0.1",
        "--port": "8765",
        "--open": "",
        "--palace": "/srv/my palace",
    }
    assert fact.secret_flags == ("--token", "--key")
    assert fact.variables == {
        "PUBLIC": EnvValue(set=True, length=5, value="a\nb=c"),
        "MISSING": EnvValue(set=False),
        "SECRET": EnvValue(
            set=True, length=len(TOKEN) + 1, digest=keyed_digest(NONCE, f"{TOKEN}\n")
        ),
    }
    assert abs((fact.started or 0) - time.time()) < 60


@linux
@pytest.mark.parametrize(
    ("words", "found"),
    [
        ((WORD, "serve"), True),
        (("under-test",), False),
        (("mempalace-under-tes",), False),
        ((WORD, "mine"), False),
        (("7.0.0.1",), False),
        (("1",), True),  # the end of 127.0.0.1 after a dot
        (("my palace",), True),
        (("127.0.0.1", "my palace"), True),
        ((".*",), False),
        (("$(id)",), False),
    ],
)
def test_words_are_arguments_or_their_ends(
    dash: Shell, server: subprocess.Popen[bytes], words: tuple[str, ...], found: bool
) -> None:
    facts = dash.facts(Request(NONCE, processes=(replace(SERVE, words=words),)))
    assert (server.pid in [process.pid for process in facts.processes["serve"]]) is found


@linux
def test_a_script_in_an_argument_does_not_travel(shell: Shell) -> None:
    script = f"TOKEN={TOKEN}; read line; : /opt/{WORD}"
    process = subprocess.Popen(["sh", "-c", script], stdin=subprocess.PIPE)
    request = Request(NONCE, processes=(replace(SERVE, words=(WORD,)),))
    done = shell.run(probe_script(request))
    process.communicate(b"\n")
    assert serving(answer(done.stdout, request), process.pid).command == f"sh {WORD}"
    assert TOKEN.encode() not in done.stdout


@linux
def test_a_grep_without_z_only_takes_longer(
    dash: Shell, tmp_path: Path, server: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/grep").write_text("#!/bin/sh\necho 'grep: illegal option -- z' >&2; exit 2\n")
    (tmp_path / "bin/grep").chmod(0o755)
    old = Shell(dash.words, f"{tmp_path}/bin:{dash.path}")
    assert serving(old.facts(Request(NONCE, processes=(SERVE,))), server.pid).flags


@linux
def test_without_proc_ps_tells(
    dash: Shell, tmp_path: Path, server: subprocess.Popen[bytes]
) -> None:
    (tmp_path / "bin").mkdir()
    script = (
        "#!/bin/sh\necho '   7 me    /opt/mempalace-under-test serve --host ::1 --token tok-x'\n"
    )
    (tmp_path / "bin/ps").write_text(script)
    (tmp_path / "bin/ps").chmod(0o755)
    request = Request(NONCE, processes=(SERVE,))
    program = otherwise(probe_script(request), "[ -r /proc/self/cmdline ]", "false")
    bsd = Shell(dash.words, f"{tmp_path}/bin:{dash.path}")
    done = bsd.run(program)
    assert b"tok-x" not in done.stdout
    assert answer(done.stdout, request).processes["serve"] == (
        ProcessFact(
            pid=7,
            user="me",
            command="/opt/mempalace-under-test serve",
            flags={"--host": "::1"},
            secret_flags=("--token",),
        ),
    )
    (tmp_path / "bin/ps").write_text("#!/bin/sh\nexit 1\n")
    facts = answer(bsd.run(program).stdout, request)
    assert facts.processes == {}
    assert "ps" in facts.unseen["processes"]


@linux
def test_the_environment_of_another_user_is_not_told(
    dash: Shell, server: subprocess.Popen[bytes]
) -> None:
    need_root()
    fact = serving(dash.facts(Request(NONCE, processes=(SERVE,)), uid=NOBODY), server.pid)
    assert fact.variables == {}
    assert fact.flags["--host"] == "127.0.0.1"


@linux
def test_no_such_process_is_an_answer(shell: Shell) -> None:
    question = ProcessQuestion("none", ("no-such-program-anywhere",))
    facts = shell.facts(Request(NONCE, processes=(question,)))
    assert facts.processes == {"none": ()}
    assert facts.unseen == {}


@linux
def test_listeners(shell: Shell) -> None:
    with (
        closing(socket.create_server(("127.0.0.1", 0))) as four,
        closing(socket.create_server(("::1", 0), family=socket.AF_INET6)) as six,
        closing(socket.create_server(("0.0.0.0", 0))) as every,
    ):
        listeners = shell.facts(Request(NONCE, listeners=True)).listeners or ()
        for address, server in (("127.0.0.1", four), ("::1", six), ("0.0.0.0", every)):
            assert Listener(address=address, port=server.getsockname()[1]) in listeners
        port = four.getsockname()[1]
    later = shell.facts(Request(NONCE, listeners=True)).listeners or ()
    assert Listener(address="127.0.0.1", port=port) not in later


def test_interfaces(shell: Shell) -> None:
    facts = shell.facts(Request(NONCE, interfaces=True))
    assert "127.0.0.1" in [a for told in (facts.interfaces or {}).values() for a in told]


def test_what_was_not_asked_is_not_answered(dash: Shell) -> None:
    facts = dash.facts(Request(NONCE))
    assert (facts.listeners, facts.interfaces, facts.processes) == (None, None, {})
    assert facts.unseen == {}


# --- containers, with a client that says what a real one said --------------------------------

PIECES = f"""
@{NONCE} name /pal-palace-1
@{NONCE} state running
@{NONCE} image sha256:{"a" * 64}
@{NONCE} created 2026-11-01T08:00:00Z
@{NONCE} error {""}
@{NONCE} exit_code 0
@{NONCE} network pal_default
@{NONCE} restart unless-stopped
@{NONCE} service palace
@{NONCE} health healthy
@{NONCE} port 8765/tcp 18765 127.0.0.1
@{NONCE} port 8765/tcp 18765 ::
@{NONCE} port 9000/tcp 0 {""}
@{NONCE} binding 1/tcp 2 {""}
@{NONCE} mount /data
@{NONCE} source pal_data
@{NONCE} mount /etc/my conf
@{NONCE} source /srv/conf
@{NONCE} argument docker-entrypoint.sh
@{NONCE} argument serve
@{NONCE} argument --host
@{NONCE} argument 0.0.0.0
@{NONCE} argument --token
@{NONCE} argument {TOKEN}
@{NONCE} argument --palace=/data/a
b
@{NONCE} variable PUBLIC=two
lines
@{NONCE} variable OTHER=SECRET=no
@{NONCE} variable SECRET={TOKEN}

@{NONCE} end {""}

@{NONCE} name /pal-db-1
@{NONCE} state exited
@{NONCE} image sha256:{"b" * 64}
@{NONCE} created 2026-11-01T08:00:00Z
@{NONCE} error cannot assign requested address
@{NONCE} exit_code 128
@{NONCE} network pal_default
@{NONCE} restart no
@{NONCE} service <no value>
@{NONCE} binding 5432/tcp 5432 172.17.0.1
@{NONCE} image_name db:1
@{NONCE} argument postgres
@{NONCE} end {""}
"""
BOTH = ("env SECRET", "history SECRET")
PALACE = ContainerQuestion("pal", public=("PUBLIC", "MISSING"), secret=("SECRET",))


def client(folder: Path, text: str, name: str = "docker") -> None:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{text}\n")
    (folder / name).chmod(0o755)


def with_client(shell: Shell, folder: Path) -> Shell:
    return Shell(shell.words, f"{folder}:{shell.path}")


def test_containers(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "inspected").write_text(PIECES)
    client(
        tmp_path / "bin",
        f'printf "%s\\n" "$*" >>{tmp_path}/asked\n'
        f"case $* in ps*) echo {'c' * 64}; echo {'d' * 64} ;; "
        f"image*range*) printf 'PATH=/bin\\nSECRET=\\nOTHER=SECRET=x\\n' ;; "
        f"image*) echo sha256:now ;; history*) echo '/bin/sh -c : SECRET=$SECRET MY_SECRET=x' ;; "
        f"*) cat {tmp_path}/inspected ;; esac",
    )
    request = Request(NONCE, containers=(PALACE,))
    done = with_client(shell, tmp_path / "bin").run(probe_script(request))
    assert TOKEN.encode() not in done.stdout + done.stderr
    assert answer(done.stdout, request).containers["pal"] == (
        ContainerFact(
            name="pal-db-1",
            state="exited",
            image=f"sha256:{'b' * 64}",
            created="2026-11-01T08:00:00Z",
            error="cannot assign requested address",
            exit_code=128,
            network="pal_default",
            restart="no",
            ports=(Publication(address="172.17.0.1", port=5432, inner=5432),),
            variables=dict.fromkeys(("PUBLIC", "MISSING", "SECRET"), EnvValue(set=False)),
            command=keyed_digest(NONCE, "postgres\n"),
            image_name="db:1",
            image_now="sha256:now",
            baked=(),
        ),
        ContainerFact(
            name="pal-palace-1",
            state="running",
            image=f"sha256:{'a' * 64}",
            created="2026-11-01T08:00:00Z",
            network="pal_default",
            restart="unless-stopped",
            service="palace",
            health="healthy",
            ports=(
                Publication(address="127.0.0.1", port=18765, inner=8765),
                Publication(address="::", port=18765, inner=8765),
                Publication(address="", port=0, inner=9000),
            ),
            mounts={"/data": "pal_data", "/etc/my conf": "/srv/conf"},
            flags={"--host": "0.0.0.0", "--palace": "/data/a\nb"},
            secret_flags=("--token",),
            variables={
                "PUBLIC": EnvValue(set=True, length=9, value="two\nlines"),
                "MISSING": EnvValue(set=False),
                "SECRET": EnvValue(
                    set=True, length=len(TOKEN) + 1, digest=keyed_digest(NONCE, f"{TOKEN}\n")
                ),
            },
            command=keyed_digest(
                NONCE,
                f"docker-entrypoint.sh\nserve\n--host\n0.0.0.0\n--token\n{TOKEN}\n"
                "--palace=/data/a\x01b\n",
            ),
            baked=(),
        ),
    )
    said = (tmp_path / "asked").read_text().splitlines()
    asked = [line for line in said if not line.startswith(("image ", "history "))]
    assert asked[0] == "ps -aq --no-trunc --filter label=com.docker.compose.project=pal"
    assert asked[1].startswith("inspect --type container --format ")
    assert asked[1].endswith(f" {'c' * 64} {'d' * 64}")


@pytest.mark.parametrize(
    ("environment", "history", "baked"),
    [
        ("SECRET=tok-EXAMPLE-1", "", ("env SECRET",)),
        ("A=1\nSECRET=tok-EXAMPLE-1", "RUN |1 A=1 SECRET=tok-EXAMPLE-1 /bin/sh", BOTH),
        ("", '/bin/sh -c #(nop)  ENV SECRET="tok-EXAMPLE-1"', ("history SECRET",)),
        ("", "a\nSECRET=tok-EXAMPLE-1 make", ("history SECRET",)),
        ("SECRET=", 'ENV SECRET= SECRET=$SECRET SECRET="$SECRET" SECRET_FILE=/run/s', ()),
        ("NO_SECRET=x\nPUBLIC=two", "ENV NO_SECRET=x", ()),
    ],
)
def test_what_an_image_holds(
    shell: Shell, tmp_path: Path, environment: str, history: str, baked: tuple[str, ...]
) -> None:
    (tmp_path / "inspected").write_text(PIECES)
    (tmp_path / "environment").write_text(environment)
    (tmp_path / "history").write_text(history)
    client(
        tmp_path / "bin",
        f"case $* in ps*) echo {'c' * 64} ;; image*range*) cat {tmp_path}/environment ;; "
        f"image*) echo sha256:now ;; history*) cat {tmp_path}/history ;; "
        f"*) cat {tmp_path}/inspected ;; esac",
    )
    request = Request(NONCE, containers=(PALACE,))
    done = with_client(shell, tmp_path / "bin").run(probe_script(request))
    assert b"tok-EXAMPLE-1" not in done.stdout + done.stderr
    assert {c.baked for c in answer(done.stdout, request).containers["pal"]} == {baked}


def test_an_image_that_is_gone_was_not_searched(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "inspected").write_text(PIECES)
    client(
        tmp_path / "bin",
        f"case $* in ps*) echo {'c' * 64} ;; image*|history*) exit 1 ;; "
        f"*) cat {tmp_path}/inspected ;; esac",
    )
    request = Request(NONCE, containers=(PALACE,))
    done = with_client(shell, tmp_path / "bin").run(probe_script(request))
    assert {c.baked for c in answer(done.stdout, request).containers["pal"]} == {None}


def test_no_containers_is_an_answer(shell: Shell, tmp_path: Path) -> None:
    client(tmp_path / "bin", "exit 0")
    facts = with_client(shell, tmp_path / "bin").facts(Request(NONCE, containers=(PALACE,)))
    assert facts.containers == {"pal": ()}
    assert facts.unseen == {}


def test_an_engine_that_refuses(shell: Shell, tmp_path: Path) -> None:
    client(tmp_path / "bin", "echo 'permission denied: /var/run/docker.sock' >&2; exit 1")
    facts = with_client(shell, tmp_path / "bin").facts(Request(NONCE, containers=(PALACE,)))
    assert facts.containers == {}
    assert facts.unseen == {"containers": "docker ps: permission denied: /var/run/docker.sock"}


def test_an_inspect_that_fails(dash: Shell, tmp_path: Path) -> None:
    client(tmp_path / "bin", f"case $1 in ps) echo {'c' * 64} ;; *) exit 1 ;; esac")
    facts = with_client(dash, tmp_path / "bin").facts(Request(NONCE, containers=(PALACE,)))
    assert facts.containers == {}
    assert facts.unseen == {"containers": "docker inspect failed"}


def test_an_engine_that_hangs(dash: Shell, tmp_path: Path) -> None:
    client(tmp_path / "bin", "exec sleep 30")
    started = time.monotonic()
    request = Request(NONCE, containers=(PALACE,), seconds=1)
    facts = with_client(dash, tmp_path / "bin").facts(request)
    assert facts.unseen == {"containers": "docker ps: no answer within 1 s"}
    assert time.monotonic() - started < 10


def test_no_engine_at_all(dash: Shell) -> None:
    request = Request(NONCE, containers=(PALACE,))
    program = otherwise(probe_script(request), "command -v docker", "false")
    facts = answer(dash.run(program).stdout, request)
    if shutil.which("podman"):
        pytest.skip("podman is here")
    assert facts.unseen == {"containers": "neither docker nor podman is here"}


def test_h07_tools_of_bsd_give_the_same_facts(all_shells: dict[str, Shell]) -> None:
    assert (CASES / "H07/bsdbin/stat").exists()
    for name in ("stat", "sha256sum"):
        done = subprocess.run([CASES / "H07/bsdbin" / name, "-c", "x"], check=False)
        assert done.returncode != 0
    request = Request(NONCE, listeners=True, interfaces=True)
    assert (
        all_shells["bsd"].facts(request).interfaces == all_shells["dash"].facts(request).interfaces
    )
