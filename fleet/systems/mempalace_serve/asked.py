"""Which of the answers that were heard counts, and how each is told in one line.

A palace is asked from the target and from the controller, at its declared URL, and from the target
at the URL that passes no proxy. What its own machine heard counts, unless only the controller got
through: a server's machine need not know the name its proxy has.
"""

from collections.abc import Iterable, Iterator
from urllib.parse import urlsplit

from fleet.dataclass import dataclass
from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.systems.mempalace_serve.server import LOOPBACK
from fleet.verifier.answers import UNAUTHORIZED, line, placed, short, told
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, follows_from, not_checked
from fleet.verifier.palace import without_credentials


@dataclass(frozen=True, slots=True)
class Heard:
    """The fact that counts, and what was heard from elsewhere."""

    fact: EndpointFact
    others: tuple[EndpointFact, ...]

    @property
    def initialize(self) -> Answer:
        """Return how the palace answered as an MCP server."""
        return told(self.fact)

    @property
    def place(self) -> str:
        """Return what was asked, and from where."""
        return placed(self.fact)


def heard(look: Look) -> Heard | Judgement:
    """Return what was heard at the declared URL, or why nothing was."""
    url = without_credentials(look.text("palace_url"))
    if not url:
        return not_checked("palace_url is not declared, so no palace was asked")
    facts = sorted(
        look.endpoints(url), key=lambda fact: (told(fact).status is None, fact.place != "target")
    )
    if not facts:
        return not_checked("the palace was not asked", url)
    asked = [f for f in facts if told(f).trouble is not Trouble.UNSUPPORTED]
    if not asked:
        return not_checked("the palace could not be asked from here", *map(line, facts))
    return Heard(asked[0], tuple(f for f in facts if f is not asked[0]))


def spoken(look: Look) -> Heard | Judgement:
    """Return what was heard where the palace let the right token in."""
    found = heard(look)
    if isinstance(found, Judgement) or found.initialize.trouble is None:
        return found
    if found.initialize.status == UNAUTHORIZED:
        return follows_from("serve.auth")
    return follows_from("serve.health")


def views(look: Look) -> tuple[EndpointFact, ...]:
    """Return everything heard of this palace: at its declared URL, and past its proxy."""
    urls = [without_credentials(look.text(name)) for name in ("palace_url", "direct_url")]
    return tuple(fact for url in dict.fromkeys(urls) if url for fact in look.endpoints(url))


def is_direct(look: Look, fact: EndpointFact) -> bool:
    """Tell whether nothing can stand between who asked and the server."""
    if fact.place != "target":
        return False
    if fact.url == without_credentials(look.text("direct_url")):
        return True
    try:
        host = urlsplit(fact.url).hostname or ""
    except ValueError:
        return False
    own = {a for each in (look.facts.interfaces or {}).values() for a in each}
    parts = urlsplit(fact.url)
    return (
        host in own | {*LOOPBACK, "localhost"}
        and parts.scheme == "http"
        and str(parts.port or 80) == look.text("port")
    )


def cells(facts: Iterable[EndpointFact], wanted: Iterable[tuple[str, str, str]]) -> Iterator[str]:
    """Return a matrix, one cell a line: where from, what was asked, expected and observed.

    Args:
        facts: its rows.
        wanted: its columns: the answer's name, what it is called, and what is expected.
    """
    columns = tuple(wanted)
    for fact in facts:
        for name, called, expected in columns:
            if name in fact.answers:
                got = short(fact.answers[name])
                yield f"{placed(fact)}: {called}: want {expected}, got {got}"
