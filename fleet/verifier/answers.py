"""What a palace's answers mean: who was reached, how it is told, and what to do about a failure.

One table for everybody who asks a palace: its clients, its own machine, and the fleet as a whole.
"""

from functools import cache

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, failed, not_checked, passed

UNAUTHORIZED = 401
_TROUBLES = {
    Trouble.RESOLVE: "make the host of palace_url known in the DNS, or in /etc/hosts there",
    Trouble.REFUSED: "start the server, and see that it listens on the port of palace_url",
    Trouble.UNREACHABLE: "open the way to the host of palace_url: route, firewall, VPN",
    Trouble.TIMEOUT: "see in the server's log what it waits for; raise the proxy's timeouts",
    Trouble.RESET: "see in the server's log why it closed the connection; http on a TLS port?",
    Trouble.TLS: "declare the certificate authority (`palace_ca`, and `client_ca` for clients), "
    "or renew the certificate",
    Trouble.REDIRECT: "declare the URL it redirects to: who follows it elsewhere drops the token",
    Trouble.NOT_MCP: "let palace_url lead to the palace's /mcp: something else answers there",
    Trouble.SILENT: "turn off buffering for the palace in the proxy (`proxy_buffering off`)",
}
_STATUSES = {
    401: "give the server and the inventory the same token, and start the server anew",
    403: "bind docker0, or name the host in `allowed_hosts`; or let the proxy pass /mcp",
    404: "let palace_url end in /mcp, without a slash; let the proxy pass that path",
    405: "let the proxy pass POST on the path of palace_url",
    406: "let the proxy pass the Accept header unchanged: both media types are asked for",
    413: "raise the largest body that the proxy takes",
    421: "let what checks the Host know the name with its port, as palace_url has it",
    429: "raise the proxy's limit of requests",
}
_SERVER_ERRORS = range(500, 600)


def remedy_of(answer: Answer) -> str | None:
    """Return what to do about an answer, None where there is no advice."""
    status = answer.status or 0
    if answer.trouble is Trouble.HTTP and status in _STATUSES:
        return _STATUSES[status]
    if answer.trouble is Trouble.HTTP and status in _SERVER_ERRORS:
        return "see in the logs of proxy and server which of them failed; is the server up?"
    return _TROUBLES.get(answer.trouble) if answer.trouble else None


def told(fact: EndpointFact) -> Answer:
    """Return how a palace answered as an MCP server."""
    return fact.answers.get("initialize") or _unsent()


@cache
def _unsent() -> Answer:
    return Answer(trouble=Trouble.UNSUPPORTED, detail="it was not asked")


def is_reached(fact: EndpointFact) -> bool:
    """Tell whether the endpoint itself answered: a wrong token is another gate's matter."""
    answer = told(fact)
    return answer.trouble is None or answer.status == UNAUTHORIZED


def was_sent(fact: EndpointFact) -> bool:
    """Tell whether anything could be sent from there."""
    return told(fact).trouble is not Trouble.UNSUPPORTED


def answered(look: Look, url: str) -> Judgement:
    """Judge whether a palace answers as an MCP server, from wherever it was asked."""
    facts = [fact for fact in look.endpoints(url) if was_sent(fact)]
    if not facts:
        return not_checked(f"{url} was not asked from there")
    lines = [line(fact) for fact in facts]
    wrong = [told(fact) for fact in facts if told(fact).trouble]
    if wrong:
        remedy = next((advice for advice in map(remedy_of, wrong) if advice), None)
        return failed(f"the palace does not answer: {named(wrong[0])}", *lines, remedy=remedy)
    return passed("the palace answers, with the declared token", *lines)


def placed(fact: EndpointFact) -> str:
    """Return what was asked, and from where."""
    return f"{fact.url}, asked from the {fact.place}"


def line(fact: EndpointFact) -> str:
    """Return what a palace answered, in one line."""
    return f"{placed(fact)}: {named(told(fact))}"


def named(answer: Answer) -> str:
    """Return what an answer was, by its name and what is known of it."""
    return f"{answer.trouble}: {answer.detail}" if answer.trouble else "answers"


def short(answer: Answer | None) -> str:
    """Return one answer in a word or two."""
    if answer is None:
        return "not asked"
    if answer.status:
        return str(answer.status)
    return f"{answer.trouble}: {answer.detail}" if answer.detail else str(answer.trouble)
