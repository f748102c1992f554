"""What the palace itself said: who is let in, which release runs, which palace, is it usable.

It was asked from the target and from the controller. What its own machine heard counts, unless only
the controller got through: a server's machine need not know the name its proxy has. One cause is
told once: a server that does not answer is ``serve.health``'s to tell, one that refuses the right
token is ``serve.auth``'s.
"""

from dataclasses import dataclass

from packaging.version import InvalidVersion, Version

from fleet.facts.model import Answer, EndpointFact, Trouble
from fleet.inventory.model import SecretRef
from fleet.systems.mempalace_serve.bound import bind
from fleet.systems.mempalace_serve.server import HTTP_TOKEN, environment_of
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
from fleet.verifier.palace import same_path, without_credentials

UNAUTHORIZED = 401
COMPOSE_PALACE = "/data/palace"

_EMPTY = "Chroma database missing"
_NOT_SENT = frozenset({Trouble.UNSUPPORTED})


@dataclass(frozen=True, slots=True)
class _Heard:
    """The fact that counts, and what was heard from elsewhere."""

    fact: EndpointFact
    others: tuple[EndpointFact, ...]

    @property
    def initialize(self) -> Answer:
        return self.fact.answers.get("initialize", Answer(trouble=Trouble.UNSUPPORTED))

    @property
    def place(self) -> str:
        return f"{self.fact.url}, asked from the {self.fact.place}"


def _heard(look: Look) -> _Heard | Judgement:
    url = without_credentials(look.text("palace_url"))
    if not url:
        return not_checked("palace_url is not declared, so no palace was asked")
    facts = sorted(
        look.endpoints(url), key=lambda fact: (_told(fact).status is None, fact.place != "target")
    )
    if not facts:
        return not_checked("the palace was not asked", url)
    asked = [f for f in facts if _told(f).trouble not in _NOT_SENT]
    if not asked:
        return not_checked("the palace could not be asked from here", *map(_line, facts))
    return _Heard(asked[0], tuple(f for f in facts if f is not asked[0]))


def _told(fact: EndpointFact) -> Answer:
    return fact.answers.get("initialize", Answer(trouble=Trouble.UNSUPPORTED))


def _line(fact: EndpointFact) -> str:
    answer = _told(fact)
    told = f"{answer.trouble}: {answer.detail}" if answer.trouble else "answers"
    return f"{fact.url}, asked from the {fact.place}: {told}"


def _spoken(look: Look) -> _Heard | Judgement:
    """Return what was heard where the palace let the right token in."""
    heard = _heard(look)
    if isinstance(heard, Judgement) or heard.initialize.trouble is None:
        return heard
    if heard.initialize.status == UNAUTHORIZED:
        return follows_from("serve.auth")
    return follows_from("serve.health")


def auth(look: Look) -> Judgement:
    """No token and a wrong token get 401, the right one is let in."""
    heard = _heard(look)
    if isinstance(heard, Judgement):
        return heard
    tried = {n: heard.fact.answers.get(n) for n in ("no-token", "wrong-token")}
    lets_in = [n for n, a in tried.items() if a is not None and a.status == 200]  # noqa: PLR2004 - the HTTP status
    answered = [n for n in lets_in if _is_answer(tried[n])]
    if answered:
        evidence = [f"with {n.replace('-', ' ')}: 200" for n in answered]
        return failed("lets in whoever asks", heard.place, *evidence)
    if heard.initialize.status == UNAUTHORIZED:
        return _shut_out(look, heard)
    if heard.initialize.trouble is not None:
        return follows_from("serve.health")
    odd = [f"with {n.replace('-', ' ')}: {_short(a)}" for n, a in tried.items() if not _is_401(a)]
    if odd:
        return not_checked("not every token could be tried", heard.place, *odd)
    if not isinstance(look.value("palace_token"), SecretRef):
        return not_checked("no palace_token is declared, so the right one was not tried")
    return passed("401 without the right token, 200 with it", heard.place)


def _is_answer(answer: Answer | None) -> bool:
    # A stream that began and stayed silent has not let anybody in.
    return answer is not None and answer.trouble is Trouble.HTTP


def _is_401(answer: Answer | None) -> bool:
    return answer is not None and answer.status == UNAUTHORIZED


def _short(answer: Answer | None) -> str:
    if answer is None:
        return "not tried"
    return str(answer.status) if answer.status else f"{answer.trouble}: {answer.detail}"


def _shut_out(look: Look, heard: _Heard) -> Judgement:
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
    return failed("refuses the declared token (401)", heard.place, *difference, remedy=remedy)


def version(look: Look) -> Judgement:
    """The running server is of the declared release or a later one."""
    heard = _spoken(look)
    if isinstance(heard, Judgement):
        return heard
    running, wanted = heard.fact.version, look.text("serve_version")
    try:
        new_enough = Version(running) >= Version(wanted)
    except InvalidVersion:
        return not_checked(f"{running or 'nothing'!r} is no version", heard.place)
    told = f"{heard.fact.server} {running} is running"
    if not new_enough:
        return failed(f"{told}; {wanted} or later is needed", heard.place)
    return passed(told, heard.place)


def palace(look: Look) -> Judgement:
    """The served palace is the declared one."""
    heard = _spoken(look)
    if isinstance(heard, Judgement):
        return heard
    served = heard.fact.palace
    if served is None:
        return not_checked("the palace's path was not told", heard.place)
    wanted = look.text("palace_path")
    if not wanted and look.text("serve_mode") == "compose":
        wanted = COMPOSE_PALACE
    if not wanted:
        return not_checked("palace_path is not declared", f"served is {served}")
    if not same_path(served, wanted, home=look.facts.platform.home):
        return failed("serves another palace", f"served is {served}", f"declared is {wanted}")
    return passed(f"serves {served}", heard.place)


def health(look: Look) -> Judgement:
    """The palace answers, and its own status finds nothing wrong."""
    heard = _heard(look)
    if isinstance(heard, Judgement):
        return heard
    answer, fact = heard.initialize, heard.fact
    if answer.trouble is not None:
        return _does_not_answer(look, heard)
    if fact.usable is None:
        status = fact.answers.get("status")
        why = fact.trouble or (status.detail if status else "") or "its status was not seen"
        return not_checked("answers, but its status is not known", heard.place, why)
    if fact.usable:
        return passed(f"{fact.drawers} drawers, nothing wrong with them", heard.place)
    if not fact.trouble.startswith(_EMPTY):
        return failed("answers, but is not usable", heard.place, fact.trouble)
    if look.value("allow_empty") is True:
        return warned("empty: nothing was ever written to it", heard.place)
    return failed(
        "empty: nothing was ever written to it",
        heard.place,
        fact.trouble,
        remedy="write a first drawer, or declare `allow_empty: true` while the palace is new",
    )


def _does_not_answer(look: Look, heard: _Heard) -> Judgement:
    answer = heard.initialize
    if answer.status == UNAUTHORIZED:
        return follows_from("serve.auth")
    if bind(look).verdict is Verdict.FAIL:
        return follows_from("serve.bind")
    seen = heard.fact.answers.get("healthz")
    up = ["/healthz says ok all the same"] if seen and seen.trouble is None else []
    others = [_line(other) for other in heard.others]
    if heard.fact.place == "controller" and heard.others:
        return not_checked("does not answer from the controller", _line(heard.fact), *others)
    return failed("does not answer as an MCP server", _line(heard.fact), *up, *others)
