"""The checks in pyinfra's words: facts, and commands where it has no fact."""

import judged
from judged import AGENT, ENV, EXTENSION, EXTENSIONS, HELPER
from pyinfra import host
from pyinfra.facts.crontab import Crontab
from pyinfra.facts.files import File, FileContents, FindInFile, FindLinks, Link
from pyinfra.facts.server import Command, Processes


def launched(words: str) -> list[str]:
    """Return what a command prints where pi is launched from, in lines."""
    return command(f"bash -lc '{words}'").splitlines()


def command(words: str) -> str:
    """Return what a command prints."""
    return host.get_fact(Command, command=words) or ""


def text(path: str) -> str:
    """Return a file's text; an empty one where there is none."""
    lines = host.get_fact(FileContents, path=path)
    return "".join(f"{line}\n" for line in lines or ())


def environment(pid: int) -> dict[str, str]:
    """Return the environment of a process."""
    return judged.exported(command(f"tr '\\0' '\\n' </proc/{pid}/environ"))


bridge = text(EXTENSION)
link = host.get_fact(Link, path=EXTENSION)
names = command(f"ls -A {EXTENSIONS}").splitlines()
hiders = {name: text(f"{EXTENSIONS}/{name}") for name in judged.HIDERS if name in names}
peer = text(f"{EXTENSIONS}/{judged.PEER}") if judged.PEER in names else ""
files = {name: text(f"{AGENT}/{name}.json") for name in judged.FILES}
seen = {
    **judged.marked(bridge),
    "placed": bool(link) and link["link_target"] == judged.BRIDGE,
    "whole": judged.whole(judged.digest(bridge)),
    "sync": judged.synced(bridge, peer),
    "seen": judged.seen(names, hiders, files["settings"]),
    "single": not judged.owned([text(path) for path in judged.REGISTRATIONS]),
}

env = host.get_fact(File, path=ENV)
exported = judged.exported("\n".join(launched("env")))
seen["env-file"] = judged.declared(judged.assigned(text(ENV)))
seen["env-mode"] = bool(env) and env["mode"] == 600
seen["env-loaded"] = judged.declared(exported)
seen["identity"] = judged.identified(exported)

timers = host.get_fact(FindLinks, path=judged.TIMERS, fname=f"*{HELPER}*")
crontab = host.get_fact(Crontab)
scheduled = bool(timers) or any(HELPER in line for line in crontab.items())
helper = "".join(launched(f"command -v {HELPER} || true"))
knows = bool(helper) and bool(host.get_fact(FindInFile, path=helper, pattern="--prepare"))
seen["fallback"] = seen["feed"] and judged.feeding(exported) and not scheduled
seen["feed-on"] = judged.feeding(exported) and knows

pis = launched("type -ap pi | xargs -n1 readlink -f")
folder = judged.package_of(pis[0])
package = judged.parsed(text(f"{folder}/package.json"))
seen["pi"] = judged.maintained(pis, package)
seen["events"] = judged.settled(package)
seen["node"] = judged.node_suits("".join(launched("node --version")), package)
seen["prereqs"] = judged.equipped(launched("command -v git uv tmux; tmux -V"))
seen["settings"] = all(
    judged.fits(content, text(f"{folder}/schemas/{name}.schema.json"))
    for name, content in files.items()
    if content
)
seen["writable"] = command(f"test -w {AGENT} && echo yes || echo no") == "yes"

processes = host.get_fact(Processes)
running = {pid: environment(pid) for pid, p in processes.items() if p["command"] in judged.PIS}
remote = [pid for pid, held in running.items() if held.get("MEMPALACE_REMOTE_URL")]
children = [command(f"ps -o args= --ppid {pid}") for pid in remote]
seen["running"] = all(map(judged.declared, running.values()))
seen["no-local"] = not any("mempalace-mcp" in child for child in children)
for name, holds in seen.items():
    print(f"bench-truth {host.name} {name} {int(holds)}", flush=True)
