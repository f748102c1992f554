"""The certificates that pi trusts: they lie where it runs, and the palace is asked with them."""

from dataclasses import replace

import pytest
from support.facts import World, absolute, findings, target
from support.mcp_server import self_signed

from fleet.facts.endpoints import Answer, EndpointFact, Trouble
from fleet.facts.paths import PathFact, State
from fleet.inventory.model import SecretRef, Value
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
CA = "/etc/fleet/own-ca.pem"
VARIABLE = "NODE_EXTRA_CA_CERTS"


def judged(world: World, **variables: Value) -> dict[str, Finding]:
    where = replace(target("mempalace-bridge"), variables={"palace_url": URL, **variables})
    return findings(where, world)


def lies(certificates: str | None, state: State = State.PRESENT, kind: str = "file") -> World:
    """A target on which the declared file is what it is said to be."""
    world = World().launch(variables={"MEMPALACE_REMOTE_URL": URL, VARIABLE: CA})
    there = state is State.PRESENT
    told = {
        "path": CA,
        "absolute": absolute(CA),
        "state": state,
        "final": CA if there else None,
        "kind": kind if there else None,
        "certificates": certificates,
    }
    world.paths[CA] = PathFact.model_validate(told)
    return world


@pytest.fixture(scope="module")
def pem(tmp_path_factory: pytest.TempPathFactory) -> str:
    return self_signed(tmp_path_factory.mktemp("tls"))[0].read_text()


def test_a_certificate_that_is_there_holds(pem: str) -> None:
    found = judged(lies(pem), client_ca=CA)["flip.ca"]
    assert (found.verdict, found.required) == (Verdict.PASS, True)
    assert found.message.startswith("one certificate")
    assert judged(lies(pem * 2), client_ca=CA)["flip.ca"].message.startswith("2 certificates")


def test_the_variable_may_be_declared_among_others(pem: str) -> None:
    assert judged(lies(pem), env={VARIABLE: CA})["flip.ca"].verdict is Verdict.PASS


@pytest.mark.parametrize("state", [State.ABSENT, State.DANGLING, State.LOOP])
def test_a_file_that_is_not_there_is_named_and_tells_the_cause(state: State) -> None:
    found = judged(lies(None, state), client_ca=CA)
    assert found["flip.ca"].verdict is Verdict.FAIL
    if state is State.ABSENT:
        assert f"{CA} does not exist" in found["flip.ca"].evidence
    for gate in ("flip.path", "flip.symptom"):
        assert found[gate].follows == "flip.ca"


@pytest.mark.parametrize(
    "content", ["", "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"]
)
def test_a_file_without_a_certificate_fails(content: str) -> None:
    found = judged(lies(content), client_ca=CA)["flip.ca"]
    assert (found.verdict, found.message) == (Verdict.FAIL, "holds no certificate in PEM")


def test_a_folder_and_a_path_that_node_does_not_fill_in_fail(pem: str) -> None:
    assert judged(lies(pem, kind="directory"), client_ca=CA)["flip.ca"].verdict is Verdict.FAIL
    found = judged(World().launch(), client_ca="~/own-ca.pem")["flip.ca"]
    assert found.verdict is Verdict.FAIL
    assert "absolute" in found.message


def test_what_could_not_be_seen_is_not_checked() -> None:
    for world in (lies(None), lies(None, State.UNSUPPORTED)):
        assert judged(world, client_ca=CA)["flip.ca"].verdict is Verdict.NOT_CHECKED
    assert judged(lies(None, State.UNREADABLE), client_ca=CA)["flip.ca"].verdict is Verdict.ERROR
    secret = SecretRef("env", "CA")
    assert judged(World().launch(), client_ca=secret)["flip.ca"].verdict is Verdict.NOT_CHECKED


def test_it_is_asked_only_where_an_authority_is_declared() -> None:
    assert judged(World().launch())["flip.ca"].verdict is Verdict.NOT_APPLICABLE


def test_a_palace_of_its_own_authority_needs_it_on_its_clients() -> None:
    given = {"palace_ca": "own-ca.pem"}
    bare = World().launch(variables={"MEMPALACE_REMOTE_URL": URL})
    found = judged(bare, **given)["flip.ca"]
    assert found.verdict is Verdict.WARN
    assert "client_ca" in str(found.remedy)
    plain = judged(bare, **{**given, "palace_url": "http://127.0.0.1/mcp"})
    assert plain["flip.ca"].verdict is Verdict.NOT_APPLICABLE
    unseen = World().launch(state="timeout")
    assert judged(unseen, **given)["flip.ca"].verdict is Verdict.NOT_CHECKED


def test_an_exported_file_that_is_not_declared_is_no_pass() -> None:
    exported = World().launch(variables={"MEMPALACE_REMOTE_URL": URL, VARIABLE: CA})
    assert judged(exported)["flip.ca"].verdict is Verdict.NOT_APPLICABLE
    assert judged(exported, palace_ca="own-ca.pem")["flip.ca"].verdict is Verdict.NOT_CHECKED
    answer = Answer(trouble=Trouble.TLS, detail="certificate not trusted")
    exported.heard(EndpointFact(url=URL, place="target", answers={"initialize": answer}))
    found = judged(exported)
    assert found["flip.ca"].verdict is Verdict.NOT_CHECKED
    assert found["flip.path"].follows == "flip.ca"
