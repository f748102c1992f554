"""Asking the palaces that a target's systems name, from the places their descriptions name."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from fleet.connectors.base import Connector
from fleet.dataclass import dataclass
from fleet.engine.secrets import SecretStore
from fleet.facts.endpoints import EndpointFact
from fleet.facts.model import Facts
from fleet.inventory.model import SecretRef, Value
from fleet.secrets import Secret
from fleet.systems.resolve import Resolved

EXTRA_CA = "NODE_EXTRA_CA_CERTS"


@dataclass(frozen=True, slots=True)
class PalaceQuestion:
    """What one system wants to know of its palace. Plain data: it may travel to another process.

    Attributes:
        declared: the URL that the inventory declares; None where it declares none.
        exported_as: the environment variable by which clients on the target name theirs.
        token: where the token comes from; it is sent to the declared server only.
        direct: an address that passes no proxy, asked from the target.
        places: from where it is asked.
        routes: paths that are asked too.
        strangers: whether it is asked as somebody else's page would.
        client_ca: the file on the target whose certificates its clients trust.
        authority: a file of the controller whose certificates are trusted from there, and its
            text; without a text it is read where it is needed.
    """

    declared: str | None
    exported_as: str = ""
    token: SecretRef | None = None
    direct: str | None = None
    places: tuple[str, ...] = ()
    routes: tuple[str, ...] = ()
    strangers: bool = False
    client_ca: str = ""
    authority: tuple[str, str | None] | None = None


def palace_questions(resolved: Iterable[Resolved], folder: Path) -> tuple[PalaceQuestion, ...]:
    """Return what the systems of a target want to know of their palaces.

    Args:
        resolved: the systems, for that target.
        folder: where relative paths of the controller start.
    """
    return tuple(palace_question(r, folder) for r in resolved if r.system.ask.endpoint)


def palace_question(resolved: Resolved, folder: Path) -> PalaceQuestion:
    """Return what a system that names a palace wants to know of it."""
    ask, variables = resolved.system.ask, resolved.variables
    variable = resolved.system.variables.get(ask.endpoint)
    token = variables.get(ask.token) if ask.token else None
    return PalaceQuestion(
        declared=_text(variables.get(ask.endpoint)),
        exported_as=(variable.env or "") if variable else "",
        token=token if isinstance(token, SecretRef) else None,
        direct=_text(variables.get(ask.direct)) if ask.direct else None,
        places=ask.places,
        routes=ask.routes,
        strangers=ask.strangers,
        client_ca=_text(resolved.exports.get(EXTRA_CA)) or "",
        authority=_authority(_text(variables.get("palace_ca")), folder),
    )


def _text(value: Value) -> str | None:
    return value if isinstance(value, str) and value else None


def _authority(declared: str | None, folder: Path) -> tuple[str, str | None] | None:
    return (str(folder / Path(declared).expanduser()), None) if declared else None


def with_palaces(
    facts: Facts,
    questions: Sequence[PalaceQuestion],
    connector: Connector,
    secrets: SecretStore,
) -> Facts:
    """Return facts with what the palaces said."""
    heard: dict[tuple[str, str], EndpointFact] = {}
    for question in questions:
        for endpoint in ask_palaces(question, connector, secrets, facts):
            held = heard.get((endpoint.url, endpoint.place))
            # Of two systems that ask the same, one may ask more.
            if held is None or len(held.answers) < len(endpoint.answers):
                heard[endpoint.url, endpoint.place] = endpoint
    return facts.model_copy(update={"endpoints": tuple(heard.values())}) if heard else facts


def ask_palaces(
    question: PalaceQuestion,
    connector: Connector,
    secrets: SecretStore,
    facts: Facts | None = None,
    places: tuple[str, ...] = (),
) -> tuple[EndpointFact, ...]:
    """Ask the palace that a system names, from every place its description names.

    With facts, the URLs that clients there really export are asked too; with ``places``, it is
    asked from those instead.
    """
    secret = secrets.values.get(question.token) if question.token else None
    direct, declared = question.direct, question.declared
    asked = [(url, place) for url in _urls(facts, question) for place in places or question.places]
    if not places and direct and (direct, "target") not in asked:
        asked.append((direct, "target"))
    return tuple(
        _ask(
            (url, place),
            secret if url == direct or same_origin(url, declared) else None,
            _trusted(question, facts, place),
            connector,
            ((), False) if places else (question.routes, question.strangers),
        )
        for url, place in asked
    )


def _trusted(
    question: PalaceQuestion, facts: Facts | None, place: str
) -> tuple[str, str | None] | None:
    """Return the file whose certificates are trusted from a place, and their text.

    From the target that is what its client trusts: the file that its environment names, as it
    lies there, and nothing of the controller's. Without a text it is a file of the controller.
    """
    named = question.client_ca
    if place == "target" and facts is not None and named:
        fact = facts.paths.get(named)
        return named, (fact.certificates or "") if fact else ""
    return question.authority


def same_origin(url: str, declared: Value) -> bool:
    """Tell whether a URL leads to the declared scheme, host and port.

    A target may export any URL it likes: the declared token goes to the declared server only.
    """
    if not isinstance(declared, str):
        return False
    try:
        one, other = urlsplit(url), urlsplit(declared)
        ports = {"http": 80, "https": 443}
        return (
            one.scheme == other.scheme
            and one.scheme in ports
            and one.hostname == other.hostname
            and (one.port or ports[one.scheme]) == (other.port or ports[one.scheme])
        )
    except ValueError:
        return False


def _urls(facts: Facts | None, question: PalaceQuestion) -> list[str]:
    """Return the URLs clients there really use, and the declared one."""
    name = question.exported_as
    exported = [
        launch.variables[name].value
        for launch in (facts.launches.values() if facts else ())
        if name in launch.variables
    ]
    return list(dict.fromkeys(url for url in [*exported, question.declared] if url))


def _ask(
    asked: tuple[str, str],
    token: Secret | None,
    trusted: tuple[str, str | None] | None,
    connector: Connector,
    further: tuple[tuple[str, ...], bool],
) -> EndpointFact:
    from fleet.probes.mcp import Further, Place, ask_palace  # noqa: PLC0415 - endpoints only need HTTP
    from fleet.probes.wire import Authority  # noqa: PLC0415 - endpoints only need HTTP

    url, place = asked
    where: Place = "controller" if place == "controller" else "target"
    dial = None if where == "controller" else connector.open_tcp
    return ask_palace(
        url,
        token=token,
        place=where,
        dial=dial,
        authority=Authority(*trusted) if trusted else None,
        further=Further(*further),
    )
