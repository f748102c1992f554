"""`fleet drift` on real images, real containers and a real compose: each way to drift apart."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import docker
import pytest
import requests
from support.containers import engine_answers
from support.sides import PLACED, TOOLKIT, Sides
from support.toolkit_history import History, build_history

from fleet.connectors.engine import endpoint
from fleet.connectors.engine_search import EngineSearch

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(not engine_answers(), reason="needs a Docker engine and busybox"),
]

TOKEN = "tok-EXAMPLE-drift-canary"
COMPOSE = """\
services:
  pi:
    image: {image}
    container_name: {name}-pi
    restart: unless-stopped
    environment:
      MEMPALACE_PI_DEVICE: box
      TOKEN: ${{TOKEN:?it has to be set}}
    ports: ["127.0.0.1::80"]
"""


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> History:
    return build_history(tmp_path_factory.mktemp("toolkit") / "toolkit")


@pytest.fixture
def sides(
    history: History,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[Sides]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FLEET_INVENTORY", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    made = Sides(docker.from_env(), tmp_path, history)
    yield made
    made.close()


def rows(told: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the sides of the one family: `what` by itself, `what name` where there are more."""
    (table,) = told["drift"]
    found: dict[str, dict[str, Any]] = {}
    for side in table["sides"]:
        found[f"{side['what']} {side['name']}" if side["what"] in found else side["what"]] = side
    return found


def standings(told: dict[str, Any]) -> dict[str, str]:
    return {name: side["standing"] for name, side in rows(told).items()}


def composed(sides: Sides, **changed: str) -> Path:
    text = COMPOSE.format(image=sides.image, name=sides.name)
    for old, new in changed.items():
        text = text.replace(old, new)
    return sides.compose(text, f"TOKEN={TOKEN}\n")


def test_all_sides_agree_and_the_container_is_found_by_its_image(sides: Sides) -> None:
    identity = sides.build("mailbox")
    place = composed(sides)
    code, told = sides.drift(f"docker-daemon:{sides.image}")
    assert code == 0, told
    assert standings(told) == {"image": "same", "container": "same", "compose": "same"}
    identity_of = str(sides.client.containers.get(f"{sides.name}-pi").id)
    _, again = sides.drift(f"docker-daemon:{sides.image}", f"container:{identity_of[:12]}")
    assert again["drift"][0]["total"] == 3  # named by its id, it is no other container
    (table,) = told["drift"]
    newest = sides.history.level("mailbox")
    assert (table["seen"], table["total"], table["drifted"]) == (3, 3, False)
    assert table["reference"]["id"] == table["newest"]["id"] == newest.commit
    seen = rows(told)
    assert {side["image"] for side in seen.values()} == {identity}
    assert (seen["container"]["origin"], seen["container"]["source"]) == ("baked", PLACED)
    assert (seen["container"]["name"], seen["compose"]["name"]) == (f"{sides.name}-pi", str(place))
    held = {f["gate"]: f["verdict"] for f in told["findings"] if f["required"]}
    assert held == {"bridge.fresh": "pass", "fleet.baked": "pass", "fleet.composed": "pass"}
    assert TOKEN not in str(told)


def test_a_container_that_is_older_than_its_image(sides: Sides) -> None:
    old = sides.build("feed")
    sides.start()
    new = sides.build("mailbox")
    for words in ([f"docker-daemon:{sides.image}"], [f"container:{sides.name}"]):
        code, told = sides.drift(*words)
        assert code == 2
        assert standings(told) == {"image": "same", "container": "differs"}
        seen = rows(told)
        assert (seen["image"]["image"], seen["container"]["image"]) == (new, old)
        assert seen["container"]["commit"]["behind"] == 2
        assert seen["container"]["notes"] == [f"made of an older image than {sides.image} is today"]
        assert seen["container"]["remedy"] == "recreate it, with the options that it has"
    assert sides.told(f"docker-daemon:{sides.image}")[1].count("≠") == 2  # the row, the legend


def test_an_image_rebuilt_with_the_same_bridge_leaves_an_older_container(sides: Sides) -> None:
    sides.build("mailbox")
    sides.start()
    sides.build("mailbox", "ENV REBUILT=1")
    code, told = sides.drift(f"docker-daemon:{sides.image}")
    assert (code, standings(told)["container"]) == (2, "differs")
    verdicts = {f["gate"]: f["verdict"] for f in told["findings"]}
    assert (verdicts["bridge.fresh"], verdicts["fleet.baked"]) == ("pass", "fail")


def test_a_clone_is_mounted_over_the_baked_copy_and_is_one_behind(sides: Sides) -> None:
    sides.build("mailbox")
    clone = sides.clone("stamp")
    sides.start(volumes=[f"{clone}:{TOOLKIT}"])
    code, told = sides.drift(f"docker-daemon:{sides.image}")
    assert code == 2
    assert standings(told) == {"image": "same", "container": "differs", "clone": "differs"}
    seen = rows(told)
    assert (seen["container"]["origin"], seen["container"]["source"]) == ("mounted", str(clone))
    assert seen["container"]["commit"]["behind"] == seen["clone"]["commit"]["behind"] == 1
    assert seen["clone"]["remedy"] == f"update the clone: git -C {clone} pull"
    sides.clone("mailbox").joinpath("extensions/pi/mempalace.ts").touch()
    code, told = sides.drift(f"docker-daemon:{sides.image}")
    assert (code, set(standings(told).values())) == (0, {"same"})


def test_image_containers_compose_file_and_clone_stand_in_one_table(sides: Sides) -> None:
    """Asked for the image alone; each side drifts by itself, and its row alone says so."""
    sides.build("mailbox")
    clone = sides.clone("mailbox")
    mounts = f"    volumes: [{clone}:{TOOLKIT}]\n"
    composed(sides, **{"    ports:": f"{mounts}    ports:"})
    sides.start("plain")
    address = f"docker-daemon:{sides.image}"
    code, told = sides.drift(address)
    plain, pi = f"container {sides.name}-plain", "container"
    if rows(told)["container"]["name"].endswith("-plain"):
        plain, pi = "container", f"container {sides.name}-pi"
    names = {"image", plain, pi, "compose", "clone"}
    assert (code, standings(told)) == (0, dict.fromkeys(names, "same"))
    (table,) = told["drift"]
    assert (table["seen"], table["total"], table["drifted"]) == (5, 5, False)
    seen = rows(told)
    assert (seen[pi]["origin"], seen[plain]["origin"]) == ("mounted", "baked")

    sides.clone("stamp")
    assert standings(sides.drift(address)[1]) == dict.fromkeys(names, "same") | {
        pi: "differs",
        "clone": "differs",
    }
    sides.clone("mailbox")
    place = sides.folder / "compose.yml"
    before = place.read_text()
    place.write_text(before.replace(": box", ": desk"))
    code, told = sides.drift(address)
    assert (code, standings(told)) == (
        2,
        dict.fromkeys(names, "same") | {"compose": "differs"},
    )
    place.write_text(before)
    sides.build("feed")
    code, told = sides.drift(address)
    found = standings(told)
    assert code == 2
    assert {found[side] for side in ("image", pi, plain)} == {"differs"}
    assert "made of an older image" in rows(told)[plain]["notes"][0]
    _, text = sides.told(address)
    head, *below = [line for line in text.partition("What to do")[0].splitlines() if line.strip()]
    assert head == sides.name
    for what in ("image", "container", "compose", "clone"):
        assert any(line[2:].startswith(f"{what} ") for line in below), text
    assert max(map(len, text.splitlines())) <= 80


def test_a_file_that_is_mounted_alone_and_was_replaced(sides: Sides) -> None:
    sides.build("mailbox")
    place = sides.clone("stamp") / "extensions/pi/mempalace.ts"
    sides.start(volumes=[f"{place}:{PLACED}"])
    beside = place.with_suffix(".new")
    beside.write_bytes(sides.history.level("mailbox").bridge)
    beside.replace(place)
    code, told = sides.drift(f"container:{sides.name}")
    seen = rows(told)
    assert (code, seen["container"]["commit"]["behind"]) == (2, 1)
    assert seen["clone"]["commit"]["behind"] == 0
    assert "still sees the file that was there when it was created" in seen["clone"]["notes"][0]
    assert seen["container"]["remedy"].startswith("recreate it")


def test_the_compose_file_was_changed_after_the_container_was_created(sides: Sides) -> None:
    sides.build("mailbox")
    composed(sides)
    (container,) = sides.client.containers.list(filters={"name": f"{sides.name}-pi"})
    sides.compose(
        COMPOSE.format(image=sides.image, name=sides.name)
        .replace("unless-stopped", "always")
        .replace("box", "desk")
        .replace("::80", ":18765:80"),
        "TOKEN=tok-EXAMPLE-rotated\n",
    )
    container.restart()  # a later start is no proof
    code, told = sides.drift(f"container:{sides.name}-pi")
    assert code == 2
    assert standings(told) == {"image": "same", "container": "same", "compose": "differs"}
    row = rows(told)["compose"]
    notes = " | ".join(row["notes"])
    for part in (
        "MEMPALACE_PI_DEVICE",
        "TOKEN is not the declared value",
        "does not publish 127.0.0.1:18765:80",
        "restart is unless-stopped, the file says always",
    ):
        assert part in notes
    assert row["remedy"].endswith("compose.yml up -d --force-recreate pi")
    assert "tok-EXAMPLE" not in str(told)
    sides.up("--force-recreate")
    assert sides.drift(f"container:{sides.name}-pi")[0] == 0


MUCH = """\
services:
  pi:
    image: {image}
    container_name: {name}-pi
    entrypoint: ["sh", "-c"]
    command: ['echo "$$HOME ${{UNSET:-d}}"; exec sleep 3600']
    restart: on-failure:3
    env_file:
      - app.env
      - {{path: none.env, required: false}}
    environment:
      - PLAIN=a
      - FROM_DOTENV=${{GIVEN}}
      - WITH_DEFAULT=${{UNSET:-b}}
      - EMPTY=
    ports:
      - "127.0.0.1::80"
      - target: 81
        host_ip: 127.0.0.1
        protocol: tcp
    volumes:
      - ./data:/data
      - named:/named:ro
      - called:/called
      - type: tmpfs
        target: /scratch
    secrets: [key]
    healthcheck: {{test: ["CMD", "true"]}}
    networks: [own]
  idle:
    image: {image}
    profiles: [never]
volumes:
  named:
  called: {{name: {name}-called}}
secrets:
  key: {{file: ./key}}
networks:
  own:
    name: {name}-own
"""


def test_a_file_of_many_forms_is_no_drift(sides: Sides) -> None:
    sides.build("mailbox")
    (sides.folder / "data").mkdir()
    (sides.folder / "key").write_text("x")
    (sides.folder / "app.env").write_text('FIRST=1\nQUOTED="two words" # a note\nPLAIN=overruled\n')
    sides.compose(MUCH.format(image=sides.image, name=sides.name), "GIVEN='x y'\n")
    code, told = sides.drift(f"container:{sides.name}-pi")
    assert rows(told)["compose"]["notes"] == []
    assert code == 0
    text = MUCH.format(image=sides.image, name=sides.name)
    for old, new, what in (
        ("exec sleep 3600", "exec sleep 99", "its command is not the one in the file"),
        ("PLAIN=a", "PLAIN=b", "PLAIN is not the declared value"),
        ("      - EMPTY=\n", "", "EMPTY is set, and neither the file nor the image says so"),
        ("./data:/data", "./other:/data", "is mounted at /data, the file says ./other"),
        ("named:/named:ro", "named:/elsewhere", "nothing is mounted at /elsewhere"),
        ("name: {name}-called", "name: x", f"{sides.name}-called is mounted at /called"),
        ("  pi:\n", "  pie:\n", "the file has no service pi any more"),
    ):
        changed = text.replace(old.format(name=sides.name), new)
        assert changed != text
        sides.compose(changed, "GIVEN='x y'\n")
        _, told = sides.drift(f"container:{sides.name}-pi")
        assert any(what in note for note in rows(told)["compose"]["notes"]), what
    sides.compose(text, "GIVEN='x y'\n")
    (sides.folder / "app.env").write_text("FIRST=2\nQUOTED='two words'\n")
    _, told = sides.drift(f"container:{sides.name}-pi")
    assert [n.partition(": ")[2] for n in rows(told)["compose"]["notes"]] == [
        "FIRST is not the declared value"
    ]


def test_what_comes_from_the_shell_of_whoever_ran_compose_is_not_compared(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides.build("mailbox")
    monkeypatch.setenv("TOKEN", TOKEN)
    sides.compose(COMPOSE.format(image=sides.image, name=sides.name))
    code, told = sides.drift(f"container:{sides.name}-pi")
    assert (code, rows(told)["compose"]["standing"]) == (3, "unseen")
    assert rows(told)["compose"]["notes"] == [
        "TOKEN was not compared: its value comes from the shell that runs compose"
    ]


def test_a_side_that_is_not_seen_is_never_the_same(sides: Sides) -> None:
    sides.build("mailbox")
    composed(sides)
    sides.start("other")
    (sides.folder / "compose.yml").unlink()
    code, told = sides.drift(f"docker-daemon:{sides.image}")
    assert code == 3
    assert rows(told)["compose"]["standing"] == "unseen"
    assert "not on the machine of the engine" in rows(told)["compose"]["notes"][0]
    assert told["drift"][0]["seen"] == 3
    stopped = sides.client.containers.get(f"{sides.name}-other")
    stopped.stop()
    code, told = sides.drift(f"docker-daemon:{sides.image}", f"container:{sides.name}-other")
    seen = rows(told)[f"container {sides.name}-pi"], rows(told)["container"]
    assert {side["standing"] for side in seen} == {"same", "unseen"}
    assert (code, told["drift"][0]["seen"], told["drift"][0]["total"]) == (3, 2, 4)
    verdicts = {f["gate"]: f["verdict"] for f in told["findings"]}
    for gate in ("bridge.fresh", "fleet.baked"):
        assert verdicts[gate] == "not-checked", told["findings"]
    _, told = sides.drift(f"docker-daemon:{sides.image}")
    assert told["drift"][0]["notes"] == [f"container {sides.name}-other is exited"]
    _, text = sides.told(f"docker-daemon:{sides.image}")
    assert f"not looked at: container {sides.name}-other is exited" in " ".join(text.split())


def test_all_sides_behind_alike_are_advisory(sides: Sides) -> None:
    sides.build("stamp")
    sides.start()
    code, told = sides.drift(f"docker-daemon:{sides.image}")
    assert (code, set(standings(told).values())) == (0, {"behind"})
    assert told["drift"][0]["newest"]["id"] == sides.history.level("mailbox").commit
    assert sides.drift(f"docker-daemon:{sides.image}", "--strict")[0] == 2


def test_an_engine_elsewhere_keeps_its_compose_files(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its machine is not this one: a file of the same path here is another file."""
    sides.build("mailbox")
    composed(sides)
    monkeypatch.setattr("fleet.connectors.engine.Endpoint.local", property(lambda _: False))
    monkeypatch.setattr("fleet.connectors.engine._knock", lambda _: None)
    code, told = sides.drift(f"container:{sides.name}-pi")
    assert (code, rows(told)["compose"]["standing"]) == (3, "unseen")
    assert "it lies on the machine of the engine at" in rows(told)["compose"]["notes"][0]


def test_an_audit_shows_the_table_where_something_differs(sides: Sides) -> None:
    sides.build("feed")
    sides.start()
    inventory = sides.folder / "fleet.yml"
    inventory.write_text(
        f"vars: {{toolkit_clone: {sides.history.folder}}}\n"
        f"containers:\n  box: {{container: {sides.name}, systems: [mempalace-bridge]}}\n"
        f"images:\n  image: {{image: 'docker-daemon:{sides.image}', systems: [mempalace-bridge]}}\n"
    )
    _, told = sides.run("audit", "--format", "json")
    assert [t["drifted"] for t in told["drift"]] == [False]
    assert "\nDrift\n" not in sides.read("audit")
    sides.build("mailbox")
    _, told = sides.run("audit", "--format", "json")
    (table,) = told["drift"]
    assert [s["standing"] for s in table["sides"]] == ["same", "differs"]
    text = sides.read("audit")
    assert "\nDrift\n" in text
    assert "made of an older image than" in text
    code, told = sides.run("drift", "box", "--format", "json")  # and all of its name
    assert (code, {s["target"] for s in told["drift"][0]["sides"]}) == (2, {"box", "image"})
    code, told = sides.run("drift", f"container:{sides.name}", "--format", "json")
    assert (code, {s["target"] for s in told["drift"][0]["sides"]}) == (2, {"box", "image"})
    assert [path.name for path in sides.folder.iterdir()] == ["fleet.yml"]


def test_an_engine_is_asked_once_whatever_the_number_of_images(
    sides: Sides, monkeypatch: pytest.MonkeyPatch
) -> None:
    sides.build("feed")
    old = sides.start("old")
    sides.build("mailbox")
    new = sides.start("new")
    sides.client.containers.get(sides.start("idle")).stop()
    sent: list[str] = []
    real = requests.Session.send

    def counting(session: Any, request: Any, **options: Any) -> Any:
        sent.append(request.url)
        return real(session, request, **options)

    monkeypatch.setattr(requests.Session, "send", counting)
    search = EngineSearch(endpoint(), 30)
    found = {held.name: held for held in search.made_of(sides.image)}
    assert found.keys() == {old, new, f"{sides.name}-idle"}
    assert found[old].image != found[new].image
    assert {held.image_name for held in found.values()} == {sides.image}
    assert [found[name].state for name in sorted(found)] == ["exited", "running", "running"]
    many = len(sent)
    assert not any(search.made_of(f"{sides.name}-none:{n}") for n in range(300))
    by_id = search.made_of(found[new].image)
    assert {held.name for held in by_id} == {new, f"{sides.name}-idle"}
    assert (len(sent), search.lists) == (many, 1)
