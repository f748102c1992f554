"""What to do about a palace that does not answer, by what keeps it from it."""

from fleet.facts.model import Answer, Trouble

_TROUBLES = {
    Trouble.RESOLVE: "make the host of palace_url known in the DNS, or in /etc/hosts there",
    Trouble.REFUSED: "start the server, and see that it listens on the port of palace_url",
    Trouble.UNREACHABLE: "open the way to the host of palace_url: route, firewall, VPN",
    Trouble.TIMEOUT: "see in the server's log what it waits for; raise the proxy's timeouts",
    Trouble.RESET: "see in the server's log why it closed the connection; http on a TLS port?",
    Trouble.TLS: "declare the certificate authority as `palace_ca`, or renew the certificate",
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
