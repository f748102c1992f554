"""MCP registrations in the files of clients: what they name, and what should not stand in them.

Values are those of a file's text without secrets (:mod:`fleet.facts.jsonshape`): of what may be a
credential only its outline is known, and whether it is a reference.
"""

import posixpath
import re
from collections.abc import Collection, Iterable, Iterator, Mapping

from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact
from fleet.verifier.answers import answered
from fleet.verifier.launches import Unseen, over_launches, value
from fleet.verifier.look import Look
from fleet.verifier.model import Judgement, not_applicable
from fleet.verifier.paths import hidden

TOKEN = "MEMPALACE_REMOTE_TOKEN"  # noqa: S105 - the name of a variable

_REFERENCE = re.compile(r"\$\{(?:env:)?([A-Za-z_]\w*)\}|\{env:([A-Za-z_]\w*)\}")
_ANY_REFERENCE = re.compile(r"\$?\{[^{}]*\}")
_CREDENTIAL = re.compile(
    r"auth|token|secret|passw|credential|cookie|(^|[-_])(api[-_]?)?key$", re.IGNORECASE
)
HEADERS = ("headers",)
ENVIRONMENTS = ("environment", "env")
OTHERS = 0o077


def variables_in(text: str) -> tuple[str, ...]:
    """Return the variables that a value takes from the environment, in any client's spelling."""
    return tuple(one or other for one, other in _REFERENCE.findall(text))


def texts(fields: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Yield every text of an entry with the place it stands at, as in ``headers.Authorization``."""
    for name, held in fields.items():
        if isinstance(held, str):
            yield name, held
        elif isinstance(held, Mapping):
            yield from ((f"{name}.{inner}", text) for inner, text in texts(held))
        elif isinstance(held, list):
            yield from ((f"{name}[{n}]", t) for n, t in enumerate(held) if isinstance(t, str))


def literal_credentials(fields: Mapping[str, object]) -> tuple[str, ...]:
    """Return where an entry holds a credential itself, and no reference to one."""
    return tuple(
        f"{group}.{name}"
        for group, name, text in set_in(fields, (*HEADERS, *ENVIRONMENTS))
        if _CREDENTIAL.search(name) and is_literal(text)
    )


def set_in(fields: Mapping[str, object], groups: Collection[str]) -> Iterator[tuple[str, str, str]]:
    """Yield group, name and text of what an entry sets in its groups of headers or variables."""
    for group in groups:
        held = fields.get(group)
        for name, text in held.items() if isinstance(held, Mapping) else ():
            if isinstance(text, str):
                yield group, str(name), text


def is_literal(text: str) -> bool:
    """Tell whether a value says something itself, and takes nothing from elsewhere."""
    return bool(text) and not _ANY_REFERENCE.search(text)


def sends_credential(fields: Mapping[str, object]) -> bool:
    """Tell whether an entry sends a header that holds a credential, wherever it comes from."""
    headers = fields.get("headers")
    return isinstance(headers, Mapping) and any(_CREDENTIAL.search(str(n)) for n in headers)


def is_told(url: str) -> bool:
    """Tell whether a URL travelled: one that may hold credentials does not."""
    return "://" in url or bool(_REFERENCE.search(url))


def is_comparable(url: str) -> bool:
    """Tell whether a URL can be compared: it travelled, and takes nothing from elsewhere."""
    return is_told(url) and not variables_in(url)


def declared_palace(look: Look) -> str:
    """Return the URL, or the program, that entries are to lead to."""
    return look.text("palace_url") or look.text("mempalace_mcp")


def answers(look: Look) -> Judgement:
    """The declared palace answers; what a client itself tells of a token is no evidence."""
    url = look.text("palace_url")
    return answered(look, url) if url else not_applicable("a solitary palace: none is asked")


def exported(look: Look, entries: Iterable[Mapping[str, object]]) -> Judgement:
    """Every launch exports what the palace's entries take from the environment."""
    named = (n for fields in entries for _, text in texts(fields) for n in variables_in(text))
    names = tuple(dict.fromkeys(named))
    if not names:
        return not_applicable("the palace's entry takes nothing from the environment")
    return over_launches(
        look,
        lambda launch: lacks_variables(launch, names),
        good=f"exports {', '.join(names)}",
        bad="the palace's entry names what is not exported, and nothing is put in its place",
    )


def is_palace(name: str, url: str, program: str, urls: Collection[str]) -> bool:
    """Tell whether an entry is a palace's: by its name, its URL, or the program it starts."""
    return (
        "mempalace" in name.lower()
        or posixpath.basename(program).startswith("mempalace")
        or (bool(url) and url in urls)
    )


def lacks_variables(launch: LaunchFact, names: Collection[str]) -> list[str]:
    """Tell which variables a launch does not export: its complaint."""
    told: list[str] = []
    for name in names:
        if name not in launch.variables:
            told.append(Unseen(f"{name} was not asked for; declare it under `env`"))
        elif not value(launch, name).set:
            told.append(f"{name} is not set")
        elif not value(launch, name).length:
            told.append(f"{name} is set but empty")
    return told


def _no_program(fact: PathFact) -> list[str]:
    if fact.kind != "file":
        return ["is no file"]
    return [] if fact.mode is None or fact.mode & 0o111 else ["is not executable"]


def lacks_program(look: Look, launch: LaunchFact, program: str) -> list[str]:
    """Tell why a launch would not find a program: its complaint."""
    if "/" in program:
        fact = look.facts.paths.get(program)
        if fact is None:
            return [Unseen(f"{program} was not looked at")]
        if hidden(fact):
            return [Unseen(f"{program}: {fact.why or fact.state.value}")]
        if fact.state is not State.PRESENT:
            return [f"{program} is {fact.state.value}"]
        return [f"{program} {why}" for why in _no_program(fact)]
    command = launch.commands.get(program)
    if command is None:
        return [Unseen(f"whether {program} is on the PATH was not asked")]
    if command.file is None:
        return [f"{program} is not on the PATH"]
    if command.file.state is State.PRESENT:
        return []
    told = f"{command.file.path}: {command.file.why or command.file.state.value}"
    return [Unseen(told) if hidden(command.file) else told]
