"""Images by every address: the same facts, whatever they lie in."""

import tarfile
from pathlib import Path

import pytest
from support.images import (
    ONE,
    PASSWD,
    REQUEST,
    WRITERS,
    Write,
    as_archive,
    as_packed_archive,
    collect,
)
from support.trees import image

from fleet.connectors.image import ImageConnector
from fleet.connectors.oci.store import fill
from fleet.demo.layout import (
    BakedImage,
    Compression,
    Member,
    layer,
    packed,
    write_archive,
    write_docker_archive,
)
from fleet.errors import ProbeError, Unreachable, Unsupported
from fleet.facts.model import Facts
from fleet.facts.paths import State
from fleet.inventory.model import Value
from fleet.secrets import Secret, keyed_digest


@pytest.mark.parametrize("write", WRITERS)
@pytest.mark.parametrize("compression", ["plain", "gzip", "zstd"])
def test_the_same_facts_from_every_kind(
    write: Write, compression: Compression, tmp_path: Path
) -> None:
    baked = BakedImage(
        ONE.layers,
        ONE.tag,
        ONE.config,
        compression=compression,
        extra=ONE.extra,
    )
    target = write(tmp_path / "image", [baked])
    connector = ImageConnector(target)
    facts = connector.collect(REQUEST)
    bridge = facts.paths["~/bridge.ts"]
    assert (facts.kind, facts.address) == ("image", str(target.address))
    assert (bridge.state, bridge.final, bridge.link) == (State.PRESENT, "/opt/bridge.ts", True)
    assert facts.content(bridge) == b"MEMPALACE_FEED"
    assert bridge.owner == "root"
    assert facts.paths["/none"].state is State.ABSENT
    assert (facts.platform.home, facts.platform.user, facts.platform.uid) == (
        "/home/node",
        "node",
        1000,
    )
    assert (connector.connects, connector.round_trips) == (1, 1)
    connector.close()
    connector.close()


@pytest.fixture
def facts(tmp_path: Path) -> Facts:
    return collect(as_archive(tmp_path / "i.tar", [ONE]))


def test_the_configuration_is_told_without_its_secrets(facts: Facts) -> None:
    assert facts.image
    assert facts.image.id.startswith("sha256:")
    assert (facts.image.user, facts.image.created) == ("node", "2026-08-10T00:00:00Z")
    assert (facts.image.platform, facts.image.volumes) == ("linux/amd64", ("/home/node",))
    assert facts.image.labels == {"version": "1", "args": "***"}
    assert "tok-EXAMPLE" not in facts.model_dump_json()


def test_the_entry_points_environment_and_commands(facts: Facts) -> None:
    launch = facts.launches["container"]
    told = {name: (value.set, value.value) for name, value in launch.variables.items()}
    assert launch.state == "ok"
    assert told == {
        "DEVICE": (True, "box"),
        "HOME": (True, "/home/node"),
        "UNSET": (False, None),
        "TOKEN": (True, None),
    }
    assert launch.variables["TOKEN"].digest == keyed_digest("n0", "tok-EXAMPLE-img")
    pi = launch.commands["pi"]
    assert pi.file
    assert pi.manifest
    assert (pi.file.path, pi.file.final) == ("/usr/bin/pi", "/usr/lib/pi/cli.js")
    assert facts.content(pi.manifest) == b'{"name": "pi"}'
    assert launch.commands["uv"].file is None


def test_what_only_runs_is_unseen_or_unsupported(facts: Facts) -> None:
    why = "the image is not running"
    assert facts.unseen == {"processes": why, "listeners": why}
    assert (facts.launches["bash -lc"].state, facts.launches["bash -lc"].why) == (
        "unsupported",
        why,
    )
    connector = ImageConnector(image("oci", "x"))
    with pytest.raises(Unsupported):
        connector.apply("true", Secret(""))
    with pytest.raises(Unsupported):
        connector.open_tcp("palace", 80)


def test_the_path_engines_give_where_none_is_set(tmp_path: Path) -> None:
    baked = BakedImage(
        [layer([Member("usr/local/bin/pi", b"", mode=0o755)])], config={"Env": None, "User": ""}
    )
    write_archive(tmp_path / "i.tar", [baked])
    found = collect(image("oci-archive", tmp_path / "i.tar")).launches["container"]
    assert found.commands["pi"].file


def test_a_users_variable_goes_before_the_configuration(tmp_path: Path) -> None:
    write_archive(tmp_path / "i.tar", [ONE])
    facts = collect(image("oci-archive", tmp_path / "i.tar", user="root"))
    assert (facts.platform.home, facts.platform.user) == ("/root", "root")


def test_a_root_folder(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_bytes(PASSWD.content)
    (tmp_path / "home/node").mkdir(parents=True)
    (tmp_path / "home/node/bridge.ts").symlink_to("/etc/passwd")
    facts = collect(image("rootfs", tmp_path, user="node"))
    assert facts.content(facts.paths["~/bridge.ts"]) == PASSWD.content
    assert facts.launches["container"].state == "unsupported"
    assert facts.image is None


@pytest.mark.parametrize("told", ["PATH=/opt/bin\nA=b", ["PATH=/opt/bin", "A=b"]])
def test_a_root_folder_with_the_environment_it_will_have(tmp_path: Path, told: Value) -> None:
    (tmp_path / "opt/bin").mkdir(parents=True)
    (tmp_path / "opt/bin/pi").write_bytes(b"#!/bin/sh\n")
    (tmp_path / "opt/bin/pi").chmod(0o755)
    launch = collect(image("rootfs", tmp_path, image_env=told)).launches["container"]
    assert launch.state == "ok"
    found = launch.commands["pi"].file
    assert found is not None
    assert found.path == "/opt/bin/pi"
    bare = collect(image("rootfs", tmp_path)).launches["container"]
    assert bare.why == "a root file system has no configuration (image_env says what it will have)"


def test_an_image_has_an_environment_of_its_own(tmp_path: Path) -> None:
    write_archive(tmp_path / "i.tar", [ONE])
    own = collect(image("oci-archive", tmp_path / "i.tar")).launches
    said = collect(image("oci-archive", tmp_path / "i.tar", image_env="PATH=/nowhere")).launches
    assert own["container"].commands == said["container"].commands


def test_layers_as_links_in_an_old_docker_archive(tmp_path: Path) -> None:
    write_docker_archive(tmp_path / "d.tar", [ONE])
    with tarfile.open(tmp_path / "d.tar") as archive:
        members = {m.name: archive.extractfile(m) for m in archive.getmembers()}
        contents = {name: file.read() for name, file in members.items() if file}
    moved = next(name for name, data in contents.items() if b"MEMPALACE_FEED" in data)
    rest = [Member(name, data) for name, data in contents.items() if name != moved]
    rest += [
        Member("real/layer.tar", contents[moved]),
        Member(moved, kind="link", target="../real/layer.tar"),
    ]
    (tmp_path / "d.tar").write_bytes(layer(rest))
    facts = collect(image("docker-archive", tmp_path / "d.tar"))
    assert facts.content(facts.paths["~/bridge.ts"]) == b"MEMPALACE_FEED"


def test_nothing_is_left_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    monkeypatch.setenv("TMPDIR", str(scratch))
    monkeypatch.setattr("tempfile.tempdir", None)
    target = as_packed_archive(tmp_path / "i.tgz", [ONE])
    collect(target)
    (tmp_path / "i.tgz").write_bytes(packed(layer([Member("x")]), "gzip"))
    with pytest.raises(Unreachable):
        collect(target)
    assert list(scratch.iterdir()) == []


def test_a_full_disk_is_said() -> None:
    with (
        Path("/dev/full").open("wb", buffering=0) as full,
        pytest.raises(ProbeError, match="no room on this machine") as caught,
    ):
        fill(full, iter([b"x"]), "oci-archive:x")
    assert "TMPDIR" in caught.value.hint
