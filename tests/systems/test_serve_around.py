"""The gates `serve.reach`, `serve.origin` and `serve.routes`: what surrounds the endpoint."""

from typing import Any

import pytest
from support.serve import (
    URL,
    Serving,
    answers,
    endpoint,
    failing,
    healthy,
    process,
    route_cells,
    routes,
    silent,
    target,
)

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.systems.catalogue import load_catalogue
from fleet.systems.mempalace_serve.routes import ROUTES
from fleet.verifier.model import Finding, Verdict

FAIL, PASS, WARN, NOT_CHECKED = Verdict.FAIL, Verdict.PASS, Verdict.WARN, Verdict.NOT_CHECKED
DIRECT = "http://172.18.0.1:8765/mcp"


def heard(*facts: EndpointFact) -> Serving:
    world = Serving().seen(processes={"server": (process(),)})
    for fact in facts:
        world.heard(fact)
    return world


# --- reach

HERE, THERE = endpoint(), endpoint(place="controller")


@pytest.mark.parametrize(
    ("facts", "declared", "verdict", "told"),
    [
        ([HERE, THERE], "", PASS, "answers from the target and the controller"),
        ([HERE], "", PASS, "answers from the target"),
        (
            [HERE, silent(Trouble.REFUSED, place="controller")],
            "",
            WARN,
            "answers from the target, not from the controller",
        ),
        (
            [HERE, silent(Trouble.UNSUPPORTED, place="controller")],
            "",
            PASS,
            "answers from the target",
        ),
        ([HERE, THERE], "target, controller", PASS, "as declared"),
        ([HERE, silent(Trouble.TIMEOUT, place="controller")], "target", PASS, "as declared"),
        (
            [HERE, THERE],
            "target",
            FAIL,
            "answers from the controller too, which is not declared",
        ),
        (
            [HERE, silent(Trouble.TIMEOUT, place="controller")],
            "controller",
            FAIL,
            "does not answer from the controller",
        ),
        ([silent(Trouble.RESOLVE), THERE], "target controller", FAIL, "not answer from the target"),
        ([THERE], "target controller", NOT_CHECKED, "could not be asked from the target"),
        ([HERE], "mars", NOT_CHECKED, "not 'mars'"),
        # Whether containers reach it is told by the fleet as a whole.
        ([HERE, THERE], "target controller container", PASS, "as declared"),
        ([silent(Trouble.RESOLVE)], "container", PASS, "neither target nor controller"),
    ],
)
def test_it_answers_from_where_it_is_declared_to(
    facts: list[EndpointFact], declared: str, verdict: Verdict, told: str
) -> None:
    found = heard(*facts).judged(target(reach_from=declared))["reach"]
    assert (found.verdict, told in found.message) == (verdict, True), found.message


def test_who_is_not_let_in_has_reached_it() -> None:
    said = Answer(status=401, trouble=Trouble.HTTP)
    found = heard(endpoint(answers=answers(initialize=said))).judged()
    assert found["reach"].verdict is PASS
    assert failing(found) == {"auth"}


@pytest.mark.parametrize("declared", ["", "target", "target controller"])
def test_a_palace_that_answers_nowhere_is_told_once(declared: str) -> None:
    found = heard(silent(Trouble.REFUSED)).judged(target(reach_from=declared))
    assert failing(found) == {"health"}
    assert found["reach"].follows == "serve.health"


def test_each_cell_tells_what_was_expected_and_what_came() -> None:
    found = heard(HERE, THERE).judged(target(reach_from="target"))["reach"]
    assert found.evidence == (
        f"{URL}, asked from the target: want an answer, got an answer",
        f"{URL}, asked from the controller: want none, got an answer",
    )


# --- origin


def origin(**statuses: int) -> Finding:
    changed = {name: Answer(status=status) for name, status in statuses.items()}
    return heard(endpoint(answers=answers(**changed))).judged()["origin"]


def test_a_foreign_site_is_turned_away() -> None:
    found = origin()
    assert found.verdict is PASS
    assert found.evidence == (f"{URL}, asked from the target: a foreign Origin: want 403, got 403",)


def test_a_foreign_site_is_let_in() -> None:
    found = origin(foreign_origin=200)
    assert found.verdict is WARN
    assert found.evidence[0].endswith("want 403, got 200")


def test_a_foreign_site_that_nobody_asked_as_is_not_passed() -> None:
    assert origin(foreign_origin=502).verdict is NOT_CHECKED
    world = heard(endpoint(answers=answers(foreign_origin=None)))
    assert world.judged()["origin"].verdict is NOT_CHECKED


@pytest.mark.parametrize(
    ("host", "status", "verdict", "want"),
    [
        ("127.0.0.1", 403, PASS, "403"),
        ("127.0.0.1", 200, WARN, "403"),
        ("172.18.0.1", 200, PASS, "no 403"),
        ("172.18.0.1", 403, PASS, "no 403"),
    ],
)
def test_the_host_is_pinned_on_loopback_only(
    host: str, status: int, verdict: Verdict, want: str
) -> None:
    url = f"http://{host}:8765/mcp"
    fact = endpoint(url=url, answers=answers(foreign_host=Answer(status=status)))
    world = Serving().listening(host)
    world.seen(processes={"server": (process(flags={"--host": host}),)}).heard(fact)
    where = target(palace_url=url, bind="loopback" if host == "127.0.0.1" else "docker0")
    found = world.judged(where)["origin"]
    assert found.verdict is verdict
    cell = f"a foreign Host: want {want}, got {status}"
    assert any(line.endswith(cell) for line in found.evidence), found.evidence


# --- routes


def test_the_routes_asked_for_are_those_of_the_table() -> None:
    ask = load_catalogue().system("mempalace-serve").ask
    assert ask.routes == tuple(route.path for route in ROUTES)


def seen(
    direct: dict[str, int] | None, proxied: dict[str, int] | None, version: str = "3.11.0"
) -> Finding:
    def fact(changed: dict[str, int], **more: Any) -> EndpointFact:
        told = {k: v for k, v in answers().items() if not k.startswith("/")} | routes(**changed)
        return endpoint(answers=told, version=version, stale=None, **more)

    world = heard()
    if proxied is not None:
        world.heard(fact(proxied))
    if direct is not None:
        world.heard(fact(direct, url=DIRECT))
    return world.judged(target(direct_url=DIRECT))["routes"]


def line(found: Finding, route: str) -> str:
    return next(one for one in found.evidence if one.startswith(f"{route}:"))


def test_e13_a_route_that_no_release_has_is_not_the_proxys_fault() -> None:
    found = seen({}, {"logstream_stream": 404})
    assert found.verdict is WARN
    assert found.message == "blocked on the way: /logstream/stream"
    assert line(found, "/logstream/stream") == (
        f"/logstream/stream: blocked on the way {route_cells(200, 200, 404)}"
    )
    assert line(found, "/health") == (
        f"/health: no such route in this server, nor in any release {route_cells(404, 404, 404)}"
    )
    assert "nor in any release" in line(found, "/logstream/events")


def test_e13_a_refusal_that_only_the_proxy_turns_into_not_found() -> None:
    found = seen({"sync_peers": 401}, {"sync_peers": 404})
    assert line(found, "/sync/peers") == (
        f"/sync/peers: blocked on the way {route_cells(200, 401, 404)}"
    )


def test_a_bare_401_on_both_sides_proves_nothing() -> None:
    found = seen({"sync_peers": 401}, {"sync_peers": 401})
    assert found.verdict is NOT_CHECKED
    assert "not told apart" in line(found, "/sync/peers")


OLD = {"statusz": 404, "logstream_stream": 404} | dict.fromkeys(
    ("sync_peers", "sync_ops", "sync_version_vector"), 404
)


def test_a_release_before_the_routes() -> None:
    found = seen(OLD, OLD, version="3.6.0")
    assert (found.verdict, found.message) == (
        PASS,
        "nothing is blocked on the way; there are /healthz",
    )
    assert line(found, "/statusz") == (
        f"/statusz: no such route in this server: it came with 3.7.0 {route_cells(404, 404, 404)}"
    )


def test_a_release_that_should_have_them() -> None:
    found = seen(OLD, OLD)
    assert found.verdict is WARN
    assert found.message.startswith("not in this server: /statusz")
    assert line(found, "/statusz").endswith(route_cells(200, 404, 404))


def test_from_one_side_nobody_is_blamed() -> None:
    found = seen(None, {"sync_peers": 404})
    assert found.verdict is NOT_CHECKED
    assert "declare `direct_url`" in found.message
    assert line(found, "/sync/peers").endswith("not told apart (proxied: want 200, got 404)")
    assert line(found, "/sync/ops").endswith("(proxied: want 400, got 200)")
    unknown = seen(None, {"sync_peers": 404}, version="own build")
    assert line(unknown, "/sync/peers").endswith("(proxied: want 200 since 3.7.0, got 404)")
    assert seen(None, OLD, version="3.6.0").verdict is PASS
    assert seen(None, {}).verdict is PASS


def test_from_two_places_each_has_a_cell_of_its_own() -> None:
    told = {**answers(), "/statusz": Answer(status=404, detail="text/html")}
    world = heard(endpoint(), endpoint(place="controller", answers=told))
    found = world.judged(target(direct_url=DIRECT))["routes"]
    # Who was answered from one place has seen that the server has it.
    assert (found.verdict, found.message) == (WARN, "blocked on the way: /statusz")
    assert line(found, "/statusz").endswith(
        "(proxied, from the target: want 200, got 200; "
        "proxied, from the controller: want 200, got 404)"
    )


def test_a_server_without_a_stream_to_give_is_not_called_blocked() -> None:
    found = seen({"logstream_stream": 503}, {"logstream_stream": 404})
    assert found.verdict is NOT_CHECKED
    assert found.message == "the server itself did not tell of /logstream/stream"
    assert "direct: want 200, got 503" in line(found, "/logstream/stream")
    assert "ask again" in str(found.remedy)


def test_a_page_of_the_proxys_own_is_not_the_route() -> None:
    told = {**routes(), "/statusz": Answer(status=200, detail="text/html")}
    world = heard(endpoint(answers={**answers(), **told}), endpoint(url=DIRECT, answers=answers()))
    found = world.judged(target(direct_url=DIRECT))["routes"]
    assert found.message == "blocked on the way: /statusz"
    assert "proxied: want 200, got 200 text/html" in line(found, "/statusz")


def test_a_route_that_was_late_through_the_proxy_is_not_blamed_on_it() -> None:
    late = Answer(trouble=Trouble.TIMEOUT, detail="no answer within 5 s")
    told = {**answers(), "/logstream/stream": late}
    world = heard(endpoint(answers=told), endpoint(url=DIRECT, answers=answers()))
    found = world.judged(target(direct_url=DIRECT))["routes"]
    assert found.verdict is NOT_CHECKED
    assert "got timeout: no answer within 5 s" in line(found, "/logstream/stream")
    world = heard(endpoint(), endpoint(url=DIRECT, answers=told))
    assert world.judged(target(direct_url=DIRECT))["routes"].verdict is PASS


def test_routes_that_nobody_asked_for() -> None:
    only = {n: a for n, a in answers().items() if not n.startswith("/")}
    assert heard(endpoint(answers=only)).judged()["routes"].verdict is NOT_CHECKED


# --- the open side door


def test_a_door_that_only_the_proxy_locks_is_open() -> None:
    let_in = Answer(status=200, trouble=Trouble.HTTP)
    world = heard(endpoint(), endpoint(url=DIRECT, answers=answers(no_token=let_in)))
    found = world.judged(target(direct_url=DIRECT))
    assert failing(found) == {"auth"}
    assert found["auth"].evidence[0] == f"{DIRECT}, asked from the target"
    assert f"{DIRECT}, asked from the target: no token: want 401, got 200" in (
        found["auth"].evidence
    )


def test_a_healthy_matrix_names_every_cell() -> None:
    found = healthy().judged()["auth"]
    assert found.evidence == tuple(
        f"{URL}, asked from the target: {called}: want {status}, got {status}"
        for called, status in (("no token", 401), ("a wrong token", 401), ("the right token", 200))
    )
