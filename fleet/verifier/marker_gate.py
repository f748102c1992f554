"""Version gates: a capability is proved by code in the deployed file, and by nothing else."""

from fleet.facts.model import git_blob
from fleet.facts.paths import PathFact, State
from fleet.systems.model import Gate, Marker
from fleet.verifier.code import Code, is_script, read_code
from fleet.verifier.look import Look
from fleet.verifier.markers import Sighting, sight
from fleet.verifier.model import Judgement, failed, not_applicable, not_checked, passed
from fleet.verifier.paths import hidden, way


def judge_marker(look: Look, gate: Gate) -> Judgement:
    """Judge a marker gate by the content that the artifact's path finally leads to."""
    marker = gate.marker
    if marker is None:
        raise TypeError(f"{gate.id} has no marker")
    read = look.read.get(marker.artifact)
    if read is None:
        read = look.read[marker.artifact] = _read(look, marker.artifact)
    return read if isinstance(read, Judgement) else _judge(gate, marker, *read)


def _read(look: Look, artifact: str) -> Judgement | tuple[Code, tuple[str, ...]]:
    """Return an artifact's code and what names it; a judgement where it cannot be looked into."""
    fact = look.artifact(artifact)
    if fact is None:
        return not_applicable(f"no {artifact} is declared here")
    unseen = hidden(fact)
    if unseen:
        return unseen
    if fact.state is not State.PRESENT:
        return failed(f"nothing to look into: {fact.path} is {fact.state.value}")
    content = look.content(fact)
    if content is None:
        return not_checked(fact.why or "its content was not read", way(fact))
    code = read_code(content, script=is_script(fact.final or fact.path))
    return code, named(look, fact, content)


def _judge(gate: Gate, marker: Marker, code: Code, name: tuple[str, ...]) -> Judgement:
    absent = [s for m in marker.all if not (s := sight(code, m)).found]
    if absent:
        where, *rest = name
        lacks = f"{_words(absent)} {'is' if len(absent) == 1 else 'are'} not in it"
        told = f"{rest[0]}; {lacks}" if rest else lacks
        return failed(_cannot(gate), where, told)
    wrong = [s for m in marker.none if (s := sight(code, m)).found]
    if wrong:
        lines = (f"line {s.line}: {s.marker} is in it" for s in wrong)
        return failed(_cannot(gate), *name, *lines)
    return passed(_can(gate), *name)


def lacking(look: Look, artifact: str, content: bytes, *, script: bool) -> tuple[str, ...]:
    """Name the capabilities that an artifact's content does not have, and what brought each."""
    code = read_code(content, script=script)
    lines = []
    for gate in look.resolved.system.gates:
        marker = gate.marker
        if marker is None or marker.artifact != artifact or not gate.gives:
            continue
        whole = all(sight(code, m).found for m in marker.all)
        if not whole or any(sight(code, m).found for m in marker.none):
            came = f", which came with {gate.since}" if gate.since else ""
            lines.append(f"lacks {gate.gives}{came}")
    return tuple(lines)


def _words(sightings: list[Sighting]) -> str:
    return " and ".join(s.marker for s in sightings)


def _cannot(gate: Gate) -> str:
    able = gate.able or gate.gives
    return f"cannot {able}" if able else gate.without or f"not so: {gate.asks}"


def _can(gate: Gate) -> str:
    able = gate.able or gate.gives
    return f"can {able}" if able else gate.asks or "holds"


def named(look: Look, fact: PathFact, content: bytes | None) -> tuple[str, ...]:
    """Name deployed bytes: where they lie, and which commit of the toolkit they are."""
    where = way(fact)
    toolkit = look.toolkit
    if toolkit is None or content is None:
        return (where,)
    if toolkit.trouble:
        return where, f"commit unknown ({toolkit.trouble})"
    found = toolkit.name(git_blob(content))
    if found is None:
        return where, "is content the toolkit's history does not know"
    commit = found[1]
    behind = f", {commit.behind} commits behind" if commit.behind > 1 else ""
    behind = ", 1 commit behind" if commit.behind == 1 else behind
    return where, f"is {commit}{behind}"
