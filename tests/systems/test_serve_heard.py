"""The gates over what a palace answers: auth, version, palace and health."""

import dataclasses

import pytest
from support.serve import (
    FORBIDDEN,
    TOKEN,
    Serving,
    answers,
    container,
    endpoint,
    failing,
    healthy,
    secret_value,
    silent,
    target,
)

from fleet.facts.endpoints import Answer, Trouble
from fleet.verifier.model import Verdict

FAIL, PASS, WARN, NOT_CHECKED = Verdict.FAIL, Verdict.PASS, Verdict.WARN, Verdict.NOT_CHECKED


@pytest.mark.parametrize("name", ["no_token", "wrong_token"])
def test_a_palace_open_to_whoever_asks(name: str) -> None:
    let_in = Answer(status=200, trouble=Trouble.HTTP, detail="is answered, not turned away")
    found = healthy(answers=answers(**{name: let_in})).judged()
    assert failing(found) == {"auth"}
    assert found["auth"].message == "lets in whoever asks"


def test_a_stream_that_never_spoke_has_let_nobody_in() -> None:
    quiet = Answer(status=200, trouble=Trouble.SILENT)
    found = healthy(answers=answers(no_token=quiet)).judged()
    assert found["auth"].verdict is NOT_CHECKED


def refused() -> Serving:
    said = Answer(status=401, trouble=Trouble.HTTP, detail="HTTP 401")
    world = Serving()
    world.heard(
        endpoint(
            answers=answers(initialize=said, tools=None, status=None, statusz=said),
            version="",
            palace=None,
            usable=None,
            drawers=None,
        )
    )
    return world


def test_the_declared_token_is_refused_and_only_one_gate_says_so() -> None:
    found = refused().judged()
    assert failing(found) == {"auth"}
    assert found["auth"].message == "refuses the declared token (401)"
    assert {found[n].follows for n in ("version", "palace", "health")} == {"serve.auth"}


def test_a_container_with_an_old_token_is_to_be_recreated() -> None:
    old = container(variables={"MEMPALACE_MCP_HTTP_TOKEN": secret_value("tok-EXAMPLE-old")})
    found = refused().containers(old).judged()
    assert found["auth"].remedy == (
        "recreate the container: a restart does not read the environment again"
    )
    assert any(line.startswith("container mempalace-palace-1:") for line in found["auth"].evidence)
    assert "tok-EXAMPLE" not in str(found)


def test_a_token_that_is_not_known_here_proves_nothing() -> None:
    found = refused().judged(troubles={TOKEN: "PALACE_TOKEN is not set"})
    assert (found["auth"].verdict, found["auth"].evidence) == (
        NOT_CHECKED,
        ("PALACE_TOKEN is not set",),
    )
    undeclared = refused().judged(target(palace_token=None))
    assert undeclared["auth"].verdict is NOT_CHECKED
    assert healthy().judged(target(palace_token=None))["auth"].verdict is NOT_CHECKED


@pytest.mark.parametrize(
    ("running", "wanted", "verdict"),
    [
        ("3.6.0", "3.6.0", PASS),
        ("3.11.0", "3.7.0", PASS),
        ("3.5.0", "3.6.0", FAIL),
        ("", "3.6.0", NOT_CHECKED),
        ("dev", "3.6.0", NOT_CHECKED),
    ],
)
def test_the_running_release(running: str, wanted: str, verdict: Verdict) -> None:
    found = healthy(version=running).judged(target(serve_version=wanted))
    assert found["version"].verdict is verdict
    assert not found["version"].required


def test_the_release_can_be_required() -> None:
    where = dataclasses.replace(target(), require=("serve",))
    assert healthy().judged(where)["version"].required


def test_another_palace_is_served() -> None:
    found = healthy(palace="/home/u/.mempalace/palace").judged()
    assert failing(found) == {"palace"}
    assert found["palace"].evidence == (
        "served is /home/u/.mempalace/palace",
        "declared is /data/palace",
    )


def test_a_palace_in_the_home_is_the_same_palace() -> None:
    found = healthy(palace="/home/u/palace").judged(target(palace_path="~/palace"))
    assert found["palace"].verdict is PASS


def test_what_was_not_told_or_declared_is_not_compared() -> None:
    assert healthy(palace=None).judged()["palace"].verdict is NOT_CHECKED
    undeclared = healthy().judged(target(palace_path=None))
    assert (undeclared["palace"].verdict, undeclared["palace"].evidence) == (
        NOT_CHECKED,
        ("served is /data/palace",),
    )
    assert (
        healthy().judged(target(palace_path=None, serve_mode="compose"))["palace"].verdict is PASS
    )


def test_a_damaged_palace_is_up_and_not_usable() -> None:
    trouble = "the integrity check failed: row 3 missing"
    found = healthy(usable=False, trouble=trouble, drawers=0).judged()
    assert failing(found) == {"health"}
    assert trouble in found["health"].evidence


def test_an_empty_palace_fails_unless_it_is_declared_new() -> None:
    world = healthy(usable=False, trouble="Chroma database missing", drawers=None)
    assert failing(world.judged()) == {"health"}
    assert world.judged(target(allow_empty=True))["health"].verdict is WARN


def test_a_status_that_was_not_seen_is_no_health() -> None:
    timed_out = Answer(trouble=Trouble.TIMEOUT, detail="no answer within 5 s")
    found = healthy(answers=answers(status=timed_out), usable=None).judged()
    assert (found["health"].verdict, found["health"].evidence[1]) == (
        NOT_CHECKED,
        "no answer within 5 s",
    )


@pytest.mark.parametrize("trouble", [Trouble.REFUSED, Trouble.RESOLVE, Trouble.TLS, Trouble.SILENT])
def test_a_palace_that_does_not_answer_is_told_once(trouble: Trouble) -> None:
    world = Serving().listening()
    world.heard(silent(trouble))
    found = world.judged()
    assert failing(found) == {"health"}
    assert {found[n].follows for n in ("auth", "version", "palace", "bind")} == {"serve.health"}
    assert f"{trouble}: so it is" in found["health"].evidence[0]


def test_up_is_not_usable() -> None:
    world = Serving()
    world.heard(
        endpoint(
            answers={
                "healthz": Answer(status=200),
                "initialize": Answer(status=502, trouble=Trouble.HTTP, detail="HTTP 502"),
            }
        )
    )
    found = world.judged()
    assert failing(found) == {"health"}
    assert "/healthz says ok all the same" in found["health"].evidence


def test_a_gate_that_403s_without_a_bind_to_blame_is_healths_to_tell() -> None:
    world = Serving()
    world.heard(FORBIDDEN)
    assert failing(world.judged()) == {"health"}


def test_the_servers_own_machine_need_not_know_the_proxys_name() -> None:
    world = Serving()
    world.heard(silent(Trouble.RESOLVE)).heard(endpoint(place="controller"))
    found = world.judged()
    assert failing(found) == set()
    assert "asked from the controller" in found["auth"].evidence[0]


def test_a_palace_only_its_own_machine_reaches() -> None:
    world = healthy()
    world.heard(silent(Trouble.TIMEOUT, place="controller"))
    assert failing(world.judged()) == set()


def test_a_controller_that_cannot_reach_it_proves_nothing_alone() -> None:
    world = Serving()
    world.heard(silent(Trouble.UNSUPPORTED)).heard(silent(Trouble.REFUSED, place="controller"))
    found = world.judged()
    assert failing(found) == set()
    assert found["health"].verdict is NOT_CHECKED


def test_credentials_in_the_url_do_not_hide_what_was_heard() -> None:
    where = target(palace_url="https://me:tok-EXAMPLE-url@palace.example.net/mcp")
    found = healthy().judged(where)
    assert found["auth"].verdict is PASS
    assert "tok-EXAMPLE" not in str(found)
