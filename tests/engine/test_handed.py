"""What a fork hands back of targets that it judged."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.saved_fleet import targets, write_fleet

from fleet.engine.context import Context, load_context
from fleet.engine.handed import both_having, packed, unpacked
from fleet.engine.judging import Judged, Standards, judged_of
from fleet.engine.kept import Keeper
from fleet.engine.options import AuditOptions
from fleet.engine.recorded import recorded
from fleet.verifier.model import Finding
from fleet.verifier.run import TargetResult

HOSTS = 6


@pytest.fixture
def context(tmp_path: Path) -> Context:
    return load_context(write_fleet(tmp_path, HOSTS))


def judged(context: Context) -> list[Judged]:
    options = AuditOptions(from_dir=context.folder / "facts")
    standards, keeper = Standards(context, datetime.now(UTC).date()), Keeper(context)
    looked = recorded(targets(context), context, options)
    return [judged_of(one, standards, lean=False, keeper=keeper) for one in looked]


def test_what_comes_is_what_was_handed_back(context: Context) -> None:
    share = judged(context)
    with both_having(targets(context), context):
        came = unpacked(packed(share))
    assert came == share
    assert [type(one.result.facts) for one in came] == [type(one.result.facts) for one in share]
    for one, other in zip(came, share, strict=True):
        if one.result.facts is not None and other.result.facts is not None:
            assert one.result.facts.model_dump_json() == other.result.facts.model_dump_json()
            assert one.result.facts.model_fields_set == other.result.facts.model_fields_set


def test_what_gates_say_alike_of_a_share_is_written_once(context: Context) -> None:
    share, alike = judged(context), "is not loaded by pi"
    said = share[0].result.findings[0]
    share = [one._replace(result=_saying(one, said, alike)) for one in share]
    with both_having(targets(context), context):
        written = packed(share)
        assert unpacked(written) == share
    assert len(share) > 1
    assert written.count(alike.encode()) == 1


def _saying(one: Judged, said: Finding, message: str) -> TargetResult:
    own = "".join(list(message))  # equal, and not the same object: as gates make it
    return replace(one.result, findings=(said._replace(target=one.member.name, message=own),))
