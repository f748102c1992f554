"""Where the bridge lies and whether pi would load it."""

import pytest
from support.facts import BRIDGE, World, findings, target

from fleet.facts.model import git_blob
from fleet.facts.paths import State
from fleet.verifier.model import Verdict
from fleet.verifier.toolkit import Commit, Toolkit

LINK = "~/.pi/agent/extensions/mempalace.ts"
SOURCE = "/opt/toolkit/extensions/pi/mempalace.ts"
HERE = target("mempalace-bridge", toolkit="/opt/toolkit")


def deployed(content: bytes = BRIDGE) -> World:
    return (
        World()
        .file(LINK, content, via=[SOURCE])
        .file(SOURCE, content)
        .folder("~/.pi/agent/extensions", "mempalace.ts")
        .launch()
    )


def test_a_link_to_the_declared_file_is_placed_and_seen_and_whole() -> None:
    found = findings(HERE, deployed())
    for gate in ("bridge.placed", "bridge.seen", "bridge.whole", "bridge.feed", "bridge.stamp"):
        assert found[gate].verdict is Verdict.PASS, found[gate]
    assert f"{SOURCE}" in found["bridge.placed"].evidence[0]


def test_the_hops_of_a_chain_are_all_reported() -> None:
    world = deployed().file(LINK, BRIDGE, via=["/srv/a.ts", SOURCE])
    placed = findings(HERE, world)["bridge.placed"]
    assert placed.verdict is Verdict.PASS
    assert any("/srv/a.ts -> /opt/toolkit" in line for line in placed.evidence)


def test_a_dangling_link_is_told_once() -> None:
    world = deployed().broken(LINK, State.DANGLING, at=SOURCE, target=SOURCE)
    found = findings(HERE, world)
    assert found["bridge.placed"].verdict is Verdict.FAIL
    assert found["bridge.placed"].message == "dangling link"
    failing = {g for g, f in found.items() if f.verdict is Verdict.FAIL}
    assert failing == {"bridge.placed"}
    assert found["bridge.feed"].follows == "bridge.placed"


def test_a_loop_is_a_loop() -> None:
    world = deployed().broken(LINK, State.LOOP, target="mempalace.ts")
    assert findings(HERE, world)["bridge.placed"].message == "link loop"


def test_another_target_with_the_same_bytes_fails_placement_only() -> None:
    world = deployed().file(LINK, BRIDGE, via=["/home/u/src/toolkit/extensions/pi/mempalace.ts"])
    found = findings(HERE, world)
    assert found["bridge.placed"].verdict is Verdict.FAIL
    assert found["bridge.placed"].message == "leads to another place"
    assert found["bridge.feed"].verdict is Verdict.PASS


def test_a_regular_file_is_a_kind_mismatch_with_its_content_judged() -> None:
    found = findings(HERE, deployed().file(LINK, b"export default () => {}\n"))
    assert found["bridge.placed"].message == "is a regular file, not a link"
    assert found["bridge.feed"].verdict is Verdict.FAIL
    assert found["bridge.whole"].verdict is Verdict.PASS


def test_what_cannot_be_read_is_an_error_and_not_a_fail() -> None:
    world = deployed().broken(LINK, State.UNREADABLE, at="/home/u/.pi", why="permission denied")
    found = findings(HERE, world)
    assert found["bridge.placed"].verdict is Verdict.ERROR
    assert "/home/u/.pi" in found["bridge.placed"].evidence[0]
    assert found["bridge.feed"].verdict is Verdict.NOT_CHECKED


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"  \n", "is empty"),
        (BRIDGE[: len(BRIDGE) * 2 // 3], "is cut off or broken"),
        (b"const a = process.env.MEMPALACE_FEED;\n", "exports no factory for pi to call"),
    ],
)
def test_what_is_not_whole_gives_no_capability(content: bytes, message: str) -> None:
    found = findings(HERE, deployed(content))
    assert (found["bridge.whole"].verdict, found["bridge.whole"].message) == (
        Verdict.FAIL,
        message,
    )
    assert found["bridge.feed"].verdict is Verdict.NOT_CHECKED
    assert found["bridge.feed"].follows == "bridge.whole"


def test_an_entry_in_settings_places_it_without_a_link() -> None:
    world = deployed().broken(LINK, State.ABSENT)
    world.file("~/.pi/agent/settings.json", b'{"extensions": ["' + SOURCE.encode() + b'"]}')
    assert findings(HERE, world)["bridge.placed"].verdict is Verdict.PASS
    world.file("~/.pi/agent/settings.json", b'{"extensions": ["/elsewhere.ts"]}')
    assert findings(HERE, world)["bridge.placed"].verdict is Verdict.FAIL


@pytest.mark.parametrize(
    ("path", "content", "names", "message"),
    [
        ("index.ts", b"", ["index.ts", "mempalace.ts"], "index.ts hides"),
        ("package.json", b'{"pi": {"extensions": ["./other.ts"]}}', ["package.json"], "lists"),
        (".gitignore", b"*.ts\n", [".gitignore"], "ignores"),
        (".fdignore", b"mempalace.*\n", [".fdignore"], "ignores"),
        ("../settings.json", b'{"extensions": ["-extensions/mempalace.ts"]}', [], "turns it off"),
        ("../settings.json", b'{"extensions": ["!**/mempalace.ts"]}', [], "turns it off"),
    ],
)
def test_what_hides_it_is_named(path: str, content: bytes, names: list[str], message: str) -> None:
    world = deployed().folder("~/.pi/agent/extensions", "mempalace.ts", *names)
    place = "~/.pi/agent/extensions/" + path
    world.file(place.replace("extensions/../", ""), content)
    seen = findings(HERE, world)["bridge.seen"]
    assert seen.verdict is Verdict.FAIL
    assert message in seen.message


@pytest.mark.parametrize(
    ("path", "content"),
    [
        (".gitignore", b"*.ts\n!mempalace.ts\n"),
        ("package.json", b'{"pi": {"extensions": ["./mempalace.ts"]}}'),
        ("package.json", b"{ broken"),
        ("../settings.json", b'{"extensions": ["-mempalace.ts", "-extensions/other.ts"]}'),
        ("../settings.json", b"{ broken"),
    ],
)
def test_what_does_not_hide_it_is_no_finding(path: str, content: bytes) -> None:
    world = deployed()
    world.file(("~/.pi/agent/extensions/" + path).replace("extensions/../", ""), content)
    assert findings(HERE, world)["bridge.seen"].verdict is Verdict.PASS


def test_a_folder_that_cannot_be_listed_is_not_checked() -> None:
    world = deployed().broken("~/.pi/agent/extensions", State.UNREADABLE, why="permission denied")
    assert findings(HERE, world)["bridge.seen"].verdict is Verdict.NOT_CHECKED


def history(*contents: bytes) -> Toolkit:
    """A toolkit whose newest content comes first."""
    commits = [Commit(f"{i:040x}", f"2026-08-{20 - i}", i) for i in range(len(contents))]
    blobs = {git_blob(c): commits[i] for i, c in enumerate(contents)}
    return Toolkit("/src/toolkit", {"extensions/pi/mempalace.ts": blobs})


def test_the_newest_commit_passes_and_an_older_one_tells_how_far_behind() -> None:
    old = b"export default () => {}\n"
    toolkit = history(BRIDGE, b"between", old)
    assert findings(HERE, deployed(), toolkit=toolkit)["bridge.commit"].verdict is Verdict.PASS
    behind = findings(HERE, deployed(old), toolkit=toolkit)
    assert behind["bridge.commit"].verdict is Verdict.WARN
    assert behind["bridge.commit"].message == "2 commits behind"
    assert behind["bridge.feed"].evidence == (
        f"{SOURCE} (via {LINK})",
        "is toolkit 0000000 of 2026-08-18, 2 commits behind; MEMPALACE_FEED is not in it",
    )


def test_unknown_content_is_said_and_a_refusing_git_is_no_failure() -> None:
    assert findings(HERE, deployed(), toolkit=history(b"x"))["bridge.commit"].message == (
        "unknown content"
    )
    refused = Toolkit("/src/toolkit", trouble="git refused: ownership")
    commit = findings(HERE, deployed(), toolkit=refused)["bridge.commit"]
    assert commit.verdict is Verdict.NOT_CHECKED
    assert commit.message == "commit unknown (git refused: ownership)"


def test_the_vendored_client_is_compared_only_where_both_copies_are() -> None:
    token = b"// MCP-STREAMABLE-HTTP-CLIENT-SYNC: 2026-08-20\n"
    peer = "~/.pi/agent/extensions/mcp-loader.ts"
    world = deployed(token + BRIDGE).broken(peer, State.ABSENT)
    assert findings(HERE, world)["bridge.sync"].verdict is Verdict.NOT_APPLICABLE
    assert findings(HERE, world.file(peer, token))["bridge.sync"].verdict is Verdict.PASS
    other = world.file(peer, token.replace(b"20\n", b"21\n"))
    assert findings(HERE, other)["bridge.sync"].verdict is Verdict.FAIL


def test_another_file_of_the_toolkit_is_no_whole_bridge() -> None:
    readme = b"# The sample toolkit\n\nWhat it is: [a bridge](x).\n"
    blobs = {git_blob(readme): Commit("0" * 40, "2026-08-20", 0)}
    toolkit = Toolkit("/src/toolkit", {"README.md": blobs})
    whole = findings(HERE, deployed(readme), toolkit=toolkit)["bridge.whole"]
    assert whole.verdict is Verdict.FAIL
