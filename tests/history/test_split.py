"""Facts are parted by their text as they would be by what the text says."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fleet.history.split import VOLATILE, Json, _parted, _set_aside, packed

KEYS = st.sampled_from(
    [
        *sorted(VOLATILE),
        "path",
        "a,",
        *(f'a"{name}' for name in VOLATILE),
        '{"digest":1',
        'x","nonce":"y',
    ]
)
TEXTS = st.text() | st.sampled_from(['","digest":"a', '\\"', "\\", ',"raw":true', "{", "\n\x00é"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
)


@given(st.dictionaries(KEYS, VALUES, max_size=6))
def test_a_text_is_parted_as_its_tree_is(tree: dict[str, Json]) -> None:
    text = packed(tree)
    aside: list[Json] = []
    whole: Json = json.loads(text)
    _set_aside(whole, aside)
    assert _parted(text) == (packed(whole), aside)
