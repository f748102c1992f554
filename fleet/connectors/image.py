"""Images, read without starting them: from an engine, a registry, an archive or a folder."""

import os
import platform as machine
import socket
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from fleet.connectors.answer import unseen
from fleet.connectors.base import Outcome
from fleet.connectors.deadline import Deadline
from fleet.connectors.engine import endpoint
from fleet.connectors.image_overlay_walk import tell_tree
from fleet.connectors.image_rootfs import RootTree
from fleet.connectors.image_way import Opened, image_fact
from fleet.connectors.oci.choose import Image, Wish, from_docker_archive, from_layout
from fleet.connectors.oci.documents import Configuration
from fleet.connectors.oci.kept import Kept
from fleet.connectors.oci.layers import LayeredTree
from fleet.connectors.oci.newest import NewestFirst
from fleet.connectors.oci.store import FolderStore, archive, unopened
from fleet.connectors.oci.streams import Budget
from fleet.connectors.scan.scan import LayerScan
from fleet.errors import TargetError, Unreachable, Unsupported
from fleet.facts.account import Account, home_of, owners_of, passwd_of, usual_home
from fleet.facts.environment import env_value
from fleet.facts.images import ImageFact
from fleet.facts.installed import files_read, with_versions
from fleet.facts.model import Facts, Platform
from fleet.facts.request import CONTAINER, Depth, LaunchQuestion, Read, Request
from fleet.facts.running import EnvValue, LaunchFact
from fleet.facts.tree import SEARCH, TreeReader
from fleet.inventory.image_reference import image_reference
from fleet.inventory.model import Scheme, Target
from fleet.secrets import Secret

MAX_BYTES = 32 * 1024**3
NOT_RUNNING = "the image is not running"


class ImageConnector:
    """One image; nothing of it is run, unpacked or written.

    Attributes:
        connects: how often the image was opened.
        round_trips: how often it was read.
    """

    def __init__(
        self, target: Target, *, timeout: float = 300.0, max_bytes: int = MAX_BYTES
    ) -> None:
        """Open nothing yet.

        Args:
            target: its address names the image; its variables may name the ``platform`` of a
                multi-platform image (``linux/arm64``), the ``user`` a container is started as,
                ``docker_host``, the engine that has it, and ``image_way``, the only way in which
                it may be read there; of a root file system ``image_env``, the environment that it
                will be started with: ``NAME=VALUE`` in lines or a list; and how its registry is
                talked to (``registry_insecure``, ``registry_ca``).
            timeout: the longest the reading may take, in seconds.
            max_bytes: the most bytes its layers may unpack to.
        """
        self.connects = 0
        self.round_trips = 0
        self._target = target
        self._timeout = timeout
        self._max_bytes = max_bytes

    def collect(self, request: Request) -> Facts:
        """Answer the request from the image's files and configuration.

        Raises:
            Unreachable: no such image, or no such platform of it; or time ran out.
            ProbeError: the image is damaged, forged or without end.
            Unsupported: a layer is compressed in a way that cannot be read here.
        """
        self.connects += 1
        deadline = Deadline(self._timeout, only_looks=True)
        budget = Budget(self._max_bytes, deadline, str(self._target.address))
        try:
            if self._target.address.scheme is Scheme.DOCKER_DAEMON:
                return self._from_engine(request, budget)
            with self._opened(request, budget) as opened:
                return self._facts(request, opened)
        except TargetError:
            raise
        except OSError as error:
            raise unopened(error, budget.where) from error

    def apply(self, script: str, payload: Secret) -> Outcome:  # noqa: ARG002 - the contract's
        """Refuse: an image is replaced, not changed.

        Raises:
            Unsupported: always.
        """
        raise self._unsupported("an image is rebuilt, not changed")

    def open_tcp(self, host: str, port: int) -> socket.socket:  # noqa: ARG002 - the contract's
        """Refuse: nothing runs that could connect.

        Raises:
            Unsupported: always.
        """
        raise self._unsupported(NOT_RUNNING)

    def close(self) -> None:
        """Do nothing: the image is let go as soon as it was read."""

    def _unsupported(self, why: str) -> Unsupported:
        return Unsupported(why, where=str(self._target.address))

    def _from_engine(self, request: Request, budget: Budget) -> Facts:
        from fleet.connectors.image_engine import EngineImage  # noqa: PLC0415 - lazy

        wish = Wish("", self._text("platform"), _this_platform())
        at = endpoint(self._text("docker_host"))
        return EngineImage(_reference(self._target), at, wish, budget).read(
            request,
            lambda opened: self._facts(request, opened),
            lambda store: _layered(from_docker_archive(store, wish), request, budget),
            self._text("image_way"),
        )

    @contextmanager
    def _opened(self, request: Request, budget: Budget) -> Iterator[Opened]:
        address = self._target.address
        path = Path(address.name).expanduser()
        if address.scheme is Scheme.ROOTFS:
            with closing(RootTree(path, budget.where)) as tree:
                scan = _scan(request, budget)
                if scan:
                    tell_tree(tree, scan)
                yield Opened(tree, scan=scan)
            return
        wish = Wish(address.tag or "", self._text("platform"), _this_platform())
        match address.scheme:
            case Scheme.OCI:
                yield _layered(from_layout(_folder(path, budget.where), wish), request, budget)
            case Scheme.OCI_ARCHIVE:
                with archive(path, budget) as store:
                    yield _layered(from_layout(store, wish), request, budget)
            case Scheme.DOCKER_ARCHIVE:
                with archive(path, budget) as store:
                    yield _layered(from_docker_archive(store, wish), request, budget)
            case Scheme.DOCKER:
                with self._in_registry(wish, budget) as image:
                    yield _remote(image, request, budget)
            case _:
                raise self._unsupported("not an image's address")

    def _in_registry(self, wish: Wish, budget: Budget) -> AbstractContextManager[Image]:
        from fleet.connectors.oci import remote  # noqa: PLC0415 - lazy: httpx

        reference = image_reference(self._target.address.name)
        trust = remote.trust_of(self._target.variables)
        return remote.image_in_registry(reference, wish, trust, budget)

    def _text(self, name: str) -> str:
        value = self._target.variables.get(name)
        return value if isinstance(value, str) else ""

    def _asked(self, image: ImageFact | None) -> ImageFact | None:
        """Say which platform was looked for: the declared one, else this machine's."""
        asked = self._text("platform") or _this_platform()
        return image.model_copy(update={"asked": asked}) if image else None

    def _declared(self) -> Configuration | None:
        """Return what the operator says that a root file system will be started with."""
        told = self._target.variables.get("image_env")
        lines = told.splitlines() if isinstance(told, str) else told
        if self._target.address.scheme is not Scheme.ROOTFS or not isinstance(lines, list):
            return None
        return Configuration.model_validate({"config": {"Env": list(map(str, lines))}})

    def _facts(self, request: Request, opened: Opened) -> Facts:
        self.round_trips += 1
        configuration = opened.configuration or self._declared()
        environment = configuration.environment() if configuration else {}
        passwd = passwd_of(opened.tree)
        user = self._text("user") or (configuration.config.User if configuration else "")
        account = home_of(user, environment, passwd, usual=usual_home(opened.tree))
        opened.prepare(request.paths, account.home)
        reader = TreeReader(
            opened.tree, request.nonce, account.home, owners_of(passwd), request.known
        )
        return Facts(
            target=self._target.name,
            address=str(self._target.address),
            kind="image",
            taken_at=datetime.now(UTC),
            nonce=request.nonce,
            platform=_platform(account, opened.configuration),
            paths=reader.paths(request.paths),
            launches={
                question.launch: _launched(question, configuration, account, reader)
                for question in request.launches
            },
            image=self._asked(opened.told()),
            scan=opened.scan.fact() if opened.scan else None,
            contents=reader.contents,
            unseen=_unseen(request, opened),
        )


def _layered(image: Image, request: Request, budget: Budget) -> Opened:
    scan = _scan(request, budget)
    tree = LayeredTree(image.layers, budget, _likely_names(request), scan, _kept(request))
    return Opened(tree, image.configuration, _fact(image, scan), tree.flaws)


def _remote(image: Image, request: Request, budget: Budget) -> Opened:
    if request.scan and request.scan.depth is Depth.ALL:
        return _layered(image, request, budget)
    scan = _scan(request, budget)
    tree = NewestFirst(image.layers, budget, _likely_names(request), scan, _kept(request))

    def later() -> ImageFact:
        tree.tell_watch()
        return _fact(image, scan)

    return Opened(tree, image.configuration, flaws=tree.flaws, later=later)


def _scan(request: Request, budget: Budget) -> LayerScan | None:
    return LayerScan(request.scan, request.nonce, budget.deadline) if request.scan else None


def _fact(image: Image, scan: LayerScan | None) -> ImageFact:
    told = image_fact(image.id, image.configuration, image.raw, scan)
    return told.model_copy(update={"among": image.among})


def _likely_names(request: Request) -> frozenset[str]:
    """Return the last components of what may be read: most links keep the name of their target."""
    commands = [command for launch in request.launches for command in launch.commands]
    names = {question.path.rpartition("/")[2] for question in request.paths}
    names |= {command.name for command in commands if command.read != "stat"}
    return frozenset({*names, *files_read(commands), "passwd"} - {""})


def _kept(request: Request) -> Kept:
    """Return what is kept of layers that hold too much for all to be."""
    commands = [command for launch in request.launches for command in launch.commands]
    names = {part for question in request.paths for part in question.path.split("/")}
    names |= {command.name for command in commands} | _likely_names(request)
    return Kept(
        names, [each.path for each in request.paths if each.read in (Read.LIST, Read.NOTES)]
    )


def _launched(
    question: LaunchQuestion, configuration: Configuration | None, user: Account, reader: TreeReader
) -> LaunchFact:
    if question.launch != CONTAINER:
        return LaunchFact(launch=question.launch, state="unsupported", why=NOT_RUNNING)
    if configuration is None:
        why = "a root file system has no configuration (image_env says what it will have)"
        return LaunchFact(launch=question.launch, state="unsupported", why=why)
    environment = {"PATH": SEARCH, "HOME": user.home} | configuration.environment()
    environment["HOME"] = environment["HOME"] or user.home
    commands = reader.commands(
        question.commands,
        search=environment["PATH"],
        uid=user.uid,
        folder=configuration.config.WorkingDir or "/",
    )
    return LaunchFact(
        launch=question.launch,
        state="ok",
        variables=_variables(question, environment, reader.nonce),
        commands=with_versions(reader.tree, question.commands, commands),
    )


def _variables(
    question: LaunchQuestion, environment: Mapping[str, str], nonce: str
) -> dict[str, EnvValue]:
    secret = {
        name: env_value(environment.get(name), nonce=nonce, public=False)
        for name in question.secret
    }
    public = {
        name: env_value(environment.get(name), nonce=nonce, public=True) for name in question.public
    }
    return public | secret


def _platform(account: Account, configuration: Configuration | None) -> Platform:
    return Platform(
        os=configuration.os if configuration else "linux",
        machine=configuration.architecture if configuration else "",
        user=account.user,
        uid=account.uid,
        home=account.home,
        rule=account.rule,
    )


def _unseen(request: Request, opened: Opened) -> dict[str, str]:
    flaws = {"layers": "; ".join(opened.flaws[:8])} if opened.flaws else {}
    return unseen(request, NOT_RUNNING) | flaws


def _folder(path: Path, where: str) -> FolderStore:
    if path.is_dir():
        return FolderStore(path, where)
    if path.exists():
        raise Unreachable(
            "it is a file, not a layout's folder",
            stage="missing",
            where=where,
            hint="oci-archive: reads a layout in a tar archive",
        )
    raise unopened(FileNotFoundError(2, os.strerror(2)), where)


def _reference(target: Target) -> str:
    address = target.address
    return f"{address.name}:{address.tag}" if address.tag else address.name


def _this_platform() -> str:
    return f"linux/{machine.machine() or 'amd64'}"
