"""What is wrong with the options is one usage error; without options nothing happens."""

import pytest
from support.nested import FLEETWIDE, Nested, counts


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["--fleet-inventory=nowhere.yml"], ["ERROR: there is no */nowhere.yml"]),
        (
            ["--fleet-inventory=broken.yml"],
            ["ERROR: *", "*broken.yml:2:*", "*broken.yml:3:*", "2 mistakes"],
        ),
        (
            ["--fleet-inventory=fleet.yml", "--fleet-require=quite"],
            ["ERROR: there is no capability 'quite'", "  did you mean `quiet`?"],
        ),
        (
            ["--fleet-inventory=fleet.yml", "--fleet-limit=latpop"],
            ["ERROR: no target or group is called `latpop`"],
        ),
        (
            ["--fleet-target=ssh://laptop"],
            ["ERROR: nothing says what to look for", "  name it with --fleet-system: *"],
        ),
        (
            ["--fleet-target=sh://laptop", "--fleet-system=env"],
            ["ERROR: `sh://laptop` is no address*"],
        ),
        (
            ["--fleet-inventory=fleet.yml", "--fleet-jobs=none"],
            ["ERROR: --fleet-jobs takes a whole number, more than 0 and at most 256"],
        ),
        (
            ["--fleet-inventory=fleet.yml", "--fleet-scan=some"],
            ["ERROR: --fleet-scan takes likely or all"],
        ),
        (
            ["--fleet-inventory=fleet.yml", "--fleet-set=novalue"],
            ["ERROR: a variable on the command line is NAME=VALUE"],
        ),
        (
            ["--fleet-inventory=fleet.yml", "--fleet-deep", "--fleet-from=."],
            ["ERROR: --fleet-deep runs pi on targets, and --fleet-from connects to none"],
        ),
        (["--fleet-inventory=broken.yml", "-n", "2"], ["ERROR: *", "2 mistakes"]),
    ],
)
def test_a_mistake_is_one_usage_error(nested: Nested, words: list[str], told: list[str]) -> None:
    nested.target("laptop")
    (nested.folder / "broken.yml").write_text(
        "hosts:\n  laptop: {shh: laptop}\n  vault: {ssh: vault, bcome: true}\n"
    )
    (nested.folder / "test_own.py").write_text("def test_own(): pass\n")
    result = nested.bare(*words)
    assert result.ret == 4
    result.stderr.fnmatch_lines(told)
    assert "Traceback" not in result.stderr.str() + result.stdout.str()
    assert nested.looks() == []


def test_without_options_there_is_nothing_of_it(nested: Nested) -> None:
    nested.target("laptop")
    (nested.folder / "conftest.py").write_text("")
    (nested.folder / "test_own.py").write_text(
        "import sys\n"
        "def test_own(): assert not {'fleet.engine', 'pydantic', 'yaml'} & set(sys.modules)\n"
        "def test_target(fleet_target): raise AssertionError\n"
        "def test_facts(fleet_facts): raise AssertionError\n"
    )
    told = nested.bare("-rs", "--strict-markers", "-W", "error")
    assert (told.ret, counts(told)) == (0, {"passed": 1, "skipped": 2})
    told.stdout.fnmatch_lines(["SKIPPED*no fleet to look at: give --fleet-inventory or *"])
    assert "fleet:" not in told.stdout.str()
    without = nested.bare("-p", "no:fleet", "test_own.py::test_own")
    assert (without.ret, counts(without)) == (0, {"passed": 1})
    unknown = nested.bare("-p", "no:fleet", "--fleet-inventory=fleet.yml")
    assert unknown.ret == 4


def test_a_configuration_file_says_it_once(nested: Nested) -> None:
    nested.target("laptop", "tidy=fail").target("vault")
    (nested.folder / "test_own.py").write_text("def test_own(): pass\n")
    (nested.folder / "pytest.ini").write_text(
        "[pytest]\nfleet_inventory = fleet.yml\nfleet_limit = laptop\nfleet_strict = true\n"
    )
    told = nested.bare()
    assert counts(told) == {"passed": 4, "failed": 1, "skipped": FLEETWIDE}
    assert nested.looks() == ["laptop"]
    only = nested.bare("test_own.py")
    assert counts(only) == {"passed": 1}, "who names a file means that file"
    over = nested.run("--fleet-limit=vault", "test_own.py")
    assert counts(over) == {"passed": 5, "skipped": FLEETWIDE}


def test_targets_by_address(nested: Nested) -> None:
    nested.target("ssh://u@laptop:2222").target("ssh://u@vault")
    addresses = ("--fleet-target=ssh://u@laptop:2222", "--fleet-target=u@vault")
    words = ("--fleet-system=notes", "--fleet-require=quiet", "-v")
    told = nested.bare(*addresses, *words)
    told.stdout.fnmatch_lines(
        [
            "fleet: 2 targets",
            "fleet/ssh:u@laptop:2222::notes.quiet PASSED*",
            "fleet/ssh:u@vault::notes.quiet PASSED*",
        ]
    )
    one = nested.bare(*addresses, *words, "fleet/ssh:u@vault::notes.quiet")
    assert counts(one) == {"passed": 1}
    assert nested.looks() == ["ssh://u@vault"]


def test_saved_facts_are_judged_without_a_connection(nested: Nested) -> None:
    nested.target("laptop", "quiet=fail")
    assert nested.fleet("facts", "all", "-i", "fleet.yml", "-o", "saved") == 0
    nested.gone("laptop")
    told = nested.run("--fleet-from=saved")
    assert counts(told) == {"passed": 3, "failed": 1, "skipped": FLEETWIDE}
    assert nested.looks() == []


def test_zero_checked_is_no_success(nested: Nested) -> None:
    nested.target("laptop", "there=not-applicable", "quiet=not-applicable")
    told = nested.run()
    assert counts(told) == {"failed": 1, "passed": 1, "skipped": 2 + FLEETWIDE}
    told.stdout.fnmatch_lines(["*nothing required was checked*"])
