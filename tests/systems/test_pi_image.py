"""pi in an image, whose programs cannot be run: told by its files."""

from pathlib import Path

import pytest
from support.judged_images import BASE, CLEAN, asked, baked, told

from fleet.demo.layout import Member
from fleet.verifier.model import Verdict

PASS, FAIL, UNSEEN = Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED

PI = "usr/local/lib/node_modules/@earendil-works/pi-coding-agent"
MANIFEST = b"""{"name": "@earendil-works/pi-coding-agent", "version": "1.6.0",
"engines": {"node": ">=22.19.0"}}"""
HEADER = """#define NODE_MAJOR_VERSION 22
#define NODE_MINOR_VERSION {}
#define NODE_PATCH_VERSION 0
"""


def with_pi(*further: Member) -> list[Member]:
    return [
        *BASE,
        Member(f"{PI}/package.json", MANIFEST),
        Member(f"{PI}/dist/cli.js", b"#!/usr/bin/env node", mode=0o755),
        Member("usr/bin/pi", kind="link", target=f"/{PI}/dist/cli.js"),
        Member("usr/bin/node", b"ELF", mode=0o755),
        *further,
    ]


@pytest.mark.parametrize(
    ("minor", "verdict", "words"),
    [
        (19, PASS, "node 22.19.0 (by /usr/include/node/node_version.h) suits pi 1.6.0"),
        (18, FAIL, "node 22.18.0 (by /usr/include/node/node_version.h), pi 1.6.0 needs >=22.19"),
        (None, UNSEEN, "no file beside it tells it"),
    ],
)
def test_the_node_of_an_image_is_told_by_its_files(
    minor: int | None, verdict: Verdict, words: str, tmp_path: Path
) -> None:
    header = [Member("usr/include/node/node_version.h", HEADER.format(minor).encode())]
    found = asked(baked(tmp_path, with_pi(*(header if minor else []))), "pi")
    assert found["pi.node"].verdict is verdict, told(found["pi.node"])
    assert words in told(found["pi.node"])
    assert found["pi.one"].verdict is PASS


def test_an_npm_package_of_node_tells_its_version(tmp_path: Path) -> None:
    files = [
        Member("opt/m/node/package.json", b'{"name": "node", "version": "22.23.3"}'),
        Member("opt/m/node/bin/node", b"ELF", mode=0o755),
    ]
    where = baked(
        tmp_path, with_pi(*files), config=CLEAN | {"Env": ["PATH=/opt/m/node/bin:/usr/bin"]}
    )
    found = asked(where, "pi")["pi.node"]
    assert (found.verdict, "22.23.3" in told(found)) == (PASS, True)


@pytest.mark.parametrize(("tmux", "verdict"), [("3.3a-3", PASS), ("3.1-1", FAIL), ("", UNSEEN)])
def test_the_programs_of_an_image_are_told_by_its_packages(
    tmux: str, verdict: Verdict, tmp_path: Path
) -> None:
    programs = [Member(f"usr/bin/{name}", b"ELF", mode=0o755) for name in ("git", "uv", "tmux")]
    stanza = f"Package: tmux\nStatus: install ok installed\nVersion: {tmux}\n".encode()
    status = [
        Member("var/lib/dpkg/status", stanza),
        Member("var/lib/dpkg/info/tmux.list", b"/usr/bin/tmux\n"),
    ]
    found = asked(baked(tmp_path, with_pi(*programs, *(status if tmux else []))), "pi")
    assert found["pi.prereqs"].verdict is verdict, told(found["pi.prereqs"])


def test_credentials_that_come_when_a_container_starts(tmp_path: Path) -> None:
    programs = [Member(f"usr/bin/{name}", b"ELF", mode=0o755) for name in ("git", "uv")]
    settings = Member("home/node/.pi/agent/settings.json", b'{"defaultProvider": "amazon-bedrock"}')
    found = asked(baked(tmp_path, with_pi(*programs, settings)), "pi")["pi.prereqs"]
    assert found.verdict is FAIL  # there is no tmux
    assert "before a container starts" not in told(found)
    stanza = b"Package: tmux\nStatus: install ok installed\nVersion: 3.3a-3\n"
    tmux = [
        Member("usr/bin/tmux", b"ELF", mode=0o755),
        Member("var/lib/dpkg/status", stanza),
        Member("var/lib/dpkg/info/tmux.list", b"/usr/bin/tmux\n"),
    ]
    found = asked(baked(tmp_path / "b", with_pi(*programs, settings, *tmux)), "pi")["pi.prereqs"]
    assert (found.verdict, "before a container starts" in told(found)) == (UNSEEN, True)


@pytest.mark.parametrize(
    ("files", "verdict"),
    [
        ([Member("home/node/.pi/agent/settings.json", b"{}")], UNSEEN),
        (
            [
                Member("home/node/.pi/agent/settings.json", b'{"theme": 1}'),
                Member(
                    f"{PI}/schemas/settings.schema.json",
                    b'{"properties": {"theme": {"type": "string"}}}',
                ),
            ],
            FAIL,
        ),
        (
            [
                Member("home/node/.pi/agent/settings.json", b'{"theme": "dark"}'),
                Member(
                    f"{PI}/schemas/settings.schema.json",
                    b'{"properties": {"theme": {"type": "string"}}}',
                ),
            ],
            PASS,
        ),
    ],
)
def test_the_settings_of_an_image(files: list[Member], verdict: Verdict, tmp_path: Path) -> None:
    base = BASE if verdict is UNSEEN else with_pi()
    found = asked(baked(tmp_path, [*base, *files]), "pi")["pi.settings"]
    assert found.verdict is verdict, told(found)


@pytest.mark.parametrize(
    ("uid", "mode", "verdict"),
    [(1000, 0o755, PASS), (1001, 0o755, FAIL), (1001, 0o775, UNSEEN)],
    ids=["its own", "another's", "a group's that nobody tells"],
)
def test_who_may_write_in_an_images_agent_folder(
    uid: int, mode: int, verdict: Verdict, tmp_path: Path
) -> None:
    agent = Member("home/node/.pi/agent", kind="directory", mode=mode, uid=uid)
    found = asked(baked(tmp_path, [*with_pi(), agent]), "pi")["pi.writable"]
    assert found.verdict is verdict, told(found)
