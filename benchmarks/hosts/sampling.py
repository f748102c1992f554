"""Running a tool once: what it cost, and whether it did what it should."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.hosts.rig import Host, Rig, RigError
from benchmarks.hosts.table import Row, Sample
from benchmarks.hosts.tools import Tool, addressed
from benchmarks.hosts.truths import differences, expected
from benchmarks.tree import run_whole

_MOST_TOLD = 8


def measure(up: Rig, tool: Tool, hosts: Sequence[Host], runs: int) -> Row:
    """Run one tool alone, so often."""
    samples = tuple(sample(up, tool, hosts) for _ in range(runs))
    return Row(tool.name, tool.title, len(hosts), samples)


def sample(up: Rig, tool: Tool, hosts: Sequence[Host]) -> Sample:
    """Run a tool once, and make sure that it saw what is there to be seen.

    Raises:
        RigError: it did not, or not in time.
    """
    folder = up.folder / tool.name
    folder.mkdir(exist_ok=True)
    words = tool.words(up, hosts, folder)
    logins, trips = up.counted(hosts)
    server, busy = up.processor(), _busy()
    whole = run_whole(words, tool.environment(up), seconds=tool.seconds, folder=folder)
    time.sleep(0.3)  # the servers are still closing sessions
    server, busy = up.processor() - server, _busy() - busy
    after = up.counted(hosts)
    if whole.late or whole.code not in tool.codes:
        told = (whole.output[-1500:] + whole.errors[-1500:]).decode(errors="replace")
        late = f" (ended after {tool.seconds:g} s)" if whole.late else ""
        raise RigError(f"{tool.title}: exit code {whole.code}{late}\n{told}")
    if tool.seen is not None:
        _compare(tool, hosts, whole.output, folder)
    if tool.wrong is not None:
        _refuse(tool, tool.wrong(up, hosts, whole.output))
    made = Sample(
        whole.wall,
        whole.processor,
        round(server, 3),
        round(max(0.0, busy - server - whole.processor), 3),
        after[0] - logins,
        after[1] - trips,
        round(whole.peak * 1024 / 1_000_000, 1),
    )
    say(
        f"{tool.title}, {len(hosts)}: {made.wall:.2f} s, client {made.client:.2f} s,"
        f" server {made.server:.2f} s, other {made.other:.2f} s"
    )
    return made


def _compare(tool: Tool, hosts: Sequence[Host], output: bytes, folder: Path) -> None:
    seen = addressed(tool.seen(output, folder), hosts) if tool.seen else {}
    _refuse(tool, differences(expected({host.name: host.fault for host in hosts}), seen))


def _refuse(tool: Tool, wrong: Sequence[str]) -> None:
    if wrong:
        rest = [f"... and {len(wrong) - _MOST_TOLD} more"] if len(wrong) > _MOST_TOLD else []
        raise RigError(
            "\n  ".join([f"{tool.title} saw something else:", *wrong[:_MOST_TOLD], *rest])
        )


def _busy() -> float:
    """Return the seconds of processor time that this machine has spent."""
    fields = [int(word) for word in Path("/proc/stat").read_text().splitlines()[0].split()[1:9]]
    idle = fields[3] + fields[4]
    return (sum(fields) - idle) / os.sysconf("SC_CLK_TCK")


def say(text: str) -> None:
    """Tell how far it is."""
    print(text, file=sys.stderr, flush=True)
