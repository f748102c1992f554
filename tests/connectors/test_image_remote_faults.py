"""Registries that are none, are busy, lie or listen in: each a clear answer, and no secret told."""

import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from support.fake_registry import VERSION, FakeRegistry, Rule
from support.http import LoopbackServer, Reply, Request
from support.images import ONE, collect
from support.loopback import LOOPBACK, free_port
from support.mcp_server import self_signed
from support.registry import PASSWORD, docker_config, logged_in
from support.trees import asking, image

from fleet.connectors.image import ImageConnector
from fleet.demo.layout import add_blob, add_index
from fleet.errors import FleetError, Unreachable, Unsupported
from fleet.inventory.model import Target

GZIPPED = replace(ONE, compression="gzip")
MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def nobody_is_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "no-docker"))
    for name in ("http_proxy", "https_proxy", "all_proxy", "SSL_CERT_FILE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def registry() -> Iterator[FakeRegistry]:
    with FakeRegistry([GZIPPED]) as running:
        yield running


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """Nobody waits; the waits are told."""
    waited: list[float] = []
    monkeypatch.setattr("fleet.connectors.oci.remote_http.time.sleep", waited.append)
    return waited


def log_in(registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = docker_config(tmp_path / "docker", logged_in(registry.authority))
    monkeypatch.setenv("DOCKER_CONFIG", str(config))


def failed(target: Target, *, timeout: float = 20) -> FleetError:
    with pytest.raises(FleetError) as caught:
        ImageConnector(target, timeout=timeout).collect(asking())
    assert str(target.address) in caught.value.where
    assert "\n" not in caught.value.what
    assert "tok-EXAMPLE" not in f"{caught.value!r} {caught.value}"
    return caught.value


def test_the_fake_is_a_registry(registry: FakeRegistry) -> None:
    assert collect(registry.target()).paths["~/bridge.ts"].sha256


def test_nothing_listens() -> None:
    error = failed(image("docker", f"{LOOPBACK}:{free_port()}/palace"))
    assert isinstance(error, Unreachable)
    assert (error.stage, "connection refused" in error.what) == ("connect", True)


def test_a_host_without_an_address() -> None:
    error = failed(image("docker", "registry.invalid/palace:1"))
    assert isinstance(error, Unreachable)
    assert error.stage == "resolve"
    assert "registry.invalid has no address" in error.what


PAGE = Reply(body=b"<html>hello</html>", content_type="text/html")


@pytest.mark.parametrize(
    "rule, said",
    [
        (PAGE, "is no registry: HTTP 200 for /v2/"),
        (replace(PAGE, status=404), "is no registry: HTTP 404"),
        (replace(PAGE, status=400), "is no registry: HTTP 400"),
        (replace(PAGE, status=401), "is no registry: HTTP 401"),
        (replace(PAGE, status=302), "is no registry: HTTP 302"),
        (replace(PAGE, status=403), "denies access"),
        (Reply(status=401, headers={"www_authenticate": "Negotiate"}), "other ways: negotiate"),
        (Reply(status=401, headers={"www_authenticate": "Basic"}), "there are none"),
        (Reply(status=401, headers={"www_authenticate": "Bearer"}), "names no token server"),
        (Reply(status=401, headers={"www_authenticate": 'Bearer realm="x"'}), "no token server"),
        (
            Reply(status=401, headers={"www_authenticate": 'Bearer realm="http://t.example.net"'}),
            "token server t.example.net is asked without TLS",
        ),
    ],
)
def test_what_answers_lets_nobody_in(rule: Reply, said: str, registry: FakeRegistry) -> None:
    registry.rules["/v2/$"] = rule
    assert said in failed(registry.target()).what


@pytest.mark.parametrize(
    "banner, said",
    [
        (b"220 mail.example.net ESMTP\r\n\r\n", "does not speak HTTP"),
        (b"SSH-2.0-OpenSSH_9.0\r\n", "was lost: it was closed without an answer"),
    ],
)
def test_a_server_that_does_not_speak_http(banner: bytes, said: str, quick: list[float]) -> None:
    with socket.create_server((LOOPBACK, 0)) as server:

        def answer() -> None:
            with suppress(OSError):
                while True:
                    client, _ = server.accept()
                    with client:
                        client.recv(4096)
                        client.sendall(banner)

        thread = threading.Thread(target=answer)
        thread.start()
        error = failed(image("docker", f"{LOOPBACK}:{server.getsockname()[1]}/palace"))
        server.shutdown(socket.SHUT_RDWR)
        thread.join()
    assert said in error.what


@pytest.mark.parametrize(
    "reply, said",
    [
        (Reply(status=403), "denies access (HTTP 403)"),
        (Reply(status=401), "other ways: none that it names"),
        (Reply(status=404), "there is no 1 in palace"),
        (Reply(status=404, body=b'{"errors": [{"code": "NAME_UNKNOWN"}]}'), "no repository palace"),
        (Reply(status=404, body=b'{"errors": [{"code": "DENIED"}]}'), "no 1 in palace (DENIED)"),
        (Reply(status=404, body=b'{"errors": [{"code": "tok-EXAMPLE"}]}'), "no 1 in palace"),
        (Reply(status=418), "answered HTTP 418 for its manifest"),
        (PAGE, "manifest sha256:"),
        (Reply(body=b"[" * 100_000), "manifest sha256:"),
        (Reply(body=b" " * (4 * MIB + 1)), "its manifest is too large"),
        (Reply.of({"schemaVersion": 2}, docker_content_digest=f"sha256:{'0' * 64}"), "forged"),
    ],
)
def test_what_is_no_manifest(reply: Reply, said: str, registry: FakeRegistry) -> None:
    registry.rules["/v2/palace/manifests/"] = reply
    assert said in failed(registry.target()).what


@pytest.mark.parametrize(
    "document, media",
    [
        ({"schemaVersion": 1, "name": "palace", "tag": "1", "fsLayers": [], "history": []}, ""),
        ({}, "application/vnd.docker.distribution.manifest.v1+prettyjws"),
    ],
)
def test_schema_1_is_unsupported(
    document: dict[str, object], media: str, registry: FakeRegistry
) -> None:
    reply = replace(Reply.of(document), content_type=media or "application/json")
    registry.rules["/v2/palace/manifests/"] = reply
    error = failed(registry.target())
    assert isinstance(error, Unsupported)
    assert "schema 1 manifest" in error.what


def test_another_manifest_than_the_digest_names(registry: FakeRegistry) -> None:
    registry.rules["/v2/palace/manifests/"] = Reply(body=registry.blob(str(registry.top["digest"])))
    error = failed(image("docker", f"{registry.authority}/palace@sha256:{'1' * 64}"))
    assert "forged or damaged: its digest is sha256:" in error.what


def test_indexes_that_lead_on_without_end(registry: FakeRegistry) -> None:
    deep = registry.top
    for _ in range(6):
        deep = add_index(registry.files, [{k: deep[k] for k in ("mediaType", "digest", "size")}])
    registry.top = deep
    assert "lead on without end" in failed(registry.target()).what
    wide = [
        add_blob(registry.files, json.dumps({"schemaVersion": 2, "n": n}).encode(), "x")
        for n in range(200)
    ]
    registry.top = add_index(registry.files, wide)
    registry.requests.clear()
    assert "lead on without end" in failed(registry.target()).what
    assert len(registry.requests) < 100


def changed(registry: FakeRegistry, change: Callable[[dict[str, object]], None]) -> None:
    """Change the manifest of ``palace:1``."""
    manifest = json.loads(registry.blob(str(registry.top["digest"])))
    change(manifest)
    registry.top = add_blob(registry.files, json.dumps(manifest).encode(), manifest["mediaType"])


@pytest.mark.parametrize(
    "size, said",
    [
        (10, "it is longer than the 10 bytes it should be"),
        (1_000_000, "of 1000000 bytes"),
        (-1, "are said to be more than"),
        (1 << 62, "are said to be more than"),
    ],
)
def test_a_size_that_is_a_lie(size: int, said: str, registry: FakeRegistry) -> None:
    changed(registry, lambda m: m["layers"][1].update(size=size))  # type: ignore[index]
    assert said in failed(registry.target()).what


def test_a_layer_that_never_ends_is_not_taken(registry: FakeRegistry) -> None:
    registry.rules[f"/v2/palace/blobs/{registry.layers[1]}"] = Reply(body=bytes(64 * MIB))
    assert "it is longer than the" in failed(registry.target()).what


def test_a_forged_configuration(registry: FakeRegistry) -> None:
    manifest = json.loads(registry.blob(str(registry.top["digest"])))
    digest = manifest["config"]["digest"]
    forged = registry.blob(digest).replace(b'"node"', b'"root"')
    registry.rules[f"/v2/palace/blobs/{digest}"] = Reply(body=forged)
    error = failed(registry.target())
    assert "configuration sha256:" in error.what
    assert "forged or damaged: its digest is" in error.what


def test_an_unknown_media_type_is_unsupported(registry: FakeRegistry) -> None:
    def artifact(manifest: dict[str, object]) -> None:
        manifest["config"] |= {"mediaType": "application/vnd.example.chart.v1+json"}  # type: ignore[operator]

    changed(registry, artifact)
    error = failed(registry.target())
    assert isinstance(error, Unsupported)
    assert "holds an artifact" in error.what


def test_a_broken_connection_is_taken_up_again(registry: FakeRegistry) -> None:
    path = f"/v2/palace/blobs/{registry.layers[1]}"
    content = registry.blob(registry.layers[1])
    cut = iter([Reply(body=content[:90], withheld=9), Reply(body=content[:20], withheld=9)])
    registry.rules[path] = lambda _: next(cut, Reply(body=content))
    assert collect(registry.target()).paths["~/bridge.ts"].sha256
    registry.rules[path] = Reply(body=content[:90], withheld=9)
    assert f"the answer of {registry.authority} broke off" in failed(registry.target()).what


@pytest.mark.parametrize("status", [429, 500, 502, 503, 504])
def test_a_busy_registry_is_asked_again(
    status: int, registry: FakeRegistry, quick: list[float]
) -> None:
    busy = [Reply(status=status), Reply(status=status, headers={"retry_after": "3"})]
    left = iter(busy)
    calm = registry._answer

    def answer(request: Request) -> Reply:
        registry.rules.pop("/v2/palace/manifests")
        reply = next(left, None)
        if reply is None:
            return calm(request)
        registry.rules["/v2/palace/manifests"] = answer
        return reply

    registry.rules["/v2/palace/manifests"] = answer
    assert collect(registry.target()).paths["~/bridge.ts"].sha256
    assert quick == [0.5, 3.0]


def test_a_registry_that_stays_busy(registry: FakeRegistry, quick: list[float]) -> None:
    registry.rules["/v2/"] = Reply(status=503)
    assert failed(registry.target()).what == f"{registry.authority} answered HTTP 503, 5 times"
    assert quick[:4] == [0.5, 1.0, 2.0, 4.0]


@pytest.mark.parametrize("when", ["3600", "Fri, 31 Dec 2100 23:59:59 GMT"])
def test_a_wait_longer_than_there_is_time(
    when: str, registry: FakeRegistry, quick: list[float]
) -> None:
    registry.rules["/v2/palace/"] = Reply(status=429, headers={"retry_after": when})
    error = failed(registry.target())
    assert isinstance(error, Unreachable)
    assert (error.stage, quick) == ("timeout", [])
    assert "answered HTTP 429; it is to be asked again in" in error.what


def test_a_registry_that_says_nothing_or_drips_runs_out_of_time(registry: FakeRegistry) -> None:
    registry.rules["/v2/palace/manifests"] = Reply(hold=60)
    error = failed(registry.target(), timeout=0.5)
    assert isinstance(error, Unreachable)
    assert (error.stage, error.hint) == ("timeout", "raise --timeout")
    ended = threading.Event()
    with socket.create_server((LOOPBACK, 0)) as server:

        def drip() -> None:
            client, _ = server.accept()
            with client:
                client.recv(4096)
                client.sendall(b"HTTP/1.1 200 OK\r\nx: ")
                while not ended.wait(0.05):
                    client.sendall(b"x")

        thread = threading.Thread(target=drip)
        thread.start()
        try:
            dripping = image("docker", f"{LOOPBACK}:{server.getsockname()[1]}/palace")
            error = failed(dripping, timeout=0.5)
        finally:
            ended.set()
            thread.join()
    assert isinstance(error, Unreachable)
    assert error.stage == "timeout"


class Storage(LoopbackServer):
    """Where a registry keeps its blobs: another origin, with a signature in its URLs."""

    def __init__(self, registry: FakeRegistry, *, tls: tuple[Path, Path] | None = None) -> None:
        self.registry = registry
        super().__init__(self._blob, tls=tls)

    def _blob(self, request: Request) -> Reply:
        return Reply(body=self.registry.blob(request.path.rpartition("/")[2].partition("?")[0]))

    def redirect(self, request: Request) -> Reply:
        where = f"{self.origin}/{request.path.rpartition('/')[2]}?signature=tok-EXAMPLE-signed"
        return Reply(status=307, headers={"location": where})


def with_basic(registry: FakeRegistry, rule: Rule) -> Rule:
    """Let in only those who show the password; then the rule holds."""

    def answer(request: Request) -> Reply:
        if "authorization" not in request.headers:
            return Reply(status=401, headers={"www_authenticate": 'Basic realm="here"'})
        return rule if isinstance(rule, Reply) else rule(request)

    headers = {"www_authenticate": 'Basic realm="here"', **VERSION}
    registry.rules["/v2/$"] = Reply(status=401, headers=headers)
    return answer


def test_credentials_never_follow_a_redirect(
    registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(registry, tmp_path, monkeypatch)
    with Storage(registry) as storage:
        registry.rules["/v2/palace/blobs/"] = with_basic(registry, storage.redirect)
        assert collect(registry.target()).paths["~/bridge.ts"].sha256
        assert len(storage.requests) == 3
        assert not [r for r in storage.requests if "authorization" in r.headers]
        assert [r for r in registry.requests if "authorization" in r.headers]


def test_a_storage_host_that_refuses_is_named_without_its_signature(
    registry: FakeRegistry,
) -> None:
    with LoopbackServer(lambda _: Reply(status=403)) as storage:
        location = f"{storage.origin}/x?signature=tok-EXAMPLE-signed"
        moved = Reply(status=307, headers={"location": location})
        registry.rules["/v2/palace/blobs/"] = moved
        error = failed(registry.target())
    assert f"127.0.0.1:{storage.port} answered HTTP 403 for configuration" in error.what


def test_redirects_end_and_never_leave_tls(registry: FakeRegistry, tmp_path: Path) -> None:
    registry.rules["/v2/palace/manifests"] = Reply(
        status=301, headers={"location": "/v2/palace/manifests/2"}
    )
    assert "redirects more than 5 times" in failed(registry.target()).what
    for location, said in (
        ("http://storage.example.net/x", "redirects to storage.example.net without TLS"),
        ("file:///etc/passwd", "to what is no web address"),
        ("gopher://x.example.net/", "to what is no web address"),
    ):
        registry.rules["/v2/palace/manifests"] = Reply(status=301, headers={"location": location})
        assert said in failed(registry.target()).what
    certificate = self_signed(tmp_path)
    with FakeRegistry([GZIPPED], tls=certificate) as secure, Storage(secure) as storage:
        secure.rules["/v2/palace/blobs/"] = storage.redirect
        wanted = secure.target(registry_ca=str(certificate[0]))
        assert f"127.0.0.1:{storage.port} without TLS" in failed(wanted).what
        assert storage.requests == []


def test_a_token_is_renewed_when_it_has_run_out(registry: FakeRegistry) -> None:
    given: list[str] = []

    def token(_: Request) -> Reply:
        given.append(f"token-{len(given)}")
        return Reply.of({"access_token": given[-1]})

    def guarded(request: Request) -> Reply:
        late = request.path.endswith(registry.layers[1]) and len(given) == 1
        if late or request.headers.get("authorization") != f"Bearer {given[-1] if given else ''}":
            realm = f'Bearer realm="{registry.url}/token",service="s",scope="repository:*:*"'
            return Reply(status=401, headers={"www_authenticate": realm})
        rules, registry.rules = registry.rules, {}
        try:
            return registry._answer(request)
        finally:
            registry.rules = rules

    registry.rules |= {"/token": token, "/v2/": guarded}
    assert collect(registry.target()).paths["~/bridge.ts"].sha256
    assert len(given) == 2
    asked = [r.path for r in registry.requests if r.path.startswith("/token")]
    assert asked == ["/token?scope=repository%3Apalace%3Apull&service=s"] * 2


@pytest.mark.parametrize(
    "reply, said",
    [
        (Reply(status=500), "answered HTTP 500, 5 times"),
        (Reply(status=404), "token server 127.0.0.1:"),
        (Reply(status=401), "it needs credentials"),
        (Reply.of({}), "gave no token"),
        (Reply.of({"token": "a\nb"}), "gave no token"),
        (Reply.of({"token": 7}), "gave no token"),
        (Reply(body=b"[" * 100_000), "gave no token"),
        (Reply(body=b" " * (2 * MIB)), "gave no token"),
        (Reply(status=302, headers={"location": "http://127.0.0.1:1/"}), "answered HTTP 302"),
    ],
)
def test_a_token_server_that_is_none(
    reply: Reply, said: str, registry: FakeRegistry, quick: list[float]
) -> None:
    realm = f'Bearer realm="{registry.url}/token"'
    registry.rules["/v2/$"] = Reply(status=401, headers={"www_authenticate": realm})
    registry.rules["/token"] = reply
    assert said in failed(registry.target()).what


def test_what_a_registry_repeats_of_a_password_is_not_shown(
    registry: FakeRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log_in(registry, tmp_path, monkeypatch)

    def repeats(request: Request) -> Reply:
        told = f"{PASSWORD} {request.headers.get('authorization')}"
        message = {"errors": [{"code": told, "message": told, "detail": told}]}
        headers = {"www_authenticate": f'Basic realm="{told}"', "location": f"http://{PASSWORD}/"}
        return replace(Reply.of(message), status=status, headers=headers)

    statuses = (400, 401, 403, 404, 418)
    registry.rules["/v2/"] = repeats
    for status in statuses:  # noqa: B007 - what `repeats` answers
        failed(registry.target())
    del registry.rules["/v2/"]
    registry.rules["/v2/palace/manifests"] = with_basic(registry, repeats)
    for status in statuses:  # noqa: B007 - what `repeats` answers
        assert "Basic" not in str(failed(registry.target()))


def test_an_insecure_registry_is_asked_by_tls_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fleet.connectors.oci.remote_http.is_loopback", lambda _: False)
    monkeypatch.setattr("fleet.connectors.oci.remote_api.is_loopback", lambda _: False)
    with FakeRegistry([GZIPPED]) as plain:
        error = failed(plain.target())
        assert isinstance(error, Unreachable)
        assert (error.stage, "registry_insecure" in error.hint) == ("tls", True)
        assert plain.requests == []
        assert collect(plain.target(registry_insecure="true")).paths["~/bridge.ts"].sha256
    certificate = self_signed(tmp_path)
    with FakeRegistry([GZIPPED], tls=certificate) as secure:
        variables = {"registry_insecure": "true", "registry_ca": str(certificate[0])}
        assert collect(secure.target(**variables)).paths["~/bridge.ts"].sha256


def test_a_proxy_of_the_environment_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = image("docker", "registry.invalid/palace:1")
    monkeypatch.delenv("no_proxy", raising=False)

    def through(proxy: str) -> str:
        monkeypatch.setenv("https_proxy", proxy)
        return failed(wanted).what

    port = free_port()
    where = f"the proxy 127.0.0.1:{port} of the environment"
    assert through(f"127.0.0.1:{port}") == f"nothing listens at {where}: connection refused"
    with LoopbackServer(lambda _: Reply(status=407)) as proxy:
        said = through(f"http://me:tok-EXAMPLE-p@127.0.0.1:{proxy.port}")
        assert [request.method for request in proxy.requests] == ["CONNECT"]
    assert said.endswith("of the environment does not lead to registry.invalid (HTTP 407)")
    assert "the proxy proxy.invalid:1 of the environment has no" in through(
        "http://proxy.invalid:1"
    )
    for value in ("socks5://127.0.0.1:1", "ftp://x", "http://"):
        assert "a proxy variable" in through(value)
