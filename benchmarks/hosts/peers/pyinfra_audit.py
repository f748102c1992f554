"""The checks in pyinfra's words: facts, and commands where it has no fact."""

import json
import os

from pyinfra import host
from pyinfra.facts.files import File, FindInFile, Link
from pyinfra.facts.server import Command

WORK = json.loads(os.environ["BENCH_WORK"])
EXTENSION = "/root/.pi/agent/extensions/mempalace.ts"
BRIDGE = "/root/mempalace-toolkit/extensions/pi/mempalace.ts"
ENV = "/root/.config/pi/.env"


def launched(words: str) -> str:
    """Return what a command prints where pi is launched from."""
    return str(host.get_fact(Command, command=f"bash -lc '{words}'"))


def parses(text: str) -> bool:
    """Tell whether a text is JSON."""
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


link = host.get_fact(Link, path=EXTENSION)
seen = {"placed": bool(link) and link["link_target"] == BRIDGE}
for name, texts in WORK["markers"].items():
    found = [
        host.get_fact(FindInFile, path=EXTENSION, pattern=text.replace(".", r"\."))
        for text in texts
    ]
    seen[name] = all(found)
lines = [f"^{name}='{value}'$" for name, value in WORK["variables"].items()]
seen["env-file"] = all([host.get_fact(FindInFile, path=ENV, pattern=line) for line in lines])
env = host.get_fact(File, path=ENV)
seen["env-mode"] = bool(env) and env["mode"] == 600
wanted = WORK["variables"]
seen["env-loaded"] = all([launched(f"printenv {name}") == wanted[name] for name in wanted])
package = launched('cat "$(dirname "$(readlink -f "$(command -v pi)")")/../../package.json"')
seen["pi"] = json.loads(package)["name"] == "@earendil-works/pi-coding-agent"
version = launched("node --version").lstrip("v").split(".")
seen["node"] = [int(part) for part in version[:2]] >= [22, 19]
seen["settings"] = parses(host.get_fact(Command, command="cat /root/.pi/agent/settings.json"))
writable = host.get_fact(Command, command="test -w /root/.pi/agent && echo yes || echo no")
seen["writable"] = writable == "yes"
for name, holds in seen.items():
    print(f"bench-truth {host.name} {name} {int(holds)}", flush=True)
