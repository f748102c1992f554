"""The request: what to read on one target, as plain data.

A request is compiled from a target's systems and handed to a connector, which answers all of it in
one round trip. Each question names what is read, never how.
"""

from enum import StrEnum

from fleet.dataclass import dataclass

KIBI = 1024
TEXT_LIMIT = 512 * KIBI
#: The launch that is no shell: the environment that a container's entry point gets.
CONTAINER = "container"


class Read(StrEnum):
    """How much of a path to read; each level includes the ones above it."""

    STAT = "stat"  # kind, links hop by hop, mode, owner, size, mtime
    HASH = "hash"  # and sha256 of the content
    PEM = "pem"  # and the certificates in a PEM file; what else stands there stays
    WHOLE = "whole"  # and the bytes, once for each content
    LIST = "list"  # of a directory: its entries' names, kinds and link targets
    INI = "ini"  # an INI file: the names of its sections; no plain hash, no keys, no values
    JSON = "json"  # a JSON file: its structure, and of its values only what holds no secret
    NOTES = "notes"  # a folder of notes: names, sizes, lines, links, patterns; never their text
    ENV = "env"  # an env file: structure and digests of values; no plain hash, no secret values


@dataclass(frozen=True, slots=True)
class PathQuestion:
    """One path. ``~`` is the home of the user who is asked about.

    Attributes:
        path: absolute, or beginning with ``~/``; may hold any character but NUL.
        read: how much of it.
        limit: content of more bytes than this is not read (the fact says so).
        public: variables (``Read.ENV``) or keys (``Read.JSON``) whose values may travel.
    """

    path: str
    read: Read = Read.STAT
    limit: int = TEXT_LIMIT
    public: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandQuestion:
    """A program looked up on the PATH of a launching shell; run only for its ``version``.

    Attributes:
        name: the program.
        read: how much of the file it finally resolves to.
        manifest: whether to read the nearest ``package.json`` above that file too.
        version: the argument that makes the program print its version and end; empty: not run.
        every: whether to tell the further programs of this name on the PATH as well.
        beside: files read whole beside that ``package.json``, by their path from its folder.
        headers: C headers that tell the version where nothing is run, by their path from the
            program's folder.
        package: the package of Debian and Alpine whose database tells it there.
    """

    name: str
    read: Read = Read.STAT
    manifest: bool = False
    version: str = ""
    every: bool = False
    beside: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()
    package: str = ""


@dataclass(frozen=True, slots=True)
class LaunchQuestion:
    """What a way of launching pi really exports.

    Attributes:
        launch: the words that take a command as their next argument (``zsh -ic``), quoted as a
            shell reads them; or ``container`` for the environment a container's entry point gets.
        public: variables whose values may travel.
        secret: variables of which only set or not, length and keyed digest travel.
        commands: programs to look up on the resulting PATH.
    """

    launch: str
    public: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    commands: tuple[CommandQuestion, ...] = ()


@dataclass(frozen=True, slots=True)
class ProcessQuestion:
    """Running processes whose command line holds all of ``words``.

    Attributes:
        name: the key of the answer.
        words: each must be an argument, or the ending of one after ``/`` or ``.``.
        public: flags whose values may travel (``--host``).
        secret: flags of which only presence is told (``--token``).
        variables: names to look up in the process's environment, public values.
        secret_variables: of these only set or not, length and keyed digest travel.
        comm: the names of which the process's own (``/proc/PID/comm``) must be one; empty: any.
            Not asked where only ``ps`` tells.
    """

    name: str
    words: tuple[str, ...]
    public: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    variables: tuple[str, ...] = ()
    secret_variables: tuple[str, ...] = ()
    comm: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ContainerQuestion:
    """Containers of a compose project, as the target's own engine client tells them.

    Attributes:
        project: the compose project's name.
        public: environment variables whose values may travel.
        secret: of these only set or not, length and keyed digest travel.
    """

    project: str
    public: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CheckQuestion:
    """A program's own check of its configuration, which is run: it must change nothing.

    Attributes:
        name: the key of the answer.
        words: the program, looked up on the PATH and in the usual folders, and its arguments.
    """

    name: str
    words: tuple[str, ...]


class Depth(StrEnum):
    """How much of an image's layers is read in search of secrets."""

    LIKELY = "likely"  # files that may be expected to hold credentials, told by their paths
    ALL = "all"  # every regular file up to a size


#: What ends a word in a text that may hold a secret.
SEPARATORS = b" \t\n\r\f\v\"'=:,;@/?&<>()[]{}|`\\"


@dataclass(frozen=True, slots=True)
class KnownSecret:
    """A secret of the inventory to look for, without its value.

    Attributes:
        name: the reference it comes from, as a report may show it.
        length: of its value in UTF-8, in bytes.
        digest: of its value, by :func:`fleet.secrets.keyed_digest` with the request's nonce.
        word: whether it holds none of :data:`SEPARATORS`; finding it then costs much less.
    """

    name: str
    length: int
    digest: str
    word: bool = False


@dataclass(frozen=True, slots=True)
class ScanQuestion:
    """Whether an image holds secrets: in its configuration, and in the files of its layers.

    Attributes:
        paths: files and folders of the target's own systems, which count as likely.
        secrets: those of the inventory.
    """

    depth: Depth = Depth.LIKELY
    paths: tuple[str, ...] = ()
    secrets: tuple[KnownSecret, ...] = ()


@dataclass(frozen=True, slots=True)
class Request:
    """Everything that is asked of one target in one round trip.

    Attributes:
        nonce: fresh for each run; frames the answer and keys the digests of secrets.
        known: sha256 of contents the controller holds already; their bytes are not sent.
        listeners: whether to tell listening TCP sockets.
        interfaces: whether to tell the addresses of network interfaces; the name of one: whether
            to tell them if that one is there.
        crontab: a word; how many lines of the user's crontab hold it is told. Empty: not asked.
        checks: programs' own checks of their configuration.
        seconds: the longest any single launching shell, check, or engine's client may take.
        scan: what to look for in an image; None: not asked. Other targets do not answer it.
    """

    nonce: str
    paths: tuple[PathQuestion, ...] = ()
    launches: tuple[LaunchQuestion, ...] = ()
    processes: tuple[ProcessQuestion, ...] = ()
    containers: tuple[ContainerQuestion, ...] = ()
    listeners: bool = False
    interfaces: bool | str = False
    crontab: str = ""
    checks: tuple[CheckQuestion, ...] = ()
    known: frozenset[str] = frozenset()
    seconds: int = 10
    scan: ScanQuestion | None = None
