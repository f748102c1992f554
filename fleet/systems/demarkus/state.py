"""What lies in ``~/.demarkus``: the program that decides, the token, the registries.

The packages, Claude Code and other harnesses share it. Without the program every gate fails open:
whatever is asked, the answer is to let it pass. The program makes the folder 0755 itself, and the
token, which is the secret in it, 0600.
"""

from collections.abc import Iterator

from fleet.facts.paths import PathFact, State
from fleet.facts.running import LaunchFact
from fleet.systems.demarkus.plugins import NONE_DECLARED, plugins
from fleet.verifier.launches import Unseen, over_launches, text
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    not_checked,
    passed,
    warned,
)
from fleet.verifier.paths import hidden, way

_EXECUTE, _OTHERS, _OTHERS_WRITE = 0o111, 0o077, 0o022
STRICTNESS = "DEMARKUS_MEMORY_STRICTNESS"
_HOLDS_BACK = ("block", "ask")
_UNKNOWN = "is no strictness"


def program(look: Look) -> Judgement:
    """The program that decides is there, can be run, and only its owner may change it."""
    if not plugins(look):
        return not_applicable(NONE_DECLARED)
    fact = look.artifact("program")
    if fact is None:
        return not_applicable(NONE_DECLARED)
    blocked = hidden(fact)
    if blocked:
        return blocked
    if fact.state is not State.PRESENT:
        return failed("the gate fails open: there is no program that decides", *_nowhere(fact))
    if fact.kind != "file" or not fact.size:
        what = "an empty file" if fact.kind == "file" else f"a {fact.kind}"
        return failed(
            "the gate fails open: the program that decides cannot be run", _is(fact, what)
        )
    if fact.mode is None:
        return not_checked("whether it can be run could not be seen", way(fact))
    mode = _is(fact, f"mode {fact.mode:04o}")
    if not fact.mode & _EXECUTE:
        return failed("the gate fails open: the program that decides cannot be run", mode)
    if fact.mode & _OTHERS_WRITE:
        return failed("others than its owner can change the program that decides", mode)
    return passed("the program that decides is there", mode)


def _nowhere(fact: PathFact) -> tuple[str, ...]:
    if fact.state is State.ABSENT:
        return (f"{fact.path} does not exist",)
    return (f"{fact.path} is a link that leads nowhere",)


def _is(fact: PathFact, what: str) -> str:
    return f"{way(fact)}: {what}"


def state(look: Look) -> Judgement:
    """The memory is set up, and nobody but its owner can read the token or write beside it."""
    found = {plugin.name for plugin in plugins(look)}
    if not found:
        return not_applicable(NONE_DECLARED)
    told = list(_wrong(look, found))
    wrong = [line for line in told if not isinstance(line, Unseen)]
    if wrong:
        return failed("the state that all harnesses share is not as it should be", *wrong)
    if told:
        return not_checked(f"not everything could be seen: {told[0]}", *told)
    names = ("state-dir", "token") if "memory" in found else ("state-dir",)
    facts = [fact for name in names if (fact := look.artifact(name)) is not None]
    return passed("the shared state is there, and private", *(_mode(fact) for fact in facts))


def _mode(fact: PathFact) -> str:
    return f"{fact.path}: mode {fact.mode or 0:04o}"


def _wrong(look: Look, found: set[str]) -> Iterator[str]:
    yield from _judged(look, "state-dir", _OTHERS_WRITE, "others than its owner can write in it")
    if "memory" in found:
        yield from _judged(look, "memory-conf", _OTHERS_WRITE, "others can change it")
        yield from _judged(look, "token", _OTHERS, "others than its owner can use it, want 0600")
        tokens = look.artifact("tokens-dir")
        if tokens is not None and tokens.state is not State.ABSENT:
            yield from _judged(look, "tokens-dir", _OTHERS, "want 0700")
    if "knowledge" in found:
        yield from _judged(look, "knowledge-systems", _OTHERS_WRITE, "others can change it")


def _judged(look: Look, name: str, forbidden: int, told: str) -> Iterator[str]:
    """Yield what is wrong with something that has to be there."""
    fact = look.artifact(name)
    if fact is None:
        return
    if fact.state in (State.UNREADABLE, State.UNSUPPORTED):
        yield Unseen(f"{fact.path}: {fact.why or fact.state.value}")
    elif fact.state is not State.PRESENT:
        yield from _nowhere(fact)
    elif fact.kind == "file" and not fact.size:
        yield f"{fact.path} is empty"
    elif fact.mode is None:
        yield Unseen(f"{fact.path}: its mode could not be seen")
    elif fact.mode & forbidden:
        yield f"{_mode(fact)}: {told}"


def strict(look: Look) -> Judgement:
    """The publish gate holds a bad write back, and does not only tell of it."""
    if "memory" not in {plugin.name for plugin in plugins(look)}:
        return not_applicable("demarkus-pi-memory is not declared here")
    fact = look.artifact("strictness")
    content = look.content(fact)
    if fact is not None and fact.state not in (State.ABSENT, State.DANGLING) and content is None:
        return not_checked(fact.why or "its content was not read", way(fact))
    kept = (content or b"").decode(errors="replace").strip()

    def weak(launch: LaunchFact) -> list[str]:
        # An empty variable counts as none.
        return _weak(text(launch, STRICTNESS) or kept)

    judgement = over_launches(
        look, weak, good="a bad write is held back", bad="a bad write is told of, and let through"
    )
    if judgement.verdict is Verdict.FAIL and not any(_UNKNOWN in e for e in judgement.evidence):
        return warned(judgement.message, *judgement.evidence)
    return judgement


def _weak(strictness: str) -> list[str]:
    if strictness in _HOLDS_BACK:
        return []
    if strictness in ("", "warn"):
        return [f"the strictness is {strictness or 'warn, as nothing sets it'}"]
    return [f"{strictness[:20]!r} {_UNKNOWN}; `warn` is taken in its place"]
