"""The proxy's gates over what was seen: held, broken, and not to be told."""

from dataclasses import replace
from typing import Any

import pytest
from support.facts import World, findings
from support.facts import target as some_target
from support.serve import answers

from fleet.errors import PlanError
from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.facts.model import Facts
from fleet.facts.running import CheckFact, ProcessFact
from fleet.inventory.model import SecretRef, Target, Value
from fleet.systems.palace_proxy.laid import derived
from fleet.verifier.model import Finding
from fleet.verifier.rendered import differing

URL, DIRECT = "https://palace.example.net/mcp", "http://127.0.0.1:8765/mcp"
TOKEN = SecretRef("env", "PALACE_TOKEN")


def target(**variables: Value) -> Target:
    given: dict[str, Value] = {
        "palace_url": URL,
        "direct_url": DIRECT,
        "palace_token": TOKEN,
        "proxy_cert": "/etc/ssl/palace.pem",
        "proxy_key": "/etc/ssl/private/palace.key",
        **variables,
    }
    return replace(some_target("palace-proxy", address="ssh://u@edge"), variables=given)


def heard(url: str = URL, place: str = "target", **changed: Answer) -> EndpointFact:
    told = {
        "foreign-host": Answer(status=421),
        **{k.replace("_", "-"): v for k, v in changed.items()},
    }
    return EndpointFact.model_validate(
        {"url": url, "place": place, "answers": {**answers(), **told}, "version": "3.11.0"}
    )


def judged(*facts: EndpointFact, where: Target | None = None, **seen: Any) -> dict[str, Finding]:
    world = World("host")
    for fact in facts:
        world.heard(fact)
    told = {"processes": {"nginx": (), "caddy": ()}, "checks": {"nginx": CheckFact(state="ok")}}
    world.also(**{**told, **seen})
    found = findings(where or target(), world)
    return {gate.removeprefix("proxy."): finding for gate, finding in found.items()}


def verdict(gate: str, *facts: EndpointFact, **more: Any) -> str:
    return judged(*facts, **more)[gate].verdict.value


TLS = Answer(trouble=Trouble.TLS, detail="certificate not trusted")
TURNED = Answer(trouble=Trouble.HTTP, status=403, detail="HTTP 403")
REFUSED = Answer(trouble=Trouble.HTTP, status=401, detail="HTTP 401")
ELSEWHERE = Answer(trouble=Trouble.REDIRECT, status=308, detail="to elsewhere")
DOWN = Answer(trouble=Trouble.HTTP, status=502, detail="HTTP 502")
NOWHERE = Answer(trouble=Trouble.REFUSED, detail="connection refused")
LATE = Answer(trouble=Trouble.TIMEOUT, detail="no answer")
UNSENT = Answer(trouble=Trouble.UNSUPPORTED, detail="no way out")
OWN = heard(DIRECT)


@pytest.mark.parametrize(
    ("gate", "through", "own", "told"),
    [
        *(
            (gate, {}, OWN, "pass")
            for gate in ("tls", "answers", "host", "token", "stream", "routes")
        ),
        ("answers", {"initialize": DOWN}, OWN, "fail"),
        ("answers", {"initialize": DOWN}, None, "not-checked"),
        ("answers", {"initialize": DOWN}, heard(DIRECT, initialize=NOWHERE), "not-checked"),
        ("answers", {"initialize": UNSENT}, OWN, "not-checked"),
        ("tls", {"initialize": TLS}, OWN, "fail"),
        ("tls", {"initialize": NOWHERE}, OWN, "not-checked"),
        ("host", {"initialize": TURNED}, OWN, "fail"),
        ("host", {"foreign_host": Answer(status=200)}, OWN, "warn"),
        ("host", {"foreign_host": LATE}, OWN, "not-checked"),
        ("token", {"initialize": REFUSED}, OWN, "fail"),
        ("token", {"initialize": ELSEWHERE}, OWN, "fail"),
        ("token", {"no_token": Answer(status=200, trouble=Trouble.HTTP)}, OWN, "fail"),
        ("token", {}, None, "not-checked"),
        ("routes", {"/sync/peers": Answer(status=404)}, OWN, "warn"),
        ("stream", {"/logstream/stream": LATE}, OWN, "fail"),
        ("stream", {"/logstream/stream": LATE}, None, "not-checked"),
        (
            "stream",
            {},
            heard(DIRECT, "target", **{"/logstream/stream": Answer(status=503)}),
            "not-checked",
        ),
        (
            "stream",
            {},
            heard(DIRECT, "target", **{"/logstream/stream": Answer(status=404)}),
            "not-applicable",
        ),
    ],
)
def test_what_comes_through_is_held_against_the_server(
    gate: str, through: dict[str, Answer], own: EndpointFact | None, told: str
) -> None:
    facts = [heard(URL, "target", **through), *([own] if own else [])]
    assert verdict(gate, *facts) == told


@pytest.mark.parametrize(
    ("answer", "cause"),
    [(TLS, "tls"), (TURNED, "host"), (REFUSED, "token"), (ELSEWHERE, "token")],
)
def test_one_cause_is_told_once(answer: Answer, cause: str) -> None:
    found = judged(heard(initialize=answer), OWN)
    failing = {gate for gate, f in found.items() if f.verdict.value == "fail"}
    assert failing & {"tls", "answers", "host", "token", "routes", "stream"} == {cause}


def test_a_machine_that_does_not_know_its_own_name_is_no_fault() -> None:
    found = judged(heard(initialize=NOWHERE), heard(place="controller"), OWN)
    told = {gate: found[gate].verdict.value for gate in ("answers", "host", "token", "routes")}
    assert set(told.values()) == {"pass"}, told


def test_a_token_in_clear_fails_but_on_the_machine_itself() -> None:
    for url, told in (("http://palace.example.net/mcp", "fail"), (DIRECT + "x", "not-applicable")):
        assert verdict("tls", heard(url), OWN, where=target(palace_url=url)) == told


@pytest.mark.parametrize("names", ["palace_url", "direct_url"])
def test_without_both_sides_nothing_is_said(names: str) -> None:
    found = judged(heard(), OWN, where=target(**{names: ""}))
    gates = ("tls", "answers", "host", "token", "routes", "stream")
    assert {found[gate].verdict.value for gate in gates} == {"not-checked"}


# --- what lies there ---


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("ok", "pass"),
        ("failed", "fail"),
        ("missing", "fail"),
        ("denied", "not-checked"),
        ("timeout", "not-checked"),
    ],
)
def test_its_own_check_decides(state: str, told: str) -> None:
    fact = CheckFact.model_validate({"state": state, "status": 1, "place": "/etc/nginx/a.conf:3"})
    found = judged(checks={"nginx": fact})["valid"]
    assert found.verdict.value == told
    if state == "failed":
        assert found.evidence[0] == "/etc/nginx/a.conf:3"


def test_a_check_that_could_not_be_run_is_not_checked() -> None:
    found = judged(checks={}, unseen={"checks": "nothing is run here"})["valid"]
    assert (found.verdict.value, found.message) == ("not-checked", "nothing is run here")


def _worker(started: int | None, parent: int = 1, **more: Any) -> ProcessFact:
    return ProcessFact(pid=started or 1, user="www", parent=parent, started=started, **more)


@pytest.mark.parametrize(
    ("proxy", "workers", "told"),
    [
        ("nginx", (_worker(1000),), "pass"),
        ("nginx", (_worker(999),), "pass"),
        ("nginx", (_worker(900),), "fail"),
        ("nginx", (), "fail"),
        ("nginx", (_worker(900, contained=True),), "fail"),
        ("nginx", (_worker(None),), "not-checked"),
        ("nginx", (_worker(1000, 1), _worker(1001, 2)), "not-checked"),
        ("caddy", (_worker(1000),), "pass"),
        ("caddy", (_worker(900),), "not-checked"),
    ],
)
def test_what_runs_is_held_against_what_was_written(
    proxy: str, workers: tuple[ProcessFact, ...], told: str
) -> None:
    world = World("host").also(processes={proxy: workers})
    site = {"nginx": "/etc/nginx/conf.d/palace.conf", "caddy": "/etc/caddy/palace.caddy"}[proxy]
    world.file(site, b"x")
    world.paths[site] = world.paths[site].model_copy(update={"mtime": 1000})
    found = findings(target(proxy=proxy), world)["proxy.loaded"]
    assert found.verdict.value == told, found


@pytest.mark.parametrize(
    ("mode", "told"), [(0o600, "pass"), (0o640, "pass"), (0o644, "fail"), (0o660, "fail")]
)
def test_a_key_is_for_its_owner(mode: int, told: str) -> None:
    world = World("host").file("/etc/ssl/private/palace.key", b"k", mode=mode)
    assert findings(target(), world)["proxy.key"].verdict.value == told


def test_no_line_of_a_file_is_told() -> None:
    assert list(differing(b"a\nb\n", b"a\nb\n", "it")) == []
    assert list(differing(b"a\ntok\n", b"a\nb\n", "it")) == [
        "it differs from its rendering from line 2 on"
    ]


# --- what the templates are given ---

GIVEN: dict[str, Value] = {
    "proxy": "nginx",
    "host_header": "name",
    "proxy_timeout": 60,
    "proxy_body": 8,
    "proxy_bind": "0.0.0.0",
    "proxy_cert": "/c.pem",
    "proxy_key": "/k.pem",
    "palace_url": URL,
    "direct_url": DIRECT,
}


@pytest.fixture
def facts() -> Facts:
    return World("host").facts(target())


@pytest.mark.parametrize(
    ("palace_url", "direct_url", "told"),
    [
        (URL, DIRECT, ("palace.example.net", 443, True, "", "127.0.0.1:8765")),
        (
            "http://[fd00::1]:81/a/b/mcp",
            "http://[::1]/mcp",
            ("[fd00::1]", 81, False, "/a/b", "[::1]:80"),
        ),
    ],
)
def test_urls_are_taken_apart(
    facts: Facts, palace_url: str, direct_url: str, told: tuple[object, ...]
) -> None:
    found = derived({**GIVEN, "palace_url": palace_url, "direct_url": direct_url}, facts)
    assert tuple(found.values()) == told


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({"palace_url": None}, "palace_url is not declared"),
        ({"palace_url": "https://u:p@palace.example.net/mcp"}, "no URL"),
        ({"palace_url": "https://palace.example.net/"}, "no URL"),
        ({"palace_url": "https://palace.example.net/a;b/mcp"}, "no URL"),
        ({"palace_url": "https://pal{ace}.example.net/mcp"}, "no URL"),
        ({"palace_url": "https://palace.example.net:x/mcp"}, "no URL"),
        ({"direct_url": "https://127.0.0.1:8765/mcp"}, "not an http URL"),
        ({"direct_url": "http://127.0.0.1:8765/x/mcp"}, "does not fit"),
        ({"direct_url": "http://127.0.0.1:8765/rpc"}, "does not fit"),
        ({"proxy_cert": "", "proxy_key": ""}, "needs a certificate"),
        ({"proxy_key": ""}, "both or neither"),
        ({"proxy_cert": "c.pem"}, "no path from /"),
        ({"proxy": "apache"}, "nginx or caddy"),
        ({"host_header": "both"}, "name or upstream"),
        ({"proxy_timeout": 0}, "whole number"),
        ({"proxy_body": "8m; }"}, "whole number"),
        ({"proxy_bind": "0.0.0.0; include /etc/passwd"}, "no address"),
    ],
)
def test_what_no_configuration_can_hold_is_refused(
    facts: Facts, changed: dict[str, Value], told: str
) -> None:
    with pytest.raises(PlanError, match=told):
        derived({**GIVEN, **changed}, facts)


def test_a_secret_of_a_url_is_in_no_refusal(facts: Facts) -> None:
    with pytest.raises(PlanError) as raised:
        derived({**GIVEN, "palace_url": "https://u:tok-EXAMPLE@palace.example.net/mcp"}, facts)
    assert "tok-EXAMPLE" not in f"{raised.value} {raised.value.hint}"
