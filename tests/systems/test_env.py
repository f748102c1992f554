"""What the environment file says to its reader, and what launches really export."""

import pytest
from support.facts import World, findings, target

from fleet.facts.paths import State
from fleet.inventory.model import SecretRef, Target, Value
from fleet.secrets import Secret
from fleet.verifier.model import Finding, Verdict

URL = "https://palace.example.net/mcp"
TOKEN = Secret("tok-EXAMPLE-1")
REF = SecretRef("env", "PALACE_TOKEN")
FILE = "~/.config/pi/.env"
PUBLIC = ("MEMPALACE_REMOTE_URL", "MEMPALACE_PI_DEVICE")
GOOD = f"MEMPALACE_REMOTE_URL={URL}\nMEMPALACE_REMOTE_TOKEN='tok-EXAMPLE-1'\n".encode()
EXPORTS: dict[str, str | Secret] = {"MEMPALACE_REMOTE_URL": URL, "MEMPALACE_REMOTE_TOKEN": TOKEN}


def here(**variables: Value) -> Target:
    declared: dict[str, Value] = {"palace_url": URL, "palace_token": REF, **variables}
    made = target("mempalace-bridge", "env", launches=["bash -lc"])
    return Target(made.name, made.address, made.systems, variables=declared, launches=made.launches)


def judged(world: World, where: Target | None = None) -> dict[str, Finding]:
    return findings(where or here(), world, secrets={REF: TOKEN})


def test_a_file_that_says_it_all_passes_without_anyones_value() -> None:
    found = judged(World().env_file(FILE, GOOD, public=PUBLIC))
    assert found["env.file"].verdict is Verdict.PASS
    assert found["env.mode"].verdict is Verdict.PASS
    assert TOKEN.reveal() not in str(found)


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"MEMPALACE_REMOTE_URL=" + URL.encode() + b"\n", "MEMPALACE_REMOTE_TOKEN is not in it"),
        (GOOD.replace(b"EXAMPLE-1", b"EXAMPLE-2"), "is not the declared value"),
        (GOOD.replace(b"EXAMPLE-1", b"EXAMPLE-12"), "14 characters, declared has 13"),
        (GOOD.replace(b"'tok-EXAMPLE-1'", b""), "is set but empty"),
        (b"\xef\xbb\xbf" + GOOD, "U+FEFF"),
        (GOOD.replace(b"palace.example", b"other.example"), "declared is"),
    ],
)
def test_what_is_wrong_in_it_is_told(content: bytes, told: str) -> None:
    gate = judged(World().env_file(FILE, content, public=PUBLIC))["env.file"]
    assert gate.verdict is Verdict.FAIL
    assert told in " ".join(gate.evidence)


def test_quotes_are_part_of_the_value_for_docker() -> None:
    world = World().env_file(FILE, GOOD, public=PUBLIC)
    assert judged(world, here(env_reader="docker"))["env.file"].verdict is Verdict.FAIL
    assert judged(world, here(env_reader="compose"))["env.file"].verdict is Verdict.PASS
    odd = judged(world, here(env_reader="fish"))["env.file"]
    assert (odd.verdict, "fish" in odd.message) == (Verdict.NOT_CHECKED, True)


def test_a_locked_file_is_told_as_locked() -> None:
    gate = judged(World().env_file(FILE, b"\0GITCRYPT\0\x9d\x01\x02"))["env.file"]
    assert (gate.verdict, gate.message) == (Verdict.FAIL, "encrypted, not unlocked")


def test_a_mode_that_no_tool_could_tell_is_not_checked() -> None:
    world = World().env_file(FILE, GOOD, public=PUBLIC)
    world.paths[FILE] = world.paths[FILE].model_copy(update={"mode": None})
    found = judged(world)
    assert found["env.mode"].verdict is Verdict.NOT_CHECKED
    assert found["env.file"].verdict is Verdict.PASS


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o660, 0o604])
def test_a_file_that_others_can_read_fails(mode: int) -> None:
    gate = judged(World().env_file(FILE, GOOD, public=PUBLIC, mode=mode))["env.mode"]
    assert gate.verdict is Verdict.FAIL
    assert f"{mode:04o}" in gate.message


def test_an_absent_file_is_told_once() -> None:
    found = judged(World().broken(FILE, State.ABSENT).launch(variables=EXPORTS))
    assert found["env.file"].verdict is Verdict.FAIL
    assert found["env.mode"].follows == "env.file"
    assert found["env.loaded"].verdict is Verdict.PASS


def test_a_secret_that_cannot_be_fetched_is_not_checked() -> None:
    world = World().env_file(FILE, GOOD, public=PUBLIC).launch(variables=EXPORTS)
    found = findings(here(), world, troubles={REF: "PALACE_TOKEN is not set"})
    for gate in ("env.file", "env.loaded"):
        assert found[gate].verdict is Verdict.NOT_CHECKED
        assert "PALACE_TOKEN is not set" in " ".join(found[gate].evidence)


def test_a_launch_that_exports_it_all_passes() -> None:
    assert judged(World().launch(variables=EXPORTS))["env.loaded"].verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({}, "MEMPALACE_REMOTE_URL is not set"),
        ({"MEMPALACE_REMOTE_URL": URL}, "MEMPALACE_REMOTE_TOKEN is not set"),
        ({**EXPORTS, "MEMPALACE_REMOTE_TOKEN": Secret("tok-EXAMPLE-2")}, "not the declared value"),
        ({**EXPORTS, "MEMPALACE_REMOTE_URL": "https://x.example.net/mcp"}, "declared is"),
    ],
)
def test_a_launch_that_lacks_something_fails_and_the_flip_follows(
    variables: dict[str, str | Secret], told: str
) -> None:
    found = judged(World().launch(variables=variables))
    assert found["env.loaded"].verdict is Verdict.FAIL
    assert told in " ".join(found["env.loaded"].evidence)
    assert found["flip.path"].follows == "env.loaded"


def test_a_variable_that_saved_facts_were_not_asked_for_is_not_checked() -> None:
    world = World().launch(variables=EXPORTS)
    found = findings(here(agent_name="scout"), world, secrets={REF: TOKEN}, whole=False)
    assert found["env.loaded"].verdict is Verdict.NOT_CHECKED
    assert "was not asked for" in found["env.loaded"].message


def test_what_the_file_has_wrong_is_told_by_the_file_only() -> None:
    wrong = {**EXPORTS, "MEMPALACE_REMOTE_TOKEN": Secret("tok-EXAMPLE-2")}
    file = GOOD.replace(b"EXAMPLE-1", b"EXAMPLE-2")
    found = judged(World().env_file(FILE, file, public=PUBLIC).launch(variables=wrong))
    assert found["env.file"].verdict is Verdict.FAIL
    assert found["env.loaded"].follows == "env.file"
    assert found["flip.path"].follows == "env.file"
    # What the file has right and the launch lacks is the launch's own fault.
    found = judged(World().env_file(FILE, file, public=PUBLIC).launch(variables={}))
    assert found["env.loaded"].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("url", "told"),
    [
        ("https://palace.example.net/mcp/", "slash"),
        ("https://palace.example.net", "full path"),
        ("https://u:p@palace.example.net/mcp", "credentials"),
        ("http://palace.example.net/mcp", "in clear"),
        ("ftp://palace.example.net/mcp", "no http"),
        ("http://[::1/mcp", "no URL"),
        ("palace.example.net/mcp", "no http"),
    ],
)
def test_a_url_that_cannot_be_used_safely_fails(url: str, told: str) -> None:
    gate = judged(World().launch(variables={**EXPORTS, "MEMPALACE_REMOTE_URL": url}))["env.url"]
    assert gate.verdict is Verdict.FAIL
    assert told in " ".join(gate.evidence)


@pytest.mark.parametrize(
    "url",
    [
        "http://127.0.0.1:8765/mcp",
        "http://[::1]:8765/mcp",
        "http://172.17.0.1:8765/mcp",
        "http://host.docker.internal:8765/mcp",
        "http://10.1.2.3:8765/mcp",
        "http://vault:8765/mcp",
        "https://palace.example.net:8443/palace/mcp",
    ],
)
def test_plain_http_is_fine_where_it_stays_private(url: str) -> None:
    where = here(private_hosts="10.0.0.0/8, vault", palace_url=url)
    gate = judged(World().launch(variables={**EXPORTS, "MEMPALACE_REMOTE_URL": url}), where)
    assert gate["env.url"].verdict is Verdict.PASS
