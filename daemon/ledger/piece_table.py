"""Owns the tables of pieces in the ledger: each piece once, compressed, and how many requests use it."""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

from ..core.storage import Database
from .pieces import MAX_PIECE_BYTES, digest_of, pieces

SCHEMA = """
CREATE TABLE pieces (
    id INTEGER PRIMARY KEY AUTOINCREMENT, digest BLOB NOT NULL UNIQUE, uses INTEGER NOT NULL);
CREATE TABLE piece_data (id INTEGER PRIMARY KEY, data BLOB NOT NULL);
"""
"""The data lie in a table of their own, so that to count a use doesn't write them again. Ids are never used
again: what names one can be without its content, but not with another's."""

_BATCH = 5_000
"""Values in one statement; SQLite's limit is 32,766."""


def keep(database: Database, texts: Sequence[bytes]) -> list[list[int]]:
    """Keep the texts of one request and return the pieces of each. Needs a transaction.

    Pieces that are there already only count one use more, however often the request has them.
    """
    cut = [list(pieces(text)) for text in texts]
    digests = [[digest_of(piece) for piece in some] for some in cut]
    content = {
        digest: piece
        for some, known_by in zip(cut, digests, strict=True)
        for digest, piece in zip(known_by, some, strict=True)
    }
    ids = _find(database, content)
    database.executemany("UPDATE pieces SET uses = uses + 1 WHERE id = ?", [(one,) for one in ids.values()])
    for digest, piece in content.items():
        if digest not in ids:
            row = database.execute("INSERT INTO pieces (digest, uses) VALUES (?, 1)", (digest,)).lastrowid
            assert row is not None
            database.execute("INSERT INTO piece_data VALUES (?, ?)", (row, zlib.compress(piece)))
            ids[digest] = row
    return [[ids[digest] for digest in known_by] for known_by in digests]


def read(database: Database, ids: Collection[int]) -> dict[int, bytes]:
    """Return the content of those pieces that are there and whole, by their hash."""
    rows = _select(
        database, "SELECT id, digest, data FROM pieces JOIN piece_data USING (id) WHERE id IN (%s)", set(ids)
    )
    found = {}
    for number, digest, data in rows:
        content = _decompressed(data)
        if content is not None and digest_of(content) == digest:
            found[number] = content
    return found


def release(database: Database, ids: Collection[int]) -> None:
    """Take one use off each of these pieces, and remove those without any. Needs a transaction."""
    numbers = [(one,) for one in sorted(set(ids))]
    database.executemany("UPDATE pieces SET uses = uses - 1 WHERE id = ?", numbers)
    # The data first, since what is to go is only known from the other table.
    database.executemany(
        "DELETE FROM piece_data WHERE id = ? AND id IN (SELECT id FROM pieces WHERE uses <= 0)", numbers
    )
    database.executemany("DELETE FROM pieces WHERE id = ? AND uses <= 0", numbers)


def _find(database: Database, digests: Collection[bytes]) -> dict[bytes, int]:
    return dict(_select(database, "SELECT digest, id FROM pieces WHERE digest IN (%s)", digests))


def _select(database: Database, query: str, values: Iterable[object]) -> Iterator[tuple[Any, ...]]:
    """Run a query with `IN (%s)`. Yields its rows."""
    ordered = list(values)
    for start in range(0, len(ordered), _BATCH):
        batch = ordered[start : start + _BATCH]
        yield from database.execute(query % ", ".join("?" * len(batch)), batch)


def _decompressed(data: object) -> bytes | None:
    """Return what was compressed, None where that is damaged. No piece is larger than one may be."""
    if not isinstance(data, bytes):
        return None
    try:
        return zlib.decompressobj().decompress(data, MAX_PIECE_BYTES + 1)
    except zlib.error:
        return None
