"""Addresses: the spellings people use, and those that are refused."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fleet.errors import InventoryError
from fleet.inventory.address import ad_hoc_target, image_address, parse_address, ssh_address
from fleet.inventory.image_reference import ImageReference, image_reference
from fleet.inventory.model import Address, Kind, Scheme

DIGEST = f"sha256:{'0a' * 32}"
CASE = Path(__file__).parents[1] / "cases" / "G05"
EXPECTED = {
    text: tuple(parts)
    for text, parts in json.loads((CASE / "expected.json").read_text("utf-8")).items()
}


def parts(address: Address) -> tuple[str | None, str, int | None]:
    assert address.scheme is Scheme.SSH
    return address.user, address.name, address.port


@pytest.mark.parametrize("text", (CASE / "targets.txt").read_text("utf-8").split())
def test_case_g05_every_spelling_of_a_host(text: str) -> None:
    expected = EXPECTED.get(text, ("dom\\\\user", "palace", 22))
    assert parts(parse_address(text)) == expected


def test_a_windows_domain_user_is_one_user() -> None:
    assert parts(parse_address(r"dom\user@palace:22")) == (r"dom\user", "palace", 22)


@pytest.mark.parametrize(
    "text", ["deploy@2001:db8::1:2222", "2001:db8::1:22", "1:2:3:4:5:6:7:8:22", "::1:22"]
)
def test_case_g05_an_ipv6_address_without_brackets_and_a_port_is_ambiguous(text: str) -> None:
    with pytest.raises(InventoryError, match="ambiguous") as caught:
        parse_address(text)
    head, _, port = text.rpartition(":")
    user, at, host = head.rpartition("@")
    assert f"write {user}{at}[{host}]:{port} for port {port}" in caught.value.hint


@pytest.mark.parametrize(
    "text, expected",
    [
        ("ssh://palace", (None, "palace", None)),
        ("ssh://palace/", (None, "palace", None)),
        ("ssh://me%40corp@palace:22", ("me@corp", "palace", 22)),
        ("me@corp@palace", ("me@corp", "palace", None)),
        ("ssh://[2001:db8::1]:22", (None, "2001:db8::1", 22)),
        ("ssh://[fe80::1%25eth0]:22", (None, "fe80::1%eth0", 22)),
        ("fe80::1%eth0", (None, "fe80::1%eth0", None)),
        ("1:2:3:4:5:6:7:8", (None, "1:2:3:4:5:6:7:8", None)),
        ("::1", (None, "::1", None)),
        ("10.0.0.5:2222", (None, "10.0.0.5", 2222)),
    ],
)
def test_other_spellings_of_a_host(text: str, expected: tuple[str | None, str, int | None]) -> None:
    assert parts(parse_address(text)) == expected


@pytest.mark.parametrize(
    "text, scheme, name, tag",
    [
        ("local:", Scheme.LOCAL, "", None),
        ("local:/home/me", Scheme.LOCAL, "/home/me", None),
        ("rootfs:/srv/root", Scheme.ROOTFS, "/srv/root", None),
        ("rootfs:/srv/a:b", Scheme.ROOTFS, "/srv/a:b", None),
        ("container:pi-devbox", Scheme.CONTAINER, "pi-devbox", None),
        ("docker-daemon:pi-devbox:latest", Scheme.DOCKER_DAEMON, "pi-devbox:latest", None),
        ("docker-daemon:r.example.net:5000/pi@sha256:ab", Scheme.DOCKER_DAEMON, None, None),
        ("oci:layout", Scheme.OCI, "layout", None),
        ("oci:layout:r/pi:1", Scheme.OCI, "layout", "r/pi:1"),
        ("oci-archive:a b.tar", Scheme.OCI_ARCHIVE, "a b.tar", None),
        ("oci-archive:a.tar:latest", Scheme.OCI_ARCHIVE, "a.tar", "latest"),
        ("docker-archive:a.tar:pi:1", Scheme.DOCKER_ARCHIVE, "a.tar", "pi:1"),
        ("docker://r.example.net/pi", Scheme.DOCKER, "r.example.net/pi", None),
        (
            "docker://r.example.net:5000/a/b_c:1.0",
            Scheme.DOCKER,
            "r.example.net:5000/a/b_c:1.0",
            None,
        ),
        ("docker://localhost/pi:latest", Scheme.DOCKER, "localhost/pi:latest", None),
        ("docker://[::1]:5000/pi", Scheme.DOCKER, "[::1]:5000/pi", None),
        (f"docker://r.example.net/pi@{DIGEST}", Scheme.DOCKER, f"r.example.net/pi@{DIGEST}", None),
    ],
)
def test_schemes(text: str, scheme: Scheme, name: str | None, tag: str | None) -> None:
    name = text.partition(":")[2] if name is None else name
    assert parse_address(text) == Address(scheme, name, tag=tag)
    assert str(parse_address(text)) == text


def test_home_and_relative_paths(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    assert parse_address("oci:~/images:x").name == "/home/me/images"
    assert parse_address("oci:images").name == "images"
    assert parse_address("oci:images", base=Path("/srv")).name == "/srv/images"
    assert parse_address("oci:/images", base=Path("/srv")).name == "/images"
    assert parse_address("local:", base=Path("/srv")).name == ""


@pytest.mark.parametrize(
    "text, says",
    [
        ("", "empty"),
        ("  ", "empty"),
        ("-oProxyCommand=x", "begins with a dash"),
        ("ssh://-oProxyCommand=x", "begins with a dash"),
        ("ssh://%2DoProxyCommand=x", "begins with a dash"),
        ("-l@host", "begins with a dash"),
        ("oci:-x", "write ./-x"),
        ("container:-x", "begins with a dash"),
        ("host\n", "control characters"),
        ("ssh://host%0a", "cannot stand"),
        ("ho st", "cannot stand"),
        ("a;b", "cannot stand"),
        ("$(x)", "cannot stand"),
        ("host:0", "no port"),
        ("host:65536", "no port"),
        ("host:٣", "no port"),
        ("host:", "no port"),
        ("host:ssh", "no port"),
        ("@host", "empty user"),
        ("ssh://@host", "empty user"),
        ("me@", "empty"),
        ("ssh://", "empty"),
        ("ssh://me:tok-EXAMPLE-1@host", "password"),
        ("ssh://host/home", "names a path"),
        ("[::1", "brackets"),
        ("[host]:22", "brackets"),
        ("[::1]22", "brackets"),
        ("::%]", "no IPv6 address"),
        ("fe80::1%a b", "no IPv6 address"),
        ("a:b:c", "no IPv6 address"),
        ("me@c:d:e", "no IPv6 address"),
        ("x:y@c:d:e", "no address"),
        ("rootfs:", "empty part"),
        ("container:", "empty part"),
        ("oci:x:", "empty part"),
        ("oci::x", "empty part"),
        ("oci:x:a b", "no tag"),
        ("container:a/b", "no container's name"),
        ("docker-daemon:a b", "no image reference"),
        ("docker://pi:latest", "names no registry"),
        ("docker://team/pi", "names no registry"),
        ("docker:pi:latest", "docker://REGISTRY/NAME[:TAG]"),
        ("docker://", "names no registry"),
        ("docker://r.example.net", "names a registry and no image"),
        ("docker://r.example.net:5000", "names a registry and no image"),
        ("docker://localhost:5000", "names a registry and no image"),
        ("docker://pi:1", "names no registry"),
        ("pi-devbox:latest", "an image in an engine is docker-daemon:pi-devbox:latest"),
        ("team/pi-devbox:latest", "an image in an engine is docker-daemon:team/pi-devbox:latest"),
        ("docker://r.example.net/", "repository is no name"),
        ("docker://r.example.net/a//b", "repository is no name"),
        ("docker://r.example.net/../x", "repository is no name"),
        ("docker://r.example.net/Pi", "capital letters"),
        ("docker://r.example.net/pi:", "its tag is none"),
        ("docker://r.example.net/pi:a b", "its tag is none"),
        ("docker://r.example.net/pi?x=1", "repository is no name"),
        ("docker://r.example.net:x/pi", "no host name"),
        ("docker://-r.example.net/pi", "no host name"),
        ("docker://r.example.net/pi@sha256:ab", "64 lower-case"),
        ("docker://me:tok-EXAMPLE-1@r.example.net/pi", "docker login"),
        ("docker://me:tok-EXAMPLE-1/2@r.example.net/pi", "docker login"),
        ("dockerdaemon:pi:latest", "did you mean docker-daemon:REF"),
        ("oci-archiv:x.tar", "did you mean oci-archive:FILE"),
        ("https://palace.example.net/mcp", "a URL"),
    ],
)
def test_wrong_addresses_are_told(text: str, says: str) -> None:
    with pytest.raises(InventoryError) as caught:
        parse_address(text)
    assert says in str(caught.value)
    assert "tok-EXAMPLE" not in str(caught.value)
    assert "\n" not in caught.value.what


def test_a_host_named_docker_is_a_host() -> None:
    assert parse_address("docker:2222") == Address(Scheme.SSH, "docker", port=2222)


def test_a_reference_in_a_registry() -> None:
    assert image_reference("r.example.net:5000/team/pi") == ImageReference(
        "r.example.net:5000", "team/pi", "latest"
    )
    both = image_reference(f"localhost/pi:1@{DIGEST}")
    assert both == ImageReference("localhost", "pi", "1", DIGEST)
    assert (both.version, str(both)) == (DIGEST, f"localhost/pi:1@{DIGEST}")
    assert image_reference(f"localhost/pi@{DIGEST}").tag == ""


def test_an_image_needs_no_scheme() -> None:
    assert image_address("docker:latest") == Address(Scheme.DOCKER_DAEMON, "docker:latest")
    assert image_address("docker://r.example.net/pi").scheme is Scheme.DOCKER
    assert image_address("pi:latest") == Address(Scheme.DOCKER_DAEMON, "pi:latest")
    assert image_address("localhost:5000/pi").name == "localhost:5000/pi"
    assert image_address("rootfs:/r").scheme.kind is Kind.IMAGE
    for text in ("ssh://host", "container:x", "local:"):
        with pytest.raises(InventoryError, match="is no image but"):
            image_address(text)


def test_parts_that_are_known_apart() -> None:
    assert parts(ssh_address("2001:db8::1", "me", 22)) == ("me", "2001:db8::1", 22)
    for host, user, port in (("a:22", None, None), ("a", "", None), ("a", None, 0)):
        with pytest.raises(InventoryError):
            ssh_address(host, user, port)


def test_an_ad_hoc_target_is_named_by_its_address() -> None:
    target = ad_hoc_target("me@host", systems=["env", "env"], require=["feed"])
    assert (target.name, target.systems, target.require) == ("ssh://me@host", ("env",), ("feed",))
    assert target.launches == ("sh -lc",)
    assert ad_hoc_target("container:x").launches == ("container",)
    assert ad_hoc_target("local:", launches=["zsh -ic"]).launches == ("zsh -ic",)


@settings(max_examples=400, deadline=None)
@given(st.text() | st.text("abc:@[]/%-.0123456789~ \\", max_size=30))
def test_what_is_read_prints_as_the_same_address(text: str) -> None:
    try:
        address = parse_address(text)
    except InventoryError:
        return
    assert parse_address(str(address)) == address
