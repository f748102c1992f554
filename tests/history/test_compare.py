"""Two runs held against each other: what is worse, what is better, and what only was not seen."""

import pytest
from support.nights import night

from fleet.history.compare import difference
from fleet.history.model import Beside
from fleet.verifier.model import Verdict

P, F, N, U = Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED, Verdict.UNREACHABLE
W, E, A, X = Verdict.WARN, Verdict.ERROR, Verdict.WAIVED, Verdict.NOT_APPLICABLE


@pytest.mark.parametrize(
    "before, after, meant",
    [
        (P, F, "worse"),
        (P, W, "worse"),
        (P, N, "worse"),
        (P, U, "worse"),
        (N, F, "worse"),
        (W, F, "worse"),
        (E, F, "worse"),
        (X, F, "worse"),
        (A, F, "worse"),
        (F, P, "better"),
        (F, A, "better"),
        (F, W, "better"),
        (N, P, "better"),
        (U, P, "better"),
        (F, N, ""),  # it is not seen any more, and may fail still
        (F, U, ""),
        (U, F, ""),  # it may have failed before it was not reached
        (W, N, ""),
        (P, X, ""),
    ],
)
def test_a_change_is_for_the_worse_the_better_or_neither(
    before: Verdict, after: Verdict, meant: str
) -> None:
    found = difference((night(0, before), Beside()), (night(1, after), Beside()))
    (change,) = found.verdicts
    assert (change.worse, change.better) == (meant == "worse", meant == "better")
    assert found.same == 0
