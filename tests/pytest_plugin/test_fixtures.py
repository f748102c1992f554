"""A user's own tests over the same facts."""

from support.nested import Nested, counts

OWN = """\
import pytest
from notes_system.gates import quiet


@pytest.fixture(scope="module")
def lines(fleet_facts, fleet_target):
    return fleet_target.content("~/notes").decode().split()


def test_lines(lines):
    assert "quiet=fail" not in lines


def test_gates(fleet_target):
    assert fleet_target.judge("notes.there").verdict == "pass"
    assert quiet(fleet_target.look("notes")).verdict == fleet_target.judge("notes.quiet").verdict
    with pytest.raises(LookupError, match="notes.tidy"):
        fleet_target.judge("notes.tydi")


@pytest.mark.fleet_limit("kind=host", "!vault")
@pytest.mark.fleet_read("~/more")
def test_more(fleet_target):
    assert fleet_target.path("~/more").state == "absent"
    with pytest.raises(LookupError, match="fleet_read"):
        fleet_target.path("~/further")


def test_description(fleet_target):
    assert (fleet_target.kind, fleet_target.target.address.name) == (
        "host", f"{fleet_target.name}.example.net"
    )
"""


def test_own_tests_run_on_every_target_over_one_look(nested: Nested) -> None:
    nested.target("laptop").target("vault", "quiet=fail")
    (nested.folder / "test_own.py").write_text(OWN)
    told = nested.run("-m", "not fleet", "-v")
    assert counts(told) == {"passed": 6, "failed": 1}
    told.stdout.fnmatch_lines(["*test_lines[[]vault] FAILED*"])
    assert "test_more[vault]" not in told.stdout.str()
    assert nested.looks() == ["laptop", "vault"]
    apart = nested.run("-n", "2")
    assert counts(apart)["failed"] == 2
    assert nested.looks() == ["laptop", "vault"]


def test_a_test_that_reads_nothing_connects_to_nobody(nested: Nested) -> None:
    nested.target("laptop").gone("vault")
    (nested.folder / "test_own.py").write_text(OWN)
    told = nested.run("-k", "test_description")
    assert counts(told) == {"passed": 2}
    assert nested.looks() == []


def test_an_unreachable_target_is_one_error_of_own_tests_too(nested: Nested) -> None:
    nested.gone("vault")
    (nested.folder / "test_own.py").write_text(OWN)
    told = nested.run("-m", "not fleet", "-k", "not more", "-ra")
    assert counts(told) == {"errors": 1, "skipped": 1, "passed": 1}, told.stdout.str()
    told.stdout.fnmatch_lines(["vault   timeout   UNREACHABLE   no answer in 30 s"])
    assert "Traceback" not in told.stdout.str()
    assert "TargetUnseen" not in told.stdout.str()
    with_gates = nested.run("-ra")
    assert counts(with_gates)["errors"] == 1


def test_a_limit_that_means_nobody_is_told(nested: Nested) -> None:
    nested.target("laptop")
    (nested.folder / "test_own.py").write_text(OWN.replace("!vault", "!valt"))
    told = nested.run("-m", "not fleet")
    assert told.ret == 2
    told.stdout.fnmatch_lines(["*fleet_limit: no target or group is called `valt`*"])
    assert "Traceback" not in told.stdout.str()
