"""What the palace itself said: who is let in, which release runs, which palace, is it usable.

One cause is told once: a server that does not answer is ``serve.health``'s to tell, one that
refuses the right token is ``serve.auth``'s.
"""

import hashlib
import posixpath

from packaging.version import InvalidVersion, Version

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.inventory.model import SecretRef
from fleet.systems.mempalace_serve.asked import Heard, cells, heard, spoken, views
from fleet.systems.mempalace_serve.bound import bind
from fleet.systems.mempalace_serve.server import COMPOSE_PALACE, HTTP_TOKEN, environment_of
from fleet.verifier.answers import UNAUTHORIZED, line, placed, remedy_of, short
from fleet.verifier.exports import compare
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    follows_from,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.palace import same_path

_EMPTY = "Chroma database missing"
_HASH = 16
_DOORS = (
    ("no-token", "no token", "401"),
    ("wrong-token", "a wrong token", "401"),
    ("initialize", "the right token", "200"),
)


def auth(look: Look) -> Judgement:
    """No token and a wrong token get 401, the right one is let in, by every way that was seen."""
    found = heard(look)
    if isinstance(found, Judgement):
        return found
    ways = (found.fact, *(f for f in views(look) if f is not found.fact))
    matrix = [*cells(ways, _DOORS)]
    open_ways = [placed(f) for f in ways if any(map(_lets_in, _tried(f).values()))]
    if open_ways:
        return failed("lets in whoever asks", *open_ways, *matrix)
    if found.initialize.status == UNAUTHORIZED:
        return _shut_out(look, found)
    if found.initialize.trouble is not None:
        return follows_from("serve.health")
    tried = _tried(found.fact)
    odd = [f"with {n.replace('-', ' ')}: {short(a)}" for n, a in tried.items() if not _is_401(a)]
    if odd:
        return not_checked("not every token could be tried", found.place, *odd)
    if not isinstance(look.value("palace_token"), SecretRef):
        return not_checked("no palace_token is declared, so the right one was not tried")
    return passed("401 without the right token, 200 with it", *matrix)


def _tried(fact: EndpointFact) -> dict[str, Answer | None]:
    return {name: fact.answers.get(name) for name in ("no-token", "wrong-token")}


def _lets_in(answer: Answer | None) -> bool:
    # A stream that began and stayed silent has not let anybody in.
    return answer is not None and answer.status == 200 and answer.trouble is Trouble.HTTP  # noqa: PLR2004 - the HTTP status


def _is_401(answer: Answer | None) -> bool:
    return answer is not None and answer.status == UNAUTHORIZED


def _shut_out(look: Look, found: Heard) -> Judgement:
    token = look.value("palace_token")
    if not isinstance(token, SecretRef):
        return not_checked("no palace_token is declared, so the right one was not tried")
    if token in look.troubles:
        return not_checked("the token is not known here", look.troubles[token])
    difference = [
        f"{where}: {told}"
        for where, environment in environment_of(look)
        if (actual := environment.get(HTTP_TOKEN))
        and (told := compare(look, HTTP_TOKEN, token, actual))
    ]
    remedy = None
    if any(line.startswith("container") for line in difference):
        remedy = "recreate the container: a restart does not read the environment again"
    return failed("refuses the declared token (401)", found.place, *difference, remedy=remedy)


def version(look: Look) -> Judgement:
    """The running server is of the declared release or a later one."""
    found = spoken(look)
    if isinstance(found, Judgement):
        return found
    running, wanted = found.fact.version, look.text("serve_version")
    try:
        new_enough = Version(running) >= Version(wanted)
    except InvalidVersion:
        return not_checked(f"{running or 'nothing'!r} is no version", found.place)
    told = f"{found.fact.server} {running} is running"
    if not new_enough:
        return failed(f"{told}; {wanted} or later is needed", found.place)
    return passed(told, found.place)


def palace(look: Look) -> Judgement:
    """The served palace is the declared one."""
    found = spoken(look)
    if isinstance(found, Judgement):
        return found
    served = found.fact.palace
    if served is None:
        return not_checked("the palace's path was not told", found.place)
    wanted = look.text("palace_path")
    if not wanted and look.text("serve_mode") == "compose":
        wanted = COMPOSE_PALACE
    if not wanted:
        return not_checked("palace_path is not declared", f"served is {served}")
    if not same_path(served, wanted, home=look.facts.platform.home):
        return failed("serves another palace", f"served is {served}", f"declared is {wanted}")
    wrong = _other_hash(look, wanted)
    if wrong:
        return failed("its /statusz names another palace", *wrong, f"declared is {wanted}")
    return passed(f"serves {served}", found.place)


def _other_hash(look: Look, wanted: str) -> list[str]:
    """Return what contradicts the declared path: the digests of the path that was opened.

    It is told apart from a path in words: behind one name two servers may answer.
    """
    home = look.facts.platform.home
    path = home + wanted[1:] if wanted == "~" or wanted.startswith("~/") else wanted
    digest = hashlib.sha256(posixpath.normpath(path).encode()).hexdigest()[:_HASH]
    return [
        f"{placed(fact)}: path_hash is {fact.path_hash}, want {digest}"
        for fact in views(look)
        if fact.path_hash and fact.path_hash[:_HASH] != digest[: len(fact.path_hash)]
    ]


def health(look: Look) -> Judgement:
    """The palace answers, and its own status finds nothing wrong."""
    found = heard(look)
    if isinstance(found, Judgement):
        return found
    answer, fact = found.initialize, found.fact
    if answer.trouble is not None:
        return _does_not_answer(look, found)
    if fact.usable is None:
        status = fact.answers.get("status")
        why = fact.trouble or (status.detail if status else "") or "its status was not seen"
        return not_checked("answers, but its status is not known", found.place, why)
    if fact.usable:
        return passed(f"{fact.drawers} drawers, nothing wrong with them", found.place)
    if not fact.trouble.startswith(_EMPTY):
        return failed("answers, but is not usable", found.place, fact.trouble)
    if look.value("allow_empty") is True:
        return warned("empty: nothing was ever written to it", found.place)
    return failed(
        "empty: nothing was ever written to it",
        found.place,
        fact.trouble,
        remedy="write a first drawer, or declare `allow_empty: true` while the palace is new",
    )


def _does_not_answer(look: Look, found: Heard) -> Judgement:
    answer = found.initialize
    if answer.status == UNAUTHORIZED:
        return follows_from("serve.auth")
    if bind(look).verdict is Verdict.FAIL:
        return follows_from("serve.bind")
    seen = found.fact.answers.get("healthz")
    up = ["/healthz says ok all the same"] if seen and seen.trouble is None else []
    others = [line(other) for other in found.others]
    if found.fact.place == "controller" and found.others:
        return not_checked("does not answer from the controller", line(found.fact), *others)
    return failed(
        "does not answer as an MCP server",
        line(found.fact),
        *up,
        *others,
        remedy=remedy_of(answer),
    )
