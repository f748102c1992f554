"""The same twelve checks in the words of both tools, and what each says of them."""

import json
import re
from pathlib import Path

from benchmarks.images.image import ASKED

SYSTEM = "twelve-files"
_GATES = '''"""Each of twelve files holds its line."""

from fleet.verifier.look import Check, Look
from fleet.verifier.model import Judgement, failed, not_checked, passed


def _holds(name: str, line: str) -> Check:
    def check(look: Look) -> Judgement:
        """The file holds its line."""
        fact = look.artifact(name)
        content = look.content(fact)
        if fact is None or content is None:
            return not_checked("it could not be read")
        if line.encode() in content.splitlines():
            return passed("holds its line")
        return failed("holds another line", fact.absolute)

    return check


'''


def write_system(folder: Path) -> None:
    """Write a package with a system of twelve gates, so that it is found on the Python path."""
    package, described = folder / "twelve_files", folder / "twelve_files-1.dist-info"
    for each in (package, described):
        each.mkdir(parents=True, exist_ok=True)
    system = {
        "system": SYSTEM,
        "about": "Twelve files of a benchmark.",
        "artifacts": {
            each.name: {"kind": "observed", "path": each.path, "read": "whole"} for each in ASKED
        },
        "gates": [
            {
                "id": f"twelve.{each.name}",
                "asks": f"{each.path} holds its line.",
                "check": each.name,
                "always": True,
                "without": "an older release runs",
                "remedy": "rebuild the image",
                "source": "the benchmark",
            }
            for each in ASKED
        ],
    }
    (package / "__init__.py").write_text('"""A system for a benchmark."""\n')
    (package / "system.yml").write_text(json.dumps(system, indent=2))
    lines = [f'{each.name} = _holds("{each.name}", "{each.line}")' for each in ASKED]
    (package / "gates.py").write_text(_GATES + "\n".join(lines) + "\n")
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: twelve-files\nVersion: 1\n")
    (described / "entry_points.txt").write_text(f"[fleet.systems]\n{SYSTEM} = twelve_files\n")


def write_structure_test(file: Path) -> None:
    """Write the configuration of container-structure-test."""
    tests = [
        {
            "name": each.name,
            "path": each.path,
            "expectedContents": [f"(?m)^{re.escape(each.line)}$"],
        }
        for each in ASKED
    ]
    file.write_text(json.dumps({"schemaVersion": "2.0.0", "fileContentTests": tests}, indent=2))


def seen_by_fleet(output: bytes) -> dict[str, bool]:
    """Return of each file whether fleet says that it holds its line; others are not in it.

    Its gates of every image are judged as well; nobody else asks those.
    """
    told = {"pass": True, "fail": False}
    findings = json.loads(output)["findings"]
    return {
        finding["gate"].removeprefix("twelve."): told[finding["verdict"]]
        for finding in findings
        if finding["gate"].startswith("twelve.") and finding["verdict"] in told
    }


def seen_by_structure_test(output: bytes) -> dict[str, bool]:
    """Return of each file whether container-structure-test says that it holds its line."""
    results = json.loads(output)["Results"]
    return {result["Name"].rpartition(" ")[2]: result["Pass"] for result in results}
