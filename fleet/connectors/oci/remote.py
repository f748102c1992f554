"""An image in a registry, as a store: documents at once, each layer when somebody opens it.

What comes is written to one temporary file without a name, hashed on the way. A blob's size is
known before it comes, so each has its place in that file. Nothing is kept that its digest does not
name.
"""

import errno
import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from functools import partial
from typing import BinaryIO

import httpx

from fleet.connectors.docker_login import login_for
from fleet.connectors.oci.choose import (
    Image,
    Wish,
    from_descriptors,
    images_of,
    platforms,
    worth_reading,
)
from fleet.connectors.oci.documents import Descriptor, Manifest, parsed
from fleet.connectors.oci.remote_api import Api, Document, Origin, may_be_asked
from fleet.connectors.oci.remote_auth import Doorman
from fleet.connectors.oci.remote_http import Trust, Wire, WireFault, is_loopback
from fleet.connectors.oci.store import no_room
from fleet.connectors.oci.streams import DIGEST, Blob, Budget, scratch_file
from fleet.errors import ProbeError, Unsupported
from fleet.inventory.image_reference import ImageReference

TRIES = 3
_DEPTH = 4
_MAX_DOCUMENTS = 64
_SCHEMA_1 = "application/vnd.docker.distribution.manifest.v1"


@contextmanager
def image_in_registry(
    reference: ImageReference, wish: Wish, trust: Trust, budget: Budget
) -> Iterator[Image]:
    """Find an image in a registry; its layers come while the block runs.

    Args:
        reference: names it.
        wish: its platform; the tag is the reference's own.
        trust: whom to talk to, and how.
        budget: bounds time, and what is downloaded as what is unpacked.

    Raises:
        Unreachable: no answer, no way in, no such image or no such platform of it.
        ProbeError: what answers is no registry, or what it sent is damaged or forged.
        Unsupported: what is there is of a kind that cannot be read.
    """
    where = budget.where
    local = is_loopback(httpx.URL(f"https://{reference.registry}").host)
    with (
        closing(scratch_file()) as spool,
        Wire(trust, budget.deadline, where, proxies=not local) as wire,
    ):

        def knock(origin: Origin) -> Doorman:
            return Doorman(
                reference.registry,
                reference.repository,
                partial(login_for, reference.registry, budget.deadline),
                wire=wire,
                where=where,
                allows=lambda url: may_be_asked(url, origin, trust),
            )

        api = Api(reference, trust, wire, where, knock)
        store = RemoteStore(api, spool, budget)
        image = from_descriptors(store, store.found(reference, wish), wish)
        yield image._replace(among=store.among or image.among)


class RemoteStore:
    """A :class:`fleet.connectors.oci.store.Store` over one repository.

    Attributes:
        among: the platforms that the index tells, where there were several to choose from.
    """

    def __init__(self, api: Api, spool: BinaryIO, budget: Budget) -> None:
        self.where = budget.where
        self.among: tuple[str, ...] = ()
        self._api = api
        self._spool = spool.fileno()
        self._budget = budget
        self._download = Budget(budget.max_bytes, budget.deadline, budget.where)
        self._end = 0
        self._places: dict[str, tuple[int, int]] = {}
        self._here: set[str] = set()
        self._documents = 0

    def found(self, reference: ImageReference, wish: Wish) -> list[Descriptor]:
        """Fetch the manifest that is meant, through indexes, and of those only what it takes.

        Raises:
            Unreachable: it is not there, or no image for the platform is.
            ProbeError: a document is forged or not understood.
            Unsupported: it is a schema 1 manifest.
        """
        document = self._api.manifest(reference.version)
        told = document.digest if re.fullmatch(DIGEST, document.digest) else ""
        digest = reference.digest or told or _digest_of(document.raw)
        return self._read(Descriptor(digest=digest), document, wish, 0)

    def find(self, name: str, shown: str) -> Blob | None:
        """Return a blob that a manifest names; it is downloaded when it is opened."""
        digest = name.removeprefix("blobs/").replace("/", ":", 1)
        if digest not in self._places:
            return None
        offset, size = self._places[digest]
        source = partial(self._opened, digest, shown)
        return Blob(source, shown, size, offset)

    def _read(
        self, descriptor: Descriptor, document: Document, wish: Wish, depth: int
    ) -> list[Descriptor]:
        self._documents += 1
        if depth > _DEPTH or self._documents > _MAX_DOCUMENTS:
            raise ProbeError("its indexes lead on without end", where=self.where)
        name = f"manifest {descriptor.digest[:19]}"
        manifest = parsed(Manifest, document.raw, name=name, where=self.where)
        if manifest.schemaVersion == 1 or document.media.startswith(_SCHEMA_1):
            raise Unsupported(
                "it is a docker schema 1 manifest, which is not read",
                where=self.where,
                hint="pull and push it again with a current docker",
            )
        self._keep(descriptor.digest, document.raw)
        if manifest.manifests is None:
            for blob in (manifest.config, *(manifest.layers or ())):
                if blob is not None:
                    self._reserve(blob.digest, blob.size)
            return [descriptor]
        if len(told := platforms(each.platform for each in images_of(manifest.manifests))) > 1:
            self.among = told
        leaves: list[Descriptor] = []
        for below in worth_reading(manifest.manifests, wish, self.where):
            inner = self._api.manifest(below.digest)
            leaves += self._read(below, inner, wish, depth + 1)
        return leaves

    def _keep(self, digest: str, raw: bytes) -> None:
        found = _digest_of(raw, digest)
        if found != digest:
            raise self._forged(f"manifest {digest[:19]}", found, digest)
        self._reserve(digest, len(raw))
        self._write(raw, self._places[digest][0])
        self._here.add(digest)

    def _reserve(self, digest: str, size: int) -> None:
        if digest in self._places:
            return
        if size < 0 or self._end + size > self._budget.max_bytes:
            raise ProbeError(
                f"its layers are said to be more than {self._budget.max_bytes} bytes",
                where=self.where,
            )
        self._places[digest] = (self._end, size)
        self._end += size

    def _opened(self, digest: str, shown: str) -> int:
        if digest not in self._here:
            self._fetch(digest, shown)
            self._here.add(digest)
        return os.dup(self._spool)

    def _fetch(self, digest: str, shown: str) -> None:
        """Download a blob, from its start again where the connection breaks."""
        for number in range(TRIES):
            try:
                self._fetch_once(digest, shown)
            except WireFault as error:
                if error.kind != "lost" or number + 1 == TRIES:
                    raise
            else:
                return

    def _fetch_once(self, digest: str, shown: str) -> None:
        offset, size = self._places[digest]
        hashed = hashlib.new(digest.partition(":")[0])
        came = 0
        with self._api.blob(digest, shown) as response:
            for part in self._api.parts(response):
                came += len(part)
                self._download.spend(len(part))
                if came > size:
                    raise self._damaged(shown, f"it is longer than the {size} bytes it should be")
                hashed.update(part)
                self._write(part, offset + came - len(part))
        if came < size:
            raise self._damaged(shown, f"it ends after {came} of {size} bytes")
        found = f"{digest.partition(':')[0]}:{hashed.hexdigest()}"
        if found != digest:
            raise self._forged(shown, found, digest)

    def _write(self, part: bytes, offset: int) -> None:
        view = memoryview(part)
        try:
            while view:
                written = os.pwrite(self._spool, view, offset)
                view, offset = view[written:], offset + written
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
                raise
            raise no_room(self.where) from None

    def _forged(self, shown: str, found: str, digest: str) -> ProbeError:
        return self._damaged(shown, f"its digest is {found[:19]}..., not {digest[:19]}...")

    def _damaged(self, shown: str, why: str) -> ProbeError:
        return ProbeError(
            f"{shown} from the registry is forged or damaged: {why}",
            where=self.where,
            hint="push the image again; if it stays, do not trust the registry",
        )


def _digest_of(raw: bytes, like: str = "sha256:") -> str:
    algorithm = like.partition(":")[0]
    return f"{algorithm}:{hashlib.new(algorithm, raw).hexdigest()}"


def trust_of(variables: Mapping[str, object]) -> Trust:
    """Return what a target's variables ``registry_insecure`` and ``registry_ca`` say."""
    insecure = variables.get("registry_insecure")
    authority = variables.get("registry_ca")
    return Trust(
        insecure is True or (isinstance(insecure, str) and insecure.lower() in ("true", "yes")),
        authority if isinstance(authority, str) else "",
    )
