"""Images in a registry: Debian's own, on loopback, with every way of letting in that it has."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from support.images import ONE, collect
from support.mcp_server import self_signed
from support.registry import (
    PASSWORD,
    USER,
    DebianRegistry,
    TokenServer,
    Watched,
    debian_registry,
    docker_config,
    htpasswd,
    logged_in,
    push,
)
from support.trees import asking, image

from fleet.connectors.oci.newest import NOT_NEEDED
from fleet.demo.layout import BakedImage, Compression, Member, layer, write_layout
from fleet.errors import ProbeError, Unreachable
from fleet.facts.images import ScanFact
from fleet.facts.request import Depth, PathQuestion, Read, ScanQuestion
from fleet.inventory.model import Target

M = Member
GZIPPED = replace(ONE, compression="gzip")
WHERE = PathQuestion("/p", Read.WHOLE)


@pytest.fixture(autouse=True)
def nobody_is_logged_in(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path / "no-docker"))
    for name in ("http_proxy", "https_proxy", "all_proxy"):  # loopback needs none
        monkeypatch.setenv(name, "http://proxy.example.net:1")
    monkeypatch.delenv("SSL_CERT_FILE", raising=False)


@pytest.fixture(scope="module")
def registry(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebianRegistry]:
    """One that lets everybody in."""
    with debian_registry(tmp_path_factory.mktemp("registry")) as running:
        yield running


def target(registry: DebianRegistry | Watched, name: str, **variables: str) -> Target:
    return image("docker", f"{registry.authority}/{name}", **variables)


@pytest.mark.parametrize("docker", [False, True])
@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
def test_the_facts_are_those_of_a_layout(
    compression: Compression, docker: bool, registry: DebianRegistry, tmp_path: Path
) -> None:
    baked = replace(ONE, compression=compression)
    push(registry, "team/palace", "1", [baked], docker=docker)
    write_layout(tmp_path / "l", [baked])
    here = collect(image("oci", tmp_path / "l"))
    there = collect(target(registry, "team/palace:1"))
    assert there.address == f"docker://{registry.authority}/team/palace:1"
    change = {"address": "", "taken_at": here.taken_at}
    assert there.model_copy(update=change) == here.model_copy(update=change)


def test_a_digest_decides_whatever_the_tag_says(registry: DebianRegistry) -> None:
    old = push(registry, "d", "1", [GZIPPED])["manifest"]
    push(registry, "d", "1", [BakedImage([layer([M("p", b"new")])])])
    for name in (f"d@{old}", f"d:1@{old}", f"d:gone@{old}"):
        assert collect(target(registry, name)).image == collect(target(registry, name)).image
        assert collect(target(registry, name)).paths["~/bridge.ts"].sha256
    assert collect(target(registry, "d:1"), asking(WHERE)).paths["/p"].sha256
    none = f"sha256:{'0' * 64}"
    with pytest.raises(Unreachable, match=f"there is no {none} in d") as caught:
        collect(target(registry, f"d:1@{none}"))
    assert caught.value.stage == "missing"


PLATFORMS = ("linux/amd64", "linux/arm64", "linux/s390x")


def of_platforms(*names: str) -> list[BakedImage]:
    return [BakedImage([layer([M("p", n.encode())])], platform=n) for n in names]


@pytest.mark.parametrize("docker", [False, True])
def test_of_an_index_only_the_platform_that_is_asked_for_is_fetched(
    docker: bool, registry: DebianRegistry, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(registry, "multi", "1", of_platforms(*PLATFORMS), docker=docker)
    with Watched(registry) as watched:
        facts = collect(target(watched, "multi:1", platform="linux/arm64"), asking(WHERE))
        assert facts.content(facts.paths["/p"]) == b"linux/arm64"
        assert facts.image
        assert (facts.image.among, facts.image.asked) == (PLATFORMS, "linux/arm64")
        assert (len(watched.asked("/manifests/")), len(watched.asked("/blobs/"))) == (2, 2)
        monkeypatch.setattr("platform.machine", lambda: "s390x")
        facts = collect(target(watched, "multi:1"), asking(WHERE))
        assert facts.content(facts.paths["/p"]) == b"linux/s390x"
        watched.requests.clear()
        with pytest.raises(Unreachable, match="no image for linux/riscv64") as caught:
            collect(target(watched, "multi:1", platform="linux/riscv64"))
        assert len(watched.asked("/manifests/")) == 1
    assert ", ".join(PLATFORMS) in caught.value.hint
    assert "--platform" in caught.value.hint


def test_a_single_image_is_held_against_the_platform_that_is_asked_for(
    registry: DebianRegistry,
) -> None:
    push(registry, "single", "1", of_platforms("linux/s390x"))
    assert collect(target(registry, "single:1")).platform.machine == "s390x"
    with pytest.raises(Unreachable, match="no image for linux/amd64") as caught:
        collect(target(registry, "single:1", platform="linux/amd64"))
    assert "it has linux/s390x" in caught.value.hint


def test_layers_below_the_last_answer_are_not_downloaded(registry: DebianRegistry) -> None:
    layers = [
        layer([M("etc", kind="directory"), M("etc/passwd", b"root:x:0:0::/root:/bin/sh\n")]),
        layer([M("root", kind="directory"), M("p", b"old"), M("q", b"1")]),
        layer([M("etc", kind="directory"), M("etc/passwd", b"root:x:0:0::/home/r:/bin/sh\n")]),
        layer([M("root", kind="directory"), M("p", kind="link", target="q")]),
    ]
    pushed = push(registry, "deep", "1", [BakedImage(layers, compression="gzip")])

    def downloaded(*questions: PathQuestion) -> list[str]:
        with Watched(registry) as watched:
            collect(target(watched, "deep:1"), asking(*questions))
        asked = watched.asked("/blobs/")
        assert len(asked) == len(set(asked))
        return sorted(name for name in pushed if any(pushed[name] in path for path in asked))

    assert downloaded() == ["layer 3", "layer 4"]
    assert downloaded(PathQuestion("/root")) == ["layer 3", "layer 4"]
    assert downloaded(WHERE) == ["layer 2", "layer 3", "layer 4"]
    assert downloaded(PathQuestion("/none")) == ["layer 1", "layer 2", "layer 3", "layer 4"]


def test_what_was_not_downloaded_was_not_searched_for_secrets(registry: DebianRegistry) -> None:
    token = b"TOKEN=tok-EXAMPLE-baked-1234567890\n"
    layers = [
        layer([M("etc", kind="directory"), M("etc/passwd", b""), M("root/.env", token)]),
        layer([M("root/a.env", token), M("etc", kind="directory"), M("etc/passwd", b"")]),
        layer([M("root", kind="directory"), M("root/.wh.a.env")]),
    ]
    push(registry, "searched", "1", [BakedImage(layers)])

    def searched(depth: Depth, path: str = "/root") -> ScanFact:
        request = replace(asking(PathQuestion(path)), scan=ScanQuestion(depth))
        image_fact = collect(target(registry, "searched:1"), request).image
        assert image_fact is not None
        assert image_fact.scan is not None
        return image_fact.scan

    part = searched(Depth.LIKELY)
    assert part.unseen == {1: NOT_NEEDED}
    assert [(f.place, f.layer, f.gone) for f in part.found] == [("/root/a.env", 2, 3)]
    for scan in (searched(Depth.ALL), searched(Depth.LIKELY, "/none")):
        assert (scan.unseen, scan.layers) == ({}, 3)
        found = [(f.place, f.layer, f.gone) for f in scan.found]
        assert found == [("/root/.env", 1, None), ("/root/a.env", 2, 3)]


def test_nothing_is_left_on_this_machine(
    registry: DebianRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    push(registry, "clean", "1", [GZIPPED])
    for name in ("scratch", "home", "here"):
        (tmp_path / name).mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "scratch"))
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path / "here")
    before = len(list(Path("/proc/self/fd").iterdir()))
    collect(target(registry, "clean:1"))
    assert [p for p in tmp_path.rglob("*") if p.is_file()] == []
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_what_is_not_there_is_told_with_what_is(registry: DebianRegistry) -> None:
    push(registry, "some", "2.0", [GZIPPED])
    push(registry, "some", "2.1", [GZIPPED])
    with pytest.raises(Unreachable, match="there is no latest in some") as caught:
        collect(target(registry, "some"))
    assert (caught.value.stage, caught.value.hint) == ("missing", "it has 2.0, 2.1")
    with pytest.raises(Unreachable, match="there is no 1 in none"):
        collect(target(registry, "none:1"))


def test_a_layer_that_was_changed_in_the_registry_is_forged(registry: DebianRegistry) -> None:
    pushed = push(registry, "forged", "1", of_platforms("linux/amd64"))
    blob = registry.blob(pushed["layer 1"])
    whole = blob.read_bytes()
    blob.write_bytes(whole.replace(b"linux/amd64", b"linux/amd65"))
    with pytest.raises(ProbeError, match=r"layer 1 of 1 \(sha256:.{12}\) .* its digest is sha256:"):
        collect(target(registry, "forged:1"), asking(WHERE))
    blob.write_bytes(whole[:700])
    with pytest.raises(ProbeError, match="it ends after 700 of 10240 bytes"):
        collect(target(registry, "forged:1"), asking(WHERE))
    blob.unlink()
    with pytest.raises(ProbeError, match=r"layer 1 of 1 .* is not in the registry"):
        collect(target(registry, "forged:1"), asking(WHERE))


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DebianRegistry]:
    """One that asks for a password, and holds an image."""
    folder = tmp_path_factory.mktemp("locked")
    with debian_registry(folder, auth=htpasswd(folder)) as running:
        running.credentials = (USER, PASSWORD)
        push(running, "palace", "1", [GZIPPED])
        yield running


def helper(folder: Path, name: str, script: str) -> Path:
    """Write a credential helper; returns the folder to put on the PATH."""
    folder.mkdir(exist_ok=True)
    program = folder / f"docker-credential-{name}"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    return folder


def refused(wanted: Target) -> Unreachable:
    """Expect that there is no way in, and that nobody's password is told."""
    with pytest.raises(Unreachable) as caught:
        collect(wanted)
    assert caught.value.stage == "authentication"
    assert "tok-EXAMPLE" not in f"{caught.value!r} {caught.value} {caught.value.__cause__}"
    return caught.value


def test_a_password_from_dockers_configuration_opens(
    locked: DebianRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = target(locked, "palace:1")
    error = refused(wanted)
    assert "there are none" in error.what
    assert error.hint == f"docker login {locked.authority}"
    for key in (locked.authority, f"https://{locked.authority}/v2/"):
        monkeypatch.setenv("DOCKER_CONFIG", str(docker_config(tmp_path / "d", logged_in(key))))
        assert collect(wanted).paths["~/bridge.ts"].sha256
    wrong = {"auths": {locked.authority: {"username": USER, "password": "tok-EXAMPLE-wrong"}}}
    docker_config(tmp_path / "d", wrong)
    assert f"the credentials from {tmp_path}/d/config.json" in refused(wanted).what


def test_a_password_from_a_helper_opens(
    locked: DebianRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = json.dumps({"ServerURL": "x", "Username": USER, "Secret": PASSWORD})
    script = f'[ "$1" = get ] && [ "$(cat)" = {locked.authority} ] && echo \'{answer}\''
    monkeypatch.setenv("PATH", str(helper(tmp_path / "bin", "test", script)), prepend=":")
    for config in ({"credHelpers": {locked.authority: "test"}}, {"credsStore": "test"}):
        monkeypatch.setenv("DOCKER_CONFIG", str(docker_config(tmp_path / "d", config)))
        assert collect(target(locked, "palace:1")).paths["~/bridge.ts"].sha256


@pytest.fixture(scope="module")
def tokens(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TokenServer]:
    with TokenServer(tmp_path_factory.mktemp("tokens")) as server:
        yield server


@pytest.fixture(scope="module")
def guarded(
    tokens: TokenServer, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[DebianRegistry]:
    """One that wants a token, and holds an image."""
    with debian_registry(tmp_path_factory.mktemp("guarded"), auth=tokens.auth) as running:
        token = tokens.token("team/palace", "pull", "push")
        running.headers = {"authorization": f"Bearer {token}"}
        push(running, "team/palace", "1", [GZIPPED])
        yield running


def test_a_token_is_fetched_for_reading_this_repository_only(
    guarded: DebianRegistry, tokens: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wanted = target(guarded, "team/palace:1")
    assert "it needs credentials" in refused(wanted).what
    tokens.anonymous = True
    assert collect(wanted).paths["~/bridge.ts"].sha256
    tokens.anonymous = False
    config = docker_config(tmp_path / "d", logged_in(guarded.authority))
    monkeypatch.setenv("DOCKER_CONFIG", str(config))
    tokens.requests.clear()
    assert collect(wanted).paths["~/bridge.ts"].sha256
    (asked,) = tokens.requests
    assert "scope=repository%3Ateam%2Fpalace%3Apull" in asked.path
    assert PASSWORD not in asked.path


def test_an_identity_token_is_changed_into_a_token(
    guarded: DebianRegistry, tokens: TokenServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = {guarded.authority: {"auth": "", "identitytoken": PASSWORD}}
    config = docker_config(tmp_path / "d", {"auths": entry})
    monkeypatch.setenv("DOCKER_CONFIG", str(config))
    tokens.requests.clear()
    assert collect(target(guarded, "team/palace:1")).paths["~/bridge.ts"].sha256
    (asked,) = tokens.requests
    assert (asked.method, PASSWORD in asked.path) == ("POST", False)
    docker_config(tmp_path / "d", {"auths": {guarded.authority: {"identitytoken": "tok-EXAMPLE"}}})
    assert "does not accept the credentials" in refused(target(guarded, "team/palace:1")).what


def test_a_token_that_opens_nothing_ends_the_asking(
    guarded: DebianRegistry, tokens: TokenServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tokens, "anonymous", True)
    monkeypatch.setattr(tokens, "lives", -300)
    tokens.requests.clear()
    assert "it needs credentials" in refused(target(guarded, "team/palace:1")).what
    assert len(tokens.requests) == 2


def test_certificates_are_verified_whatever_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificate, key = self_signed(tmp_path)
    (tmp_path / "registry").mkdir()
    with debian_registry(tmp_path / "registry", tls=(certificate, key)) as registry:
        registry.verify = str(certificate)
        push(registry, "palace", "1", [GZIPPED])
        for variables in ({}, {"registry_insecure": "true"}):
            with pytest.raises(Unreachable, match="is not trusted: self-signed") as caught:
                collect(target(registry, "palace:1", **variables))
            assert caught.value.stage == "tls"
            assert "registry_ca" in caught.value.hint
        wanted = target(registry, "palace:1", registry_ca=str(certificate))
        assert collect(wanted).paths["~/bridge.ts"].sha256
        for name in (str(tmp_path / "none.pem"), str(key)):
            with pytest.raises(Unreachable, match="the CA file") as caught:
                collect(target(registry, "palace:1", registry_ca=name))
            assert caught.value.stage == "tls"
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        assert collect(target(registry, "palace:1")).paths["~/bridge.ts"].sha256
