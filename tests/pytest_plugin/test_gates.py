"""Every gate of every target is a test."""

import re
import xml.etree.ElementTree as ET

import pytest
from support.nested import FLEETWIDE, Nested, counts

from fleet.verifier.fleetwide.rules import RULES

IDS = [
    "fleet/laptop::notes.there",
    "fleet/laptop::notes.quiet",
    "fleet/laptop::notes.tidy",
    "fleet/vault::notes.there",
    "fleet/vault::notes.quiet",
    "fleet/vault::notes.tidy",
    *(f"fleet::{gate}" for gate in RULES),
    "fleet::checked",
]


def collected(result: pytest.RunResult) -> list[str]:
    return [line for line in result.outlines if line.startswith("fleet") and "::" in line]


def test_ids_are_known_without_looking(nested: Nested) -> None:
    nested.target("laptop", "quiet=fail").gone("vault")
    told = nested.run("--collect-only", "-q")
    assert told.ret == 0
    assert collected(told) == IDS
    assert nested.looks() == []


def test_each_verdict_is_told_as_fleet_tells_it(nested: Nested) -> None:
    nested.target("laptop", "quiet=fail", "tidy=warn").target("vault", "tidy=not-checked")
    told = nested.run("-ra")
    assert told.ret == 1
    assert counts(told) == {"passed": 4, "failed": 1, "xfailed": 1, "skipped": 1 + FLEETWIDE}
    assert nested.looks() == ["laptop", "vault"]
    told.stdout.fnmatch_lines(
        [
            "fleet: 2 targets of fleet.yml",
            "*laptop: notes.quiet*",
            "laptop   notes.quiet   FAIL   quiet is fail",
            "  the file says quiet=fail",
            "  be quiet",
            "fleet: 2 targets asked, 2 answered",
            "SKIPPED [[]1] fleet.yml:5: not checked: tidy is not-checked",
            "XFAIL fleet/laptop::notes.tidy - warning: tidy is warn",
            "FAILED fleet/laptop::notes.quiet - quiet is fail",
        ]
    )
    assert "Traceback" not in told.stdout.str()
    assert "nodes.py" not in told.stdout.str()


@pytest.mark.parametrize(
    ("told", "options", "code"),
    [
        (("there=pass",), (), 0),
        (("tidy=fail",), (), 0),
        (("tidy=fail",), ("strict",), 2),
        (("quiet=fail",), (), 2),
        (("quiet=not-checked",), (), 3),
        (("there=not-applicable", "quiet=not-applicable"), (), 3),
    ],
)
def test_the_exit_code_agrees(
    nested: Nested, told: tuple[str, ...], options: tuple[str, ...], code: int
) -> None:
    nested.target("laptop", *told)
    assert nested.fleet("audit", "-i", "fleet.yml", *(f"--{o}" for o in options)) == code
    result = nested.run(*(f"--fleet-{o}" for o in options))
    assert result.ret == (1 if code else 0), result.stdout.str()


def test_what_is_required_and_follows_fails_and_says_from_what(nested: Nested) -> None:
    nested.target("laptop", "there=fail")
    told = nested.run()
    assert counts(told) == {"failed": 2, "passed": 2, "skipped": FLEETWIDE}
    told.stdout.fnmatch_lines(["laptop   notes.quiet   NOT CHECKED   follows from notes.there"])
    told.stdout.no_fnmatch_line("  be quiet")


def test_what_a_target_says_cannot_steer_a_terminal_or_break_junit(nested: Nested) -> None:
    nested.target("laptop", "quiet=fail", "more=\x1b[2J\u202e]]>&\x00")
    told = nested.run("-k", "quiet", "--junitxml=out.xml")
    told.stdout.fnmatch_lines(["  the file says quiet=fail \\x1b[[]2J\\u202e]]>&\\x00"])
    assert not {"\x1b", "\u202e", "\x00"} & set(told.stdout.str())
    failure = ET.parse(nested.folder / "out.xml").getroot().find(".//failure")  # noqa: S314 - made by this test
    assert failure is not None
    assert "\\x1b[2J" in str(failure.text)


def test_an_unreachable_target_is_one_error(nested: Nested) -> None:
    nested.target("laptop").gone("vault")
    told = nested.run("-ra")
    assert told.ret == 1
    assert counts(told) == {"passed": 4, "errors": 1, "skipped": 2 + FLEETWIDE}
    told.stdout.fnmatch_lines(
        [
            "vault   timeout   UNREACHABLE   no answer in 30 s",
            "  is it up[?]",
            "  3 gates not judged",
            "fleet: 2 targets asked, 1 answered",
            "SKIPPED [[]2]*not checked: vault is unreachable: no answer in 30 s",
            "ERROR fleet/vault::notes.there - vault is unreachable: no answer in 30 s",
        ]
    )
    alone = nested.run("-k", "vault and tidy")
    assert (alone.ret, counts(alone)) == (1, {"errors": 1})


def test_where_no_target_answers_no_test_passes(nested: Nested) -> None:
    nested.gone("laptop").gone("vault")
    told = nested.run("-ra")
    assert told.ret == 1
    assert counts(told) == {"errors": 2, "skipped": 5 + FLEETWIDE}
    told.stdout.fnmatch_lines(["SKIPPED*nothing was checked: no target answered*"])


def test_what_could_not_be_asked_is_asked_again_by_last_failed(nested: Nested) -> None:
    nested.gone("vault").target("laptop")
    nested.run()
    nested.target("vault")
    again = nested.run("--lf", "-v")
    assert again.ret == 0
    assert set(re.findall(r"fleet/\S+ ", again.stdout.str())) == {
        "fleet/vault::notes.there ",
        "fleet/vault::notes.quiet ",
        "fleet/vault::notes.tidy ",
    }
    cache = nested.folder / ".pytest_cache/v/cache/lastfailed"
    assert not cache.exists() or cache.read_text().strip() == "{}"


@pytest.mark.parametrize(
    ("words", "ids", "looks"),
    [
        (("-k", "laptop and quiet"), ["fleet/laptop::notes.quiet"], ["laptop"]),
        (("fleet/vault",), IDS[3:6], ["vault"]),
        (("fleet/vault::notes.tidy", "fleet/laptop"), [*IDS[:3], IDS[5]], ["laptop", "vault"]),
        (("fleet::fleet.devices",), ["fleet::fleet.devices"], ["laptop", "vault"]),
        (("-m", "fleet", "-k", "tidy"), [IDS[2], IDS[5]], ["laptop", "vault"]),
        (("--deselect", "fleet/laptop", "-k", "notes"), IDS[3:6], ["vault"]),
        (("-m", "not fleet"), [], []),
    ],
)
def test_only_whom_the_chosen_tests_are_about_is_looked_at(
    nested: Nested, words: tuple[str, ...], ids: list[str], looks: list[str]
) -> None:
    nested.target("laptop").target("vault")
    told = nested.run("-vv", *words)
    assert sorted(re.findall(r"^(fleet\S*::\S+) ", told.stdout.str(), re.MULTILINE)) == sorted(ids)
    assert nested.looks() == looks


def test_a_name_that_is_none_is_refused(nested: Nested) -> None:
    told = nested.target("laptop").run("fleet/latpop::notes.quiet")
    assert told.ret == 4
    told.stderr.fnmatch_lines(["ERROR: not found: fleet/latpop::notes.quiet"])


def test_ids_run_from_another_folder(nested: Nested) -> None:
    (nested.target("laptop").folder / "inner").mkdir()
    (nested.folder / "pytest.ini").write_text("[pytest]\nfleet_inventory = fleet.yml\n")
    nested.pytester._monkeypatch.chdir(nested.folder / "inner")
    told = nested.bare("-v", "../fleet/laptop::notes.quiet")
    assert counts(told) == {"passed": 1}


def test_workers_look_once(nested: Nested) -> None:
    nested.target("laptop", "quiet=fail").target("vault").gone("attic")
    apart = nested.run("-n", "2", "--dist", "load", "-ra")
    assert nested.looks() == ["attic", "laptop", "vault"]
    assert counts(apart) == {"passed": 6, "failed": 1, "errors": 1, "skipped": 2 + FLEETWIDE}
    apart.stdout.fnmatch_lines(
        [
            "laptop   notes.quiet   FAIL   quiet is fail",
            "fleet: 3 targets asked, 2 answered",
            "FAILED fleet/laptop::notes.quiet - quiet is fail",
        ]
    )
    together = nested.run("-p", "no:xdist")
    assert counts(together) == counts(apart)


def test_junit_tells_verdict_message_and_remedy(nested: Nested) -> None:
    nested.target("laptop", "quiet=fail", "tidy=fail").gone("vault")
    nested.run("--junitxml=out.xml", "-n", "1")
    root = ET.parse(nested.folder / "out.xml").getroot()  # noqa: S314 - made by this test
    cases = {(c.get("classname"), c.get("name")): c for c in root.iter("testcase")}
    failed = cases["fleet.laptop", "notes.quiet"]
    failure = failed.find("failure")
    assert failure is not None
    assert failure.get("message") == "quiet is fail"
    assert "be quiet" in str(failure.text)
    told = {p.get("name"): p.get("value") for p in failed.iter("property")}
    assert told == {
        "fleet.target": "laptop",
        "fleet.system": "notes",
        "fleet.verdict": "fail",
        "fleet.severity": "major",
        "fleet.required": "true",
    }
    waived = cases["fleet.laptop", "notes.tidy"].find("skipped")
    assert waived is not None
    assert (waived.get("type"), waived.get("message")) == (
        "pytest.xfail",
        "advisory: tidy is fail",
    )
    error = cases["fleet.vault", "notes.there"].find("error")
    assert error is not None
    assert "vault is unreachable: no answer in 30 s" in str(error.get("message"))
    assert len(list(root.iter("error"))) == 1


def test_a_waiver_of_the_inventory_is_an_expected_failure(nested: Nested) -> None:
    waiver = "{gate: notes.quiet, targets: [laptop], reason: rebuilt soon, until: 2999-01-01}"
    nested.more(f"waivers: [{waiver}]\n").target("laptop", "quiet=fail")
    told = nested.run("-rx")
    assert told.ret == 0
    told.stdout.fnmatch_lines(["XFAIL*quiet is fail; waived until 2999-01-01: rebuilt soon"])
    nested.inventory = nested.inventory.replace("2999", "2001")
    told = nested.target("laptop", "quiet=fail").run()
    assert told.ret == 1
    told.stdout.fnmatch_lines(["*the waiver ran out on 2001-01-01: rebuilt soon"])
