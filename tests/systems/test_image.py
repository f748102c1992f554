"""The gates about an image itself, asked of images as they lie on a disk."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.images import PASSWD
from support.judged_images import BASE, BRIDGE, CLEAN, TOKEN, asked, baked, told
from support.places import CASES
from support.trees import image

from fleet.demo.layout import BakedImage, Member, layer, write_layout
from fleet.facts.images import ImageFact, ScanFact
from fleet.facts.model import Facts, Platform
from fleet.facts.paths import PathFact, State
from fleet.facts.request import Depth
from fleet.facts.running import ContainerFact
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target, Value
from fleet.systems.catalogue import load_catalogue
from fleet.systems.resolve import resolve
from fleet.verifier.judge import Expectations, is_required, judge
from fleet.verifier.model import Finding, Verdict

PASS, FAIL, WARN = Verdict.PASS, Verdict.FAIL, Verdict.WARN
UNSEEN, APART = Verdict.NOT_CHECKED, Verdict.NOT_APPLICABLE


def canned(fact: ImageFact | None, **variables: Value) -> dict[str, Finding]:
    """Judge facts about an image that says a thing no builder of ours would write."""
    where = replace(image("docker-daemon", "palace"), variables=variables)
    facts = Facts(
        target=where.name,
        address=str(where.address),
        kind="image",
        taken_at=datetime(2026, 12, 1, tzinfo=UTC),
        nonce="n0",
        platform=Platform(home="/home/node", rule="its passwd", user="node", uid=1000),
        image=fact,
    )
    catalogue = load_catalogue()
    resolved = resolve([catalogue.system("image")], where)
    today = Expectations(today=datetime(2026, 12, 1, tzinfo=UTC).date())
    return {f.gate: f for f in judge(where, resolved, facts, catalogue, today)}


def test_a_clean_image_holds_and_says_what_was_looked_at(tmp_path: Path) -> None:
    found = asked(baked(tmp_path), "mempalace-bridge")
    gates = ("env", "layers", "user", "artifacts", "volume", "date", "arch")
    assert {gate: found[f"image.{gate}"].verdict for gate in gates} == dict.fromkeys(gates, PASS)
    assert found["image.layers"].message == "no secret found; read 1 of 2 files in 1 layer"
    assert "--scan all" in told(found["image.layers"])
    assert "1 secret of the inventory" in told(found["image.layers"])


@pytest.mark.parametrize(
    ("config", "place"),
    [
        ({"Env": [f"PALACE_TOKEN={TOKEN}"]}, "env"),
        ({"Env": [f"PALACE={TOKEN}"]}, "env: !secret env:PALACE_TOKEN"),
        ({"Labels": {"build.args": f"NPM_TOKEN={TOKEN}"}}, "label build.args"),
        ({"Cmd": ["serve", "--token", TOKEN]}, "cmd"),
        ({"Entrypoint": ["/bin/sh", "-c", f"A_TOKEN={TOKEN} pi"]}, "entrypoint"),
        ({"Healthcheck": {"Test": ["CMD-SHELL", f"curl -H 'Bearer {TOKEN}' h"]}}, "healthcheck"),
    ],
)
def test_a_secret_in_each_part_of_the_configuration(
    config: dict[str, object], place: str, tmp_path: Path
) -> None:
    found = asked(baked(tmp_path, config=CLEAN | config))["image.env"]
    assert (found.verdict, found.required) == (FAIL, True)
    assert place in told(found)


def test_a_secret_in_the_history(tmp_path: Path) -> None:
    steps = [{"created_by": "COPY . ."}, {"created_by": f"RUN |1 NPM_TOKEN={TOKEN} npm ci"}]
    found = asked(baked(tmp_path, extra={"history": steps}))["image.env"]
    assert found.verdict is FAIL
    assert found.evidence[0] == "history 2: NPM_TOKEN: a telling name"


def test_a_secret_in_a_layer_decides_and_names_layer_and_file(tmp_path: Path) -> None:
    npmrc = Member("home/node/.npmrc", f"//h/:_authToken={TOKEN}\n".encode())
    where = baked(tmp_path, BASE, [npmrc], [Member("home/node/.wh..npmrc")])
    found = asked(where)["image.layers"]
    assert (found.verdict, found.required) == (FAIL, True)
    (line,) = found.evidence
    assert line.startswith("/home/node/.npmrc: ")
    assert "!secret env:PALACE_TOKEN (a secret of the inventory)" in line
    assert "layer 2 of 3" in line
    assert "gone since layer 3" in line


def test_what_no_path_tells_is_found_by_reading_all(tmp_path: Path) -> None:
    where = baked(tmp_path, BASE, [Member("srv/page.txt", TOKEN.encode())])
    assert asked(where)["image.layers"].verdict is PASS
    found = asked(where, depth=Depth.ALL)["image.layers"]
    assert (found.verdict, "/srv/page.txt" in told(found)) == (FAIL, True)


@pytest.mark.parametrize(
    ("scan", "message"),
    [
        (None, "take them again"),
        (ScanFact(depth="likely"), "could not be seen"),
        (
            ScanFact(
                depth="likely", layers=2, unseen={1: "the API shows none", 2: "the API shows none"}
            ),
            "its layers could not be seen: the API shows none",
        ),
        (
            ScanFact(depth="likely", layers=3, unseen={2: "not downloaded"}),
            "2 of 3 (not downloaded)",
        ),
        (ScanFact(depth="likely", layers=1, cut="20 s had passed"), "when 20 s had passed"),
    ],
)
def test_layers_that_were_not_seen_are_not_checked(scan: ScanFact | None, message: str) -> None:
    found = canned(ImageFact(id="sha256:1", scan=scan))["image.layers"]
    assert (found.verdict, found.required) == (UNSEEN, False)
    assert message in told(found)


def test_a_configuration_that_was_not_searched_is_not_checked() -> None:
    found = canned(ImageFact(id="sha256:1"))["image.env"]
    assert (found.verdict, found.required) == (UNSEEN, True)


def test_unseen_layers_count_where_clean_ones_are_required() -> None:
    where = replace(image("docker-daemon", "palace"), require=("clean-layers",))
    catalogue = load_catalogue()
    _, gate = catalogue.gate("image.layers")
    assert is_required(where, gate)
    assert not is_required(replace(where, require=()), gate)


@pytest.mark.parametrize(
    ("user", "verdict", "words"),
    [
        ("node", PASS, "/home/node, by its passwd, user node"),
        ("1000:1000", PASS, "/home/node"),
        ("", WARN, "no USER is set"),
        ("0", WARN, "pi runs as root: USER is 0"),
        ("4711", WARN, "/, by its passwd does not know"),
        ("ghost", FAIL, "USER is ghost, whom its passwd does not know"),
    ],
)
def test_whose_home_it_is(user: str, verdict: Verdict, words: str, tmp_path: Path) -> None:
    found = asked(baked(tmp_path, config=CLEAN | {"User": user}))["image.user"]
    assert found.verdict is verdict, told(found)
    assert words in told(found)


def test_a_root_folder_has_no_configuration(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/passwd").write_bytes(PASSWD.content)
    found = asked(image("rootfs", tmp_path))
    assert found["image.user"].verdict is UNSEEN
    assert {found[f"image.{g}"].verdict for g in ("env", "date", "arch", "volume")} == {APART}


@pytest.mark.parametrize(
    ("volume", "verdict"),
    [
        ("/home/node/.pi", FAIL),
        ("/home/node/.pi/agent/extensions/", FAIL),
        ("/home", FAIL),
        ("/home/node/.pi/agent/sessions", PASS),
        ("/home/node/.pi/agent/ext", PASS),
        ("/data", PASS),
    ],
)
def test_a_volume_that_hides_what_was_baked(volume: str, verdict: Verdict, tmp_path: Path) -> None:
    found = asked(baked(tmp_path, config=CLEAN | {"Volumes": {volume: {}}}))["image.volume"]
    assert found.verdict is verdict, told(found)
    assert volume in told(found)


def test_a_volume_over_what_a_link_leads_to(tmp_path: Path) -> None:
    files = [
        PASSWD,
        Member("opt/kit/mempalace.ts", BRIDGE.content),
        Member(BRIDGE.path, kind="link", target="/opt/kit/mempalace.ts"),
    ]
    where = baked(tmp_path, files, config=CLEAN | {"Volumes": {"/opt/kit": {}}})
    found = asked(where, "mempalace-bridge")["image.volume"]
    assert (found.verdict, "/opt/kit/mempalace.ts is under it" in found.evidence) == (FAIL, True)


def test_a_volume_over_a_link_on_the_way(tmp_path: Path) -> None:
    files = [
        PASSWD,
        Member("home/node/.pi", kind="link", target="/srv/pi"),
        Member("srv/pi/agent/extensions/mempalace.ts", BRIDGE.content),
    ]
    where = baked(tmp_path, files, config=CLEAN | {"Volumes": {"/home/node/.pi": {}}})
    found = asked(where)["image.volume"]
    assert (found.verdict, found.evidence) == (FAIL, ("/home/node/.pi is under it",))


@pytest.mark.parametrize(
    ("mounts", "verdict"),
    [
        ({}, PASS),
        ({"/home/node/.pi/agent/sessions": "sessions"}, PASS),
        ({"/home/node/.pi": "state"}, WARN),
        ({"/home/node/.pi/agent/extensions/mempalace.ts": "/srv/mempalace.ts"}, WARN),
        (None, UNSEEN),
    ],
)
def test_a_mount_over_the_agent_folder_of_a_container(
    mounts: dict[str, str] | None, verdict: Verdict
) -> None:
    where = Target("box", parse_address("container:box"), systems=("image",))
    catalogue = load_catalogue()
    resolved = resolve([catalogue.system("image")], where)
    agent = PathFact(
        path="~/.pi/agent",
        absolute="/home/node/.pi/agent",
        final="/home/node/.pi/agent",
        state=State.PRESENT,
        kind="directory",
    )
    facts = Facts(
        target="box",
        address="container:box",
        kind="container",
        taken_at=datetime(2026, 12, 1, tzinfo=UTC),
        nonce="n0",
        platform=Platform(home="/home/node", rule="its passwd", user="node", uid=1000),
        paths={agent.path: agent},
        container=None
        if mounts is None
        else ContainerFact(name="box", state="running", mounts=mounts),
    )
    today = Expectations(today=datetime(2026, 12, 1, tzinfo=UTC).date())
    found = {f.gate: f for f in judge(where, resolved, facts, catalogue, today)}
    assert found["image.volume"].verdict is verdict, told(found["image.volume"])
    assert found["image.env"].verdict is APART


def test_an_image_that_holds_nothing_of_its_systems(tmp_path: Path) -> None:
    found = asked(baked(tmp_path, [PASSWD]), "mempalace-bridge")["image.artifacts"]
    assert found.verdict is FAIL
    assert "/home/node" in told(found)


def test_artifacts_that_could_not_be_seen(tmp_path: Path) -> None:
    folder = ".pi/agent/extensions"
    hard = Member(f"home/node/{folder}", kind="hard", target="nowhere")
    found = asked(baked(tmp_path, [PASSWD, hard]), "mempalace-bridge")
    for gate in ("image.artifacts", "image.volume"):
        told_of = found[gate]
        assert (told_of.verdict, "could not be seen" in told_of.message) == (UNSEEN, True)


@pytest.mark.parametrize(
    ("architecture", "verdict", "words"),
    [
        ("s390x", WARN, "is for linux/s390x, and was looked at on "),
        ("", UNSEEN, "the image does not say which platform it is for"),
    ],
)
def test_an_image_of_another_machine_or_of_none(
    architecture: str, verdict: Verdict, words: str, tmp_path: Path
) -> None:
    platform = {"architecture": architecture, "os": "linux" if architecture else ""}
    found = asked(baked(tmp_path, extra=platform))["image.arch"]
    assert (found.verdict, found.message.startswith(words)) == (verdict, True), told(found)


def test_the_date_is_shown_and_decides_nothing(tmp_path: Path) -> None:
    where = baked(tmp_path, extra={"created": "2031-01-01T00:00:00Z"})
    found = asked(where)["image.date"]
    assert (found.verdict, found.required) == (PASS, False)
    assert "2031-01-01T00:00:00Z; that decides nothing" in found.message
    assert asked(baked(tmp_path / "b"))["image.date"].verdict is PASS


def test_the_engine_that_was_asked_and_the_way_are_shown() -> None:
    fact = ImageFact(
        id="sha256:1",
        engine="unix:///run/x.sock (DOCKER_HOST)",
        way="api",
        passed_over=("overlay2: only root sees the engine's folders as they are",),
    )
    found = canned(fact)["image.date"]
    assert found.verdict is PASS
    assert found.evidence[1:] == (
        (
            "it was read from the engine at unix:///run/x.sock (DOCKER_HOST),"
            " by a container that was never started"
        ),
        "a quicker way was passed over, overlay2: only root sees the engine's folders as they are",
    )


@pytest.mark.parametrize("layout", ["zstd", "mislabelled"])
def test_h05_a_bridge_is_judged_whatever_its_layer_is_compressed_by(layout: str) -> None:
    found = asked(image("oci", CASES / "H05" / layout), "mempalace-bridge")
    gates = ("bridge.placed", "bridge.whole", "bridge.feed", "bridge.stamp", "image.artifacts")
    assert {gate: found[gate].verdict for gate in gates} == dict.fromkeys(gates, PASS)


def test_h04_a_whiteout_without_a_name_is_told_beside_whatever_else_is_wrong() -> None:
    found = asked(image("oci", CASES / "H04" / "layout", "palace:1"), "mempalace-bridge")
    assert found["image.artifacts"].verdict is FAIL
    assert "holds a whiteout without a name in /a" in told(found["image.artifacts"])


def test_of_several_platforms_the_declared_one_is_judged(tmp_path: Path) -> None:
    both = [BakedImage([layer(BASE)], "palace:1", CLEAN, p) for p in ("linux/amd64", "linux/arm64")]
    write_layout(tmp_path / "both", both)
    found = asked(image("oci", tmp_path / "both", platform="linux/arm64"))["image.arch"]
    assert (found.verdict, found.message) == (PASS, "is for linux/arm64, as declared")
    assert found.evidence == ("not judged: linux/amd64",)


@pytest.mark.parametrize(
    ("there", "declared", "asked_for", "verdict"),
    [
        ("linux/amd64", "", "linux/x86_64", PASS),
        ("linux/arm64", "", "linux/amd64", WARN),
        ("linux/arm64/v8", "linux/arm64", "linux/arm64", PASS),
        ("linux/amd64", "linux/arm64", "linux/arm64", FAIL),
        ("", "", "linux/amd64", UNSEEN),
    ],
)
def test_the_platform_that_is_meant(
    there: str, declared: str, asked_for: str, verdict: Verdict
) -> None:
    variables: dict[str, Value] = {"platform": declared} if declared else {}
    found = canned(ImageFact(platform=there, asked=asked_for), **variables)["image.arch"]
    assert found.verdict is verdict, told(found)
