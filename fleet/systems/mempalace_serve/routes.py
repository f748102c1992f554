"""The server's routes, each with the release that brought it; measured on 3.6.0, 3.8.0, 3.11.0."""

from fleet.dataclass import dataclass

JSON = "application/json"
EVENTS = "text/event-stream"
TEXT = "text/plain"


@dataclass(frozen=True, slots=True)
class Route:
    """One path of the server.

    Attributes:
        since: the first release that has it; empty for one that no release has, though notes and
            forks speak of it.
        kind: the content type of its answers.
        status: what it answers to a bare GET with the right token.
    """

    path: str
    since: str
    kind: str
    status: int = 200


ROUTES = (
    Route("/healthz", "3.5.0", TEXT),
    Route("/statusz", "3.7.0", JSON),
    Route("/sync/version_vector", "3.7.0", JSON),
    Route("/sync/ops", "3.7.0", JSON, status=400),
    Route("/sync/peers", "3.7.0", JSON),
    Route("/health", "", TEXT),
    Route("/logstream/events", "", EVENTS),
    Route("/logstream/stream", "3.7.0", EVENTS),
)
