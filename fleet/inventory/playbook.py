"""Playbooks: what to do to which targets, in which batches, and when to stop."""

import math
import re
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from fleet.dataclass import dataclass
from fleet.errors import InventoryError, Place
from fleet.inventory.model import Variables
from fleet.inventory.nodes import ListNode, MapNode, Node
from fleet.inventory.problems import Problems
from fleet.inventory.schema import Words
from fleet.inventory.validate import validated
from fleet.inventory.yaml import parse

_SERIAL = re.compile(r"[1-9][0-9]*|(100|[1-9]?[0-9])%")


def _serial(value: object) -> object:
    steps = value if isinstance(value, list | tuple) else [value]
    for step in steps:
        if not _SERIAL.fullmatch(str(step)) or str(step) == "0%":
            raise ValueError(f"`serial` is a number or a percentage, as in 2 or 25%, not {step!r}")
    return [str(step) for step in steps]


def _count(value: object) -> object:
    if not re.fullmatch(r"[0-9]+", str(value)):
        raise ValueError(f"`max_failures` is a number of targets, not {value!r}")
    return int(str(value))


class PlayPart(BaseModel):
    """One play as it is written."""

    model_config = ConfigDict(frozen=True, defer_build=True, extra="forbid")

    name: str = Field(default="", description="What the play is called in reports.")
    targets: Words = Field(description="Patterns of targets, as for --limit.")
    vars: dict[str, object] = Field(
        default_factory=dict,
        description="Variables over the inventory's, below the command line's.",
    )
    serial: Annotated[tuple[str, ...], BeforeValidator(_serial)] = Field(
        default=("100%",), description="Targets a batch: a number, a percentage, or a list of them."
    )
    max_failures: Annotated[int, BeforeValidator(_count)] = Field(
        default=0, description="How many targets may fail before no further batch starts."
    )
    systems: Words = Field(default=(), description="Only these systems; empty means all.")
    require: Words = Field(default=(), description="Capabilities required beside the inventory's.")
    verify: bool = Field(default=True, description="Whether the gates decide on the next batch.")
    state: Literal["present", "absent", "observed"] = Field(
        default="present", description="Deploy, uninstall, or only look and judge."
    )


@dataclass(frozen=True, slots=True)
class Play:
    """One play; see the fields of :class:`PlayPart`."""

    name: str
    targets: tuple[str, ...]
    variables: Variables
    serial: tuple[str, ...]
    max_failures: int
    systems: tuple[str, ...]
    require: tuple[str, ...]
    verify: bool
    state: Literal["present", "absent", "observed"]
    place: Place

    def batches(self, count: int) -> list[int]:
        """Split a number of targets into batch sizes; the last of ``serial`` repeats.

        A percentage is of all targets, rounded up, so that no batch is empty.
        """
        sizes: list[int] = []
        left, step = count, 0
        while left:
            text = self.serial[min(step, len(self.serial) - 1)]
            size = math.ceil(count * int(text[:-1]) / 100) if text.endswith("%") else int(text)
            sizes.append(min(max(size, 1), left))
            left -= sizes[-1]
            step += 1
        return sizes


def read_playbook(text: str, file: str) -> tuple[Play, ...]:
    """Read a playbook: a list of plays, or one play.

    Raises:
        InventoryError: something is wrong with it; carries the place.
    """
    root = parse(text, file)
    nodes: list[Node] = list(root.items) if isinstance(root, ListNode) else [root]
    problems = Problems()
    plays = [_play(node, file, number, problems) for number, node in enumerate(nodes, 1)]
    problems.settle()
    if not plays:
        raise InventoryError("there is no play in it", place=Place(file))
    return tuple(play for play in plays if play)


def _play(node: Node, file: str, number: int, problems: Problems) -> Play | None:
    if not isinstance(node, MapNode):
        problems.add(f"a play is a mapping, and this is {node.kind}", node.place)
        return None
    part = validated(node, problems, PlayPart)
    if part is None:
        return None
    variables = node.pairs["vars"].value.data() if "vars" in node.pairs else {}
    return Play(
        name=part.name or f"{file} play {number}",
        targets=part.targets,
        variables=variables if isinstance(variables, dict) else {},
        serial=part.serial,
        max_failures=part.max_failures,
        systems=part.systems,
        require=part.require,
        verify=part.verify,
        state=part.state,
        place=node.place,
    )
