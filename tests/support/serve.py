"""A machine that serves a palace, in the words of what is seen of it."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

from support.facts import NONCE, World, findings
from support.facts import target as some_target

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.facts.running import ContainerFact, EnvValue, Listener, ProcessFact, Publication
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret, keyed_digest
from fleet.systems.mempalace_serve.routes import ROUTES
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
TOKEN = SecretRef("env", "PALACE_TOKEN")
VALUE = "tok-EXAMPLE-serve"
DOCKER0 = "172.18.0.1"


def target(**variables: Value) -> Target:
    """A host that serves; every gate has what it needs unless told otherwise."""
    given: dict[str, Value] = {
        "palace_url": URL,
        "palace_token": TOKEN,
        "palace_path": "/data/palace",
        **variables,
    }
    kept = {name: value for name, value in given.items() if value is not None}
    address = str(kept.pop("address", "ssh://u@vault"))
    return replace(some_target("mempalace-serve", address=address), variables=kept)


def routes(**changed: int) -> dict[str, Answer]:
    """What the routes of a release of today answer, with changes (``sync_peers=404``)."""
    found = {}
    for route in ROUTES:
        name = route.path.strip("/").replace("/", "_")
        status = changed.get(name, 200 if route.since else 404)
        kind = route.kind if status < 400 else "text/html"
        found[route.path] = Answer(status=status, detail=kind)
    return found


def route_cells(want: int, direct: int, proxied: int) -> str:
    """What is told of a route that was seen from both sides."""
    return f"(direct: want {want}, got {direct}; proxied: want {want}, got {proxied})"


def answers(**changed: Answer | None) -> dict[str, Answer]:
    """What a healthy palace answers, with changes (``no_token`` for ``no-token``)."""
    healthy: dict[str, Answer | None] = {
        "healthz": Answer(status=200),
        "no-token": Answer(status=401),
        "wrong-token": Answer(status=401),
        "initialize": Answer(status=200),
        "tools": Answer(status=200),
        "status": Answer(status=200),
        "statusz": Answer(status=200),
        "foreign-origin": Answer(status=403, detail="text/html"),
        "foreign-host": Answer(status=200, detail="application/json"),
        **routes(),
    }
    for name, answer in changed.items():
        healthy[name.replace("_", "-")] = answer
    return {name: answer for name, answer in healthy.items() if answer is not None}


def endpoint(*, place: str = "target", url: str = URL, **changed: Any) -> EndpointFact:
    """A healthy palace's fact, with changes."""
    healthy: dict[str, Any] = {
        "answers": answers(),
        "server": "mempalace",
        "version": "3.11.0",
        "palace": "/data/palace",
        "drawers": 7,
        "usable": True,
        "path_hash": hashlib.sha256((changed.get("palace") or "/data/palace").encode()).hexdigest()[
            :16
        ],
        "stale": False,
    }
    return EndpointFact.model_validate({"url": url, "place": place, **healthy, **changed})


def silent(trouble: Trouble, *, place: str = "target", status: int | None = None) -> EndpointFact:
    """What is heard from a palace none of whose answers comes."""
    answer = Answer(status=status, trouble=trouble, detail="so it is")
    names = ("healthz", "no-token", "wrong-token", "initialize", "statusz")
    return EndpointFact.model_validate(
        {"url": URL, "place": place, "answers": dict.fromkeys(names, answer)}
    )


#: What a server answers that does not know the name it is asked by.
FORBIDDEN = silent(Trouble.HTTP, status=403)


class Serving(World):
    """Adds what only a server's machine shows."""

    def __init__(self, kind: str = "host") -> None:
        super().__init__(kind)
        self.also(
            listeners=(Listener(address=DOCKER0, port=8765), Listener(address="::", port=22)),
            interfaces={"lo": ("127.0.0.1", "::1"), "docker0": (DOCKER0, "fe80::1")},
            processes={"server": ()},
        )

    def seen(self, **more: Any) -> Serving:
        """Replace what is seen; None stands for what could not be."""
        return self.also(**more)

    def listening(self, *addresses: str) -> Serving:
        """What the port is bound on."""
        return self.seen(listeners=tuple(Listener(address=a, port=8765) for a in addresses))

    def containers(self, *containers: ContainerFact) -> Serving:
        """The containers of the compose project."""
        return self.seen(containers={"mempalace": containers})

    def judged(
        self, where: Target | None = None, *, troubles: dict[SecretRef, str] | None = None
    ) -> dict[str, Finding]:
        """Judge it; findings by the gate's last word."""
        secrets = {} if troubles else {TOKEN: Secret(VALUE)}
        found = findings(where or target(), self, secrets=secrets, troubles=troubles)
        return {gate.removeprefix("serve."): finding for gate, finding in found.items()}


def healthy(**changed: Any) -> Serving:
    """A machine whose palace answers."""
    world = Serving()
    world.heard(endpoint(**changed))
    return world


def container(**changed: Any) -> ContainerFact:
    """The palace's container as compose starts it."""
    started: dict[str, Any] = {
        "name": "mempalace-palace-1",
        "state": "running",
        "ports": (Publication(address=DOCKER0, port=8765, inner=8765),),
        "variables": {"MEMPALACE_MCP_HTTP_TOKEN": secret_value(VALUE)},
        "baked": (),
    }
    return ContainerFact.model_validate({**started, **changed})


def process(**changed: Any) -> ProcessFact:
    """The server's process."""
    started: dict[str, Any] = {
        "pid": 7,
        "user": "u",
        "flags": {"--host": DOCKER0, "--port": "8765", "--palace": "/data/palace"},
        "variables": {
            "HOME": EnvValue(set=True, length=7, value="/home/u"),
            "MEMPALACE_MCP_IDLE_HOURS": EnvValue(set=True, length=1, value="0"),
        },
    }
    return ProcessFact.model_validate({**started, **changed})


def secret_value(value: str) -> EnvValue:
    """A secret variable as facts tell it."""
    return EnvValue(set=True, length=len(value), digest=keyed_digest(NONCE, value))


def failing(found: dict[str, Finding]) -> set[str]:
    """Return the gates that fail."""
    return {name for name, finding in found.items() if finding.verdict is Verdict.FAIL}
