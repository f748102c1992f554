"""What no target can tell alone: each rule holds, fails, and is not checked on a part."""

from dataclasses import replace

import pytest
from support.facts import BRIDGE, World

from fleet.facts.endpoints import EndpointFact
from fleet.facts.images import ImageFact
from fleet.facts.model import git_blob
from fleet.facts.running import ContainerFact, LaunchFact
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target, Value
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.fleetwide.member import Member, lessened
from fleet.verifier.fleetwide.rules import RULES, SYSTEM, judge_fleet
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run, conclude
from fleet.verifier.toolkit import Commit, Toolkit

LINK = "~/.pi/agent/extensions/mempalace.ts"
URL = "https://palace.example.net/mcp"
OLD = BRIDGE + b"// older\n"
PATH = "extensions/pi/mempalace.ts"
NEW_COMMIT = Commit("b" * 40, "2026-08-25", 0)
OLD_COMMIT = Commit("a" * 40, "2026-08-12", 1)
TOOLKIT = Toolkit(
    "~/clone",
    {PATH: {git_blob(BRIDGE): NEW_COMMIT, git_blob(OLD): OLD_COMMIT}},
    commits=(NEW_COMMIT, OLD_COMMIT),
    changes={PATH: ((0, git_blob(BRIDGE)), (1, git_blob(OLD)))},
)


def member(
    name: str,
    *,
    content: bytes | None = BRIDGE,
    address: str = "",
    groups: tuple[str, ...] = (),
    device: str | None = None,
    palace: str = "",
    version: str = "3.9.0",
    image: str = "",
    revision: str = "",
    mounts: dict[str, str] | None = None,
    systems: tuple[str, ...] = ("mempalace-bridge",),
    seen: bool = True,
    **variables: Value,
) -> Member:
    """A target, and what was seen of it."""
    where = parse_address(address or f"ssh://{name}")
    made = Target(name, where, systems, variables=variables, groups=groups, launches=("bash -lc",))
    catalogue = load_catalogue()
    resolved = resolve([catalogue.system(s) for s in systems], made)
    if not seen:
        return Member(made, resolved, None, TOOLKIT, "connection refused")
    world = World().launch(variables={"MEMPALACE_PI_DEVICE": device} if device else {})
    if content is None:
        world.nothing_else([LINK])
    else:
        world.file(LINK, content)
    facts = world.facts(made)
    if not device:
        nothing = {"MEMPALACE_PI_DEVICE": {"set": False}}
        told = {"launch": "bash -lc", "state": "ok", "variables": nothing}
        facts = facts.model_copy(update={"launches": {"bash -lc": LaunchFact.model_validate(told)}})
    if palace:
        heard = EndpointFact(
            url=URL, place="target", palace=palace, server="mempalace", version=version
        )
        facts = facts.model_copy(update={"endpoints": (heard,)})
    further: dict[str, object] = {}
    if image or revision:
        labels = {"org.opencontainers.image.revision": revision} if revision else {}
        further["image"] = ImageFact(id=image, labels=labels)
    if mounts is not None:
        further["container"] = ContainerFact(name=name, state="running", mounts=mounts)
    return Member(made, resolved, facts.model_copy(update=further), TOOLKIT)


def judged(*members: Member, fleet: tuple[Target, ...] = ()) -> dict[tuple[str, str], Finding]:
    found = judge_fleet(members, fleet or [m.target for m in members])
    less = [lessened(m) for m in members]
    assert judge_fleet(less, fleet or [m.target for m in members]) == found
    return {(f.gate, f.target): f for f in found}


def test_every_rule_is_described() -> None:
    assert [gate.id for gate in SYSTEM.gates] == list(RULES)
    assert all(gate.asks and gate.remedy and gate.without for gate in SYSTEM.gates)


def test_one_target_is_no_fleet() -> None:
    assert judged(member("desk", device="desk", palace="/p", palace_url=URL)) == {}
    assert judged(member("a", systems=("env",)), member("b", systems=("env",))) == {}


# --- devices


def test_devices_of_their_own_hold() -> None:
    found = judged(member("desk", device="desk"), member("laptop", device="laptop"))
    told = found["fleet.devices", "fleet"]
    assert (told.verdict, told.required) == (Verdict.PASS, True)


def test_two_machines_of_one_name_fail_even_where_a_third_is_unseen() -> None:
    found = judged(
        member("desk", device="laptop"),
        member("laptop", device="laptop"),
        member("vault", seen=False),
    )
    told = found["fleet.devices", "fleet"]
    assert told.verdict is Verdict.FAIL
    assert told.evidence == (
        "laptop: desk, laptop",
        "2 of 3 targets seen",
        "vault: connection refused",
    )


def test_containers_count_and_images_do_not() -> None:
    box = member("box", address="container:box", device="desk")
    image = member("image", address="docker-daemon:other", device="desk")
    found = judged(member("desk", device="desk"), box)
    assert found["fleet.devices", "fleet"].evidence == ("desk: desk, box",)
    assert ("fleet.devices", "fleet") not in judged(box, image)


def test_devices_of_a_part_are_not_checked() -> None:
    found = judged(member("desk", device="desk"), member("laptop", seen=False))
    told = found["fleet.devices", "fleet"]
    assert (told.verdict, told.message) == (Verdict.NOT_CHECKED, "1 of 2 targets seen")
    run = Run("1", "audit", *(member("x").facts.taken_at,) * 2, (), fleetwide=(told,))  # type: ignore[union-attr]  # it was seen
    assert conclude(run).code == 3


def test_a_launch_that_told_nothing_is_unseen() -> None:
    silent = member("laptop", device="laptop")
    assert silent.facts is not None
    launch = LaunchFact(launch="bash -lc", state="timeout", why="it did not answer in time")
    silent = replace(
        silent, facts=silent.facts.model_copy(update={"launches": {"bash -lc": launch}})
    )
    told = judged(member("desk", device="desk"), silent)["fleet.devices", "fleet"]
    assert told.verdict is Verdict.NOT_CHECKED
    assert "laptop: it did not answer in time" in told.evidence


def test_a_narrowed_run_never_says_that_the_fleet_holds() -> None:
    desk, laptop = member("desk", device="desk"), member("laptop", device="laptop")
    third = member("vault").target
    found = judged(desk, laptop, fleet=(desk.target, laptop.target, third))
    told = found["fleet.devices", "fleet"]
    assert told.verdict is Verdict.NOT_APPLICABLE
    assert "2 of its 3 targets" in told.message
    assert found["fleet.skew", "fleet"].verdict is Verdict.NOT_APPLICABLE


# --- palace


def test_clients_of_one_url_reach_one_palace() -> None:
    found = judged(
        member("desk", palace="/data/palace", palace_url=URL),
        member("laptop", palace="/data/palace", palace_url=URL + "/"),
        member("alone", palace="/home/u/.mempalace/palace"),
    )
    told = found["fleet.palace", "fleet"]
    assert (told.verdict, told.required) == (Verdict.PASS, True)
    assert told.evidence == (f"{URL}: /data/palace, mempalace 3.9.0: desk, laptop",)


@pytest.mark.parametrize(
    "other", [{"palace": "/tmp/palace"}, {"palace": "/data/palace", "version": "3.6.0"}]
)
def test_another_palace_or_version_behind_the_same_url_fails(other: dict[str, str]) -> None:
    found = judged(
        member("desk", palace="/data/palace", palace_url=URL),
        member("laptop", palace_url=URL, **other),  # type: ignore[arg-type]  # texts only
    )
    told = found["fleet.palace", "fleet"]
    assert told.verdict is Verdict.FAIL
    assert len(told.evidence) == 2


def test_a_client_that_heard_nothing_leaves_it_unchecked() -> None:
    found = judged(
        member("desk", palace="/data/palace", palace_url=URL), member("laptop", palace_url=URL)
    )
    told = found["fleet.palace", "fleet"]
    assert told.verdict is Verdict.NOT_CHECKED
    assert "laptop: its palace was not asked" in told.evidence


# --- skew


def test_one_commit_across_a_group() -> None:
    found = judged(member("desk", groups=("all-of", "work")), member("laptop", groups=("work",)))
    told = found["fleet.skew", "work"]
    assert (told.verdict, told.required) == (Verdict.PASS, False)
    assert told.evidence == ("toolkit bbbbbbb of 2026-08-25: desk, laptop",)


def test_the_spread_is_told_group_by_group() -> None:
    found = judged(
        member("desk", groups=("work",)),
        member("laptop", groups=("work",), content=OLD),
        member("attic", groups=("old",), content=OLD),
    )
    told = found["fleet.skew", "work"]
    assert told.verdict is Verdict.WARN
    assert told.message == "2 different bridges on 2 targets"
    assert "toolkit aaaaaaa of 2026-08-12, 1 behind: laptop" in told.evidence
    assert ("fleet.skew", "old") not in found


def test_where_nobody_carries_a_bridge_nothing_is_compared() -> None:
    without = (
        member("desk", content=None),
        member("laptop", content=None),
        member("box", content=None, address="docker-daemon:box", image="sha256:1"),
        member("box-run", content=None, address="container:box"),
    )
    found = judged(*without)
    for told in (found["fleet.skew", "fleet"], found["bridge.fresh", "fleet"]):
        assert told.verdict is Verdict.NOT_APPLICABLE, told
        assert "carries a bridge" in told.message
    # One that does, among others that do not, is no fleet of one commit.
    mixed = judged(*without, member("vault"))["fleet.skew", "fleet"]
    assert mixed.verdict is Verdict.WARN, mixed


def test_the_skew_of_a_part_is_not_checked() -> None:
    found = judged(member("desk"), member("laptop", seen=False))
    assert found["fleet.skew", "fleet"].verdict is Verdict.NOT_CHECKED


# --- drift


def devbox(**box: object) -> tuple[Member, Member]:
    container = member("devbox", address="container:pi-devbox", mounts={}, **box)  # type: ignore[arg-type]  # as the tests give it
    return container, member("devbox-image", address="docker-daemon:example/pi-devbox:latest")


def test_an_image_and_its_container_agree() -> None:
    found = judged(*devbox())
    assert found["bridge.fresh", "fleet"].verdict is Verdict.PASS
    assert found["fleet.baked", "fleet"].verdict is Verdict.PASS


def test_a_container_of_an_older_image_has_drifted() -> None:
    found = judged(*devbox(content=OLD))
    for gate in ("bridge.fresh", "fleet.baked"):
        told = found[gate, "fleet"]
        assert told.verdict is Verdict.FAIL
        assert any("toolkit aaaaaaa of 2026-08-12" in line for line in told.evidence)
        assert any(line.startswith("devbox-image: toolkit bbbbbbb") for line in told.evidence)


def test_a_mounted_clone_is_a_side_of_its_own_and_not_baked() -> None:
    mounts = {"/home/u/.pi": "/srv/pi"}
    container = member("devbox", address="container:pi-devbox", mounts=mounts, content=OLD)
    image = member("devbox-image", address="docker-daemon:pi-devbox:latest")
    found = judged(container, image)
    told = found["bridge.fresh", "fleet"]
    assert told.verdict is Verdict.FAIL
    assert told.evidence[0].startswith("devbox, mounted from /srv/pi: toolkit aaaaaaa")
    assert ("fleet.baked", "fleet") not in found


def test_a_host_of_the_name_and_a_group_of_the_name_belong_to_it() -> None:
    host = member("pi-devbox", content=OLD)
    container = member("box", address="container:pi-devbox", mounts={})
    assert judged(host, container)["bridge.fresh", "fleet"].verdict is Verdict.FAIL
    desk = member("desk", groups=("box",), content=OLD)
    assert judged(desk, container)["bridge.fresh", "fleet"].verdict is Verdict.FAIL
    other = member("desk", groups=("work",), content=OLD)
    assert ("bridge.fresh", "fleet") not in judged(other, container)


def test_an_image_and_its_container_are_joined_by_the_image_s_id() -> None:
    image = member("i", address="oci:layout", image="sha256:1")
    container = member(
        "c", address="container:other", mounts={}, image="sha256:1", groups=(), content=OLD
    )
    assert judged(image, container)["bridge.fresh", "fleet"].verdict is Verdict.FAIL


def test_the_declared_commit_is_compared_with_what_was_baked() -> None:
    image = member("devbox", address="docker-daemon:pi-devbox", toolkit_ref="bbbbbbbb")
    assert judged(image, member("x"))["fleet.baked", "fleet"].verdict is Verdict.PASS
    image = member("devbox", address="docker-daemon:pi-devbox", toolkit_ref="aaaaaaaa")
    told = judged(image, member("x"))["fleet.baked", "fleet"]
    assert told.verdict is Verdict.FAIL
    assert told.evidence[1].startswith("devbox, its declared commit: toolkit aaaaaaa")


def baked(**said: str) -> Finding:
    image = member("devbox", address="docker-daemon:pi-devbox", **said)  # type: ignore[arg-type]  # texts only
    return judged(image, member("x"))["fleet.baked", "fleet"]


def test_the_label_s_commit_is_compared_with_what_was_baked() -> None:
    assert baked(revision="b" * 40).verdict is Verdict.PASS
    told = baked(revision="a" * 40)
    assert told.verdict is Verdict.FAIL
    assert told.evidence[1].startswith("devbox, its label's commit: toolkit aaaaaaa")


def test_a_label_and_a_declared_commit_that_differ_are_told() -> None:
    told = baked(revision="a" * 40, toolkit_ref="bbbbbbbb")
    assert told.verdict is Verdict.FAIL
    assert (
        "devbox: its label says toolkit aaaaaaa of 2026-08-12, its toolkit_ref "
        "toolkit bbbbbbb of 2026-08-25" in told.evidence
    )
    assert baked(revision="bbbbbbbb", toolkit_ref="b" * 40).verdict is Verdict.PASS


def test_two_commits_that_carry_the_same_bytes_are_no_pass() -> None:
    same = Commit("c" * 40, "2026-08-26", 0)
    newest, older = replace(NEW_COMMIT, behind=1), replace(OLD_COMMIT, behind=2)
    history = Toolkit(
        "~/clone",
        {PATH: {git_blob(BRIDGE): same, git_blob(OLD): older}},
        commits=(same, newest, older),
        changes={PATH: ((1, git_blob(BRIDGE)), (2, git_blob(OLD)))},
    )
    said = {"address": "docker-daemon:pi-devbox", "revision": "c" * 40, "toolkit_ref": "b" * 40}
    image = replace(member("devbox", **said), toolkit=history)  # type: ignore[arg-type]  # texts only
    told = judged(image, member("x"))["fleet.baked", "fleet"]
    assert (told.verdict, told.message) == (
        Verdict.WARN,
        "an image's label and its toolkit_ref differ",
    )


@pytest.mark.parametrize("label", ["d" * 40, "v1.2", "main", "bbbb", "x" * 300])
def test_a_label_of_another_project_says_nothing_of_the_toolkit(label: str) -> None:
    told = baked(revision=label, toolkit_ref="bbbbbbbb")
    assert told.verdict is Verdict.PASS
    assert told.evidence[-1].endswith("which is no commit of the toolkit")
    alone = member("devbox", address="docker-daemon:pi-devbox", revision=label)
    assert ("fleet.baked", "fleet") not in judged(alone, member("x"))


def test_a_declared_commit_that_nothing_can_tell_is_not_checked() -> None:
    image = member("devbox", address="docker-daemon:pi-devbox", toolkit_ref="bbbbbbbb")
    blind = replace(image, toolkit=None)
    assert judged(blind, member("x"))["fleet.baked", "fleet"].verdict is Verdict.NOT_CHECKED


def test_drift_of_a_part_is_not_checked() -> None:
    container = member("devbox", address="container:pi-devbox", seen=False)
    image = member("devbox-image", address="docker-daemon:pi-devbox")
    told = judged(container, image)["bridge.fresh", "fleet"]
    assert (told.verdict, told.message) == (Verdict.NOT_CHECKED, "1 of 2 targets seen")
