"""The document that other programs read."""

import json

import jsonschema
import pytest
from support.crafted import craft

from fleet.reports.document import RunDocument, document, json_schema
from fleet.reports.json import render
from fleet.reports.view import View
from fleet.verifier.model import Verdict
from fleet.verifier.run import Run

NAMES = ["mixed", "hostile", "crowd", "wide", "healthy", "nothing", "silent", "image"]


@pytest.mark.parametrize("name", NAMES)
def test_every_document_keeps_its_schema(name: str) -> None:
    told = json.loads(render(craft(name), View()))
    jsonschema.Draft202012Validator.check_schema(json_schema())
    jsonschema.validate(told, json_schema())
    assert RunDocument.model_validate(told) == document(craft(name))


def test_it_says_what_was_asked_and_what_came() -> None:
    told = document(craft("mixed"))
    assert told.format == "fleet.run/1"
    assert told.run.command == "audit"
    assert [t.name for t in told.targets] == sorted(t.name for t in told.targets)
    attic = next(t for t in told.targets if t.name == "attic")
    assert not attic.reachable
    assert attic.trouble is not None
    assert attic.trouble.stage == "host-key"
    assert attic.platform is None
    laptop = next(t for t in told.targets if t.name == "laptop")
    assert laptop.reachable
    assert laptop.trouble is None
    assert laptop.platform is not None
    assert laptop.platform.home == "/home/me"
    assert (laptop.address, laptop.milliseconds) == ("ssh://me@laptop", 120)


def test_it_counts_every_verdict() -> None:
    told = document(craft("mixed")).summary
    assert set(told.verdicts) == set(Verdict)
    assert told.verdicts[Verdict.FAIL] == 6
    assert told.required[Verdict.FAIL] == 4
    assert sum(told.verdicts.values()) == 24
    assert (told.targets.total, told.targets.reachable, told.targets.unreachable) == (6, 5, 1)
    assert told.conclusion.code == 2
    assert told.conclusion.reason == "4 required gates failed on 4 targets"


def test_nothing_checked_is_no_success() -> None:
    assert document(craft("nothing")).summary.conclusion.code == 3


def test_order_does_not_depend_on_who_answered_first() -> None:
    run = craft("mixed")
    turned = Run(
        run.id, run.command, run.started, run.finished, tuple(reversed(run.results)), run.strict
    )
    assert render(run, View()) == render(turned, View())


def test_control_characters_travel_escaped() -> None:
    text = render(craft("hostile"), View())
    assert "\\\\x1b" in text
    assert "\u202e" not in text
    assert all(c == "\n" or c.isprintable() for c in text)
