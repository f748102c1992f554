"""What a watch remembers over its own restart: a small file, written whole or not at all."""

import json
import os
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, field
from datetime import datetime
from pathlib import Path
from typing import Literal

from pydantic import AwareDatetime, BaseModel, ConfigDict, ValidationError

from fleet.dataclass import dataclass
from fleet.watch.transitions import Held, Key, Mood, Transition

FORMAT: Literal["fleet.watch/1"] = "fleet.watch/1"
MOST = 16 * 1024 * 1024  # bytes of the file
WAITING = 200  # transitions that one destination is owed at most; the oldest are dropped


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known, and what could not be told yet.

    Attributes:
        held: by target and gate.
        owed: transitions by the destination's number, counted from 1.
    """

    held: Mapping[Key, Held] = field(default_factory=dict)
    owed: Mapping[int, tuple[Transition, ...]] = field(default_factory=dict)


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Held(_Part):
    target: str
    gate: str
    told: Mood
    mood: Mood
    since: AwareDatetime


class _Owed(_Part):
    to: int
    target: str
    gate: str
    before: Mood
    after: Mood
    since: AwareDatetime
    message: str
    remedy: str


class _File(_Part):
    format: Literal["fleet.watch/1"] = FORMAT
    held: tuple[_Held, ...] = ()
    owed: tuple[_Owed, ...] = ()


def recalled(path: Path) -> tuple[Memory, str]:
    """Return what a file remembers, and why it remembers nothing where it is damaged.

    What is damaged is no reason not to watch: all begins anew, and nothing that was is told.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(MOST + 1)
    except FileNotFoundError:
        return Memory(), ""
    except OSError as error:
        return Memory(), error.strerror or str(error)
    try:
        found = _File.model_validate_json(data)
    except ValidationError:
        return Memory(), "it is damaged, or a newer fleet wrote it"
    owed: dict[int, tuple[Transition, ...]] = {}
    for one in found.owed:
        told = Transition(
            one.target, one.gate, one.before, one.after, one.since, one.message, one.remedy
        )
        owed[one.to] = (*owed.get(one.to, ()), told)
    held = {(one.target, one.gate): Held(one.told, one.mood, one.since) for one in found.held}
    return Memory(held, owed), ""


def remember(path: Path, memory: Memory) -> None:
    """Write a file beside its place and rename it there; only its owner may read it.

    Raises:
        OSError: it cannot be written; what was there stays.
    """
    told = {
        "format": FORMAT,
        "held": [
            {"target": target, "gate": gate, **asdict(held)}
            for (target, gate), held in memory.held.items()
        ],
        "owed": [
            {"to": to, **asdict(one)} for to, owed in memory.owed.items() for one in owed[-WAITING:]
        ],
    }
    data = json.dumps(told, default=_moment).encode()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(data)
            stream.flush()
            os.fsync(stream.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _moment(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(type(value).__name__)
