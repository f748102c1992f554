"""What a server's credentials really are: a token, a variable, or a command that is run.

Both hosts run a value that begins with ``!``. The adapter takes ``!!`` for a ``!`` that is meant;
pi's own host runs that too, and takes ``$!`` for it.
"""

import re
from collections.abc import Iterator

from fleet.verifier.launches import Unseen, unseen_launch
from fleet.verifier.look import Look
from fleet.verifier.mcp_owners import servers_of
from fleet.verifier.mcp_servers import Server, host_of
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.registrations import ENVIRONMENTS, HEADERS, lacks_variables, set_in

_REFERENCE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_ONLY_THE_ADAPTER = ("bearerToken", "bearerTokenEnv")


def values(look: Look) -> Judgement:
    """None of a server's credentials is run as a command or empty, and its host knows it."""
    host = host_of(look)
    if host.off and not host.adapter:
        return not_applicable("pi's own MCP host is turned off")
    found = servers_of(look, host)
    servers = [server for server in found.servers.values() if server.enabled]
    lines = list(found.refused)
    lines += (line for server in servers for line in _lines(look, server, adapter=host.adapter))
    wrong = [line for line in lines if not isinstance(line, Unseen)]
    if wrong:
        return failed("a server cannot be asked as it is declared", *wrong)
    unseen = [*host.unread, *found.unread, *lines]
    if unseen:
        return not_checked(f"not everything could be seen: {unseen[0]}", *unseen)
    if not servers:
        return not_applicable("no MCP server is declared here")
    told = (f"{s.name}: {', '.join(_said(s)) or 'no credential'}" for s in servers)
    return passed("no credential is run as a command or empty", *told)


def _said(server: Server) -> Iterator[str]:
    """Tell where a server's credentials stand, and nothing of what they are."""
    yield from (name for name, _ in _credentials(server))
    if server.text("bearerTokenEnv"):
        yield f"the variable {server.text('bearerTokenEnv')}"


def _lines(look: Look, server: Server, *, adapter: bool) -> Iterator[str]:
    place = f"server {server.name} in {server.file}"
    for name in () if adapter else _ONLY_THE_ADAPTER:
        if server.text(name):
            yield f"{place}: pi's own MCP host does not know {name}, and asks without it"
    for name, text in _credentials(server):
        where = f"{place}: {name}"
        if _is_run(text, adapter=adapter):
            yield f"{where} begins with `!` and would be executed as a command"
        for variable in _REFERENCE.findall(text):
            yield from _unset(look, variable, where)
    variable = server.text("bearerTokenEnv")
    if variable and adapter:
        yield from _unset(look, variable, f"{place}: bearerTokenEnv")


def _is_run(text: str, *, adapter: bool) -> bool:
    """Tell whether a value runs and was not meant to: a command has words, a token has none."""
    meant = adapter and text.startswith("!!")
    return text.startswith("!") and not meant and " " not in text.strip()


def _credentials(server: Server) -> Iterator[tuple[str, str]]:
    token = server.text("bearerToken")
    if token:
        yield "bearerToken", token
    for fields, what in ((HEADERS, "the header"), (ENVIRONMENTS, "the variable")):
        yield from ((f"{what} {name}", text) for _, name, text in set_in(server.fields, fields))


def _unset(look: Look, variable: str, where: str) -> Iterator[str]:
    """Tell of launches that do not export a variable, or were not asked for it."""
    for launch in look.launches():
        if launch.state != "ok":
            yield Unseen(unseen_launch(launch))
            continue
        for line in lacks_variables(launch, (variable,)):
            yield type(line)(f"{where}: {launch.launch}: {line}")
