"""The jobs to be copied, step by step, in a real engine: green for a good image, red for a bad one.

What a step runs is run as its runner would; what only a code host can do (checking out, uploading)
is left out.
"""

import json
import shutil
import uuid
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import docker
import docker.errors
import pytest
from support import commands
from support.ci import load, ran
from support.documents import unpack

from fleet.data import shipped
from fleet.demo.bake import bake
from fleet.demo.history import BRIDGE, bridge_of

TAG = f"fleet-ci-jobs-{uuid.uuid4().hex[:8]}:ci"
DOCKERFILE = """FROM scratch
COPY root /
COPY --chown=1000:1000 home /home
ENV PATH=/usr/local/bin:/usr/bin:/bin
USER dev
"""
NODE = "".join(
    f"#define NODE_{part}_VERSION {number}\n"
    for part, number in (("MAJOR", 22), ("MINOR", 19), ("PATCH", 0))
)
GITHUB = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c")
GITLAB = ("sh", "-ec")


@pytest.fixture(params=["good", "bad"])
def project(
    request: pytest.FixtureRequest, tmp_path: Path, engine: docker.DockerClient
) -> Iterator[tuple[Path, bool]]:
    """A folder with a Dockerfile, and whether what it builds is good."""
    if shutil.which("docker") is None:
        pytest.skip("needs docker's command line")
    good = request.param == "good"
    newest = (shipped("toolkit") / BRIDGE).read_bytes()
    bake(tmp_path / "i.tar", newest if good else bridge_of("2026-08-10.ts"), date="2026-12-01")
    local = unpack(tmp_path / "i.tar", tmp_path / "root") / "usr/local"
    (local / "bin/node").write_bytes(b"")
    (local / "bin/node").chmod(0o755)
    (local / "include/node").mkdir(parents=True)
    (local / "include/node/node_version.h").write_text(NODE, encoding="utf-8")
    (tmp_path / "root" / "home").rename(tmp_path / "home")
    (tmp_path / "i.tar").unlink()
    (tmp_path / "Dockerfile").write_text(DOCKERFILE, encoding="utf-8")
    yield tmp_path, good
    with suppress(docker.errors.ImageNotFound):
        engine.images.remove(TAG, force=True)


def test_the_github_workflow(project: tuple[Path, bool]) -> None:
    folder, good = project
    workflow = load("github-workflow.yml")
    summary = folder / "summary.md"
    summary.write_text("# before\n", encoding="utf-8")
    environment = {
        **workflow["env"],
        "IMAGE": TAG,
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    steps = [step for step in workflow["jobs"]["image"]["steps"] if "run" in step]
    assert [step["name"] for step in steps] == ["Build", "Install fleet", "Check"]
    for step in steps[:-1]:
        code, out, err = ran(step["run"], folder, environment, GITHUB)
        assert code == 0, out + err
    code, out, err = ran(steps[-1]["run"], folder, environment, GITHUB)
    assert code == (0 if good else 2), out + err
    assert f"exit {code}: " in out
    told = json.loads((folder / "fleet.sarif").read_text("utf-8"))["runs"][0]
    assert told["invocations"][0]["exitCode"] == code
    assert summary.read_text("utf-8").startswith(f"# before\n**{'PASSED' if good else 'FAILED'}**")
    lines = "".join(line for line in err.splitlines(keepends=True) if line.startswith("::"))
    errors = [c for c in commands.read(lines) if c.name == "error"]
    assert bool(errors) == (not good)
    upload = next(s for s in workflow["jobs"]["image"]["steps"] if "upload" in s.get("uses", ""))
    assert (folder / upload["with"]["sarif_file"]).exists()


def test_the_gitlab_jobs(project: tuple[Path, bool]) -> None:
    folder, good = project
    pipeline = load("gitlab-ci.yml")
    environment = {**pipeline["variables"], "IMAGE": TAG}
    assert environment["ARCHIVE"] in pipeline["build"]["artifacts"]["paths"]
    for line in pipeline["build"]["script"]:
        code, out, err = ran(line, folder, environment, GITLAB)
        assert code == 0, out + err
    *before, check = pipeline["check"]["script"]
    for line in before:
        assert ran(line, folder, environment, GITLAB)[0] == 0
    code, out, err = ran(check, folder, environment, GITLAB)
    assert code == (0 if good else 2), out + err
    root = ET.parse(folder / pipeline["check"]["artifacts"]["reports"]["junit"]).getroot()  # noqa: S314 - our own file
    failures = {case.attrib["name"] for case in root.iter("testcase") if case.findall("failure")}
    assert ("bridge.feed" in failures) == (not good)
