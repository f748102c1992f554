"""The program that carries a deep check out on a target, and the reading of its answer."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from functools import cache
from importlib.resources import files

from pydantic import ValidationError

from fleet.errors import ProbeError
from fleet.facts.compile import call, launch_words, probe_part
from fleet.facts.deep import DeepFact
from fleet.facts.request import CONTAINER
from fleet.facts.text import printable
from fleet.verifier.trials import Trial

LEAST_SECONDS = 8
MOST_SECONDS = 60

_MOST_BYTES = 512 * 1024
_MARGIN = 1
_SUFFIXES = (".mjs", ".ts")


def deep_script(
    *,
    nonce: str,
    seconds: int,
    launch: str,
    agent_dir: str,
    assume: bool,
    pi: bool = True,
    trials: Sequence[Trial] = (),
) -> str:
    """Return a POSIX shell program that runs a deep check; it is read from the stdin of ``sh``.

    Args:
        nonce: frames the answer.
        seconds: the longest it may take.
        launch: the way of launching pi, in whose environment it runs.
        agent_dir: pi's agent folder, where the environment names no other.
        assume: whether a device and a shared palace are taken for granted, as for an image, which
            gets them when it is started.
        pi: whether pi itself is run.
        trials: servers that are tried as well.

    Raises:
        UsageError: the launch is not quoted right, or empty.
    """
    config = {
        "seconds": seconds - _MARGIN,
        "agent_dir": agent_dir,
        "assume": assume,
        "pi": pi,
        "trials": [{**asdict(trial), "number": n} for n, trial in enumerate(trials)],
    }
    words = [] if launch == CONTAINER else launch_words(launch)
    calls = [
        call("deep_begin", nonce, str(seconds)),
        *(call("deep_file", name, text) for name, text in _programs().items()),
        call("deep_file", "config.json", json.dumps(config)),
        call("deep_run", *words),
    ]
    library = probe_part("core") + probe_part("launches") + _text("deep.sh")
    body = "\n".join(calls)
    return f"{library}\nmain() {{\n{body}\n}}\nmain </dev/null\nexit 0\n"


def read_deep(output: bytes, *, nonce: str, launch: str) -> DeepFact:
    """Return the fact in what a target printed; hostile until here.

    Raises:
        ProbeError: there is no answer, more than one, or none that a deep check makes.
    """
    mark = f"@fleet-deep {nonce} ".encode()
    lines = [line for line in output.split(b"\n") if line.startswith(mark)]
    if len(lines) != 1:
        raise ProbeError(f"the deep check gave {len(lines) or 'no'} answers where one is due")
    kind, _, rest = lines[0].removeprefix(mark).partition(b" ")
    if len(rest) > _MOST_BYTES:
        raise ProbeError("the deep check's answer is too large")
    if kind == b"why":
        why = printable(rest.decode("utf-8", "backslashreplace"))
        return DeepFact(state="unsupported", why=why, launch=launch)
    try:
        told = DeepFact.model_validate_json(rest)
    except ValidationError as error:
        place = ".".join(map(str, error.errors(include_input=False)[0]["loc"]))
        raise ProbeError(
            f"the deep check's answer holds what cannot be: {printable(place) or 'no JSON'}"
        ) from None
    return told.model_copy(update={"launch": launch})


@cache
def _programs() -> dict[str, str]:
    folder = files(__package__)
    names = sorted(each.name for each in folder.iterdir() if each.name.endswith(_SUFFIXES))
    return {name: _text(name) for name in names}


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text("utf-8")
