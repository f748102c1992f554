"""What YAML cannot say about mempalace's own programs.

What `mempalace status` ends with is never used: it is 0 for a missing and for a corrupt palace.
"""

import json
import re
import tomllib

from packaging.version import Version

from fleet.facts.paths import State
from fleet.facts.running import CommandFact, LaunchFact
from fleet.verifier.launches import Unseen, over_launches, text, unseen_launches
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    failed,
    follows_from,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import missing

PALACE_PATH = "MEMPALACE_PALACE_PATH"
SERVICE = "openai-compat"
SERVICE_SINCE = Version("3.7.0")
#: Where all of these are, nothing is downloaded, and nothing is compared with a checksum.
MODEL_FILES = (
    "config.json",
    "model.onnx",
    "special_tokens_map.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.txt",
)
_NUMBER = re.compile(r"\d+(?:\.\d+)+")


def one(look: Look) -> Judgement:
    """One copy on each launch's PATH, told by the environment it belongs to."""
    judged = over_launches(
        look,
        _not_one,
        good=_told(look),
        bad="not exactly one mempalace on the PATH",
    )
    first = {copies[0] for launch in _answered(look) if (copies := _copies(launch))}
    if len(first) > 1:
        lines = [f"{e.launch}: {c[0]}" for e in _answered(look) if (c := _copies(e))]
        return failed("launches find different copies", *lines)
    return judged


def _not_one(launch: LaunchFact) -> list[str]:
    command = launch.commands.get("mempalace")
    if command is None or (command.file and command.file.state is not State.PRESENT):
        return [Unseen("whether there is a mempalace could not be seen")]
    copies = _copies(launch)
    if not copies:
        return ["there is none"]
    if command.others is None:
        return [Unseen("whether there is another behind it was not asked")]
    if len(copies) == 1:
        return []
    return [f"{copies[0]} is the one that runs", *(f"{copy} is behind it" for copy in copies[1:])]


def _copies(launch: LaunchFact) -> list[str]:
    """Return the copies on a launch's PATH, in its order; links to one copy are told once."""
    command = launch.commands.get("mempalace")
    found = (command, *(command.others or ())) if command else ()
    files = [each.file for each in found if each.file and each.file.state is State.PRESENT]
    return list(dict.fromkeys(_environment(file.final or file.absolute) for file in files))


def _environment(file: str) -> str:
    """Name a copy by whose environment it is of."""
    if "/uv/tools/" in file:
        return f"{file} (of uv's tool {_after(file, '/uv/tools/')})"
    if "/pipx/venvs/" in file:
        return f"{file} (of pipx' {_after(file, '/pipx/venvs/')})"
    return file


def _after(file: str, folder: str) -> str:
    return file.partition(folder)[2].partition("/")[0]


def _told(look: Look) -> str:
    running = [version for _, version in _running(look) if version]
    return f"one mempalace{f' {running[0]}' if running else ''}, and no other"


def _answered(look: Look) -> list[LaunchFact]:
    return [launch for launch in look.launches() if launch.state == "ok"]


def _running(look: Look) -> list[tuple[str, Version | None]]:
    """Return what the copy that each launch finds printed as its version."""
    commands = [(e.launch, e.commands.get("mempalace")) for e in _answered(look)]
    return [(name, _version(command)) for name, command in commands if command and command.file]


def _version(command: CommandFact) -> Version | None:
    found = _NUMBER.search(command.version or "")
    return Version(found[0]) if found else None


def version(look: Look) -> Judgement:
    """What runs is what the inventory means, and what the package manager says it installed."""
    running = _running(look)
    if not running:
        return follows_from("cli.one")
    unseen = unseen_launches(look)
    unseen += [f"{name}: it tells no version" for name, version in running if version is None]
    wanted, wrong = look.text("mempalace_version"), []
    for source, told in (("the inventory means", wanted), *_installed(look)):
        number = _NUMBER.fullmatch(told)
        wrong += [
            f"{name}: {version} runs, {source} {told}"
            for name, version in running
            if number and version is not None and version != Version(told)
        ]
    if wrong:
        return failed("another release runs than the one that is meant", *wrong)
    if unseen:
        return not_checked(unseen[0], *unseen)
    return passed(f"{running[0][1]} runs" + (", as is meant" if wanted else ""))


def _installed(look: Look) -> list[tuple[str, str]]:
    """Return what package managers note of the environment that each launch's copy is of."""
    files = " ".join(copy for launch in _answered(look) for copy in _copies(launch)[:1])
    told = []
    if "/uv/tools/mempalace/" in files:
        told.append(("uv was told to install", _pinned(look.content(look.artifact("uv-receipt")))))
    if "/pipx/venvs/mempalace/" in files:
        metadata = (look.artifact(name) for name in ("pipx-metadata", "pipx-metadata-before"))
        told += [("pipx installed", _by_pipx(look.content(fact))) for fact in metadata]
    return told


def _pinned(receipt: bytes | None) -> str:
    try:
        tool = tomllib.loads((receipt or b"").decode()).get("tool")
    except (ValueError, RecursionError):
        return ""
    wanted = tool.get("requirements") if isinstance(tool, dict) else None
    for each in wanted if isinstance(wanted, list) else ():
        if isinstance(each, dict) and each.get("name") == "mempalace":
            return str(each.get("specifier", "")).removeprefix("==")
    return ""


def _by_pipx(metadata: bytes | None) -> str:
    try:
        main = json.loads(metadata or b"{}").get("main_package")
    except (ValueError, RecursionError, AttributeError):
        return ""
    return str(main.get("package_version", "")) if isinstance(main, dict) else ""


def archive(look: Look) -> Judgement:
    """A client of a remote palace is told that this command line knows nothing of it."""
    if not look.text("palace_url"):
        return not_applicable("the palace of this machine is its own")
    if not _running(look):
        unseen = unseen_launches(look)
        if unseen:
            return not_checked("whether there is a mempalace was not seen", *unseen)
        return not_applicable("there is no mempalace to be misled by")
    stores = [look.artifact(name) for name in ("local-palace", "local-palace-xdg")]
    there = [fact.path for fact in stores if fact is not None and fact.state is State.PRESENT]
    what = "the palace is remote, and `mempalace` here reads another one"
    lines = [f"{path}: a palace from before" for path in there] or ["a palace that is not there"]
    return warned(what, "it does not read MEMPALACE_REMOTE_URL", *lines)


def palace(look: Look) -> Judgement:
    """Where the palace is its own, each launch names its folder."""
    if look.text("palace_url"):
        return not_applicable("the palace is remote")
    declared = look.text("local_palace")
    if declared and not declared.startswith("/"):
        return failed("the folder is not absolute, and nobody expands it", declared)
    if not declared:
        return warned("no folder is declared (local_palace): mempalace looks for one by itself")
    return over_launches(
        look,
        lambda launch: _unnamed(launch, declared),
        good=declared,
        bad="a launch leaves it to mempalace which palace is meant",
    )


def _unnamed(launch: LaunchFact, declared: str) -> list[str]:
    found = text(launch, PALACE_PATH)
    if not found:
        return [f"{PALACE_PATH} is not set"]
    return [] if found == declared else [f"{PALACE_PATH} is another one"]


def model(look: Look) -> Judgement:
    """Nothing has to be downloaded before the first text is embedded, where that is declared."""
    if look.text("embedding_model") == SERVICE:
        return _service(look)
    fact = look.artifact("model")
    if fact is None:
        return not_applicable("neither embedding_folder nor a service is declared")
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    if fact.entries is None:
        return not_checked(fact.why or "the folder was not listed", fact.path)
    lacking = [name for name in MODEL_FILES if name not in {e.name for e in fact.entries}]
    if lacking:
        return failed("files of the model are missing", *lacking)
    return passed("all six files of the model are there", fact.path)


def _service(look: Look) -> Judgement:
    if not look.text("embedding_url"):
        return failed("a service is to embed, and no embedding_url says where it is")
    old = [f"{name}: {v}" for name, v in _running(look) if v is not None and v < SERVICE_SINCE]
    if old:
        return failed(f"a mempalace before {SERVICE_SINCE} asks no service", *old)
    return passed(f"{look.text('embedding_url')} is asked")
