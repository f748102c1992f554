"""Running copies of pi, and which agent folder each of them works in."""

import posixpath

from fleet.facts.model import Facts
from fleet.facts.running import ProcessFact
from fleet.verifier.look import Look

#: How processes of pi are asked for: it gives itself one of these names.
PIS = ("pi", "pi-rpc")
DEFAULT_FOLDER = ".pi/agent"


def running_pis(facts: Facts) -> list[ProcessFact]:
    """Return the running copies of pi that are not in a container below."""
    found = [process for kind in PIS for process in facts.processes.get(kind, ())]
    return [process for process in found if not process.contained]


def of_this_folder(look: Look, process: ProcessFact) -> bool | None:
    """Tell whether a process works in the target's agent folder.

    None where its environment could not be read and it is the asked user's own; what another user
    runs works in another folder.
    """
    if not process.variables:
        return None if process.user == look.facts.platform.user else False
    home = look.facts.platform.home
    return _folder_of(process) == _plain(look.path(look.text("agent_dir")).absolute, home)


def is_set(process: ProcessFact, name: str) -> bool:
    """Tell whether a variable holds something in a process's environment."""
    held = process.variables.get(name)
    return bool(held and held.set and held.length)


def _folder_of(process: ProcessFact) -> str:
    home = _value(process, "HOME")
    folder = _value(process, "PI_CODING_AGENT_DIR")
    return _plain(folder or posixpath.join(home, DEFAULT_FOLDER), home)


def _plain(path: str, home: str) -> str:
    if path == "~" or path.startswith("~/"):
        path = home + path[1:]
    return posixpath.normpath(path)


def _value(process: ProcessFact, name: str) -> str:
    held = process.variables.get(name)
    return (held.value if held else None) or ""
