"""Which image of several is read: by platform, by reference, by itself."""

import json
from pathlib import Path

import pytest
from support.images import PASSWD, Write, as_archive, as_docker_archive, as_layout, collect, written
from support.trees import asking, image

from fleet.demo.layout import (
    BakedImage,
    Member,
    add_image,
    add_index,
    layer,
    layout_files,
    write_archive,
    write_docker_archive,
)
from fleet.errors import Unreachable
from fleet.facts.request import (
    PathQuestion,
    Read,
)

PLATFORM = asking(PathQuestion("/p", Read.WHOLE))


def two_platforms() -> dict[str, bytes]:
    """Return a layout: index of an index, two platforms, and an attestation."""
    files = layout_files([])
    inner = [
        add_image(files, BakedImage([layer([Member("p", name.encode())])], platform=name))
        for name in ("linux/amd64", "linux/arm64")
    ]
    attestation = add_image(files, BakedImage([layer([])], platform="unknown/unknown"))
    attestation["annotations"] = {"vnd.docker.reference.type": "attestation-manifest"}
    outer = add_index(files, [attestation, add_index(files, inner)])
    outer["annotations"] = {"org.opencontainers.image.ref.name": "multi"}
    files["index.json"] = json.dumps({"schemaVersion": 2, "manifests": [outer]}).encode()
    return files


@pytest.mark.parametrize(
    "asked, found",
    [
        ("linux/arm64", b"linux/arm64"),
        ("linux/arm64/v8", b"linux/arm64"),
        ("linux/aarch64", b"linux/arm64"),
        ("linux/amd64", b"linux/amd64"),
    ],
)
def test_the_declared_platform_is_chosen(asked: str, found: bytes, tmp_path: Path) -> None:
    folder = written(tmp_path, two_platforms())
    facts = collect(image("oci", folder, "multi", platform=asked), PLATFORM)
    assert facts.content(facts.paths["/p"]) == found


def test_this_machines_platform_is_chosen_by_default(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("platform.machine", lambda: "aarch64")
    facts = collect(image("oci", written(tmp_path, two_platforms())), PLATFORM)
    assert facts.content(facts.paths["/p"]) == b"linux/arm64"


def test_a_platform_that_is_not_there_is_told_with_those_that_are(tmp_path: Path) -> None:
    folder = written(tmp_path, two_platforms())
    with pytest.raises(Unreachable, match="no image for linux/riscv64") as caught:
        collect(image("oci", folder, "multi", platform="linux/riscv64"))
    assert caught.value.stage == "missing"
    assert "linux/amd64, linux/arm64" in caught.value.hint


def test_the_only_image_is_read_whatever_its_platform(tmp_path: Path) -> None:
    write_archive(tmp_path / "i.tar", [BakedImage([layer([])], platform="linux/s390x")])
    facts = collect(image("oci-archive", tmp_path / "i.tar"))
    assert facts.platform.machine == "s390x"
    write_docker_archive(tmp_path / "d.tar", [BakedImage([layer([])], platform="linux/s390x")])
    with pytest.raises(Unreachable, match="no image for linux/amd64"):
        collect(image("docker-archive", tmp_path / "d.tar", platform="linux/amd64"))


def test_an_attestation_is_no_second_image(tmp_path: Path) -> None:
    files = layout_files([])
    only = add_image(files, BakedImage([layer([Member("p", b"1")])], platform="linux/s390x"))
    attestation = add_image(files, BakedImage([layer([])], platform="linux/amd64"))
    attestation["annotations"] = {"vnd.docker.reference.type": "attestation-manifest"}
    files["index.json"] = json.dumps({"manifests": [attestation, only]}).encode()
    facts = collect(image("oci", written(tmp_path, files)), PLATFORM)
    assert facts.content(facts.paths["/p"]) == b"1"


@pytest.mark.parametrize("write", [as_layout, as_archive, as_docker_archive])
def test_a_reference_that_is_not_there_is_told_with_those_that_are(
    write: Write, tmp_path: Path
) -> None:
    two = [BakedImage([layer([])], tag="a:1"), BakedImage([layer([PASSWD])], tag="b:2")]
    target = write(tmp_path / "i", two)
    with pytest.raises(Unreachable, match="no image palace:1") as caught:
        collect(target)
    assert "a:1, b:2" in caught.value.hint
    unnamed = image(target.address.scheme, target.address.name)
    with pytest.raises(Unreachable, match="more than one image") as caught:
        collect(unnamed)
    assert "a:1, b:2" in caught.value.hint
    for tag in ("b:2", "2"):
        named = image(target.address.scheme, target.address.name, tag)
        assert collect(named, asking(PathQuestion("/etc/passwd"))).paths["/etc/passwd"].size
