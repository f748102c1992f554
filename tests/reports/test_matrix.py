"""How findings come down to one mark."""

import pytest
from support.crafted import craft

from fleet.reports.matrix import Mark, Row, mark, matrix, merged
from fleet.verifier.model import Finding, Severity, Verdict


def told(verdict: str, *, required: bool = False) -> Finding:
    return Finding("t", "s", "s.g", Verdict(verdict), Severity.MAJOR, required, "m")


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        ([], None),
        ([("pass", True), ("fail", True)], Mark.FAIL),
        ([("pass", True), ("fail", False)], Mark.ADVISORY),
        ([("fail", False), ("not-checked", True)], Mark.NOT_CHECKED),
        ([("pass", False), ("not-checked", False)], Mark.NOT_CHECKED),
        ([("pass", True), ("not-checked", False)], Mark.PASS),
        ([("pass", True), ("error", False)], Mark.ERROR),
        ([("pass", True), ("warn", False)], Mark.WARN),
        ([("pass", True), ("waived", True)], Mark.WAIVED),
        ([("unreachable", True), ("pass", True)], Mark.UNREACHABLE),
        ([("not-applicable", True), ("pass", False)], Mark.PASS),
        ([("not-applicable", True)], Mark.NOT_APPLICABLE),
    ],
)
def test_the_worst_that_is_required_decides(
    found: list[tuple[str, bool]], expected: Mark | None
) -> None:
    assert mark(told(v, required=r) for v, r in found) is expected


@pytest.mark.parametrize("verdict", sorted(set(Verdict) - {Verdict.PASS}))
def test_no_other_verdict_reads_as_a_pass(verdict: Verdict) -> None:
    assert mark([told(verdict)]) is not Mark.PASS
    assert mark([told(verdict, required=True)]) is not Mark.PASS


def test_strict_makes_every_failure_count() -> None:
    assert mark([told("fail")], strict=True) is Mark.FAIL


def test_columns_are_systems_then_capabilities() -> None:
    laid = matrix(craft("mixed"))
    assert laid.columns == ("mempalace-bridge", "env", "mempalace-serve", "feed", "stamp")
    assert laid.systems == 3
    assert [row.targets[0] for row in laid.rows][:2] == ["laptop", "pi-devbox:2026-08-10"]
    assert laid.rows[0].marks == (Mark.PASS, Mark.PASS, None, Mark.PASS, Mark.PASS)


def test_equal_rows_merge_and_the_worst_comes_first() -> None:
    rows = [
        Row(("a",), (Mark.PASS,)),
        Row(("b",), (Mark.FAIL,)),
        Row(("c",), (Mark.PASS,)),
        Row(("d",), (None,)),
    ]
    assert [row.targets for row in merged(rows)] == [("b",), ("a", "c"), ("d",)]
