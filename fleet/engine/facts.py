"""Looking: one round trip to each target, and the live questions that go with it."""

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urlsplit

from fleet.connectors.base import Connector
from fleet.engine.context import Context
from fleet.engine.deep import with_deep
from fleet.engine.observer import NullObserver, Observer
from fleet.engine.options import AuditOptions
from fleet.engine.pool import in_parallel
from fleet.errors import FleetError, TargetError
from fleet.facts.model import EndpointFact, Facts
from fleet.facts.request import SEPARATORS, KnownSecret, PathQuestion, Request, ScanQuestion
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret
from fleet.systems.ask import request_for
from fleet.systems.resolve import Resolved, resolve
from fleet.verifier.look import Expected

LONGEST_LAUNCH = 10  # seconds
EXTRA_CA = "NODE_EXTRA_CA_CERTS"


@dataclass(frozen=True, slots=True)
class Looked:
    """What looking at one target brought: facts, or why there are none."""

    target: Target
    resolved: tuple[Resolved, ...]
    facts: Facts | None
    trouble: TargetError | None
    milliseconds: int


def gather(
    targets: Sequence[Target],
    context: Context,
    options: AuditOptions,
    observer: Observer | None = None,
    *,
    extra: dict[str, tuple[PathQuestion, ...]] | None = None,
    probe: bool = True,
    search: bool = True,
) -> Iterator[Looked]:
    """Look at targets, at most ``options.jobs`` at once; yields in the order given.

    Args:
        targets: whom to look at.
        context: what the run shares.
        options: how many at once, and for how long.
        observer: told as it goes on.
        extra: further path questions by target name, from a planner.
        probe: whether palaces are asked too; a plan needs no answer of theirs.
        search: whether images are searched for secrets, where a system of theirs wants that.

    Raises:
        CatalogueError: a target names a system that is not known.
        PlanError: a system's text cannot be rendered for a target.
    """
    told = observer or NullObserver()
    context.secrets.prepare(targets)
    nonce = secrets.token_hex(16)
    prepared = [(t, resolve(context.systems(t), t)) for t in targets]
    scan = ScanQuestion(options.scan, secrets=_known(context, nonce))

    def look(item: tuple[Target, tuple[Resolved, ...]]) -> Looked:
        target, resolved = item
        told.target_started(target.name, "asking")
        questions = (extra or {}).get(target.name, ())
        request = request_for(
            target,
            resolved,
            nonce=nonce,
            known=context.contents.known(),
            extra=questions,
            scan=scan,
        )
        limit = options.seconds(target.kind)
        request = replace(request, seconds=_patience(limit, len(request.launches)))
        request = request if search else replace(request, scan=None)
        looked = _look(target, resolved, context, options, request, probe=probe)
        note = looked.trouble.what if looked.trouble else ""
        told.target_finished(target.name, looked.trouble is None, note)
        return looked

    return in_parallel(look, prepared, options.jobs)


def _known(context: Context, nonce: str) -> tuple[KnownSecret, ...]:
    """Return the secrets that could be fetched, ready to be looked for: never their values."""
    return tuple(
        KnownSecret(
            str(reference),
            expected.length,
            expected.digest,
            word=not set(secret.reveal().encode()) & set(SEPARATORS),
        )
        for reference, secret in context.secrets.values.items()
        for expected in (Expected.of(nonce, secret.reveal()),)
    )


def _patience(limit: float, launches: int) -> int:
    """Return the seconds one launch may take, so that all of them hanging leave time to answer."""
    return max(1, min(LONGEST_LAUNCH, int(limit * 0.8 / max(1, launches))))


def _look(
    target: Target,
    resolved: tuple[Resolved, ...],
    context: Context,
    options: AuditOptions,
    request: Request,
    *,
    probe: bool,
) -> Looked:
    started = time.monotonic()
    facts: Facts | None = None
    trouble: TargetError | None = None
    try:
        with context.connections.to(target, timeout=options.seconds(target.kind)) as connector:
            facts = context.contents.complete(connector.collect(request))
            if probe:
                facts = _with_endpoints(facts, resolved, connector, context)
            if options.deep:
                facts = with_deep(facts, target, resolved, connector, options)
    except TargetError as error:
        trouble = error
    except FleetError as error:
        trouble = TargetError(error.what, where=error.where, hint=error.hint)
    return Looked(target, resolved, facts, trouble, round((time.monotonic() - started) * 1000))


def _with_endpoints(
    facts: Facts, resolved: tuple[Resolved, ...], connector: Connector, context: Context
) -> Facts:
    heard: dict[tuple[str, str], EndpointFact] = {}
    for r in resolved:
        for endpoint in ask_endpoints(r, connector, context, facts):
            held = heard.get((endpoint.url, endpoint.place))
            # Of two systems that ask the same, one may ask more.
            if held is None or len(held.answers) < len(endpoint.answers):
                heard[endpoint.url, endpoint.place] = endpoint
    return facts.model_copy(update={"endpoints": tuple(heard.values())}) if heard else facts


def ask_endpoints(
    resolved: Resolved,
    connector: Connector,
    context: Context,
    facts: Facts | None = None,
    places: tuple[str, ...] = (),
) -> tuple[EndpointFact, ...]:
    """Ask the palace that a system names, from every place its description names.

    With facts, the URLs that clients there really export are asked too; with ``places``, it is
    asked from those instead.
    """
    ask = resolved.system.ask
    if not ask.endpoint:
        return ()
    declared = resolved.variables.get(ask.endpoint)
    token = resolved.variables.get(ask.token) if ask.token else None
    secret = context.secrets.values.get(token) if isinstance(token, SecretRef) else None
    further = (ask.routes, ask.strangers)
    asked = [(url, place) for url in _urls(facts, resolved) for place in places or ask.places]
    direct = resolved.variables.get(ask.direct) if ask.direct else None
    if not places and isinstance(direct, str) and direct and (direct, "target") not in asked:
        asked.append((direct, "target"))
    return tuple(
        _ask(
            (url, place),
            secret if url == direct or same_origin(url, declared) else None,
            _trusted(resolved, facts, place, context),
            connector,
            further if not places else ((), False),
        )
        for url, place in asked
    )


def _trusted(
    resolved: Resolved, facts: Facts | None, place: str, context: Context
) -> tuple[str, str | None] | None:
    """Return the file whose certificates are trusted from a place, and their text.

    From the target that is what its client trusts: the file that its environment names, as it
    lies there, and nothing of the controller's. Without a text it is a file of the controller.
    """
    named = resolved.exports.get(EXTRA_CA)
    if place == "target" and facts is not None and isinstance(named, str) and named:
        fact = facts.paths.get(named)
        return named, (fact.certificates or "") if fact else ""
    declared = resolved.variables.get("palace_ca")
    if not isinstance(declared, str) or not declared:
        return None
    return str(context.folder / Path(declared).expanduser()), None


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


def _urls(facts: Facts | None, resolved: Resolved) -> list[str]:
    """Return the URLs clients there really use, and the declared one."""
    variable = resolved.system.variables.get(resolved.system.ask.endpoint)
    name = variable.env if variable else ""
    exported = [
        launch.variables[name].value
        for launch in (facts.launches.values() if facts else ())
        if name in launch.variables
    ]
    declared = resolved.variables.get(resolved.system.ask.endpoint)
    found = [*exported, declared if isinstance(declared, str) else None]
    return list(dict.fromkeys(url for url in found if url))


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
