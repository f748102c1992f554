"""An image in an engine, read by the quickest way that can tell.

Two ways look at single files: the folders of the engine's layers (as root, where the engine runs on
this machine and keeps overlays), and a container that is created and never started. The last way,
which reads everything, is the engine's own archive of the image.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import NamedTuple, TypeVar

from fleet.connectors.engine import Endpoint
from fleet.connectors.engine_http import ABSENT, OK, EngineHttp, said, segment
from fleet.connectors.image_created import CreatedTree, created
from fleet.connectors.image_overlay import layer_folders, privileged
from fleet.connectors.image_overlay_walk import tell_layers
from fleet.connectors.image_saved import saved_by_engine
from fleet.connectors.image_way import Declined, Opened, Way, image_fact
from fleet.connectors.oci.choose import Wish, fits
from fleet.connectors.oci.documents import Inspected, checked
from fleet.connectors.oci.store import ArchiveStore
from fleet.connectors.oci.streams import Budget
from fleet.connectors.scan.scan import LayerScan
from fleet.connectors.text import one_line
from fleet.errors import ProbeError, Unreachable, Unsupported
from fleet.facts.images import ImageFact
from fleet.facts.request import Depth, Request

T = TypeVar("T")
_SHOWN = 8
_DRIVER = "overlay2"


class _Known(NamedTuple):
    """An image the engine has, as read and as it was said."""

    image: Inspected
    said: Mapping[str, object]


class EngineImage:
    """One image of an engine, by its reference."""

    def __init__(self, reference: str, at: Endpoint, wish: Wish, budget: Budget) -> None:
        """Ask nothing yet.

        Args:
            reference: a name, with or without a tag, or an id.
            at: the engine.
            wish: the platform it must be for.
            budget: bounds bytes and time.
        """
        self._reference = reference
        self._at = at
        self._wish = wish
        self._budget = budget

    def read(
        self,
        request: Request,
        look: Callable[[Opened], T],
        from_archive: Callable[[ArchiveStore], Opened],
        only: str = "",
    ) -> T:
        """Let ``look`` read the image by the first way that can tell all it asks.

        Args:
            request: what is going to be asked.
            look: called once for each way that is tried; what it returns counts when the way held.
            from_archive: opens an archive of the image.
            only: the name of a way; empty for any.

        Raises:
            Unreachable: no engine, or no such image in it, or none for that platform.
            Unsupported: the only way that is allowed cannot tell.
            ProbeError: the engine answers with an error of its own.
        """
        ways = tuple(way for way in Way if only in ("", way))
        if not ways:
            raise Unsupported(
                f"there is no way {one_line(only, 40)} to read an image",
                where=self._budget.where,
                hint=f"image_way is one of {', '.join(Way)}",
            )
        passed: list[str] = []
        with closing(EngineHttp(self._at, self._budget.deadline, self._budget.where)) as engine:
            found = _inspected(engine, self._reference, self._budget.where)
            fits(found.image.configuration(), self._wish, self._budget.where)
            for way in ways:
                try:
                    with self._opened(way, engine, found, request, from_archive) as opened:
                        _tell(opened, way, passed, self._at)
                        return look(opened)
                except Declined as error:
                    passed.append(f"{way}: {error}")
        raise Unsupported("; ".join(passed), where=self._budget.where)

    @contextmanager
    def _opened(
        self,
        way: Way,
        engine: EngineHttp,
        found: _Known,
        request: Request,
        from_archive: Callable[[ArchiveStore], Opened],
    ) -> Iterator[Opened]:
        configuration = found.image.configuration()
        scan = None
        if request.scan:
            scan = LayerScan(request.scan, request.nonce, self._budget.deadline)
        if way is Way.OVERLAY:
            with layer_folders(_folders(found.image, self._at)) as tree:
                if scan:
                    tell_layers(tree.layers, found.image.RootFS.Layers, scan, self._budget)
                yield Opened(tree, configuration, _fact(engine, found, scan))
        elif way is Way.API:
            _not_looked_into(found.image.RootFS.Layers, request, scan)
            absolute = [each.path for each in request.paths if each.path.startswith("/")]
            with created(engine, found.image.Id, configuration.config.Volumes) as name:
                files = CreatedTree(engine, name, absolute)
                fact = _fact(engine, found, scan)
                yield Opened(files, configuration, fact, prepare=files.prepare)
        else:
            with saved_by_engine(engine, found.image.Id, self._budget) as store:
                yield from_archive(store)


def _not_looked_into(layers: Sequence[str], request: Request, scan: LayerScan | None) -> None:
    """Tell a search that a container does not show layers.

    Raises:
        Declined: every file of every layer is to be read.
    """
    if scan is None or request.scan is None:
        return
    if request.scan.depth is Depth.ALL:
        raise Declined("a container does not show the layers, and all of them are asked for")
    for digest in layers:
        scan.unseen(digest, "the engine shows what the layers come to, not the layers")


def _fact(engine: EngineHttp, found: _Known, scan: LayerScan | None) -> ImageFact:
    """Return the image's fact; its history is asked for where it is searched."""
    document = found.said
    if scan:
        status, told = engine.json("GET", f"/images/{segment(found.image.Id)}/history")
        if status != OK or not isinstance(told, list):
            raise ProbeError(f"the engine does not tell the image's history: {said(told)}")
        texts = [step.get("CreatedBy") for step in reversed(told) if isinstance(step, dict)]
        document = {**document, "history": [{"created_by": text} for text in texts]}
    raw = json.dumps(document).encode()
    return image_fact(found.image.Id, found.image.configuration(), raw, scan)


def _tell(opened: Opened, way: Way, passed: list[str], at: Endpoint) -> None:
    if opened.image:
        update = {"way": way.value, "passed_over": tuple(passed), "engine": str(at)}
        opened.image = opened.image.model_copy(update=update)


def _folders(found: Inspected, at: Endpoint) -> list[str]:
    """Return the folders of an image's layers, the uppermost first.

    Raises:
        Declined: they are not on this machine, not for this user, or not of a kind known here.
    """
    if not at.local:
        raise Declined("the engine is not on this machine")
    if found.GraphDriver.Name != _DRIVER:
        kept = one_line(found.GraphDriver.Name, 40) or "does not say how"
        raise Declined(f"the engine keeps no overlays ({kept})")
    if not privileged():
        raise Declined("only root sees the engine's folders as they are")
    data = found.GraphDriver.Data
    lower = data.get("LowerDir", "")
    folders = [data.get("UpperDir", ""), *(lower.split(":") if lower else ())]
    if len(folders) != len(found.RootFS.Layers):
        raise Declined(f"it has {len(found.RootFS.Layers)} layers in {len(folders)} folders")
    return folders


def _inspected(engine: EngineHttp, reference: str, where: str) -> _Known:
    status, document = engine.json("GET", f"/images/{segment(reference)}/json")
    if status == ABSENT:
        shown = ", ".join(_tags_like(reference, engine))
        raise Unreachable(
            f"the engine has no image {one_line(reference, 120)}",
            stage="missing",
            where=where,
            hint=f"it has {shown}" if shown else "it has no image with a name",
        )
    if status != OK:
        raise ProbeError(f"the engine at {engine.at} refused: {said(document)}", where=where)
    name = "what the engine says of it"
    image = checked(Inspected, document, name=name, where=where)
    return _Known(image, document if isinstance(document, dict) else {})


def _tags_like(reference: str, engine: EngineHttp) -> list[str]:
    """Return tags of the same name, else any; a few."""
    last = reference.rpartition("/")[2]
    name = reference.rpartition(":")[0] if ":" in last else reference
    _, images = engine.json("GET", "/images/json")
    tags = (
        sorted(tag for image in images for tag in _tags(image)) if isinstance(images, list) else []
    )
    same = [tag for tag in tags if tag.rpartition(":")[0] == name]
    return [one_line(tag, 80) for tag in (same or tags)[:_SHOWN]]


def _tags(image: object) -> list[str]:
    tags = image.get("RepoTags") if isinstance(image, dict) else None
    found = [tag for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
    return [tag for tag in found if tag != "<none>:<none>"]
