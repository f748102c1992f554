"""The table of drift: what is a side, what it is held against, and what is never taken for seen."""

from dataclasses import replace

import pytest
from support.facts import BRIDGE, NONCE, World

from fleet.facts.images import ImageFact
from fleet.facts.model import Facts, git_blob
from fleet.facts.paths import PathFact, State
from fleet.facts.running import ContainerFact
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target, Value
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.fleetwide.compose_reading import first_questions
from fleet.verifier.fleetwide.families import relatives
from fleet.verifier.fleetwide.member import Beside, Member, lessened
from fleet.verifier.fleetwide.table import Standing, Table, What, tables
from fleet.verifier.toolkit import Commit, Toolkit

LINK = "~/.pi/agent/extensions/mempalace.ts"
PATH = "extensions/pi/mempalace.ts"
NAME = "pi-devbox:latest"
OLD, OLDEST = BRIDGE + b"// older\n", BRIDGE + b"// oldest\n"
COMMITS = tuple(
    Commit(c * 40, f"2026-08-{day}", n)
    for n, (c, day) in enumerate(zip("cba", (26, 25, 12), strict=True))
)
BLOBS = {
    git_blob(content): commit
    for content, commit in zip((BRIDGE, OLD, OLDEST), COMMITS, strict=True)
}
TOOLKIT = Toolkit(
    "~/clone",
    {PATH: BLOBS},
    commits=COMMITS,
    changes={PATH: tuple((c.behind, blob) for blob, c in BLOBS.items())},
)
SAME, BEHIND, DIFFERS, UNSEEN = Standing.SAME, Standing.BEHIND, Standing.DIFFERS, Standing.UNSEEN


def side(
    address: str,
    content: bytes | None = BRIDGE,
    *,
    name: str = "",
    image: str = "sha256:1",
    now: str = "sha256:1",
    mounts: dict[str, str] | None = None,
    systems: tuple[str, ...] = ("mempalace-bridge",),
    seen: bool = True,
    toolkit: Toolkit | None = TOOLKIT,
    **variables: Value,
) -> Member:
    """A target, and what was seen of it."""
    where = parse_address(address)
    made = Target(name or address, where, systems, variables=variables, launches=("bash -lc",))
    resolved = resolve([load_catalogue().system(s) for s in systems], made)
    if not seen:
        return Member(made, resolved, None, toolkit, "connection refused")
    world = World(where.scheme.kind.value)
    if content is not None:
        world.file(LINK, content)
    facts = world.facts(made)
    told: dict[str, object] = {"image": ImageFact(id=image, created="2026-11-30T00:00:00Z")}
    if address.startswith("container:"):
        told["container"] = ContainerFact(
            name=where.name,
            state="running",
            image=image,
            image_name=NAME,
            image_now=now,
            mounts=mounts or {},
            created="2026-11-29T00:00:00Z",
        )
    if address.startswith("ssh:"):
        told = {}
    return Member(made, resolved, facts.model_copy(update=told), toolkit)


def laid(*members: Member, fleet: tuple[Target, ...] = ()) -> Table:
    (table,) = tables(members, fleet or [m.target for m in members])
    less = [lessened(m) for m in members]
    assert tables(less, fleet or [m.target for m in members]) == (table,)
    return table


def standings(table: Table) -> list[tuple[What, Standing]]:
    return [(s.what, s.standing) for s in table.sides]


IMAGE = f"docker-daemon:{NAME}"
BOX = "container:pi-devbox"


def test_a_row_a_side_and_the_image_first() -> None:
    table = laid(side("ssh://pi-devbox", name="pi-devbox"), side(BOX), side(IMAGE))
    assert standings(table) == [(What.IMAGE, SAME), (What.CONTAINER, SAME), (What.HOST, SAME)]
    assert (table.name, table.seen, table.drifted) == ("pi-devbox", 3, False)
    image, box, host = table.sides
    assert (image.image, image.origin, image.created) == (
        "sha256:1",
        "baked",
        "2026-11-30T00:00:00Z",
    )
    assert (box.image, box.origin, host.image, host.origin) == ("sha256:1", "baked", "", "file")


def test_the_newest_of_the_sides_is_what_the_others_are_held_against() -> None:
    table = laid(
        side(IMAGE, OLDEST), side(BOX, OLD), side("ssh://pi-devbox", OLDEST, name="pi-devbox")
    )
    assert standings(table) == [
        (What.IMAGE, DIFFERS),
        (What.CONTAINER, BEHIND),
        (What.HOST, DIFFERS),
    ]
    assert (table.reference, table.newest) == (COMMITS[1], COMMITS[0])
    assert [s.remedy for s in table.sides][::2] == [
        "rebuild it from the newest commit, then recreate its containers",
        "update the toolkit there",
    ]


def test_bytes_that_no_history_names_are_held_against_the_image() -> None:
    table = laid(side(IMAGE, toolkit=None), side(BOX, b"// other", toolkit=None))
    assert standings(table) == [(What.IMAGE, SAME), (What.CONTAINER, DIFFERS)]
    assert (table.reference, table.newest) == (None, None)
    table = laid(side(IMAGE, b"// unknown"), side(BOX, OLD))
    assert standings(table) == [(What.IMAGE, DIFFERS), (What.CONTAINER, BEHIND)]


def test_no_bridge_at_all_differs_from_one() -> None:
    assert standings(laid(side(IMAGE), side(BOX, None)))[1] == (What.CONTAINER, UNSEEN)
    gone = side(BOX)
    assert gone.facts
    absent = PathFact(path=LINK, absolute=LINK, state=State.ABSENT)
    gone = replace(gone, facts=gone.facts.model_copy(update={"paths": {LINK: absent}}))
    table = laid(side(IMAGE), gone)
    assert standings(table)[1] == (What.CONTAINER, DIFFERS)
    assert table.sides[1].bridge is not None
    assert table.sides[1].bridge.told == "no bridge"


@pytest.mark.parametrize("address", [IMAGE, BOX, "ssh://pi-devbox"])
def test_a_side_that_was_not_seen_is_a_row_and_is_counted(address: str) -> None:
    others = [side(a, name="" if ":" in a else a) for a in (IMAGE, BOX) if a != address]
    name = "pi-devbox" if address.startswith("ssh:") else ""
    table = laid(*others, side(address, name=name, seen=False))
    assert (table.seen, len(table.sides)) == (len(others), len(others) + 1)
    (unseen,) = [s for s in table.sides if s.standing is UNSEEN]
    assert unseen.notes == ("connection refused",)
    assert not table.drifted


def test_those_that_were_not_asked_are_named() -> None:
    away = side("ssh://pi-devbox", name="pi-devbox").target
    image, box = side(IMAGE), side(BOX)
    table = laid(image, box, fleet=(image.target, box.target, away, side("ssh://other").target))
    assert table.elsewhere == ("pi-devbox",)


def test_a_longer_mount_hides_a_shorter_one() -> None:
    agent = "/home/u/.pi/agent"
    mounts = {"/home/u": "/srv/home", agent: "/srv/agent", "/home/u/.pi/agen": "/srv/x"}
    table = laid(side(IMAGE), side(BOX, OLD, mounts=mounts))
    box = table.sides[1]
    assert (box.origin, box.source) == ("mounted", "/srv/agent")
    assert box.remedy == "update what is mounted into it: /srv/agent"


def beside(content: bytes | None, state: State = State.PRESENT) -> Beside:
    path = "/srv/agent/extensions/mempalace.ts"
    world = World().file(path, content or b"")
    if content is None:
        world.broken(path, state, why="permission denied")
    made = Target("here", parse_address("local:"))
    return Beside(world.facts(made))


def test_the_mounted_clone_is_a_side_of_its_own() -> None:
    box = side(BOX, OLD, mounts={"/home/u/.pi/agent": "/srv/agent"})
    table = laid(side(IMAGE), replace(box, beside=beside(OLD)))
    assert standings(table)[1:] == [(What.CONTAINER, DIFFERS), (What.CLONE, DIFFERS)]
    table = laid(side(IMAGE), replace(box, beside=beside(None, State.UNREADABLE)))
    assert table.sides[2].standing is UNSEEN
    assert table.sides[2].notes == ("permission denied",)
    table = laid(side(IMAGE), replace(box, beside=Beside(None, "it lies elsewhere")))
    assert table.sides[2].notes == ("it lies elsewhere",)


def test_the_commit_that_is_declared_is_a_side() -> None:
    table = laid(side(IMAGE, OLD, toolkit_ref="ccccccc"), side(BOX, OLD))
    assert standings(table)[:2] == [(What.IMAGE, DIFFERS), (What.DECLARED, SAME)]
    table = laid(side(IMAGE, OLD, toolkit_ref="0000000"))
    assert standings(table)[1] == (What.DECLARED, UNSEEN)


def test_one_side_alone_has_nothing_to_differ_from() -> None:
    table = laid(side(IMAGE, OLD))
    assert not table.drifted
    assert not table.worth_telling


def test_hosts_without_an_image_or_a_container_are_no_table() -> None:
    assert tables([side("ssh://a"), side("ssh://b")], []) == ()


def test_what_carries_no_bridge_has_a_row_too() -> None:
    table = laid(side(BOX, systems=("env",), now="sha256:2"), side(IMAGE, systems=("env",)))
    assert standings(table) == [(What.IMAGE, SAME), (What.CONTAINER, DIFFERS)]
    assert table.sides[1].notes == (f"made of an older image than {NAME} is today",)


def test_naming_one_of_a_family_means_all_of_it() -> None:
    image = Target("the-image", parse_address("docker-daemon:example/pi-devbox:1"))
    box = Target("box", parse_address("container:pi-devbox"))
    desk, other = (
        Target("desk", parse_address("ssh://desk"), groups=("box",)),
        Target("x", parse_address("ssh://x")),
    )
    fleet = [image, box, desk, other]
    assert [t.name for t in relatives([box], fleet)] == ["box", "the-image", "desk"]
    assert relatives([other], fleet) == [other]
    assert relatives([image, box, desk], []) == [image, box, desk]


def test_a_host_tells_of_the_containers_that_compose_keeps_there() -> None:
    vault = side(
        "ssh://vault", None, name="vault", systems=("mempalace-serve",), serve_mode="compose"
    )
    assert vault.facts
    text = b"services:\n  palace:\n    image: palace:3.12\n"
    file = World().file("~/mempalace-serve/compose.yml", text).facts(vault.target)
    palace = ContainerFact(
        name="mempalace-palace-1",
        service="palace",
        state="running",
        image="sha256:1",
        image_name="palace:3.11",
        command="0" * 64,
    )
    told = {"containers": {"mempalace": (palace,)}, "paths": file.paths, "contents": file.contents}
    facts: Facts = vault.facts.model_copy(update=told)
    assert facts.nonce == NONCE
    table = laid(replace(vault, facts=facts))
    assert standings(table) == [(What.CONTAINER, SAME), (What.COMPOSE, DIFFERS)]
    (note,) = table.sides[1].notes
    assert note == "mempalace-palace-1: made of the image palace:3.11, the file says palace:3.12"


@pytest.mark.parametrize(
    ("files", "why"),
    [
        (("/etc/shadow",), "its label names no YAML file"),
        (("compose.yml",), "its label names no absolute path"),
        (("/srv/a\n.yml",), "its label names no absolute path"),
        (("/" + "x" * 5000 + ".yml",), "its label names no absolute path"),
        (("/srv/a.yml", "/srv/b.yml"), "it was made of 2 files, and they are not merged here"),
    ],
)
def test_a_label_that_names_something_else_is_not_followed(
    files: tuple[str, ...], why: str
) -> None:
    box = side(BOX)
    assert box.facts
    assert box.facts.container
    container = box.facts.container.model_copy(update={"compose_files": files, "service": "pi"})
    assert first_questions(container) == ()
    box = replace(box, facts=box.facts.model_copy(update={"container": container}))
    row = laid(box).sides[1]
    assert (row.what, row.standing, row.notes) == (What.COMPOSE, UNSEEN, (why,))


def test_what_a_file_holds_that_is_no_compose_file_is_not_shown() -> None:
    box = side(BOX)
    assert box.facts
    assert box.facts.container
    path = "/srv/pi/compose.yml"
    container = box.facts.container.model_copy(update={"compose_files": (path,), "service": "pi"})
    here = World().file(path, b'a: 1\nb: "${tok-EXAMPLE-x"\n')
    read = Beside(here.facts(Target("here", parse_address("local:"))))
    box = replace(box, facts=box.facts.model_copy(update={"container": container}), beside=read)
    row = laid(box).sides[1]
    assert row.standing is UNSEEN
    assert row.notes[0].startswith("it could not be read as a compose file: compose.yml:2")
    assert "EXAMPLE" not in str(row.notes)
