"""Whether what each launching shell reads loads the toolkit's environment of today.

An interactive zsh with oh-my-zsh reads a copy of the loader. Every other shell reads a line in a
file that its user owns: of such a file only the form travels, and of an assignment's value a keyed
digest. So fleet's own block is known for certain, and a line of somebody else's only by its form.
"""

import re
from collections.abc import Iterator

from fleet.dataclass import dataclass
from fleet.facts.envfile import read_env_file
from fleet.facts.paths import EnvLine, PathFact, State
from fleet.facts.running import LaunchFact
from fleet.systems.model import Template
from fleet.verifier.launches import unseen_launch
from fleet.verifier.look import Look
from fleet.verifier.model import (
    Judgement,
    Verdict,
    failed,
    not_applicable,
    not_checked,
    passed,
)
from fleet.verifier.paths import hidden, missing, way
from fleet.verifier.rendered import rendering

#: `. …/pi-env.bash` or `source …/pi-env.bash` in a line whose letters do not travel.
_BY_HAND = re.compile(r"(?:^|[\s;&|])(?:\.|x{6})\s+\S*\bxx-xxx\.x{3,4}\b")


@dataclass(frozen=True, slots=True)
class _Reader:
    """A kind of shell, and what it reads.

    Attributes:
        launch: which launches start it.
        block: the artifact that lets it source the loader.
        before: artifacts whose file it reads in place of the block's, the first that is there.
        source: the artifact that is the loader.
    """

    launch: re.Pattern[str]
    block: str
    source: str
    before: tuple[str, ...] = ()

    def starts(self, launch: LaunchFact) -> bool:
        return bool(self.launch.match(launch.launch))


_INTERACTIVE_ZSH = _Reader(re.compile("zsh -[a-z]*i"), "zsh-block", "zsh-source")
_READERS = (
    _INTERACTIVE_ZSH,
    _Reader(re.compile("zsh -lc"), "zsh-login-block", "zsh-source"),
    _Reader(re.compile("bash -ic"), "bash-block", "bash-source"),
    _Reader(
        re.compile("bash -[a-z]*l"),
        "bash-login-block",
        "bash-source",
        ("bash-profile", "bash-login"),
    ),
)


def loader(look: Look) -> Judgement:
    """Every shell that launches pi loads the toolkit's environment of today."""
    launches = look.launches()
    used = [reader for reader in _READERS if any(map(reader.starts, launches))]
    if not used:
        return not_applicable("no launch that is declared reads a loader of the toolkit")
    judged = [_judged(look, reader) for reader in used]
    for verdict in (Verdict.FAIL, Verdict.ERROR, Verdict.NOT_CHECKED):
        for one in judged:
            if one.verdict is verdict:
                return one
    unseen = [
        unseen_launch(one)
        for one in launches
        if one.state != "ok" and any(reader.starts(one) for reader in used)
    ]
    if unseen:
        return not_checked(f"whether it is loaded was not seen: {unseen[0]}", *unseen)
    if len(judged) == 1:
        return judged[0]
    return passed("all are the toolkit's", *(line for one in judged for line in one.evidence))


def _judged(look: Look, reader: _Reader) -> Judgement:
    custom = look.artifact("oh-my-zsh")
    copy = look.artifact("zsh-copy") or look.artifact("zsh-link")
    if reader is _INTERACTIVE_ZSH and custom is not None and copy is not None:
        if custom.state is not State.ABSENT:
            return _copied(look, copy)
        if look.artifact(reader.block) is None:
            return failed("oh-my-zsh is declared, and is not there", f"{custom.path} is absent")
    return _sourced(look, reader)


def _copied(look: Look, fact: PathFact) -> Judgement:
    """Judge what lies among oh-my-zsh's own files."""
    nowhere = missing(fact)
    if nowhere:
        return nowhere
    source = look.artifact("zsh-source")
    if source is None or hidden(source) or source.state is State.ABSENT:
        return not_checked(
            "the toolkit's own pi-env.zsh could not be seen to compare it", fact.path
        )
    if source.sha256 is None or fact.sha256 is None:
        return not_checked("not both of the loaders were read", fact.path, source.path)
    if source.sha256 != fact.sha256:
        return failed("is not the toolkit's", way(fact), f"differs from {way(source)}")
    return passed("is the toolkit's", way(fact))


def _sourced(look: Look, reader: _Reader) -> Judgement:
    """Judge the file of the user's that a shell reads."""
    source, file = look.artifact(reader.source), _read(look, reader)
    nowhere = missing(source) if source else None
    if nowhere or source is None:
        return nowhere or not_checked("the toolkit's loader was not asked for")
    if file.state is State.ABSENT:
        return failed("nothing sources the toolkit's loader", f"{file.path} does not exist")
    nowhere = missing(file)
    if nowhere:
        return nowhere
    if file.env is None or file.env.binary or file.env.truncated:
        return not_checked(file.why or "it could not be read to its end", way(file))
    meant = _block(look, reader)
    if isinstance(meant, str):
        return not_checked(meant, way(file))
    if _holds(file.env.lines, meant):
        return passed("is sourced", f"{way(file)} sources {source.path}")
    by_hand = [f"{way(file)}, line {line.number}" for line in _by_hand(file.env.lines)]
    if by_hand:
        told = "a line of the user's may source it; its words are not told"
        return not_checked(told, *by_hand)
    return failed("nothing sources the toolkit's loader", f"no line of {way(file)} does")


def _read(look: Look, reader: _Reader) -> PathFact:
    """Return the file that a shell reads: the first that is there, or the one it would read."""
    names = (*reader.before, reader.block)
    facts = [fact for name in names if (fact := look.artifact(name)) is not None]
    there = (fact for fact in facts if fact.state is not State.ABSENT)
    return next(there, facts[-1])


def _block(look: Look, reader: _Reader) -> tuple[EnvLine, ...] | str:
    """Return the block that fleet would write, as it looks from afar; or why it is not known."""
    artifact = look.resolved.artifacts[reader.block]
    if not isinstance(artifact, Template):
        raise TypeError(f"{reader.block} is no template")
    text = rendering(look, artifact.template, {}, "the block")
    if isinstance(text, str):
        return text
    return read_env_file(text, nonce=look.facts.nonce, public=()).lines


def _holds(lines: tuple[EnvLine, ...], block: tuple[EnvLine, ...]) -> bool:
    held, wanted = [_unnumbered(line) for line in lines], [_unnumbered(line) for line in block]
    last = len(held) - len(wanted)
    return any(held[start : start + len(wanted)] == wanted for start in range(last + 1))


def _unnumbered(line: EnvLine) -> EnvLine:
    return line.model_copy(update={"number": 0})


def _by_hand(lines: tuple[EnvLine, ...]) -> Iterator[EnvLine]:
    for line in lines:
        if not line.text.lstrip().startswith("#") and _BY_HAND.search(line.text):
            yield line
