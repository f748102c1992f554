"""The engine that ``docker`` would talk to, and what is said when it does not answer."""

import json
import shutil
import socket
import subprocess
import threading
from pathlib import Path

import pytest

from fleet.connectors.engine import DEFAULT_URL, client, endpoint
from fleet.errors import ProbeError, Unreachable, Unsupported

CASE = Path(__file__).parent.parent / "cases" / "H01" / "docker"


@pytest.fixture
def docker_config(tmp_path: Path) -> Path:
    return Path(shutil.copytree(CASE, tmp_path / "docker"))


def environ(folder: Path, **more: str) -> dict[str, str]:
    return {"DOCKER_CONFIG": str(folder), **more}


def test_case_h01_the_current_context_counts(docker_config: Path) -> None:
    chosen = endpoint(environ=environ(docker_config))
    assert chosen.url == "unix:///run/user/1000/docker.sock"
    assert chosen.rule == f"context rootless, current context of {docker_config}/config.json"


def test_case_h01_the_order(docker_config: Path) -> None:
    here = environ(docker_config, DOCKER_CONTEXT="far")
    assert endpoint(environ=here).url == "ssh://deploy@far.example.net"
    assert endpoint(environ=here).rule == "context far, DOCKER_CONTEXT"
    here["DOCKER_HOST"] = "tcp://127.0.0.1:2375"
    assert endpoint(environ=here).url == "tcp://127.0.0.1:2375"
    assert endpoint(environ=here).rule == "DOCKER_HOST"
    assert endpoint("unix:///named.sock", environ=here).url == "unix:///named.sock"
    (docker_config / "config.json").unlink()
    assert endpoint(environ=environ(docker_config)).url == DEFAULT_URL
    assert endpoint(environ=environ(docker_config, DOCKER_CONTEXT="default")).url == DEFAULT_URL


@pytest.mark.parametrize(
    ("context", "said"), [("odd", "no Docker endpoint"), ("absent", "no such context")]
)
def test_case_h01_a_context_that_leads_nowhere(
    docker_config: Path, context: str, said: str
) -> None:
    with pytest.raises(Unreachable, match=said) as caught:
        endpoint(environ=environ(docker_config, DOCKER_CONTEXT=context))
    assert caught.value.stage == "engine"
    assert f"context {context}, DOCKER_CONTEXT" in caught.value.what


def test_case_h01_unreachable_names_endpoint_and_rule(docker_config: Path, tmp_path: Path) -> None:
    chosen = endpoint(environ=environ(docker_config, DOCKER_HOST=f"unix://{tmp_path}/no.sock"))
    with pytest.raises(Unreachable) as caught:
        client(2, at=chosen)
    assert caught.value.stage == "engine"
    assert f"unix://{tmp_path}/no.sock (DOCKER_HOST): No such file" in caught.value.what
    assert "container" not in str(caught.value)


def test_case_h01_an_engine_over_ssh_is_unsupported(docker_config: Path) -> None:
    with pytest.raises(Unsupported, match=r"ssh://deploy@far\.example\.net"):
        client(2, at=endpoint(environ=environ(docker_config, DOCKER_CONTEXT="far")))


@pytest.mark.parametrize("text", ["", "[]", "{", "\xff", '{"currentContext": 5}'])
def test_a_broken_config_is_named_or_ignored(docker_config: Path, text: str) -> None:
    config = docker_config / "config.json"
    config.write_text(text, encoding="latin-1")
    if "currentContext" in text:
        assert endpoint(environ=environ(docker_config)).url == DEFAULT_URL
        return
    with pytest.raises(Unreachable, match=r"config\.json") as caught:
        endpoint(environ=environ(docker_config))
    assert caught.value.stage == "engine"


def test_the_same_answer_as_docker(docker_config: Path) -> None:
    if shutil.which("docker") is None:
        pytest.skip("no docker command")
    for context in ("rootless", "far"):
        (docker_config / "config.json").write_text(json.dumps({"currentContext": context}))
        shown = subprocess.run(
            ["docker", "context", "inspect", "--format", "{{.Endpoints.docker.Host}}"],
            env={"PATH": "/usr/local/bin:/usr/bin:/bin", **environ(docker_config)},
            check=True,
            capture_output=True,
            text=True,
        )
        assert endpoint(environ=environ(docker_config)).url == shown.stdout.strip()


def test_tls_files_of_a_context_are_found(docker_config: Path) -> None:
    context = "far"
    meta = next(
        path
        for path in docker_config.glob("contexts/meta/*/meta.json")
        if json.loads(path.read_text())["Name"] == context
    )
    tls = docker_config / "contexts" / "tls" / meta.parent.name / "docker"
    tls.mkdir(parents=True)
    chosen = endpoint(environ=environ(docker_config, DOCKER_CONTEXT=context))
    assert (chosen.tls, chosen.verify) == (tls, True)


def test_tls_files_of_the_environment(docker_config: Path, tmp_path: Path) -> None:
    host = {"DOCKER_HOST": "tcp://x:2376", "DOCKER_CERT_PATH": str(tmp_path)}
    assert endpoint(environ=environ(docker_config, **host)).verify is False
    host["DOCKER_TLS_VERIFY"] = "1"
    chosen = endpoint(environ=environ(docker_config, **host))
    assert (chosen.tls, chosen.verify) == (tmp_path, True)


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (b"", Unreachable),
        (b"\x1b[2J\xff" * 10, Unreachable),
        (b"HTTP/1.1 500 No\r\nContent-Length: 19\r\n\r\n\x1b[31mout of\xff order!", ProbeError),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]", Unreachable),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}", Unreachable),
    ],
)
def test_something_that_is_no_engine(tmp_path: Path, answer: bytes, kind: type[Exception]) -> None:
    path = tmp_path / "sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()

        def serve() -> None:
            asked = False
            while not asked:
                peer, _ = server.accept()
                with peer:
                    asked = bool(peer.recv(65536))
                    if asked:
                        peer.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        with pytest.raises(kind) as caught:
            client(2, at=endpoint(f"unix://{path}"))
        thread.join()
    assert "\x1b" not in str(caught.value)
    assert str(path) in str(caught.value)


def test_an_engine_that_never_answers(tmp_path: Path) -> None:
    path = tmp_path / "sock"
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))
        server.listen()
        with pytest.raises(Unreachable) as caught:
            client(1, at=endpoint(f"unix://{path}"))
    assert caught.value.stage == "timeout"
