"""A tiny embedding model in the six files of the default one, made here.

It is a bag of words: each word that it was made for has a random direction, a text has the mean of
its words'. So texts that share a rare word are near each other, and nothing is downloaded.
"""

from __future__ import annotations

import json
import random
import struct
from collections.abc import Iterable
from pathlib import Path

SIZE = 384  # the length of the default model's vectors
_VARINT, _BYTES = 0, 2
_FLOAT, _INT64 = 1, 7  # ONNX' TensorProto.DataType
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def write_model(folder: Path, words: Iterable[str]) -> Path:
    """Write a model that knows these words to a new folder, and return it."""
    vocabulary = ["[PAD]", "[UNK]", *sorted({word.lower() for word in words})]
    folder.mkdir(parents=True)
    (folder / "model.onnx").write_bytes(_model(vocabulary))
    (folder / "tokenizer.json").write_text(json.dumps(_tokenizer(vocabulary)))
    (folder / "vocab.txt").write_text("\n".join(vocabulary) + "\n")
    (folder / "config.json").write_text(json.dumps({"hidden_size": SIZE}))
    for name in ("special_tokens_map", "tokenizer_config"):
        (folder / f"{name}.json").write_text(json.dumps({"unk_token": "[UNK]"}))
    return folder


def _tokenizer(vocabulary: list[str]) -> dict[str, object]:
    numbers = {word: number for number, word in enumerate(vocabulary)}
    special = {"single_word": False, "lstrip": False, "rstrip": False, "normalized": False}
    return {
        "version": "1.0",
        "truncation": None,
        "padding": None,
        "added_tokens": [
            {"id": n, "content": vocabulary[n], "special": True, **special} for n in (0, 1)
        ],
        "normalizer": {"type": "Lowercase"},
        "pre_tokenizer": {"type": "Whitespace"},
        "post_processor": None,
        "decoder": None,
        "model": {"type": "WordLevel", "vocab": numbers, "unk_token": "[UNK]"},
    }


def _model(vocabulary: list[str]) -> bytes:
    """Return an ONNX model that looks each token's vector up in one table."""
    table = b"".join(_vector(number, word) for number, word in enumerate(vocabulary))
    looked_up = b"".join(_text(1, name) for name in ("table", _INPUTS[0]))
    node = looked_up + _text(2, "last_hidden_state") + _text(4, "Gather")
    tensor = _number(1, len(vocabulary)) + _number(1, SIZE) + _number(2, _FLOAT)
    tensor += _text(8, "table") + _part(9, table)
    graph = _part(1, node) + _text(2, "bag-of-words") + _part(5, tensor)
    graph += b"".join(_part(11, _value(name, _INT64, "batch", "length")) for name in _INPUTS)
    graph += _part(12, _value("last_hidden_state", _FLOAT, "batch", "length", SIZE))
    return _number(1, 8) + _part(7, graph) + _part(8, _text(1, "") + _number(2, 13))


def _vector(number: int, word: str) -> bytes:
    """Return a word's direction; what is no word has none."""
    drawn = random.Random(word)  # noqa: S311 - no secret: the same for a word each time
    return struct.pack(f"<{SIZE}f", *(drawn.gauss(0, 1) if number > 1 else 0 for _ in range(SIZE)))


def _value(name: str, kind: int, *shape: str | int) -> bytes:
    sides = [_text(2, side) if isinstance(side, str) else _number(1, side) for side in shape]
    tensor = _number(1, kind) + _part(2, b"".join(_part(1, side) for side in sides))
    return _text(1, name) + _part(2, _part(1, tensor))


# --- protocol buffers, as far as that takes ---------------------------------------------------


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _text(field: int, text: str) -> bytes:
    return _part(field, text.encode())


def _part(field: int, held: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(held)) + held


def _varint(value: int) -> bytes:
    told = bytearray()
    while value > 0x7F:
        told.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*told, value))
