"""One endpoint from every place: as declared, not as declared, not seen, and never a part."""

import pytest
from support.facts import World

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target, Value
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.fleetwide.member import Member, lessened
from fleet.verifier.fleetwide.rules import judge_fleet
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
OK = Answer(status=200)
DNS = Answer(trouble=Trouble.RESOLVE, detail="unknown host")
NO_WAY = Answer(trouble=Trouble.UNSUPPORTED, detail="no program there can connect")
WRONG_TOKEN = Answer(status=401, trouble=Trouble.HTTP, detail="HTTP 401")


def member(
    name: str,
    system: str,
    answers: dict[str, Answer] | None,
    address: str = "",
    **variables: Value,
) -> Member:
    """A target and what it heard, by the place asked from; None for one that was not reached."""
    where = parse_address(address or f"ssh://{name}")
    given: dict[str, Value] = {"palace_url": URL, **variables}
    target = Target(name, where, (system,), variables=given, launches=("bash -lc",))
    resolved = resolve([load_catalogue().system(system)], target)
    if answers is None:
        return Member(target, resolved, None, None, "connection refused")
    world = World()
    for place, answer in answers.items():
        told = {"url": URL, "place": place, "answers": {"initialize": answer}}
        world.heard(EndpointFact.model_validate(told))
    return Member(target, resolved, world.facts(target))


def vault(controller: Answer | None = OK, target: Answer = OK, **variables: str) -> Member:
    heard = {"target": target, **({"controller": controller} if controller else {})}
    return member("vault", "mempalace-serve", heard, **variables)


def desk(answer: Answer = OK) -> Member:
    return member("desk", "mempalace-bridge", {"target": answer})


def box(answer: Answer | None = OK, name: str = "box") -> Member:
    heard = None if answer is None else {"target": answer}
    return member(name, "mempalace-bridge", heard, f"container:{name}")


def told(*members: Member, fleet: tuple[Target, ...] = ()) -> Finding | None:
    found = judge_fleet(members, fleet or [m.target for m in members])
    less = [lessened(m) for m in members]
    assert judge_fleet(less, fleet or [m.target for m in members]) == found
    return next((f for f in found if f.gate == "fleet.reach"), None)


def finding(*members: Member, fleet: tuple[Target, ...] = ()) -> Finding:
    found = told(*members, fleet=fleet)
    assert found is not None
    return found


def test_the_three_places_stand_side_by_side() -> None:
    found = finding(vault(reach_from="target controller"), desk(), box(), box(name="ci"))
    assert (found.verdict, found.required, found.target) == (Verdict.PASS, True, "fleet")
    assert found.evidence == (
        URL,
        "controller: want an answer, got an answer",
        "host desk, vault: want an answer, got an answer",
        "container box, ci: want an answer, got an answer",
    )


def test_a_container_that_is_cut_off_fails_and_the_others_are_shown() -> None:
    found = finding(vault(), desk(), box(DNS))
    assert found.verdict is Verdict.FAIL
    assert found.message == "is not reached from every container that should"
    assert "container box: want an answer, got dns: unknown host" in found.evidence
    assert "controller: want not declared, got an answer" in found.evidence


def test_a_wrong_token_is_reached_all_the_same() -> None:
    found = finding(vault(), box(WRONG_TOKEN))
    assert found.verdict is Verdict.PASS
    assert "container box: want an answer, got 401" in found.evidence


def test_what_answers_where_it_is_not_declared_fails() -> None:
    found = finding(vault(reach_from="target,container"), box())
    assert found.verdict is Verdict.FAIL
    assert found.message == "answers the controller too, which is not declared"
    assert "controller: want none, got an answer" in found.evidence
    closed = finding(vault(DNS, reach_from="target,container"), box())
    assert closed.verdict is Verdict.PASS


def test_a_declared_container_that_nobody_has_is_not_checked() -> None:
    found = finding(vault(reach_from="target controller container"), desk())
    assert found.verdict is Verdict.NOT_CHECKED
    assert found.message == "seen from 3 of 4 places"
    assert (
        "container: want an answer, got not seen: no container of this run asks it"
        in found.evidence
    )


@pytest.mark.parametrize(
    ("unseen", "why"),
    [(box(None), "connection refused"), (box(NO_WAY), "no program there can connect")],
)
def test_a_place_that_was_not_seen_is_no_pass(unseen: Member, why: str) -> None:
    found = finding(vault(), unseen)
    assert found.verdict is Verdict.NOT_CHECKED
    assert f"container box: want an answer, got not seen: {why}" in found.evidence
    # What fails elsewhere is told all the same.
    assert finding(vault(), unseen, desk(DNS)).verdict is Verdict.FAIL


def test_facts_without_the_controller_s_question_leave_it_open() -> None:
    found = finding(vault(None), box())
    assert found.verdict is Verdict.NOT_CHECKED
    assert "got not seen: the endpoint was not asked from there" in found.evidence[1]


def test_a_palace_that_is_down_is_the_other_gates_to_tell() -> None:
    found = finding(vault(DNS, DNS), desk(DNS), box(DNS))
    assert found.verdict is Verdict.NOT_CHECKED
    assert "flip.symptom" in found.message


def test_clients_alone_say_that_nobody_asked_from_outside() -> None:
    found = finding(desk(), box())
    assert found.verdict is Verdict.PASS
    assert "controller: not asked, no target of this run serves it" in found.evidence


def test_one_place_alone_is_no_comparison() -> None:
    assert told(vault()) is None
    assert told(desk(), member("two", "mempalace-bridge", {"target": OK})) is None
    assert told(desk(), member("x", "mempalace-bridge", {"target": OK}, palace_url=None)) is None


def test_a_part_of_the_fleet_never_holds() -> None:
    third = box(name="ci").target
    one, two = vault(), box()
    found = finding(one, two, fleet=(one.target, two.target, third))
    assert found.verdict is Verdict.NOT_APPLICABLE
    assert "2 of its 3 targets" in found.message
