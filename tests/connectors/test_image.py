"""Images by every address: what is found, what is refused, and how it is said."""

import gzip
import hashlib
import json
import os
import tarfile
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from support.trees import asking, image

from fleet.connectors.image import ImageConnector
from fleet.connectors.oci.store import fill
from fleet.demo.layout import (
    BakedImage,
    Compression,
    Member,
    add_image,
    add_index,
    layer,
    layout_files,
    packed,
    write_archive,
    write_docker_archive,
    write_layout,
)
from fleet.errors import ProbeError, Unreachable, Unsupported
from fleet.facts.model import Facts, State
from fleet.facts.request import (
    CommandQuestion,
    LaunchQuestion,
    PathQuestion,
    ProcessQuestion,
    Read,
    Request,
)
from fleet.inventory.model import Target
from fleet.secrets import Secret, keyed_digest

PASSWD = Member("etc/passwd", b"root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/home/node:/bin/sh\n")
ONE = BakedImage(
    [
        layer([PASSWD, Member("usr/bin/pi", kind="link", target="../lib/pi/cli.js")]),
        layer(
            [
                Member("usr/lib/pi/cli.js", b"#!", mode=0o755),
                Member("usr/lib/pi/package.json", b'{"name": "pi"}'),
                Member("opt/bridge.ts", b"MEMPALACE_FEED"),
                Member("home/node/bridge.ts", kind="link", target="/opt/bridge.ts"),
            ]
        ),
    ],
    tag="palace:1",
    config={
        "User": "node",
        "Env": ["PATH=/usr/bin", "TOKEN=tok-EXAMPLE-img", "DEVICE=box"],
        "Labels": {"version": "1", "args": "T_TOKEN=tok-EXAMPLE-img"},
        "Volumes": {"/home/node": {}},
    },
    extra={"created": "2026-08-10T00:00:00Z"},
)
REQUEST = Request(
    "n0",
    paths=(PathQuestion("~/bridge.ts", Read.WHOLE), PathQuestion("/none")),
    launches=(
        LaunchQuestion(
            "container",
            public=("DEVICE", "HOME", "UNSET"),
            secret=("TOKEN",),
            commands=(CommandQuestion("pi", Read.HASH, manifest=True), CommandQuestion("uv")),
        ),
        LaunchQuestion("bash -lc", public=("DEVICE",)),
    ),
    processes=(ProcessQuestion("pi", ("pi",)),),
    listeners=True,
)


def collect(target: Target, request: Request = REQUEST, **options: int) -> Facts:
    return ImageConnector(target, **options).collect(request)


def as_layout(path: Path, images: Sequence[BakedImage]) -> Target:
    write_layout(path, images)
    return image("oci", path, "palace:1")


def as_archive(path: Path, images: Sequence[BakedImage]) -> Target:
    write_archive(path, images)
    return image("oci-archive", path, "palace:1")


def as_packed_archive(path: Path, images: Sequence[BakedImage]) -> Target:
    write_archive(path, images)
    path.write_bytes(gzip.compress(path.read_bytes()))
    return image("oci-archive", path)


def as_docker_archive(path: Path, images: Sequence[BakedImage]) -> Target:
    write_docker_archive(path, images)
    return image("docker-archive", path, "palace:1")


Write = Callable[[Path, Sequence[BakedImage]], Target]
WRITERS = [as_layout, as_archive, as_packed_archive, as_docker_archive]


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


def written(folder: Path, files: dict[str, bytes]) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    return folder


PLATFORM = asking(PathQuestion("/p", Read.WHOLE))


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


def broken(tmp_path: Path, change: Callable[[dict[str, bytes]], None]) -> Target:
    files = layout_files([ONE])
    change(files)
    return image("oci", written(tmp_path, files), "palace:1")


def blob_of(files: dict[str, bytes], text: bytes) -> str:
    return next(name for name, data in files.items() if text in data and "blobs" in name)


def drop_layer(files: dict[str, bytes]) -> None:
    del files[blob_of(files, b"ustar")]


def cut_layer(files: dict[str, bytes]) -> None:
    name = blob_of(files, b"MEMPALACE_FEED")
    files[name] = files[name][:2000]


def forge_layer(files: dict[str, bytes]) -> None:
    name = blob_of(files, b"MEMPALACE_FEED")
    files[name] = files[name].replace(b"MEMPALACE_FEED", b"MEMPALACE_FAKE")


def drop_manifest(files: dict[str, bytes]) -> None:
    del files[blob_of(files, b'"layers":')]


def forge_config(files: dict[str, bytes]) -> None:
    name = blob_of(files, b'"rootfs"')
    files[name] = files[name].replace(b'"node"', b'"root"')


def break_index(files: dict[str, bytes]) -> None:
    files["index.json"] = b'{"manifests": [{"digest": "sha256:../../../../etc/passwd"}]}'


def deep_index(files: dict[str, bytes]) -> None:
    files["index.json"] = b'{"manifests":' + b"[" * 100_000


@pytest.mark.parametrize(
    "change, said",
    [
        (drop_layer, r"layer \d of 2 \(sha256:[0-9a-f]{12}\) is missing"),
        (cut_layer, r"layer 2 of 2 \(sha256:[0-9a-f]{12}\) cannot be read: it ends in the middle"),
        (forge_layer, r"layer 2 of 2 .* its sha256 is [0-9a-f]{12}\.\.\., not"),
        (drop_manifest, r"manifest sha256:[0-9a-f]{12} is missing"),
        (forge_config, r"configuration sha256:[0-9a-f]{12} is forged or damaged"),
        (break_index, r"index\.json is not understood: manifests\.0\.digest"),
        (deep_index, r"index\.json"),
    ],
)
def test_damage_names_the_blob(
    change: Callable[[dict[str, bytes]], None], said: str, tmp_path: Path
) -> None:
    with pytest.raises(ProbeError, match=said) as caught:
        collect(broken(tmp_path, change))
    assert caught.value.where.startswith("oci:")
    assert caught.value.hint
    assert "tok-EXAMPLE" not in str(caught.value)


@pytest.mark.parametrize("write", WRITERS[1:])
def test_an_archive_cut_anywhere_is_an_error_and_nothing_else(write: Write, tmp_path: Path) -> None:
    path = tmp_path / "i"
    target = write(path, [ONE])
    whole = path.read_bytes()
    for size in range(0, len(whole.rstrip(b"\0")), 777):
        path.write_bytes(whole[:size])
        with pytest.raises((ProbeError, Unreachable)):
            collect(target)


@pytest.mark.parametrize(
    "content, media",
    [
        (b"\xfd7zXZ\x00" + bytes(600), ""),
        (b"BZh9" + bytes(600), ""),
        (b"\x04\x22\x4d\x18" + bytes(600), ""),
        (b"what is this" * 60, "application/vnd.oci.image.layer.v1.tar+brotli"),
        (layer([]), "application/vnd.oci.image.layer.v1.tar+gzip+encrypted"),
    ],
)
def test_unknown_compression_is_unsupported_never_absent(
    content: bytes, media: str, tmp_path: Path
) -> None:
    files = layout_files([BakedImage([content])])
    if media:
        manifest = blob_of(files, b'"layers":')
        changed = files[manifest].replace(b"application/vnd.oci.image.layer.v1.tar", media.encode())
        del files[manifest]
        files["index.json"] = json.dumps({"manifests": [named(files, changed)]}).encode()
    with pytest.raises(Unsupported, match=r"cannot read .* layers here"):
        collect(image("oci", written(tmp_path, files)))


def named(files: dict[str, bytes], content: bytes) -> dict[str, object]:
    digest = hashlib.sha256(content).hexdigest()
    files[f"blobs/sha256/{digest}"] = content
    return {"digest": f"sha256:{digest}", "size": len(content)}


def test_an_artifact_is_no_image(tmp_path: Path) -> None:
    files = layout_files([])
    config = named(files, b"{}") | {"mediaType": "application/vnd.example.chart.v1+json"}
    manifest = json.dumps({"schemaVersion": 2, "config": config, "layers": []}).encode()
    files["index.json"] = json.dumps({"manifests": [named(files, manifest)]}).encode()
    with pytest.raises(Unsupported, match=r"an artifact \(application/vnd\.example"):
        collect(image("oci", written(tmp_path, files)))


@pytest.mark.parametrize(
    "scheme, made, said",
    [
        ("oci", None, "no such file or folder"),
        ("oci", b"", "it is a file, not a layout's folder"),
        ("oci-archive", None, "no such file or folder"),
        ("oci-archive", b"", "it is empty: no tar archive"),
        ("oci-archive", b"text" * 999, "it is no tar archive"),
        ("docker-archive", layer([]), "index.json is missing"),
        ("rootfs", None, "no such file or folder"),
        ("rootfs", b"", "Not a directory"),
    ],
)
def test_what_is_no_image_is_said(
    scheme: str, made: bytes | None, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "i"
    if made is not None:
        path.write_bytes(made)
    with pytest.raises((ProbeError, Unreachable), match=said) as caught:
        collect(image(scheme, path))
    assert caught.value.where == f"{scheme}:{path}"


def test_pipes_and_links_on_this_machine_are_not_followed(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Unreachable, match="not a regular file"):
        collect(image("oci-archive", tmp_path / "pipe"))
    folder = written(tmp_path / "layout", layout_files([ONE]))
    (folder / "index.json").rename(tmp_path / "elsewhere.json")
    (folder / "index.json").symlink_to(tmp_path / "elsewhere.json")
    with pytest.raises(ProbeError, match=r"index\.json cannot be opened: it is a link"):
        collect(image("oci", folder))


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
