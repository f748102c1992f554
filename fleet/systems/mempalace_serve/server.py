"""What was seen of the server on its machine: processes, containers, and their settings."""

from collections.abc import Iterator, Mapping

from fleet.errors import PlanError
from fleet.facts.model import Facts
from fleet.facts.running import ContainerFact, EnvValue, ProcessFact
from fleet.inventory.model import Value
from fleet.verifier.look import Look

HTTP_TOKEN = "MEMPALACE_MCP_HTTP_TOKEN"  # noqa: S105 - the variable's name
ALLOWED_HOSTS = "MEMPALACE_MCP_EXTRA_ALLOWED_HOSTS"
INNER_PORT = 8765
COMPOSE_PALACE = "/data/palace"
LOOPBACK = ("127.0.0.1", "::1")
#: The names by which a server is on loopback in its own eyes, and pins the Host header.
PINNED = frozenset({"127.0.0.1", "localhost", "::1", "[::1]"})

_BIND_ERRORS = ("address already in use", "cannot assign requested address")
_ENDED = frozenset({"exited", "created", "dead", "restarting"})
_EXPANDED = ("palace_path", "serve_bin", "server_env")


def processes(look: Look) -> tuple[ProcessFact, ...]:
    """Return the server's processes."""
    return look.facts.processes.get("server", ())


def own_processes(look: Look) -> tuple[ProcessFact, ...]:
    """Return the processes of the palace that is asked about: a machine may serve others too.

    They have its port. Where none has, and no container serves it, all that were found count.
    """
    found = processes(look)
    own = [p for p in found if p.flags.get("--port", str(INNER_PORT)) == look.text("port")]
    return tuple(own) if own or containers(look) else found


def containers(look: Look) -> tuple[ContainerFact, ...]:
    """Return the containers of the compose project, or the container that was asked itself."""
    own = (look.facts.container,) if look.facts.container else ()
    return look.facts.containers.get(look.text("compose_project"), ()) or own


def listening_hosts(look: Look) -> frozenset[str]:
    """Return what the servers were told to listen on; empty where none was seen."""
    told = [p.flags for p in own_processes(look)]
    told += [c.flags for c in containers(look) if "--host" in c.flags]
    return frozenset(flags.get("--host", LOOPBACK[0]) for flags in told)


def environment_of(look: Look) -> Iterator[tuple[str, Mapping[str, EnvValue]]]:
    """Return where the server's variables were seen, and the variables."""
    for container in containers(look):
        yield f"container {container.name}", container.variables
    for process in processes(look):
        yield f"process {process.pid}", process.variables


def could_not_bind(look: Look) -> ContainerFact | None:
    """Return a container that ended because its address could not be bound."""
    for container in containers(look):
        told = container.error.lower()
        if container.state in _ENDED and any(error in told for error in _BIND_ERRORS):
            return container
    return None


def addresses_of(bind: str, interfaces: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """Return the addresses that ``bind`` stands for, IPv4 first; empty when it stands for none."""
    if bind == "loopback":
        return LOOPBACK
    if bind in interfaces:
        return tuple(sorted(interfaces[bind], key=lambda address: ":" in address))
    return () if is_name(bind) else (bind,)


def is_name(bind: str) -> bool:
    """Tell whether ``bind`` names an interface: no address is without a dot or a colon."""
    return "." not in bind and ":" not in bind


#: What stands for the derived variables while a plan only collects its questions.
PROVISIONAL: dict[str, Value] = {"bind_address": "0.0.0.0"}  # noqa: S104 - never written


def derived(variables: Mapping[str, Value], facts: Facts) -> dict[str, Value]:
    """Return what the templates need and only the target knows.

    ``bind_address`` is the address that ``bind`` stands for there, and paths are absolute, for no
    unit expands ``~``.

    Raises:
        PlanError: the interface is not there, or the user's home is not the server's.
    """
    mode = variables.get("serve_mode") or "none"
    if mode == "none":
        return {}
    where = facts.target
    bind = str(variables.get("bind") or "docker0")
    interfaces = facts.interfaces
    if interfaces is None and is_name(bind) and bind != "loopback":
        why = facts.unseen.get("interfaces", "they were not asked for")
        raise PlanError(f"the address of {bind} is not known: {why}", where=where)
    found = addresses_of(bind, interfaces or {})
    if not found:
        known = ", ".join(interfaces or ())
        raise PlanError(
            f"there is no interface {bind}", where=where, hint=f"interfaces there: {known}"
        )
    paths = {} if mode == "compose" else _absolute(variables, facts)
    return {"bind_address": found[0], **paths}


def _absolute(variables: Mapping[str, Value], facts: Facts) -> dict[str, Value]:
    made: dict[str, Value] = {}
    for name in _EXPANDED:
        value = variables.get(name)
        if not isinstance(value, str) or not (value == "~" or value.startswith("~/")):
            continue
        if variables.get("serve_mode") == "systemd":
            raise PlanError(
                f"{name} must be absolute for a system unit: {value}",
                where=facts.target,
                hint=f"the home of its user is not known; give {name} a path from /",
            )
        made[name] = facts.platform.home + value[1:]
    return made
