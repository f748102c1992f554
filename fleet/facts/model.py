"""Facts: what was read on a target at one moment. Plain data, no judgement.

The models validate what they are built from, so saved facts from any source are safe to judge.
``Facts.format`` carries the version of the layout; a reader of a newer one refuses it by name.
"""

import hashlib
from enum import StrEnum
from functools import lru_cache
from typing import Annotated, Literal

from pydantic import AwareDatetime, Field, WrapValidator

from fleet.facts.base import Fact
from fleet.facts.deep import DeepFact
from fleet.facts.notes import NoteFact
from fleet.facts.shared import read_contents

FORMAT: Literal["fleet.facts/1"] = "fleet.facts/1"
MOST_FOUND = 200
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class State(StrEnum):
    """What became of the attempt to read a path. Each is its own answer."""

    PRESENT = "present"
    ABSENT = "absent"
    DANGLING = "dangling"  # a link, and something along it is absent
    LOOP = "loop"
    UNREADABLE = "unreadable"  # there, or hidden, and this user may not see it
    UNSUPPORTED = "unsupported"  # cannot be answered here; ``why`` tells


NOT_A_FOLDER = "it is not a folder"
"""Why nothing can be at a path: a name on the way to it is something else than a folder."""


class Hop(Fact):
    """One link on the way: where it is and what it says, as it says it."""

    path: str
    target: str


class Entry(Fact):
    """One name in a directory."""

    name: str
    kind: Literal["file", "directory", "link", "other"]
    target: str | None = None
    dangling: bool = False


class EnvLine(Fact):
    """One line of an env file.

    A value that may not travel keeps its structure only: letters read ``x``, digits ``0``, quotes
    and shell characters stay. Its digests tell what the value would be under each reading.
    """

    number: int
    text: str
    masked: bool = False
    raw: Sha256 | None = None  # everything after the "=" (or the ":" of `NAME: value`)
    unquoted: Sha256 | None = None  # the text between the outer quotes, where there are any
    trimmed: Sha256 | None = None  # raw without a comment that follows a blank, stripped


class EnvFile(Fact):
    """An env file's structure: enough to tell how each kind of reader reads it."""

    lines: tuple[EnvLine, ...] = ()
    bom: bool = False
    encrypted: Literal["git-crypt"] | None = None
    binary: bool = False
    truncated: bool = False


class PathFact(Fact):
    """One path, followed hop by hop.

    Attributes:
        path: as it was asked for.
        absolute: with the home filled in.
        state: what became of it.
        link: whether the path itself (its last component) is a link.
        hops: every link met, in order, parents' included.
        final: where the hops end, absolute on the target; None when they end nowhere.
        kind: of ``final``.
        mode: permission bits of ``final`` (0o600 is 384).
        mtime: of ``final``, seconds since 1970.
        inode: of ``final``, where a running machine tells it.
        sha256: of the content; the bytes are in ``Facts.contents`` unless they were known. An env
            file has none: its lines carry digests of their own.
        at: the component where reading stopped, for every state but ``present``.
        why: the reason in one line, where the state alone does not tell; of what is ``present``,
            why it was not read, or not whole.
        writable: of a folder that was listed, whether the user who was asked may write in it;
            None where nobody could try.
        closed: folders in which the user who was asked may not write: the one the path lies in, or
            the first of what is missing on the way would, and the one ``final`` lies in. Empty
            where nobody could try.
        shape: of a JSON file, text of the same structure without secrets.
        sections: of an INI file, the names of its sections.
        notes: of a folder of notes, what is told of each, in the order of their names.
        certificates: of a PEM file, those in it, as PEM text; empty where there are none.
    """

    path: str
    absolute: str
    state: State
    link: bool = False
    hops: tuple[Hop, ...] = ()
    final: str | None = None
    kind: Literal["file", "directory", "other"] | None = None
    mode: int | None = None
    uid: int | None = None
    owner: str | None = None
    size: int | None = None
    mtime: int | None = None
    inode: int | None = None
    sha256: Sha256 | None = None
    entries: tuple[Entry, ...] | None = None
    env: EnvFile | None = None
    at: str | None = None
    why: str | None = None
    writable: bool | None = None
    closed: tuple[str, ...] = ()
    shape: str | None = None
    certificates: str | None = None
    sections: tuple[str, ...] | None = None
    notes: tuple[NoteFact, ...] | None = None

    @property
    def blocked(self) -> bool:
        """Tell whether something that is no folder stands on the way (``at``)."""
        return self.state in (State.ABSENT, State.DANGLING) and self.why == NOT_A_FOLDER


class EnvValue(Fact):
    """A variable in an environment. ``value`` only where it is public, ``digest`` only else.

    ``length`` is that of the value in UTF-8, in bytes.
    """

    set: bool
    length: int = 0
    value: str | None = None
    digest: Sha256 | None = None


class CommandFact(Fact):
    """A program on a PATH; ``file`` is absent when no folder of the PATH has it.

    Attributes:
        version: the first line it printed when it was asked for its version; None when it was
            not asked, empty when it printed none.
        told_by: the file that told the version of what was not run; empty where it told it itself.
        others: further programs of this name on the PATH, in its order; None when not asked.
        beside: files beside the manifest, by their path from its folder.
    """

    name: str
    file: PathFact | None = None
    manifest: PathFact | None = None
    version: str | None = None
    told_by: str = ""
    others: tuple["CommandFact", ...] | None = None
    beside: dict[str, PathFact] = Field(default_factory=dict)


class LaunchFact(Fact):
    """What one way of launching pi exports.

    Attributes:
        state: ``ok``; ``missing`` (no such shell); ``timeout``; ``failed`` (it ended without
            running what it was given); ``unsupported``.
    """

    launch: str
    state: Literal["ok", "missing", "timeout", "failed", "unsupported"]
    variables: dict[str, EnvValue] = Field(default_factory=dict)
    commands: dict[str, CommandFact] = Field(default_factory=dict)
    why: str | None = None


class ProcessFact(Fact):
    """A running process.

    Attributes:
        command: the program, and of its arguments those that were asked for.
        flags: values of public flags; a bare flag's is empty.
        variables: empty where this user may not see the process's environment.
        parent: the pid of the process that started it; None where it was not told.
        contained: whether it runs in a container that is no target of this question; None where
            that was not told.
    """

    pid: int
    user: str
    parent: int | None = None
    contained: bool | None = None
    started: int | None = None
    command: str = ""
    flags: dict[str, str] = Field(default_factory=dict)
    secret_flags: tuple[str, ...] = ()
    variables: dict[str, EnvValue] = Field(default_factory=dict)


class CheckFact(Fact):
    """How a program's own check of its configuration ended.

    Attributes:
        state: ``ok``; ``failed``; ``denied`` (this user may not read what the check needs);
            ``missing`` (no such program); ``timeout``.
        status: its exit status.
        place: the file and line it complained of, ``PATH:LINE``; empty where it named none. More
            of its words does not travel.
    """

    state: Literal["ok", "failed", "denied", "missing", "timeout"]
    status: int | None = None
    place: str = ""


class Listener(Fact):
    """A listening TCP socket: ``0.0.0.0`` and ``::`` mean every interface."""

    address: str
    port: int


class Publication(Fact):
    """A port a container publishes on its host; ``port`` 0 means none is bound."""

    address: str
    port: int
    inner: int


class ContainerFact(Fact):
    """A container, as an engine tells it.

    Attributes:
        image: the identity of the image it was made of.
        image_name: the name it was made by; ``image_now``: the identity that name has today.
        mounts: a volume's name or a folder of the host, by the path within.
        command: the keyed digest of the program and its arguments, each ended by a line feed.
        baked: the secret variables of which its image holds a value, with the place: ``env`` or
            ``history``, a blank, the name; None where the image was not searched.
        arguments: that of what it was given in place of the image's own, less the entry point.
        project: the compose project it belongs to, as its label says.
        compose_files: the files that compose made it of, absolute on the machine it ran on.
        compose_folder: the folder that relative paths in them count from.
        compose_env: the files that compose filled them in from, where its label says so.
    """

    name: str
    service: str = ""
    state: str
    image: str = ""
    created: str = ""
    error: str = ""
    exit_code: int | None = None
    health: str | None = None
    network: str = ""
    restart: str = ""
    ports: tuple[Publication, ...] = ()
    variables: dict[str, EnvValue] = Field(default_factory=dict)
    mounts: dict[str, str] = Field(default_factory=dict)
    secret_flags: tuple[str, ...] = ()
    flags: dict[str, str] = Field(default_factory=dict)
    command: Sha256 | None = None
    image_name: str = ""
    image_now: str = ""
    arguments: Sha256 | None = None
    baked: tuple[str, ...] | None = None
    project: str = ""
    compose_files: tuple[str, ...] = ()
    compose_folder: str = ""
    compose_env: tuple[str, ...] = ()


class SecretFact(Fact):
    """Where an image holds a secret, and never what it is.

    Attributes:
        place: ``env``, ``label build.args``, ``history 2``, ``cmd``; of a file its path.
        key: the name it stands under, or the line; empty where neither can be told.
        rule: what told that it is one.
        layer: of a file, the layer that brings it, counted from 1, the oldest.
        digest: of that layer.
        gone: the later layer that deletes or replaces the file; None where it still shows.
    """

    place: str
    key: str = ""
    rule: str
    layer: int | None = None
    digest: str = ""
    gone: int | None = None


class ScanFact(Fact):
    """What was looked at in an image's layers in search of secrets, and what was found.

    Attributes:
        layers: how many the image has; a root folder has none.
        unseen: by their number, layers that could not be looked into, with the reason.
        files: how many regular files were met.
        read: how many of them were read; ``bytes``: how much that was.
        skipped: files that were to be read and were not, counted by the reason.
        cut: why the search ended before all was read; empty where it did not.
        secrets: how many secrets of the inventory were looked for.
        closed: how many folders could not be read.
        found: in the order they were met, at most :data:`MOST_FOUND`; ``more`` counts the others,
            less further names of files that were only counted.
    """

    depth: Literal["likely", "all"]
    layers: int = 0
    unseen: dict[int, str] = Field(default_factory=dict)
    files: int = 0
    read: int = 0
    bytes: int = 0
    skipped: dict[str, int] = Field(default_factory=dict)
    cut: str = ""
    closed: int = 0
    secrets: int = 0
    found: tuple[SecretFact, ...] = ()
    more: int = 0


class ImageFact(Fact):
    """What a container's or image's configuration says. Dates are shown, never judged.

    Attributes:
        platform: what it is for; ``asked`` what was looked for, the machine's own where nobody
            said; ``among``: the platforms there were to choose from, where there were several.
        baked: secrets in the configuration; None where nobody looked for them.
        scan: secrets in the layers; None where nobody looked for them.
        way: how an engine's image was read: ``overlay2`` (the folders of its layers), ``api`` (the
            files of a container that was never started) or ``save`` (all of it); empty for what is
            in no engine.
        engine: where the engine listens that it was read from, and what chose that one.
        passed_over: the quicker ways, and why each could not tell.
        variables: its environment, where a container of it was asked; None where nobody asked.
        arguments: the keyed digest of its command, less the entry point; as ``variables``.
    """

    id: str = ""
    user: str = ""
    created: str = ""
    platform: str = ""
    labels: dict[str, str] = Field(default_factory=dict)
    volumes: tuple[str, ...] = ()
    asked: str = ""
    among: tuple[str, ...] = ()
    baked: tuple[SecretFact, ...] | None = None
    scan: ScanFact | None = None
    way: str = ""
    engine: str = ""
    passed_over: tuple[str, ...] = ()
    variables: dict[str, EnvValue] | None = None
    arguments: Sha256 | None = None


class Platform(Fact):
    """Who was asked, and where. ``rule`` says what gave the home."""

    os: str = ""
    machine: str = ""
    hostname: str = ""
    user: str = ""
    uid: int | None = None
    home: str
    rule: str


class Trouble(StrEnum):
    """Why a request over HTTP did not bring what it asked for. Named, never guessed."""

    RESOLVE = "dns"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    RESET = "reset"
    TLS = "tls"
    HTTP = "http"  # an HTTP status that is not the one asked for; ``status`` tells
    NOT_MCP = "not-mcp"
    SILENT = "silent"  # headers came, data did not
    REDIRECT = "redirect"
    UNSUPPORTED = "unsupported"  # nothing could be sent from there


class Answer(Fact):
    """What one request brought."""

    status: int | None = None
    trouble: Trouble | None = None
    detail: str = ""
    milliseconds: int = 0


class EndpointFact(Fact):
    """An MCP endpoint, asked from one place.

    Attributes:
        url: without credentials.
        place: where the requests came from.
        answers: by what was asked: ``healthz``, ``no-token``, ``wrong-token``, ``initialize``,
            ``tools``, ``status``, ``statusz``; where it was wanted, ``foreign-origin``,
            ``foreign-host`` and each route by its path (``/sync/peers``): of these the status
            is told as it came, and ``detail`` is the type of the content.
        server: ``initialize.serverInfo`` name and version.
        palace: ``sqlite_integrity.palace`` as ``mempalace_status`` tells it.
        usable: whether status came without an error and its integrity check did not fail; None
            when it was not seen.
        trouble: the palace's own error text, one line.
        path_hash: what ``/statusz`` says of the palace's path, the head of its sha256.
        writer: what ``/statusz`` says of writing: ``read_only``, ``peer_writer_read_only`` and
            the like.
        stale: whether it runs other libraries than are installed (``library_versions.stale``);
            None when it does not tell, or could not compare them all.
        stale_packages: those it names, itself among them: each with both versions, or why it could
            not be compared.
    """

    url: str
    place: Literal["controller", "target"]
    answers: dict[str, Answer] = Field(default_factory=dict)
    server: str = ""
    version: str = ""
    tools: tuple[str, ...] = ()
    palace: str | None = None
    drawers: int | None = None
    usable: bool | None = None
    trouble: str = ""
    path_hash: str = ""
    writer: dict[str, bool] = Field(default_factory=dict)
    stale: bool | None = None
    stale_packages: tuple[str, ...] = ()


class Facts(Fact):
    """All that was read on one target at one moment.

    Attributes:
        nonce: keys the digests of secrets in these facts.
        paths: by the path that was asked for.
        launches: by launch.
        processes: by question; a key that was asked and is missing stands in ``unseen``.
        containers: by compose project.
        interfaces: addresses by interface name.
        crontab: how many lines of the user's crontab hold the word that was asked for.
        checks: by question.
        endpoints: what probes heard, in the order asked.
        deep: what a deep check saw; None when none was asked for.
        scan: secrets in the files of a root folder; an image's are in ``image``.
        contents: bytes by sha256, each once.
        unseen: parts of the request that could not be answered, with the reason. Keys:
            ``launches``, ``processes``, ``listeners``, ``interfaces``, ``containers``, ``crontab``,
            ``checks``.
    """

    format: Literal["fleet.facts/1"] = FORMAT
    target: str
    address: str
    kind: Literal["host", "container", "image"]
    taken_at: AwareDatetime
    nonce: str
    platform: Platform
    paths: dict[str, PathFact] = Field(default_factory=dict)
    launches: dict[str, LaunchFact] = Field(default_factory=dict)
    processes: dict[str, tuple[ProcessFact, ...]] = Field(default_factory=dict)
    containers: dict[str, tuple[ContainerFact, ...]] = Field(default_factory=dict)
    listeners: tuple[Listener, ...] | None = None
    interfaces: dict[str, tuple[str, ...]] | None = None
    crontab: int | None = None
    checks: dict[str, CheckFact] = Field(default_factory=dict)
    container: ContainerFact | None = None
    image: ImageFact | None = None
    endpoints: tuple[EndpointFact, ...] = ()
    deep: DeepFact | None = None
    scan: ScanFact | None = None
    contents: Annotated[dict[Sha256, bytes], WrapValidator(read_contents)] = Field(
        default_factory=dict
    )
    unseen: dict[str, str] = Field(default_factory=dict)

    def content(self, fact: PathFact | None) -> bytes | None:
        """Return the bytes of a path, or None when they were not read."""
        return self.contents.get(fact.sha256) if fact and fact.sha256 else None


@lru_cache(maxsize=256)
def git_blob(content: bytes) -> str:
    """Name content as git does: sha1 hex of the blob header and the bytes."""
    header = f"blob {len(content)}\0".encode()
    return hashlib.sha1(header + content, usedforsecurity=False).hexdigest()
