"""Whether a running nginx has loaded what lies there, on a machine of its own.

Which of several proxies is meant nobody can tell, and a machine that runs tests may have several:
here only those are seen that a test started, and they end with the look.
"""

import shlex
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from support.alone import alone
from support.living import Living
from support.palace_proxy import PATH, Edge, program_of

from fleet.demo.palace import Palace
from fleet.secrets import Secret
from fleet.verifier.model import Finding, Verdict

PASS, FAIL, UNSEEN = Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED


@pytest.fixture
def edge(tmp_path: Path) -> Edge:
    program_of("nginx")
    palace = Palace("http://127.0.0.1:9/mcp", 9, tmp_path, tmp_path, Secret("tok-EXAMPLE"))
    made = Edge(tmp_path / "edge", palace, "nginx", "tok-EXAMPLE")
    made.site.write_text("# nothing is served\n")
    return made


def loaded(edge: Edge, *, first: str = "", last: str = "") -> Finding:
    """Judge a machine on which these lines ran before, and after, one nginx was started."""
    start = shlex.join([program_of("nginx"), "-c", str(edge.main)])
    shell = alone(first, start, "sleep 0.3", last, path=PATH)
    there = Living(edge.folder, shell, ("palace-proxy",))
    variables: Mapping[str, str] = edge.variables()
    where = replace(there.declared(), variables=variables)
    return there.findings(where)["proxy.loaded"]


def test_what_was_started_after_it_was_written_has_loaded_it(edge: Edge) -> None:
    found = loaded(edge)
    assert found.verdict is PASS, found
    assert found.message == "nginx started, or took it, after it was written"


def test_what_was_written_after_the_start_was_not_loaded(edge: Edge) -> None:
    soon = time.strftime("%Y-%m-%dT%H:%M:%S", time.localtime(time.time() + 60))
    found = loaded(edge, last=shlex.join(["touch", "-d", soon, str(edge.site)]))
    assert found.verdict is FAIL, found
    assert "before it was written" in found.evidence[0]


def test_which_of_two_is_meant_is_not_guessed_at(edge: Edge) -> None:
    other = edge.folder / "other.conf"
    other.write_text(edge.main.read_text().replace("nginx.pid", "other.pid"))
    found = loaded(edge, first=shlex.join([program_of("nginx"), "-c", str(other)]))
    assert found.verdict is UNSEEN, found
    assert found.message.startswith("several nginx run")
