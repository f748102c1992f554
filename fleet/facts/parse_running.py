"""Processes and containers, from the records of an answer."""

from fleet.facts.frames import Answer, Record
from fleet.facts.parse_paths import take_variables
from fleet.facts.request import ContainerQuestion, ProcessQuestion
from fleet.facts.running import CheckFact, ContainerFact, ProcessFact, Publication

HIGHEST_PORT = 0xFFFF
FIELDS = frozenset(
    {
        "name",
        "state",
        "image",
        "created",
        "error",
        "exit_code",
        "network",
        "restart",
        "service",
        "health",
        "image_name",
        "searched",
        "image_now",
    }
)


def processes(answer: Answer, key: str, question: ProcessQuestion) -> tuple[ProcessFact, ...]:
    """Return the processes found for one question, by pid."""
    names = dict.fromkeys(question.secret_variables, False)
    names |= dict.fromkeys(question.variables, True)
    found = [
        _process(answer, f"{key}.{record.number(1)}", record, names)
        for record in answer.many("process", key)
    ]
    return tuple(sorted(found, key=lambda process: process.pid))


def _process(answer: Answer, key: str, record: Record, names: dict[str, bool]) -> ProcessFact:
    kin = answer.maybe("kin", key)
    return ProcessFact(
        pid=record.number(1) or 0,
        user=record.text(2),
        parent=kin.number(1) if kin else None,
        contained=kin.flag(2) if kin else None,
        started=record.number(3),
        command=record.text(4),
        flags=_flags(answer, key),
        secret_flags=_secret_flags(answer, key),
        variables=take_variables(answer, key, names),
    )


def _flags(answer: Answer, key: str) -> dict[str, str]:
    return {record.text(1): record.text(2) for record in answer.many("flag", key)}


def _secret_flags(answer: Answer, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(record.text(1) for record in answer.many("secret", key)))


def check(record: Record) -> CheckFact:
    """Return how a program's check ended."""
    told = {"state": record.text(1), "status": record.number(2), "place": record.maybe(3) or ""}
    return CheckFact.model_validate(told)


def containers(answer: Answer, key: str, question: ContainerQuestion) -> tuple[ContainerFact, ...]:
    """Return the containers of one compose project, by name."""
    names = dict.fromkeys(question.secret, False) | dict.fromkeys(question.public, True)
    found: list[ContainerFact] = []
    while answer.has("field", f"{key}.{len(found) + 1}"):
        found.append(_container(answer, f"{key}.{len(found) + 1}", names))
    return tuple(sorted(found, key=lambda container: container.name))


def _container(answer: Answer, key: str, names: dict[str, bool]) -> ContainerFact:
    records = answer.many("field", key)
    told = {record.text(1): record for record in records}
    for name, record in told.items():
        if name not in FIELDS:
            raise record.wrong("a container has no such field")
    for name in ("name", "state"):
        if name not in told:
            raise records[0].wrong(f"a container has no {name}")
    state = told["state"].text(2)
    command = answer.maybe("command", key)
    bound, declared = _ports(answer, "port", key), _ports(answer, "binding", key)
    return ContainerFact(
        name=told["name"].text(2).removeprefix("/"),
        state=state,
        service=_text(told, "service"),
        image=_text(told, "image"),
        created=_text(told, "created"),
        error=_text(told, "error"),
        exit_code=_exit_code(told, state),
        health=_text(told, "health") or None,
        network=_text(told, "network"),
        restart=_text(told, "restart"),
        ports=bound if state == "running" else declared,
        variables=take_variables(answer, key, names),
        mounts={record.text(1): record.text(2) for record in answer.many("mount", key)},
        flags=_flags(answer, key),
        secret_flags=_secret_flags(answer, key),
        command=command.digest(1) if command else None,
        image_name=_text(told, "image_name"),
        image_now=_text(told, "image_now"),
        baked=_baked(answer, key) if "searched" in told else None,
    )


def _baked(answer: Answer, key: str) -> tuple[str, ...]:
    found = (f"{record.text(1)} {record.text(2)}" for record in answer.many("baked", key))
    return tuple(dict.fromkeys(found))


def _exit_code(told: dict[str, Record], state: str) -> int | None:
    """Return the exit code of what has run, or was to run; of what runs it means nothing."""
    means_nothing = state in ("running", "paused") or (
        state == "created" and not _text(told, "error")
    )
    return None if means_nothing or "exit_code" not in told else told["exit_code"].number(2)


def _text(told: dict[str, Record], name: str) -> str:
    text = told[name].text(2).strip() if name in told else ""
    return "" if text == "<no value>" else text


def _ports(answer: Answer, kind: str, key: str) -> tuple[Publication, ...]:
    return tuple(_publication(record) for record in answer.many(kind, key))


def _publication(record: Record) -> Publication:
    inner, port = record.number(1) or 0, record.number(2) or 0
    if max(inner, port) > HIGHEST_PORT:
        raise record.wrong("a port is too high")
    return Publication(address=record.text(3), port=port, inner=inner)
