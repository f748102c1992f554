"""Markers are found as code, and only as code; one file a case."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.places import CASES

from fleet.inventory.yaml import load
from fleet.verifier.code import is_script, read_code
from fleet.verifier.markers import sight

FOLDER = CASES / "markers"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.yml")), ids=lambda p: p.stem)
def test_case(path: Path) -> None:
    case = load(path.read_text(), str(path))
    assert isinstance(case, dict)
    code = read_code(str(case["content"]).encode(), script=is_script(str(case["file"])))
    found = case["found"]
    assert isinstance(found, dict)
    assert {marker: sight(code, str(marker)).line for marker in found} == found


@given(st.binary(max_size=400))
def test_any_bytes_are_read_without_an_error(content: bytes) -> None:
    for script in (True, False):
        sight(read_code(content, script=script), "MEMPALACE_FEED")


def test_deep_nesting_is_read_without_recursion() -> None:
    content = b"[" * 20_000 + b"process.env.MEMPALACE_FEED" + b"]" * 20_000
    assert sight(read_code(content, script=True), "MEMPALACE_FEED").found


def test_a_broken_script_names_its_first_bad_line() -> None:
    code = read_code(b"const a = 1;\nexport default function (pi) {\n  pi.on(", script=True)
    assert code.broken is not None


def test_a_whole_script_says_what_it_exports() -> None:
    whole = read_code(b"export default async function (pi) {}\n", script=True)
    assert (whole.broken, whole.exports_default) == (None, True)
    assert not read_code(b"export function f() {}\n", script=True).exports_default
