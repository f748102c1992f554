"""Running containers, over the engine's API: one exec of ``sh``, or the archive API without one."""

import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from fleet.connectors.answer import Program, late, read_facts, unseen
from fleet.connectors.base import Outcome
from fleet.connectors.bounded import MAX_BYTES
from fleet.connectors.container_exec import Exec
from fleet.connectors.container_inspect import (
    Inspected,
    container_fact,
    image_fact,
    launch_variables,
    read_inspected,
)
from fleet.connectors.container_relay import Relay, relayed
from fleet.connectors.container_tree import ArchiveTree
from fleet.connectors.deadline import Deadline
from fleet.connectors.engine import Endpoint, client, endpoint, engine_faults
from fleet.connectors.text import one_line
from fleet.dataclass import dataclass
from fleet.errors import ProbeError, Unreachable, Unsupported
from fleet.facts.account import Account, home_of, owners_of, passwd_of
from fleet.facts.compile import probe_script
from fleet.facts.model import Facts, Platform
from fleet.facts.request import CONTAINER, Request
from fleet.facts.running import LaunchFact
from fleet.facts.tree import SEARCH, TreeReader
from fleet.inventory.model import Target
from fleet.secrets import Secret
from fleet.verifier.image_config import Baked, secrets_in_config

if TYPE_CHECKING:
    from docker import DockerClient

_NO_SHELL = "the container has no shell"
_NOT_RUN = (126, 127)
_NO_PROGRAM = re.compile("executable file not found|no such file or directory")


class NoShell(Exception):
    """There is no ``sh`` in the container."""


@dataclass(frozen=True, slots=True)
class _Opened:
    """A container that runs, and the client to talk to its engine with."""

    client: "DockerClient"
    at: Endpoint
    inspected: Inspected

    def environment(self, home: str) -> dict[str, str]:
        """Return what the entry point gets: Config.Env, and what the engine adds to it."""
        told = self.inspected.Config.environment()
        added = {"PATH": SEARCH, "HOSTNAME": self.inspected.Config.Hostname, "HOME": home}
        return added | {name: value for name, value in told.items() if name != "HOME" or value}


class ContainerConnector:
    """A running container in the engine that ``docker`` would talk to.

    Args:
        target: of scheme ``container``; its variable ``docker_host`` may name the engine outright.
        timeout: seconds that one ``collect`` or ``apply`` may take, connecting included.
        max_bytes: the most that may be answered; more is refused, not cut.
    """

    def __init__(self, target: Target, *, timeout: float, max_bytes: int = MAX_BYTES) -> None:
        self.connects = 0
        self.round_trips = 0
        self._target = target
        self._name = target.address.name
        self._timeout = timeout
        self._max_bytes = max_bytes
        self._client: DockerClient | None = None
        self._at: Endpoint | None = None
        self._relays: list[Relay] = []

    def collect(self, request: Request) -> Facts:
        """Answer the whole request with one exec; file by file where there is no shell.

        Raises:
            Unreachable: stage ``engine``, ``missing``, ``stopped`` or ``timeout``.
            ProbeError: too much was answered, or something else than was asked.
        """
        deadline = Deadline(self._timeout)
        taken_at = datetime.now(UTC)
        opened = self._opened()
        try:
            outcome = self._run(opened, probe_script(request), deadline)
        except NoShell:
            facts = self._without_shell(opened, request, deadline, taken_at)
        else:
            facts = read_facts(outcome, request, self._target, kind="container", taken_at=taken_at)
            facts = _with_entry_point(facts, opened, request)
        identity, name = opened.inspected.Image, opened.inspected.Config.Image
        image = self._image(opened, identity)
        named = image if name == identity else self._image(opened, name)
        now = str(named.get("Id") or "") if named else ""
        told = {
            "container": container_fact(
                opened.inspected, request, now, self._baked(opened, identity, image)
            ),
            "image": image_fact(image, identity, request, where=self._target.name),
        }
        return facts.model_copy(update=told)

    def apply(self, script: str, payload: Secret) -> Outcome:
        """Run ``script`` followed by ``payload`` as the container's own user.

        Raises:
            Unreachable: as for :meth:`collect`; what was done by then is unknown.
            ProbeError: too much was printed.
            Unsupported: there is no shell in the container.
        """
        deadline = Deadline(self._timeout)
        try:
            return self._run(self._opened(), script + payload.reveal(), deadline)
        except NoShell:
            raise Unsupported(
                f"{_NO_SHELL}, so nothing can be changed in it",
                where=self._target.name,
                hint="change the image it is made from, and recreate it",
            ) from None

    def open_tcp(self, host: str, port: int) -> socket.socket:
        """Connect as a program in the container connects: its names, its network.

        Raises:
            Unsupported: nothing in the container can connect.
            Unreachable: stage ``resolve``, ``connect`` or ``timeout``.
        """
        deadline = Deadline(self._timeout)
        opened = self._opened()
        where = f"{one_line(host)}:{port} from {self._target.name}"
        if opened.inspected.HostConfig.NetworkMode != "host" or not opened.at.local:
            return self._relayed(opened, host, port, deadline, where)
        try:
            return socket.create_connection((host, port), deadline.left())
        except socket.gaierror as error:
            raise Unreachable(error.strerror or "", stage="resolve", where=where) from None
        except TimeoutError:
            raise Unreachable("no answer", stage="timeout", where=where) from None
        except OSError as error:
            what = (error.strerror or "not connected").lower()
            raise Unreachable(what, stage="connect", where=where) from None

    def _relayed(
        self, opened: _Opened, host: str, port: int, deadline: Deadline, where: str
    ) -> socket.socket:
        try:
            with engine_faults(opened.at, where=self._target.name):
                relay = relayed(
                    opened.client.api, opened.inspected.Id, host, port, deadline, where=where
                )
        except TimeoutError:
            raise Unreachable("no answer", stage="timeout", where=where) from None
        except ProbeError as error:
            raise Unsupported(f"{_NO_SHELL} to connect with: {error.what}", where=where) from None
        self._relays.append(relay)
        return relay.socket

    def close(self) -> None:
        """Let go of the engine."""
        while self._relays:
            self._relays.pop().close()
        if self._client is not None:
            self._client.close()
            self._client = None

    def _engine(self) -> tuple["DockerClient", Endpoint]:
        if self._client is None or self._at is None:
            named = self._target.variables.get("docker_host")
            self._at = endpoint(named if isinstance(named, str) else "")
            self._client = client(self._timeout, at=self._at)
            self.connects += 1
        return self._client, self._at

    def _opened(self) -> _Opened:
        """Look the container up and make sure that it runs."""
        engine, at = self._engine()
        try:
            with engine_faults(at, where=self._target.name):
                told = engine.api.inspect_container(self._name)
        except Unreachable as error:
            if error.stage == "missing":
                error.what = f"there is no container {one_line(self._name)} in the engine at {at}"
                error.hint = "see what there is with: docker ps -a"
            raise
        inspected = read_inspected(told, where=self._target.name)
        state = inspected.State
        if state.Status != "running":
            raise Unreachable(
                f"container {one_line(self._name)} is {one_line(state.Status)} "
                f"(exit code {state.ExitCode}{', ' if state.Error else ''}"
                f"{one_line(state.Error)})",
                stage="stopped",
                where=self._target.name,
                hint=f"see why with: docker logs {one_line(self._name)}",
            )
        return _Opened(engine, at, inspected)

    def _run(self, opened: _Opened, text: str, deadline: Deadline) -> Outcome:
        """Run a program with the container's ``sh``.

        Raises:
            NoShell: there is none.
        """
        # The last line ends the shell where the end of its input cannot be told, as over TLS.
        program = Program(text, end="\nexit\n")
        run = Exec(
            opened.client.api,
            opened.inspected.Id,
            max_bytes=self._max_bytes,
            where=self._target.name,
        )
        self.round_trips += 1
        try:
            with _start_refused(), engine_faults(opened.at, where=self._target.name):
                status = run.run(["sh"], program.stdin, deadline)
        except TimeoutError:
            raise late(deadline, len(run.frames.output), where=self._target.name) from None
        return self._judged(run, status, program)

    def _judged(self, run: Exec, status: int | None, program: Program) -> Outcome:
        """Tell an answer from the ways of getting none."""
        printed, errors = run.frames.output.take(), run.frames.errors.take()
        output = program.answer(printed)
        if output is not None and status is not None:
            return Outcome(status, output, errors)
        said = one_line(errors or printed, last=True)
        if output is None and status in _NOT_RUN and (not said or _NO_PROGRAM.search(said)):
            self._opened()  # a container that is just stopping refuses an exec as well
            raise NoShell
        raise ProbeError(
            f"the answer was cut (exit status {status}): {said or 'nothing was said'}",
            where=self._target.name,
            hint="was the container stopped meanwhile?",
        )

    def _image(self, opened: _Opened, name: str) -> Mapping[str, object] | None:
        """Return what the engine tells of an image, None where it has none of this name."""
        if not name:
            return None
        try:
            with engine_faults(opened.at, where=self._target.name):
                told: object = opened.client.images.get(name).attrs
        except Unreachable as error:
            if error.stage != "missing":
                raise
            return None
        return told if isinstance(told, dict) else None

    def _baked(
        self, opened: _Opened, identity: str, image: Mapping[str, object] | None
    ) -> list[Baked] | None:
        """Return where its image holds secrets; None where the image is gone."""
        if image is None:
            return None
        with engine_faults(opened.at, where=self._target.name):
            told: object = opened.client.api.history(identity)  # type: ignore[no-untyped-call]  # its library has no types for it
        layers = told if isinstance(told, list) else []
        steps = (each for each in reversed(layers) if isinstance(each, dict))
        history = [{"created_by": each.get("CreatedBy", "")} for each in steps]
        return secrets_in_config({"config": image.get("Config") or {}, "history": history})

    def _without_shell(
        self, opened: _Opened, request: Request, deadline: Deadline, taken_at: datetime
    ) -> Facts:
        """Answer from the archive API what files can answer."""
        tree = ArchiveTree(
            opened.client.api,
            opened.at,
            opened.inspected.Id,
            max_bytes=self._max_bytes,
            deadline=deadline,
        )
        config = opened.inspected.Config
        passwd = passwd_of(tree)
        account = home_of(config.User, config.environment(), passwd)
        reader = TreeReader(tree, request.nonce, account.home, owners_of(passwd), request.known)
        paths = reader.paths(request.paths)
        launches = _launches(opened, request, account, reader)
        self.round_trips += tree.reads
        return Facts(
            target=self._target.name,
            address=str(self._target.address),
            kind="container",
            taken_at=taken_at,
            nonce=request.nonce,
            platform=Platform(
                os="Linux",
                hostname=config.Hostname,
                user=account.user,
                uid=account.uid,
                home=account.home,
                rule=account.rule,
            ),
            paths=paths,
            launches=launches,
            contents=reader.contents,
            unseen=unseen(request, _NO_SHELL),
        )


@contextmanager
def _start_refused() -> Iterator[None]:
    """Tell why the engine refuses an exec; newer ones so answer for a program that is not there."""
    try:
        yield
    except (ProbeError, Unreachable) as error:
        if _NO_PROGRAM.search(error.what):
            raise NoShell from None
        if "is not running" in error.what:
            raise Unreachable(
                "the container was stopped meanwhile", stage="stopped", where=error.where
            ) from None
        raise


def _with_entry_point(facts: Facts, opened: _Opened, request: Request) -> Facts:
    """Tell the entry point's environment from Config.Env, and what gave the home."""
    config = opened.inspected.Config
    rule = (
        "HOME in the environment"
        if config.environment().get("HOME")
        else f"its passwd, user {facts.platform.user or facts.platform.uid}"
    )
    platform = facts.platform.model_copy(update={"rule": rule})
    launches = dict(facts.launches)
    variables = launch_variables(opened.environment(facts.platform.home), request)
    if variables is not None:
        told = {"state": "ok", "variables": variables, "why": None}
        launches[CONTAINER] = launches[CONTAINER].model_copy(update=told)
    return facts.model_copy(update={"platform": platform, "launches": launches})


def _launches(
    opened: _Opened, request: Request, account: Account, reader: TreeReader
) -> dict[str, LaunchFact]:
    launches: dict[str, LaunchFact] = {}
    environment = opened.environment(account.home)
    for question in request.launches:
        if question.launch != CONTAINER:
            launches[question.launch] = LaunchFact(
                launch=question.launch, state="missing", why=_NO_SHELL
            )
            continue
        launches[CONTAINER] = LaunchFact(
            launch=CONTAINER,
            state="ok",
            variables=launch_variables(environment, request) or {},
            commands=reader.commands(
                question.commands,
                search=environment["PATH"],
                uid=account.uid,
                folder=opened.inspected.Config.WorkingDir or "/",
            ),
        )
    return launches
