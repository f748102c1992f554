"""What endpoints answered, and why some did not. Plain data."""

from enum import StrEnum
from typing import Literal

from pydantic import Field

from fleet.facts.base import Fact


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
