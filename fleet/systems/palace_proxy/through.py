"""What comes through the proxy, held against what its server says itself.

Nothing is said of the proxy from one side alone: what the server does not answer either is not the
proxy's fault.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from fleet.dataclass import dataclass
from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.systems.mempalace_serve import routed
from fleet.systems.mempalace_serve.routes import EVENTS
from fleet.systems.mempalace_serve.server import LOOPBACK
from fleet.verifier.answers import UNAUTHORIZED, line, placed, remedy_of, short, told, was_sent
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.palace import without_credentials

_STREAM = "/logstream/stream"
_NOT_THE_NAME = (403, 421)
_SUCCESS = range(200, 300)
_NOT_FOUND = 404
_ALL_TAKEN = 503
_HELD = (Trouble.TIMEOUT, Trouble.SILENT)


@dataclass(frozen=True, slots=True)
class _Sides:
    """What was heard at palace_url, from each place that could ask, and past the proxy."""

    through: tuple[EndpointFact, ...]
    direct: EndpointFact | None

    @property
    def lines(self) -> tuple[str, ...]:
        facts = (*self.through, *((self.direct,) if self.direct else ()))
        return tuple(line(fact) for fact in facts)

    @property
    def server_answers(self) -> bool:
        return self.direct is not None and told(self.direct).trouble is None

    def those(self, wrong: Callable[[Answer], bool]) -> list[str]:
        """Return a line for each way through the proxy whose `initialize` went wrong so."""
        return [line(fact) for fact in self.through if wrong(told(fact))]


def _sides(look: Look) -> _Sides | Judgement:
    public, direct = (without_credentials(look.text(n)) for n in ("palace_url", "direct_url"))
    if not public or not direct:
        return not_checked("palace_url and direct_url are not both declared")
    if public == direct:
        return not_checked("palace_url and direct_url are the same: nothing passes a proxy", public)
    heard = look.endpoints(public)
    through = tuple(fact for fact in heard if was_sent(fact))
    if not through:
        return not_checked("it was not asked through the proxy", *map(line, heard))
    own = next((fact for fact in look.endpoints(direct) if was_sent(fact)), None)
    return _Sides(through, own)


def _is_tls(answer: Answer) -> bool:
    return answer.trouble is Trouble.TLS


def _is_detour(answer: Answer) -> bool:
    return answer.trouble is Trouble.REDIRECT


def _is_refused(answer: Answer) -> bool:
    return answer.status == UNAUTHORIZED


def _is_unnamed(answer: Answer) -> bool:
    return answer.status in _NOT_THE_NAME


_CAUSES = (
    (_is_tls, "proxy.tls"),
    (_is_detour, "proxy.token"),
    (_is_refused, "proxy.token"),
    (_is_unnamed, "proxy.host"),
)


def answers(look: Look) -> Judgement:
    """The palace answers through the proxy, from one place at least."""
    sides = _sides(look)
    if isinstance(sides, Judgement):
        return sides
    if any(told(fact).trouble is None for fact in sides.through):
        return passed("the palace answers through the proxy", *sides.lines)
    if not sides.server_answers:
        return not_checked("the palace was not seen to answer past the proxy either", *sides.lines)
    for wrong, gate in _CAUSES:
        if sides.those(wrong):
            return follows_from(gate)
    remedy = next((r for fact in sides.through if (r := remedy_of(told(fact)))), None)
    return failed("the palace answers, and not through the proxy", *sides.lines, remedy=remedy)


def tls(look: Look) -> Judgement:
    """The certificate is trusted from wherever it was asked; nothing goes in clear."""
    sides = _sides(look)
    if isinstance(sides, Judgement):
        return sides
    parts = urlsplit(look.text("palace_url"))
    if parts.scheme != "https":
        if parts.hostname in {*LOOPBACK, "localhost"}:
            return not_applicable("palace_url does not leave the machine")
        return failed(
            "the token goes over the wire in clear",
            remedy="let palace_url begin with https, and give the proxy a certificate",
        )
    wrong = sides.those(_is_tls)
    if wrong:
        return failed("the certificate is not trusted", *wrong)
    met = [placed(fact) for fact in sides.through if told(fact).status or not told(fact).trouble]
    if not met:
        return not_checked("nobody came as far as the certificate", *sides.lines)
    return passed("the certificate is trusted", *met)


def host(look: Look) -> Judgement:
    """The server accepts the name that the proxy tells it, and the proxy answers by no other."""
    sides = _sides(look)
    if isinstance(sides, Judgement):
        return sides
    name = urlsplit(look.text("palace_url")).hostname or ""
    unnamed = sides.those(_is_unnamed)
    if unnamed and sides.server_answers:
        return failed(f"is turned away by the name {name}", *sides.lines)
    heard = [fact for fact in sides.through if told(fact).trouble is None]
    if not heard:
        return follows_from("proxy.answers")
    strange = {placed(f): f.answers.get("foreign-host") for f in heard}
    lines = [f"{where}: a foreign Host: {short(answer)}" for where, answer in strange.items()]
    if any(a and a.status in _SUCCESS for a in strange.values()):
        return warned("answers by a foreign name too: a rebound name reaches the palace", *lines)
    if not any(a and a.status for a in strange.values()):
        return not_checked("it was not asked by a foreign name", *lines)
    return passed(f"answers as {name}, and by no foreign name", *lines)


def token(look: Look) -> Judgement:
    """The right token is let in without a detour, and none is not."""
    sides = _sides(look)
    if isinstance(sides, Judgement):
        return sides
    detours = sides.those(_is_detour)
    if detours:
        return failed("redirects: who follows it elsewhere drops the token", *detours)
    open_ways = [placed(f) for f in sides.through if _lets_in(f)]
    shut = sides.direct is not None and not _lets_in(sides.direct)
    if open_ways and shut:
        return failed("lets in without a token, which the server does not", *open_ways)
    refused = sides.those(_is_refused)
    if refused and sides.server_answers:
        return failed("the right token does not reach the server", *sides.lines)
    if not any(told(fact).trouble is None for fact in sides.through):
        return follows_from("proxy.answers")
    if not shut:
        return not_checked("the server was not asked without a token past the proxy", *sides.lines)
    return passed("the token reaches the server as it came", *sides.lines)


def _lets_in(fact: EndpointFact) -> bool:
    answer = fact.answers.get("no-token")
    return answer is not None and answer.status in _SUCCESS


def routes(look: Look) -> Judgement:
    """The server's routes are there through the proxy too."""
    sides = _sides(look)
    if isinstance(sides, Judgement):
        return sides
    if not any(told(fact).trouble is None for fact in sides.through):
        return follows_from("proxy.answers")
    return routed.routes(look)


def stream(look: Look) -> Judgement:
    """The event stream opens through the proxy when it opens past it."""
    sides = _sides(look)
    if isinstance(sides, Judgement):
        return sides
    heard = [fact for fact in sides.through if told(fact).trouble is None]
    if not heard:
        return follows_from("proxy.answers")
    own = sides.direct.answers.get(_STREAM) if sides.direct else None
    if own is not None and own.status == _NOT_FOUND:
        return not_applicable("this server has no event stream")
    if own is not None and own.status == _ALL_TAKEN:
        return not_checked("all streams that the server gives at a time are taken", "direct: 503")
    if own is None or own.status not in _SUCCESS or own.detail != EVENTS:
        return not_checked("the event stream was not seen past the proxy", f"direct: {short(own)}")
    got = {placed(fact): fact.answers.get(_STREAM) for fact in heard}
    lines = [f"{where}: {short(answer)}" for where, answer in got.items()]
    if any(a and a.trouble in _HELD for a in got.values()):
        return failed("the event stream is held back on the way", "direct: opens at once", *lines)
    if all(a and a.status in _SUCCESS and a.detail == EVENTS for a in got.values()):
        return passed("the event stream opens at once", *lines)
    if any(a and a.status for a in got.values()):
        return follows_from("proxy.routes")
    return not_checked("the event stream was not asked for through the proxy", *lines)
