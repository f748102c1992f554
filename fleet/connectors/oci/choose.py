"""Which of a layout's or an archive's images is meant, and its layers in order."""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pydantic import TypeAdapter, ValidationError

from fleet.connectors.oci.documents import (
    Architecture,
    Configuration,
    Descriptor,
    Manifest,
    Saved,
    architecture,
    malformed,
    parsed,
)
from fleet.connectors.oci.layers import Layer
from fleet.connectors.oci.store import Store, content
from fleet.connectors.oci.streams import DIGEST, Blob
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import ProbeError, Unreachable, Unsupported

REF_NAME = "org.opencontainers.image.ref.name"
FULL_NAME = "io.containerd.image.name"
_ATTESTATION = "vnd.docker.reference.type"
_DEPTH = 8
_MAX_MANIFESTS = 1_000
_SHOWN = 8
_IMAGE = re.compile(r"(oci|container)\.image\.(config\.)?v1\+json$")
_HEX = re.compile(r"[0-9a-f]{64}")


class Image(NamedTuple):
    """An image that was found: all that is needed to read it.

    Attributes:
        id: digest of the configuration, ``sha256:…``, as engines name an image.
        raw: the configuration as it stands.
        among: the platforms there were to choose from, where there were several.
    """

    id: str
    configuration: Configuration
    layers: tuple[Layer, ...]
    raw: bytes
    among: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Wish:
    """What was asked for.

    Attributes:
        tag: a tag or whole reference; empty for the only image there is.
        platform: as the inventory declares it; empty for this machine's, where there is a choice.
        machine: this machine's platform.
    """

    tag: str
    platform: str
    machine: str


def from_layout(store: Store, wish: Wish) -> Image:
    """Find an image in an OCI image layout.

    Raises:
        Unreachable: no image has the tag or the platform; tells those that are there.
        ProbeError: a document is missing, forged or not understood.
        Unsupported: what is there is of a kind that cannot be read.
    """
    if store.find("index.json", "index.json") is None:
        raise Unreachable(
            "it is no OCI layout: index.json is missing",
            stage="missing",
            where=store.where,
            hint="docker-archive: reads what docker save writes",
        )
    index = parsed(
        Manifest, content(store, "index.json", "index.json"), name="index.json", where=store.where
    )
    return from_descriptors(store, _tagged(index.manifests or [], wish.tag, store.where), wish)


def from_descriptors(store: Store, descriptors: Sequence[Descriptor], wish: Wish) -> Image:
    """Find an image among those that an index names.

    Raises:
        Unreachable: none is for the platform; tells those that are there.
        ProbeError: a document is missing, forged or not understood.
        Unsupported: what is there is of a kind that cannot be read.
    """
    found = _Images(store)
    for descriptor in descriptors:
        found.add(descriptor, 0)
    return found.best(wish)


def worth_reading(
    descriptors: Sequence[Descriptor], wish: Wish, where: str
) -> Sequence[Descriptor]:
    """Return which of an index's manifests may be the one; those that tell a platform decide.

    Raises:
        Unreachable: none can be; tells the platforms that are there.
    """
    images = images_of(descriptors)
    if len(images) == 1 and not wish.platform:
        return images
    asked = architecture(wish.platform or wish.machine)
    told = [(each, each.platform) for each in images if each.platform and each.platform.os]
    fit = [each for each, platform in told if platform.runs(asked)]
    silent = [each for each in images if not (each.platform and each.platform.os)]
    if not images:
        raise Unreachable("there is no image in it", stage="missing", where=where)
    if not fit and not silent:
        raise _not_for(str(asked), [str(platform) for _, platform in told], where)
    return fit[:1] or silent


def images_of(descriptors: Sequence[Descriptor]) -> list[Descriptor]:
    """Return those of an index's manifests that are no attestations of others."""
    return [each for each in descriptors if not _is_attestation(each)]


def platforms(declared: Iterable[Architecture | None]) -> tuple[str, ...]:
    """Return what there is to choose from, as an index tells it; a little of a long list."""
    told = [str(platform) for platform in declared if platform and platform.os]
    return tuple(one_line(text, 40) for text in dict.fromkeys(told[:_SHOWN]))


def from_docker_archive(store: Store, wish: Wish) -> Image:
    """Find an image in what ``docker save`` writes, old or new.

    Raises:
        Unreachable: no image has the reference; tells those that are there.
        ProbeError: a document is missing, forged or not understood.
    """
    name = "manifest.json"
    if store.find(name, name) is None:
        if store.find("index.json", "index.json") is None:
            raise Unreachable(
                "it is no saved image: neither manifest.json nor index.json is in it",
                stage="missing",
                where=store.where,
                hint="write it with: docker save -o FILE REFERENCE",
            )
        return from_layout(store, wish)
    try:
        images = TypeAdapter(list[Saved]).validate_json(content(store, name, name))
    except ValidationError as error:
        raise malformed(error, name=name, where=store.where) from None
    image = _saved(store, _referred(images, wish.tag, store.where))
    fits(image.configuration, wish, store.where)
    return image


def fits(configuration: Configuration, wish: Wish, where: str) -> None:
    """Make sure that the only image there is runs where it is asked to.

    Raises:
        Unreachable: a platform is asked for, and the image is for another.
    """
    if wish.platform and not configuration.runs(architecture(wish.platform)):
        raise _not_for(wish.platform, [str(configuration)], where)


class _Images:
    """The images an index leads to, through indexes of indexes."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._seen: set[str] = set()
        self._found: list[tuple[Architecture | None, Manifest]] = []

    def add(self, descriptor: Descriptor, depth: int) -> None:
        if descriptor.digest in self._seen or _is_attestation(descriptor):
            return
        self._seen.add(descriptor.digest)
        if depth > _DEPTH or len(self._seen) > _MAX_MANIFESTS:
            raise ProbeError("its indexes lead on without end", where=self._store.where)
        name = f"manifest {_short(descriptor.digest)}"
        raw = content(self._store, _path(descriptor.digest), name, descriptor.digest)
        manifest = parsed(Manifest, raw, name=name, where=self._store.where)
        if manifest.schemaVersion == 1:
            raise Unsupported("docker's schema 1 images are not read", where=self._store.where)
        for below in manifest.manifests or ():
            self.add(below, depth + 1)
        if manifest.manifests is None:
            self._found.append((descriptor.platform, manifest))

    def best(self, wish: Wish) -> Image:
        if len(self._found) == 1 and not wish.platform:
            return self._image(self._found[0][1])
        asked = architecture(wish.platform or wish.machine)
        there: list[str] = []
        for declared, manifest in self._found:
            platform = declared if declared and declared.os else self._platform(manifest)
            if platform.runs(asked):
                return self._image(manifest)._replace(
                    among=platforms(declared for declared, _ in self._found)
                )
            there.append(str(platform))
        raise _not_for(str(asked), there, self._store.where)

    def _platform(self, manifest: Manifest) -> Architecture:
        return self._configuration(manifest)[1]

    def _configuration(self, manifest: Manifest) -> tuple[bytes, Configuration]:
        if manifest.config is None or manifest.layers is None:
            raise ProbeError("its manifest names no configuration", where=self._store.where)
        digest, media = manifest.config.digest, manifest.config.mediaType
        if media and not _IMAGE.search(media):
            raise Unsupported(
                f"it holds an artifact ({one_line(media, 80)}), not a container image",
                where=self._store.where,
            )
        name = f"configuration {_short(digest)}"
        raw = content(self._store, _path(digest), name, digest)
        return raw, parsed(Configuration, raw, name=name, where=self._store.where)

    def _image(self, manifest: Manifest) -> Image:
        raw, configuration = self._configuration(manifest)
        descriptors = manifest.layers or []
        layers = []
        for number, descriptor in enumerate(descriptors, start=1):
            name = f"layer {number} of {len(descriptors)} ({_short(descriptor.digest)})"
            blob = self._store.find(_path(descriptor.digest), name)
            layers.append(_layer(blob, name, descriptor, self._store.where))
        digest = manifest.config.digest if manifest.config else ""
        return Image(digest, configuration, _with_ids(layers, configuration, self._store), raw)


def _layer(blob: Blob | None, name: str, descriptor: Descriptor, where: str) -> Blob:
    if blob is None:
        raise _missing(name, where)
    return Blob(blob.source, name, blob.size, blob.offset, descriptor.digest, descriptor.mediaType)


def _saved(store: Store, saved: Saved) -> Image:
    hexes = _HEX.findall(saved.Config)
    digest = f"sha256:{hexes[-1]}" if hexes else ""
    name = f"configuration {one_line(saved.Config, 80)}"
    raw = content(store, saved.Config, name, digest)
    configuration = parsed(Configuration, raw, name=name, where=store.where)
    blobs = []
    for number, path in enumerate(saved.Layers, start=1):
        shown = f"layer {number} of {len(saved.Layers)} ({one_line(path, 32)})"
        blob = store.find(path, shown)
        if blob is None:
            raise _missing(shown, store.where)
        blobs.append(blob)
    return Image(digest, configuration, _with_ids(blobs, configuration, store), raw)


def _with_ids(
    blobs: Sequence[Blob], configuration: Configuration, store: Store
) -> tuple[Layer, ...]:
    ids = configuration.rootfs.diff_ids
    if ids and len(ids) != len(blobs):
        raise ProbeError(
            f"its manifest names {len(blobs)} layers and its configuration {len(ids)}",
            where=store.where,
            hint="it is no container image, or is damaged",
        )
    checkable = [text if re.fullmatch(DIGEST, text) else "" for text in ids] or [""] * len(blobs)
    return tuple(Layer(blob, diff_id) for blob, diff_id in zip(blobs, checkable, strict=True))


def _tagged(descriptors: Sequence[Descriptor], tag: str, where: str) -> list[Descriptor]:
    images = images_of(descriptors)
    if tag:
        named = [each for each in images if tag in _names(each)]
        if named:
            return named
        raise _no_such(tag, [name for each in images for name in _names(each)[:1]], where)
    if len({_names(each)[:1] for each in images}) > 1:
        raise _which([name for each in images for name in _names(each)[:1]], where)
    if not images:
        raise Unreachable("there is no image in it", stage="missing", where=where)
    return images


def _names(descriptor: Descriptor) -> tuple[str, ...]:
    """Return every name an image may be asked for by, the one to show first."""
    full = descriptor.annotations.get(FULL_NAME, "")
    short = descriptor.annotations.get(REF_NAME, "")
    names = [short or full, full, descriptor.digest]
    names += [_tag_of(name) for name in (short, full)]
    return tuple(dict.fromkeys(name for name in names if name))


def _referred(images: Sequence[Saved], reference: str, where: str) -> Saved:
    tags = [tag for image in images for tag in image.RepoTags]
    if not reference:
        if len(images) == 1:
            return images[0]
        raise (
            _which(tags, where)
            if images
            else Unreachable("there is no image in it", stage="missing", where=where)
        )
    wanted = {reference, f"{reference}:latest"}
    for image in images:
        if wanted & {name for tag in image.RepoTags for name in (tag, _tag_of(tag))}:
            return image
    raise _no_such(reference, tags, where)


def _tag_of(name: str) -> str:
    return name.rpartition("/")[2].partition(":")[2]


def _is_attestation(descriptor: Descriptor) -> bool:
    platform = descriptor.platform
    unknown = bool(platform and platform.os == "unknown" and platform.architecture == "unknown")
    return unknown or descriptor.annotations.get(_ATTESTATION, "") != ""


def _no_such(asked: str, there: Sequence[str], where: str) -> Unreachable:
    return Unreachable(
        f"there is no image {one_line(asked, 80)}",
        stage="missing",
        where=where,
        hint=f"there is {_listed(there)}" if there else "no image there has a name",
    )


def _not_for(platform: str, there: Sequence[str], where: str) -> Unreachable:
    return Unreachable(
        f"it has no image for {one_line(platform, 40)}",
        stage="missing",
        where=where,
        hint=f"it has {_listed(there)}; choose with --platform or the variable platform",
    )


def _which(there: Sequence[str], where: str) -> Unreachable:
    return Unreachable(
        "it holds more than one image, and none is named",
        stage="missing",
        where=where,
        hint=f"name one of {_listed(there)} after the path and a colon",
    )


def _missing(name: str, where: str) -> ProbeError:
    return ProbeError(
        f"{name} is missing",
        where=where,
        hint="the image was copied only in part: fetch it again",
    )


def _listed(names: Sequence[str]) -> str:
    shown = [one_line(name, 80) for name in dict.fromkeys(names)]
    more = f" and {len(shown) - _SHOWN} more" if len(shown) > _SHOWN else ""
    return ", ".join(shown[:_SHOWN]) + more


def _path(digest: str) -> str:
    return f"blobs/{digest.replace(':', '/', 1)}"


def _short(digest: str) -> str:
    algorithm, _, value = digest.partition(":")
    return f"{algorithm}:{value[:12]}"
