"""A way of launching pi that reads no rc file stays on the local palace, and is named."""

import json

from support.homes import Homes

#: As a manager starts programs that nobody gave an environment: a unit of systemd, or launchd.
BARE = "env -i HOME={home} PATH=/usr/bin:/bin sh -c"


def test_a_launch_that_reads_no_rc_file_is_named(homes: Homes) -> None:
    bare = BARE.format(home=homes.home("one"))
    text = homes.inventory.read_text()
    text = text.replace("shell: bash -lc", f"shell: [bash -lc, {json.dumps(bare)}]", 1)
    homes.inventory.write_text(text)
    homes.run("provision", "--yes", "--limit", "one")

    _, found = homes.audit("--limit", "one")

    told = found["one", "env.loaded"]
    assert told["verdict"] == "fail"
    lines = told["evidence"]
    assert isinstance(lines, list)
    evidence = [line for line in lines if "MEMPALACE_REMOTE_URL is not set" in line]
    assert len(evidence) == 1, told  # the login shell has it
    assert evidence[0].startswith("env -i")
    assert found["one", "env.file"]["verdict"] == "pass"
