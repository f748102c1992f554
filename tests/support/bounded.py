"""Looking at images in a process of its own, whose memory and files are watched."""

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import pytest

from fleet.inventory.model import Target

MOST_MEMORY = 150  # MiB
PROGRAM = """
import json, sys
from fleet.connectors.image import ImageConnector
from fleet.errors import TargetError
from fleet.facts.request import PathQuestion, Read, Request, ScanQuestion
from fleet.inventory.address import parse_address
from fleet.inventory.model import Target

def told(address, variables, paths):
    target = Target("t", parse_address(address), variables=variables)
    questions = tuple(PathQuestion(path, Read.WHOLE) for path in paths)
    request = Request("n", paths=questions, scan=ScanQuestion() if scan else None)
    try:
        facts = ImageConnector(target, timeout=seconds, max_bytes=most).collect(request)
    except TargetError as error:
        return [{}, 0, type(error).__name__, error.what, None]
    image = facts.image
    found = [f.place for f in image.scan.found] if image and image.scan else None
    return [{p: fact.state for p, fact in facts.paths.items()}, len(facts.contents), "", "", found]

most, seconds, scan, images = json.load(sys.stdin)
answers = [told(*each) for each in images]
# The high water mark of this process alone: what getrusage tells begins with the parent's.
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(json.dumps([answers, int(peak.split()[1]) // 1024]))
"""


class Told(NamedTuple):
    """What a look at an image came to."""

    states: dict[str, str]
    contents: int
    error: str
    what: str
    found: list[str] | None = None


def looked_at(
    folder: Path,
    targets: Sequence[Target],
    paths: Sequence[str],
    *,
    most: int,
    seconds: float = 100,
    scan: bool = False,
) -> list[Told]:
    """Ask images for paths; check the process's memory, and that it left no file.

    Args:
        folder: the home, the scratch folder and the working folder are made in it.
        targets: of one address each.
        paths: read whole.
        most: the bytes that an image may unpack to.
        seconds: the longest a look may take.
        scan: whether secrets are looked for too.
    """
    if not Path("/proc/self/status").exists():
        pytest.skip("reads /proc")
    places = [folder / name for name in ("home", "scratch", "here")]
    for place in places:
        place.mkdir()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(places[0]),
        "TMPDIR": str(places[1]),
        "PYTHONDONTWRITEBYTECODE": "1",
    } | {name: os.environ[name] for name in ("DOCKER_HOST",) if name in os.environ}
    asked = [(str(target.address), dict(target.variables), [*paths]) for target in targets]
    ended = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        input=json.dumps([most, seconds, scan, asked]),
        capture_output=True,
        text=True,
        timeout=seconds * len(targets) + 20,
        check=False,
        cwd=places[2],
        env=environment,
    )
    assert ended.returncode == 0, ended.stderr
    told, peak = json.loads(ended.stdout)
    assert peak < MOST_MEMORY
    assert [path for place in places for path in place.rglob("*")] == []
    return [Told(*each) for each in told]


def header(
    name: str,
    *,
    size: int = 0,
    pax: dict[str, str] | None = None,
    kind: bytes = tarfile.REGTYPE,
    target: str = "",
) -> bytes:
    info = tarfile.TarInfo(name)
    info.size, info.pax_headers = size, pax or {}
    info.type, info.linkname = kind, target
    return info.tobuf(tarfile.PAX_FORMAT)


def many_files(count: int) -> tuple[bytes, str]:
    """Return a compressed layer of many empty files and a link to the last, and its diff id."""
    return squeezed(_many(count))


def _many(count: int) -> Iterator[bytes]:
    block = bytearray(header("files/0000/000"))
    fixed = sum(block[:6]) + sum(block[14:148]) + sum(block[156:])
    yield header("last", kind=tarfile.SYMTYPE, target=f"files/{count // 1000 - 1:04}/999")
    for number in range(count):
        block[6:14] = name = b"%04d/%03d" % divmod(number, 1000)
        block[148:156] = b"%06o\0 " % (fixed + sum(name) + 8 * ord(" "))
        yield bytes(block)
    yield bytes(1024)


def squeezed(parts: Iterable[bytes]) -> tuple[bytes, str]:
    """Return parts of a layer together and compressed, and the layer's diff id."""
    packed, plain = io.BytesIO(), hashlib.sha256()
    with gzip.GzipFile(fileobj=packed, mode="wb", compresslevel=1) as out:
        for part in parts:
            plain.update(part)
            out.write(part)
    return packed.getvalue(), f"sha256:{plain.hexdigest()}"
