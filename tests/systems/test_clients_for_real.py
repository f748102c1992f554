"""Gates of the bridge, the flip and the environment on a real home: those that files decide.

What only a running pi, a palace or a container can show is in the tests of those.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest
from support.living import Living
from support.mcp_files import server
from support.mcp_server import self_signed
from support.places import ROOT
from support.probing import NOBODY, need_root, shells

from fleet.inventory.model import Value
from fleet.verifier.model import Verdict

PASS, WARN, FAIL, UNSEEN = Verdict.PASS, Verdict.WARN, Verdict.FAIL, Verdict.NOT_CHECKED
URL = "https://palace.example.net/mcp"
BRIDGE = ".pi/agent/extensions/mempalace.ts"
PEER = ".pi/agent/extensions/mcp-loader.ts"
CONF = ".tmux.conf"
STORE = ".mempalace/palace/chroma.sqlite3"
ENV = ".config/pi/.env"
REMOTE = {"MEMPALACE_REMOTE_URL": URL}
DESKTOP = {"MEMPALACE_MAILBOX_NOTIFY": "desktop"}
PASSES = "set -g allow-passthrough on\n"
SETTINGS, SERVERS = ".pi/agent/settings.json", ".pi/agent/mcp.json"
ADAPTER = json.dumps({"packages": ["npm:pi-mcp-adapter"]})
DIRECT = json.dumps(server(url=URL, directTools=True))
LARGE = "//" + "x" * 600_000
SHIPPED = (ROOT / "toolkit/extensions/pi/mempalace.ts").read_text()


def peer(token: str) -> str:
    """Another copy of the client that the bridge carries, by the token that names it."""
    return f"// MCP-STREAMABLE-HTTP-CLIENT-SYNC: {token}\nexport default function (pi) {{}}\n"


@dataclass(frozen=True, slots=True)
class Home:
    """What lies in a home, and what its login shell does.

    Attributes:
        files: text by path; the shipped bridge lies there too, where nothing else is said.
        exports: what the login shell exports.
        programs: what is on its PATH, beside the bridge's helper.
        variables: what the inventory says.
        ages: seconds ago that a file was written, by path.
        launch: how pi is launched.
    """

    wanted: Mapping[str, Verdict]
    files: Mapping[str, str] = field(default_factory=dict)
    exports: Mapping[str, str] = field(default_factory=dict)
    programs: tuple[str, ...] = ()
    variables: Mapping[str, Value] = field(default_factory=dict)
    ages: Mapping[str, int] = field(default_factory=dict)
    launch: str = "bash -lc"


CASES = {
    "nothing hides it": Home({"bridge.seen": PASS}),
    "an index that hides it": Home(
        {"bridge.seen": FAIL},
        files={".pi/agent/extensions/index.ts": "export default function (pi) {}\n"},
    ),
    "what may hide it is not read": Home(
        {"bridge.seen": UNSEEN}, files={".pi/agent/extensions/.gitignore": LARGE}
    ),
    "the adapter declares the tools too": Home(
        {"bridge.single": FAIL}, files={SETTINGS: ADAPTER, SERVERS: DIRECT}
    ),
    "no other owner of the tools": Home(
        {"bridge.single": PASS}, files={SETTINGS: ADAPTER, SERVERS: "{}"}
    ),
    "who else declares them is not read": Home(
        {"bridge.single": UNSEEN}, files={SETTINGS: ADAPTER, SERVERS: "{\0}"}
    ),
    "another copy that is not read": Home({"bridge.sync": UNSEEN}, files={PEER: LARGE}),
    "two copies of one client": Home({"bridge.sync": PASS}, files={PEER: peer("@")}),
    "two copies that drifted": Home({"bridge.sync": FAIL}, files={PEER: peer("0")}),
    "a helper, and a way for transcripts": Home(
        {"bridge.feed-on": PASS, "bridge.feed-remote": PASS},
        exports=REMOTE | {"MEMPALACE_PI_SSH_TARGET": "vault"},
        programs=("rsync", "ssh"),
    ),
    "feeding is off, and there is no way for transcripts": Home(
        {"bridge.feed-on": FAIL, "bridge.feed-remote": FAIL, "bridge.fallback": FAIL},
        exports=REMOTE | {"MEMPALACE_FEED": "0"},
    ),
    "a helper that nobody declared": Home(
        {"bridge.feed-on": UNSEEN}, exports={"MEMPALACE_FEED_BIN": "/opt/session"}
    ),
    "a ping without tmux": Home({"bridge.notify-path": PASS}, exports=DESKTOP),
    "a ping that tmux swallows": Home(
        {"bridge.notify-path": WARN}, exports=DESKTOP, programs=("tmux",)
    ),
    "a ping that tmux hands on": Home(
        {"bridge.notify-path": PASS},
        files={CONF: PASSES, BRIDGE: f"{SHIPPED}\nexport const wrapped = 'Ptmux;';\n"},
        exports=DESKTOP,
        programs=("tmux",),
    ),
    "half an identity": Home({"bridge.identity": FAIL}, exports={"MEMPALACE_PI_DEVICE": "box"}),
    "a whole one": Home({"bridge.identity": PASS}, exports=REMOTE | {"MEMPALACE_PI_DEVICE": "box"}),
    "certificates that are there": Home({"flip.ca": PASS}, variables={"client_ca": "@/cert.pem"}),
    "certificates that are none": Home(
        {"flip.ca": FAIL}, files={"other.pem": "none\n"}, variables={"client_ca": "@/other.pem"}
    ),
    "certificates that nobody declared": Home(
        {"flip.ca": UNSEEN},
        exports=REMOTE | {"NODE_EXTRA_CA_CERTS": "/etc/own.pem"},
        variables={"palace_url": URL, "palace_ca": "own.pem"},
    ),
    "an archive that is dead": Home(
        {"flip.archive": PASS},
        files={STORE: "", ENV: ""},
        exports=REMOTE,
        ages={STORE: 7200, ENV: 3600},
    ),
    "an archive that is written to": Home(
        {"flip.archive": WARN},
        files={STORE: "", ENV: ""},
        exports=REMOTE,
        ages={STORE: 3600, ENV: 7200},
    ),
    "nobody knows since when it is remote": Home(
        {"flip.archive": UNSEEN}, files={STORE: ""}, exports=REMOTE
    ),
    "a shell that is not there": Home(
        dict.fromkeys(
            (
                *("env.loaded", "env.url", "flip.path"),
                *("bridge.events", "bridge.feed-remote", "bridge.identity", "bridge.notify-path"),
            ),
            UNSEEN,
        ),
        variables={"palace_url": URL},
        launch="nosuchshell -lc",
    ),
    "a reader of the file that nobody knows": Home(
        {"env.file": UNSEEN},
        files={ENV: f"MEMPALACE_REMOTE_URL={URL}\n"},
        variables={"palace_url": URL, "env_reader": "fish"},
    ),
}


@pytest.fixture
def here(tmp_path: Path) -> Living:
    for name in ("tools", "home", "bin"):
        (tmp_path / name).mkdir()
    return Living(
        tmp_path / "home", shells(tmp_path / "tools")["dash"], ("env", "mempalace-bridge")
    )


def furnish(here: Living, home: Home) -> None:
    """Put into a home what a case says; `@` in a text is the shipped client's token."""
    token = SHIPPED.partition("MCP-STREAMABLE-HTTP-CLIENT-SYNC: ")[2].split()[0]
    for name, text in {BRIDGE: SHIPPED, **home.files}.items():
        path = here.home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text.replace("SYNC: @", f"SYNC: {token}"))
    for name, age in home.ages.items():
        moment = (here.home / name).stat().st_mtime - age
        os.utime(here.home / name, (moment, moment))
    folder = here.home.parent / "bin"
    helper = ROOT / "toolkit/bin/mempalace-pi-session"
    (folder / helper.name).symlink_to(helper)
    for name in home.programs:
        program = shutil.which(name)
        assert program, f"there is no {name} here"
        (folder / name).symlink_to(program)
    exports = "".join(f"export {name}='{value}'\n" for name, value in home.exports.items())
    (here.home / ".bash_profile").write_text(f"export PATH='{folder}'\n{exports}")


@pytest.mark.parametrize("name", CASES)
def test_what_lies_in_a_home_decides(here: Living, name: str) -> None:
    home = CASES[name]
    furnish(here, home)
    self_signed(here.home)
    variables = {
        key: str(value).replace("@", str(here.home)) for key, value in home.variables.items()
    }
    where = replace(here.declared(**variables), launches=(home.launch,), require=("feed",))
    found = here.findings(where)
    assert {gate: found[gate].verdict for gate in home.wanted} == home.wanted, [
        found[gate] for gate in home.wanted
    ]


MARKED = ("feed", "stamp", "mailbox", "notify", "remote", "stall", "heal", "schema")


def test_what_a_bridge_can_do_is_open_where_it_could_not_be_read(here: Living) -> None:
    furnish(here, Home({}, files={BRIDGE: SHIPPED + LARGE}))
    found = here.findings(here.declared())
    told = {gate: found[gate].message for gate in ("bridge.whole", "bridge.commit")}
    assert told == dict.fromkeys(told, "larger than 524288 bytes: not read")
    for gate in ("bridge.whole", "bridge.commit", "bridge.fallback"):
        assert found[gate].verdict is UNSEEN, found[gate]
    for gate in MARKED:
        one = found[f"bridge.{gate}"]
        assert (one.verdict, one.follows) == (UNSEEN, "bridge.whole"), one


def test_what_a_bridge_can_do_is_told_by_what_lies_there(here: Living) -> None:
    furnish(here, Home({}))
    able = here.findings(here.declared())
    (here.home / BRIDGE).write_text("export default function (pi) {}\n")
    unable = here.findings(here.declared())
    for gate in MARKED:
        assert able[f"bridge.{gate}"].verdict is PASS, able[f"bridge.{gate}"]
        assert unable[f"bridge.{gate}"].verdict is FAIL, unable[f"bridge.{gate}"]


def test_a_folder_of_somebody_else_cannot_be_looked_at(here: Living) -> None:
    need_root()
    furnish(here, Home({}, files={ENV: f"MEMPALACE_REMOTE_URL={URL}\n"}))
    for folder in here.home.parents:
        if folder.stat().st_uid == 0 and folder not in (Path("/"), Path("/tmp")):
            folder.chmod(folder.stat().st_mode | 0o055)
    here.home.chmod(0o755)
    for name in (".pi", ".config"):
        (here.home / name).chmod(0o700)
    found = here.findings(here.declared(palace_url=URL), uid=NOBODY)
    for gate in ("bridge.placed", "bridge.seen", "bridge.whole", "env.file"):
        assert found[gate].verdict is Verdict.ERROR, found[gate]
        assert "permission denied" in found[gate].message
    mode = found["env.mode"]
    assert (mode.verdict, mode.follows) == (UNSEEN, "env.file"), mode
