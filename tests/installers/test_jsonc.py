"""Values are set in JSON with comments without touching a byte of anything else."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.bench import SHELLS, Bench
from support.places import CASES

from fleet.installers.items import Item, MergeBody
from fleet.installers.jsonc import applied, canonical, merge, remove
from fleet.installers.jsonc_read import BrokenJson, read_jsonc

ENTRY = {"mcp": {"mempalace": {"type": "remote", "url": "https://palace.example.net/mcp"}}}

keys = st.text(max_size=6)
scalars = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
values = st.recursive(
    scalars, lambda v: st.lists(v, max_size=3) | st.dictionaries(keys, v, max_size=3), max_leaves=8
)
objects = st.dictionaries(keys, values, max_size=4)
wanted = st.dictionaries(keys, values, min_size=1, max_size=3)
blanks = st.sampled_from(["", " ", "\n", "\r\n", "\t", ' // c, } "\n', '/* { " */', "\n  "])


@st.composite
def documents(draw: st.DrawFn, value: object = None, top: bool = True) -> tuple[str, object]:
    """A JSONC text in any layout, and what it means."""
    meant = draw(objects) if top else value
    text = draw(st.just("\ufeff") | st.just("")) if top else ""

    def blank() -> str:
        return draw(blanks)

    def written(node: object) -> str:
        if isinstance(node, dict):
            parts = [
                f"{blank()}{json.dumps(k)}{blank()}:{blank()}{written(v)}{blank()}"
                for k, v in node.items()
            ]
            return "{" + joined(parts) + "}"
        if isinstance(node, list):
            return "[" + joined([f"{blank()}{written(v)}{blank()}" for v in node]) + "]"
        return json.dumps(node, ensure_ascii=draw(st.booleans()))

    def joined(parts: list[str]) -> str:
        if not parts:
            return blank()
        last: bool = draw(st.booleans())
        return ",".join(parts) + (f",{blank()}" if last else "")

    return text + blank() + written(meant) + blank(), meant


@given(documents())
def test_any_layout_is_read_as_it_is_meant(document: tuple[str, object]) -> None:
    text, meant = document
    root = read_jsonc(text)
    assert root is not None
    assert root.plain() == meant


@given(documents(), wanted)
def test_setting_values_sets_them_and_nothing_else(
    document: tuple[str, object], new: dict[str, object]
) -> None:
    text, meant = document
    assert isinstance(meant, dict)
    merged = merge(text, new)

    after = applied(text, merged.edits)

    root = read_jsonc(after)
    assert root is not None
    assert canonical(root.plain()) == canonical(deep(meant, new))
    assert not merge(after, new).edits
    if not merged.replaced:
        kept = iter(after)
        assert all(c in kept for c in text), "every character of the old text is still there"


@given(documents(), wanted)
def test_what_was_put_in_can_be_cut_out_byte_for_byte(
    document: tuple[str, object], new: dict[str, object]
) -> None:
    text, _ = document
    merged = merge(text, new)
    if merged.replaced:
        return
    after, shift, cuts = applied(text, merged.edits), 0, []
    for edit in merged.edits:
        cuts.append((edit.start + shift, edit.start + shift + len(edit.new)))
        shift += len(edit.new)
    for start, end in reversed(cuts):
        after = after[:start] + after[end:]
    assert after == text


@given(documents(), wanted)
def test_members_can_be_removed_after_others_edited_the_file(
    document: tuple[str, object], new: dict[str, object]
) -> None:
    text, meant = document
    merged = merge(text, new)
    if merged.replaced or "" in merged.inserted:
        return
    after = applied(text, merged.edits)

    edits = remove(after, merged.inserted)

    assert edits is not None
    root = read_jsonc(applied(after, edits))
    assert root is not None
    assert canonical(root.plain()) == canonical(meant)


def deep(old: object, new: object) -> object:
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    return {**old, **{k: deep(old[k], v) if k in old else v for k, v in new.items()}}


@pytest.mark.parametrize(
    "text, place",
    [
        ('{ "mcp": { "docs": { "type": "remote" ', "line 1, column 39"),
        ('{\n  "a": 1\n  "b": 2\n}', "line 3, column 3"),
        ('{"a": 1, "a": 2}', "line 1, column 10"),
        ("{'a': 1}", "line 1, column 2"),
        ('{"a": NaN}', "line 1, column 7"),
        ('{"a": 1} {', "line 1, column 10"),
        ('{"a": /* 1}', "line 1, column 7"),
        ('{"a": "b\nc"}', "line 1, column 7"),
        ('{"a": 01}', "line 1, column 8"),
        ("[" * 300, "line 1, column 101"),
    ],
)
def test_what_is_broken_is_refused_with_its_place(text: str, place: str) -> None:
    with pytest.raises(BrokenJson, match=place):
        merge(text, ENTRY)


def test_a_list_is_no_place_for_members() -> None:
    with pytest.raises(ValueError, match="no object"):
        merge("[1]", ENTRY)


# --- on a target ---


@pytest.fixture(params=SHELLS)
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Bench:
    return Bench(tmp_path / "home", request.param)


def item(values: dict[str, object] | None = None) -> Item:
    return Item("opencode", "entry", "~/.config/opencode.jsonc", MergeBody(values or ENTRY))


def test_d03_every_byte_outside_the_entry_is_kept(bench: Bench) -> None:
    there = (CASES / "D03/opencode.jsonc").read_bytes()
    path = bench.write(".config/opencode.jsonc", there, 0o600)

    made = bench.bring(item())

    after = path.read_bytes()
    start = after.index(b'\n    "mempalace"')
    end = after.index(b"}", start) + 2
    assert after[:start] + after[end:] == there
    assert path.stat().st_mode & 0o777 == 0o600
    assert b'"url": "https://palace.example.net/mcp"' in after[start:end]
    assert "docs.example.net" not in made.to_json(), "what others wrote is in no plan"
    assert bench.plan(item()).changes == 0
    bench.uninstall()
    assert path.read_bytes() == there


def test_d03_a_broken_file_is_left_alone_and_reported(bench: Bench) -> None:
    there = (CASES / "D03/broken.jsonc").read_bytes()
    path = bench.write(".config/opencode.jsonc", there)

    [conflict] = bench.plan(item(), adopt=True).conflicts

    assert conflict.what.startswith("~/.config/opencode.jsonc is not valid JSON: line 2, column 1")
    assert not conflict.adoptable
    assert path.read_bytes() == there


@pytest.mark.parametrize(
    "there",
    [None, b"", b"{}", b'{"a": 1}', b'\xef\xbb\xbf{\r\n\t"a": [1,],\r\n}\r\n', b"// only this\n"],
)
def test_a_file_comes_back_byte_for_byte(bench: Bench, there: bytes | None) -> None:
    if there is not None:
        bench.write(".config/opencode.jsonc", there)

    bench.bring(item())
    assert bench.plan(item()).changes == 0
    bench.bring(item({"mcp": {"mempalace": {"type": "local", "extra": [1]}}}))
    bench.uninstall()

    path = bench.home / ".config/opencode.jsonc"
    assert (path.read_bytes() if path.exists() else None) == there
    assert not (bench.home / ".local").exists()


def test_another_value_is_a_conflict_and_adopting_keeps_the_file(bench: Bench) -> None:
    there = b'{"mcp": {"mempalace": {"type": "local"}}}'
    path = bench.write(".config/opencode.jsonc", there)

    [conflict] = bench.plan(item()).conflicts
    assert "/mcp/mempalace/type" in conflict.what
    bench.bring(item(), adopt=True)
    assert json.loads(path.read_bytes())["mcp"]["mempalace"]["type"] == "remote"
    bench.uninstall()

    assert path.read_bytes() == there
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_others_edits_meanwhile_stay_when_the_entry_goes(bench: Bench) -> None:
    path = bench.write(".config/opencode.jsonc", '{\n  "a": 1\n}\n')
    bench.bring(item())
    path.write_text(path.read_text().replace('"a": 1,', '"a": 2, // changed\n  "b": 3,'))

    bench.uninstall()

    assert path.read_text() == '{\n  "a": 2, // changed\n  "b": 3\n}\n'


def test_an_entry_somebody_changed_is_left(bench: Bench) -> None:
    path = bench.write(".config/opencode.jsonc", "{}")
    bench.bring(item())
    path.write_text(path.read_text().replace("palace.example", "other.example"))

    [left] = bench.uninstall().conflicts

    assert "/mcp/mempalace/url" in left.what
    assert "other.example" in path.read_text()


@pytest.mark.parametrize("there", [None, b"{}", b'{\n  // mine\n  "a": [1],\n}\n'])
def test_what_is_set_no_longer_goes_and_leaves_nothing_empty(
    bench: Bench, there: bytes | None
) -> None:
    path = bench.home / ".config/opencode.jsonc"
    if there is not None:
        bench.write(".config/opencode.jsonc", there)
    before: dict[str, object] = {"mcp": {"old": {"x": 1}, "both": {"command": ["c"], "on": True}}}
    after: dict[str, object] = {"mcp": {"both": {"url": "u", "on": True}}}

    bench.bring(item(before))
    bench.bring(item(after))

    root = read_jsonc(path.read_text())
    held = root.plain() if root else None
    assert isinstance(held, dict)
    assert held["mcp"] == after["mcp"]
    assert bench.plan(item(after)).changes == 0
    bench.uninstall()
    left = path.read_text() if path.exists() else None
    assert (left is None) == (there is None)
    if there is not None:
        root, was = read_jsonc(left or ""), read_jsonc(there.decode())
        assert root is not None
        assert was is not None
        assert root.plain() == was.plain()
        assert ("// mine" in (left or "")) == (b"// mine" in there)


def test_what_somebody_changed_stays_when_it_is_set_no_longer(bench: Bench) -> None:
    path = bench.write(".config/opencode.jsonc", "{}")
    bench.bring(item({"mcp": {"p": {"command": ["c"], "on": True}}}))
    path.write_text(path.read_text().replace('"c"', '"theirs"'))
    bench.bring(item({"mcp": {"p": {"url": "u", "on": True}}}))
    assert json.loads(path.read_text())["mcp"]["p"]["command"] == ["theirs"]
