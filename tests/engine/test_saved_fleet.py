"""Thousands of saved facts: what targets have alike is worked out once, and nothing is blurred."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from support.saved_fleet import SCHEMA, forget, targets, write_fleet

import fleet.verifier.code
import fleet.verifier.shipped_schema
from fleet.engine.audit import audit
from fleet.engine.context import load_context
from fleet.engine.kept import Keeper, pieces
from fleet.engine.options import AuditOptions
from fleet.facts import model
from fleet.facts.jsontext import read_json
from fleet.history.model import Beside
from fleet.history.store import History
from fleet.systems import resolve
from fleet.verifier.model import Finding, Verdict
from fleet.verifier.run import Run

HOSTS = 12


@pytest.fixture
def inventory(tmp_path: Path) -> Path:
    return write_fleet(tmp_path, HOSTS)


def judged(inventory: Path, *names: str, lean: bool = False) -> Run:
    context = load_context(inventory)
    chosen = [t for t in targets(context) if not names or t.name in names]
    return audit(chosen, context, AuditOptions(from_dir=inventory.parent / "facts", lean=lean))


def test_a_target_is_judged_among_others_as_it_is_alone(inventory: Path) -> None:
    forget()
    together = {r.target.name: r.findings for r in judged(inventory).results}
    assert len(together) == HOSTS
    verdicts = {f.verdict for findings in together.values() for f in findings}
    assert {Verdict.PASS, Verdict.FAIL, Verdict.NOT_CHECKED, Verdict.NOT_APPLICABLE} <= verdicts
    for name, findings in together.items():
        forget()
        (alone,) = judged(inventory, name).results
        assert alone.findings == findings, name


def test_the_hosts_of_the_sample_are_not_all_alike(inventory: Path) -> None:
    def shape(findings: tuple[Finding, ...]) -> tuple[object, ...]:
        return tuple((f.gate, f.verdict) for f in findings)

    assert len({shape(r.findings) for r in judged(inventory).results}) >= HOSTS // 2


def test_the_order_of_the_targets_changes_no_finding(inventory: Path) -> None:
    context = load_context(inventory)
    options = AuditOptions(from_dir=inventory.parent / "facts")
    forget()
    one = audit(targets(context), context, options)
    forget()
    other = audit(targets(context)[::-1], context, options)
    assert [r.findings for r in one.results] == [r.findings for r in other.results[::-1]]


def test_lean_is_the_same_but_for_the_facts(inventory: Path) -> None:
    whole, lean = judged(inventory), judged(inventory, lean=True)
    assert lean.findings == whole.findings
    assert (lean.gates, lean.drift) == (whole.gates, whole.drift)
    for big, small in zip(whole.results, lean.results, strict=True):
        assert big.facts is not None
        assert small.facts is not None
        assert (small.facts.platform, small.facts.taken_at) == (
            big.facts.platform,
            big.facts.taken_at,
        )
        assert len(small.facts.paths) < len(big.facts.paths)
        assert replace(small, facts=None) == replace(big, facts=None)


def test_what_is_laid_out_meanwhile_is_kept_as_the_whole_facts_are(
    inventory: Path, tmp_path: Path
) -> None:
    context = load_context(inventory)
    keeper = Keeper(context)
    options = AuditOptions(from_dir=inventory.parent / "facts")
    whole = audit(targets(context), context, options)
    lean = audit(targets(context), context, replace(options, lean=True), keeper=keeper)
    with History(tmp_path / "history.db", write=True) as history:
        one = history.save(whole, Beside(pieces=pieces(whole, context)))
        other = history.save(lean, Beside(pieces=keeper.pieces, laid=keeper.laid))
        for result in whole.results:
            name = result.target.name
            assert history.facts(one, name) == history.facts(other, name) == result.facts
        assert history.beside(one).pieces == history.beside(other).pieces


def counted(
    monkeypatch: pytest.MonkeyPatch, module: object, name: str
) -> tuple[list[object], Callable[..., object]]:
    """Count the calls of a function by its first argument."""
    real, calls = getattr(module, name), []

    def counting(first: object, *rest: object) -> object:
        calls.append(first)
        return real(first, *rest)

    monkeypatch.setattr(module, name, counting)
    return calls, real


def test_a_bridge_that_many_targets_carry_is_parsed_once(
    inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget()
    parsed, _ = counted(monkeypatch, fleet.verifier.code, "_script")
    run = judged(inventory)
    carried = {c for r in run.results for c in (r.facts.contents if r.facts else ())}
    assert len(parsed) == len(set(parsed)) == 2
    assert sum(f.gate == "bridge.feed" for f in run.findings) == HOSTS
    assert len(carried) > len(parsed)


def test_a_schema_that_many_targets_carry_is_taken_once(
    inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget()
    import fleet.systems.pi.settings  # noqa: PLC0415 - its gates import it late

    taken, _ = counted(monkeypatch, fleet.systems.pi.settings, "shipped")
    judged(inventory)
    assert taken == [read_json(SCHEMA)]


def test_a_systems_texts_are_rendered_once_for_targets_that_look_alike_to_them(
    inventory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    forget()
    made, _ = counted(monkeypatch, resolve, "_made")
    judged(inventory)
    systems = {id(system) for system in made}
    assert len(made) < HOSTS * len(systems) / 2
    assert len(systems) == 5


def test_bytes_that_many_targets_carry_are_held_once(inventory: Path) -> None:
    held: dict[str, bytes] = {}
    for result in judged(inventory).results:
        assert result.facts is not None
        for name, content in result.facts.contents.items():
            assert held.setdefault(name, content) is content
            assert model.git_blob(content)
