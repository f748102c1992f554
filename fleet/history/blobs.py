"""Bytes by their sha256, each kept once, compressed against what they resemble."""

import hashlib
import sqlite3
from collections import OrderedDict

import zstandard

from fleet.errors import HistoryError

LEVEL = 9
#: A change that takes more of its base than this is kept whole, and later ones build on it.
WORTH = 0.35
CACHED = 2000
MOST = 256 * 1024 * 1024  # bytes; nothing that fleet keeps is near it


class Blobs:
    """The table ``blob``. Not for several threads at once."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._cache: OrderedDict[int, bytes] = OrderedDict()
        self._plain = zstandard.ZstdCompressor(
            level=LEVEL, write_content_size=False, write_checksum=False
        )

    def put(self, data: bytes, near: int | None = None) -> int:
        """Keep bytes, and return their number; what is there already is not kept again.

        Args:
            data: the bytes.
            near: the number of bytes they may resemble.
        """
        digest = hashlib.sha256(data).digest()
        found = self.find(digest)
        if found is not None:
            return found
        base, packed = self._packed(data, near)
        cursor = self._connection.execute(
            "INSERT INTO blob (hash, base, size, data) VALUES (?, ?, ?, ?)",
            (digest, base, len(data), packed),
        )
        number = cursor.lastrowid
        assert number is not None  # noqa: S101 - SQLite numbers what it inserts
        self._remember(number, data)
        return number

    def find(self, digest: bytes) -> int | None:
        """Return the number of bytes by their sha256, None where they are not kept."""
        row = self._connection.execute("SELECT id FROM blob WHERE hash = ?", (digest,)).fetchone()
        return None if row is None else int(row[0])

    def get(self, number: int) -> bytes:
        """Return bytes by their number.

        Raises:
            HistoryError: they are not there, or not what was kept.
        """
        held = self._cache.get(number)
        if held is not None:
            self._cache.move_to_end(number)
            return held
        row = self._connection.execute(
            "SELECT hash, base, size, data FROM blob WHERE id = ?", (number,)
        ).fetchone()
        if row is None:
            raise HistoryError("the history is damaged: something that it names is not in it")
        digest, base, size, packed = row
        data = self._unpacked(packed, size, base)
        if hashlib.sha256(data).digest() != digest:
            raise HistoryError("the history is damaged: something in it is not what was kept")
        self._remember(number, data)
        return data

    def forget(self) -> None:
        """Forget what was read: some of it may be gone."""
        self._cache.clear()

    def _packed(self, data: bytes, near: int | None) -> tuple[int | None, bytes]:
        base = None if near is None else self._base(near)
        if base is not None:
            number, kept = base
            dictionary = zstandard.ZstdCompressionDict(
                self.get(number), dict_type=zstandard.DICT_TYPE_RAWCONTENT
            )
            compressor = zstandard.ZstdCompressor(
                level=LEVEL,
                dict_data=dictionary,
                write_content_size=False,
                write_checksum=False,
                write_dict_id=False,
            )
            packed = compressor.compress(data)
            if len(packed) <= WORTH * kept:
                return number, packed
        return None, self._plain.compress(data)

    def _base(self, near: int) -> tuple[int, int] | None:
        """Return what bytes near these build on, and its size here: one step, never a chain."""
        row = self._connection.execute(
            "SELECT id, length(data) FROM blob"
            " WHERE id = (SELECT coalesce(base, id) FROM blob WHERE id = ?)",
            (near,),
        ).fetchone()
        return None if row is None else (int(row[0]), int(row[1]))

    def _unpacked(self, packed: bytes, size: int, base: int | None) -> bytes:
        dictionary = None
        if base is not None:
            dictionary = zstandard.ZstdCompressionDict(
                self.get(base), dict_type=zstandard.DICT_TYPE_RAWCONTENT
            )
        if not 0 <= size <= MOST:
            raise HistoryError("the history is damaged: a size in it cannot be")
        try:
            unpacked: bytes = zstandard.ZstdDecompressor(dict_data=dictionary).decompress(
                packed, max_output_size=size or 1
            )
        except zstandard.ZstdError:
            raise HistoryError("the history is damaged: something in it does not unpack") from None
        return unpacked

    def _remember(self, number: int, data: bytes) -> None:
        self._cache[number] = data
        while len(self._cache) > CACHED:
            self._cache.popitem(last=False)
