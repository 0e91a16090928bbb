"""The store of all embeddings: one SQLite file for all projects, keyed by model and content digest."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from ..core.storage import (
    Database,
    DatabaseError,
    close_database,
    open_database,
    select_in,
    transaction,
)
from ..core.system import System
from .embedding_tables import EMBEDDING_SCHEMA, EMBEDDING_SCHEMA_VERSION
from .unit_vectors import Floats, Ids, as_ids, unit_halves

log = logging.getLogger(__name__)

USE_DAYS = 7
"""Minimum age in days of the stored day of last use before it is updated, so that reads seldom write."""

PRUNED_SHARE = 0.9
"""Share of the maximum size that a too large file is reduced to, so that it isn't full again at once."""


class StoredVectors(Struct, frozen=True):
    """Embeddings in rows: their ids (n,), their content digests, and their unit vectors (n, dim)."""

    ids: Ids
    digests: Sequence[bytes]
    matrix: Floats


class EmbeddingStore:
    """Embeddings by model key and content digest, written by the embedder process only. Safe across threads.

    An id stands for one content embedded by one model and is never reused. This holds even if another file
    replaces this one, because the ids of each file start at a random number below 2^62. So a vector file that
    refers to ids may be out of date, but never wrong. `replaced` says why an earlier file was quarantined, or
    is empty.

    Every method raises `DatabaseError` if the file turns out to be damaged. Opening the file again with
    `check` then quarantines it. `check` reads the whole file, which takes a second or more for a large one;
    without it only the header is checked.
    """

    def __init__(self, path: str, system: System, *, check: bool = False) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.path = path
        self._system = system
        self._lock = threading.Lock()
        self._digests: dict[int, bytes] = {}
        """A cache of content digests by id; it never goes stale, because ids are never reused."""
        opened = open_database(
            path, EMBEDDING_SCHEMA, EMBEDDING_SCHEMA_VERSION, system, check=check, probe=_probe
        )
        self._db = opened.database
        self.replaced = opened.replaced
        if self.replaced:
            log.warning("%s", self.replaced)
        # If a power cut lost a batch, its ids would be assigned again, while a vector file already has them.
        self._db.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the file after writing the write-ahead log into it."""
        with self._lock:
            close_database(self._db)

    def dim(self, model: str) -> int | None:
        """Return the number of dimensions of a model's vectors, None if the model has none yet."""
        with self._lock:
            return self._model(model)[1]

    def used_bytes(self) -> int:
        """Return the bytes of the file that are in use, which `prune` compares with its limit. Fast."""
        with self._lock:
            return self._used_bytes()

    def ids(self, model: str, digests: Iterable[bytes]) -> dict[bytes, int]:
        """Return the ids of the contents that have an embedding, and record that they are used."""
        with self._lock:
            number, _ = self._model(model)
            found = self._find(number, digests)
            if old := self._old(found):
                with transaction(self._db):
                    self._note_use(number, old)
        return {digest: row for digest, row, _ in found}

    def put(self, model: str, digests: Sequence[bytes], matrix: Floats) -> Ids:
        """Store embeddings (n, dim) and return their ids (n,), in one transaction that survives a power cut.

        A content that already has an embedding keeps it and its id. If a batch holds a content several times,
        its first vector is used. Raises `ValueError` for another number of vectors than contents, for another
        size than the model's other vectors, and for vectors without a direction.
        """
        if len(digests) != len(matrix):
            raise ValueError(f"{len(matrix)} vectors for {len(digests)} contents")
        if not digests:
            return as_ids([])
        halves = unit_halves(matrix, np.shape(matrix)[1]).astype(_HALF)
        with self._lock, transaction(self._db):
            number = self._model_for(model, halves.shape[1])
            found = self._find(number, digests)
            self._note_use(number, self._old(found))
            known = {digest: row for digest, row, _ in found}
            new: dict[bytes, int] = {}
            for row, digest in enumerate(digests):
                if digest not in known:
                    new.setdefault(digest, row)
            (start,) = self._db.execute("SELECT value FROM meta WHERE key = 'next_id'").fetchone()
            given = dict(zip(new, range(start, start + len(new)), strict=True))
            today = self._today()
            self._db.executemany(
                "INSERT INTO embeddings VALUES (?, ?, ?, ?)",
                [(given[digest], number, digest, halves[row].tobytes()) for digest, row in new.items()],
            )
            self._db.executemany(
                "INSERT INTO digests VALUES (?, ?, ?, ?)",
                # Inserting in the order of the table is three times as fast.
                [(number, digest, given[digest], today) for digest in sorted(given)],
            )
            self._db.execute("UPDATE meta SET value = ? WHERE key = 'next_id'", (start + len(new),))
        known.update(given)
        return as_ids([known[digest] for digest in digests])

    def digests(self, ids: Ids | Iterable[int]) -> dict[int, bytes]:
        """Return the content digests by id; deleted ids are left out."""
        numbers = _numbers(ids)
        with self._lock:
            known = self._digests
            if len(known) > DIGESTS_MAX:
                known.clear()
            new = [number for number in numbers if number not in known]
            known.update(self._select("SELECT id, digest FROM embeddings WHERE id IN ({marks})", (), new))
            return {number: known[number] for number in numbers if number in known}

    def vectors(self, model: str, ids: Ids | Iterable[int]) -> StoredVectors:
        """Return embeddings by id, ordered by id, without deleted ids and ids of other models."""
        with self._lock:
            number, dim = self._model(model)
            return self._stored(self._select(f"{_ROWS} AND id IN ({{marks}})", (number,), _numbers(ids)), dim)

    def prune(self, max_bytes: int, keep: Ids | Iterable[int] = ()) -> int:
        """Delete the least recently used embeddings until the rest takes at most `max_bytes`.

        Returns how many were deleted. Embeddings with an id in `keep` stay. New embeddings reuse the freed
        space. The file is rewritten, and becomes smaller, if more than half of it is empty, or if the deleted
        rows were too scattered to free enough pages. Rewriting takes some seconds per gigabyte, during which
        the store can't be used and the disk holds the data twice.
        """
        with self._lock:
            used, count = self._used_bytes(), self._count()
            if used <= max_bytes or not count:
                return 0
            surplus = min(count, int(count * (1 - PRUNED_SHARE * max_bytes / used)) + 1)
            doomed = self._longest_unused(surplus, as_ids(_listed(keep)))
            self._delete(doomed)
            half_empty = self._pragma("freelist_count") * 2 > self._pragma("page_count")
            if doomed and (half_empty or self._used_bytes() > max_bytes):
                self._db.execute("VACUUM")
            return len(doomed)

    def forget(self, digests: Iterable[bytes]) -> int:
        """Delete the embeddings of contents by any model; return how many there were."""
        wanted = list(digests)
        query = "SELECT id, model, digest FROM digests WHERE model = ? AND digest IN ({marks})"
        with self._lock:
            models = [number for (number,) in self._db.execute("SELECT id FROM models")]
            doomed = [row for number in models for row in self._select(query, (number,), wanted)]
            self._delete(doomed)
        return len(doomed)

    def _find(self, number: int, digests: Iterable[bytes]) -> list[tuple[bytes, int, int]]:
        """Return (digest, id, day of last use) of the contents that have an embedding."""
        query = "SELECT digest, id, day FROM digests WHERE model = ? AND digest IN ({marks})"
        return self._select(query, (number,), set(digests))

    def _longest_unused(self, count: int, kept: Ids) -> list[tuple[int, int, bytes]]:
        """Return (id, model, digest) of the `count` least recently used embeddings that aren't in `kept`."""
        chosen: list[tuple[int, int, bytes]] = []
        rows = self._db.execute("SELECT id, model, digest FROM digests ORDER BY day, id")
        while len(chosen) < count and (some := rows.fetchmany(_BATCH)):
            spared = np.isin(as_ids([row[0] for row in some]), kept)
            chosen += [row for row, is_kept in zip(some, spared, strict=True) if not is_kept]
        rows.close()
        return chosen[:count]

    def _delete(self, doomed: Sequence[tuple[int, int, bytes]]) -> None:
        """Delete embeddings, in transactions small enough to keep the write-ahead log small."""
        self._digests.clear()
        for start in range(0, len(doomed), _BATCH):
            rows = doomed[start : start + _BATCH]
            with transaction(self._db):
                self._db.executemany("DELETE FROM embeddings WHERE id = ?", [row[:1] for row in rows])
                self._db.executemany(
                    "DELETE FROM digests WHERE model = ? AND digest = ?", sorted(row[1:] for row in rows)
                )

    def _old(self, found: Iterable[tuple[bytes, int, int]]) -> list[bytes]:
        """Return the contents whose day of last use must be updated."""
        today = self._today()
        # A day in the future was recorded while the clock was wrong.
        return [digest for digest, _, day in found if not today - USE_DAYS < day <= today]

    def _note_use(self, number: int, digests: Iterable[bytes]) -> None:
        today = self._today()
        self._db.executemany(
            "UPDATE digests SET day = ? WHERE model = ? AND digest = ?",
            [(today, number, digest) for digest in digests],
        )

    def _model(self, model: str) -> tuple[int, int | None]:
        """Return a model's number and its number of dimensions, (-1, None) for an unknown model."""
        row = self._db.execute("SELECT id, dim FROM models WHERE key = ?", (model,)).fetchone()
        return (-1, None) if row is None else (int(row[0]), int(row[1]))

    def _model_for(self, model: str, dim: int) -> int:
        self._db.execute("INSERT OR IGNORE INTO models (key, dim) VALUES (?, ?)", (model, dim))
        number, known = self._model(model)
        if known != dim:
            raise ValueError(f"vectors of {dim} dimensions, where those of {model} have {known}")
        return number

    def _select(self, query: str, before: tuple[object, ...], values: Iterable[Any]) -> list[Any]:
        """Run a query with `IN ({marks})`. Values are sorted first, since neighbours lie in the same page."""
        return list(select_in(self._db, query, sorted(values), before=before, batch=_BATCH))

    def _stored(self, rows: Iterable[tuple[int, bytes, bytes]], dim: int | None) -> StoredVectors:
        ordered = sorted(rows)
        size = dim or 0
        # Every row is checked: a zeroed page gives NULL columns, and SQLite's integrity check may miss it.
        if not all(
            isinstance(digest, bytes) and isinstance(vector, bytes) and len(vector) == size * _HALF.itemsize
            for _, digest, vector in ordered
        ):
            raise DatabaseError(f"embeddings in {os.path.basename(self.path)} are not of the recorded size")
        data = b"".join(vector for _, _, vector in ordered)
        matrix = np.frombuffer(data, _HALF).reshape(len(ordered), size).astype(np.float32)
        return StoredVectors(as_ids([row[0] for row in ordered]), [row[1] for row in ordered], matrix)

    def _today(self) -> int:
        return self._system.time_ns() // _DAY_NS

    def _count(self) -> int:
        return int(self._db.execute("SELECT COUNT(*) FROM digests").fetchone()[0])

    def _used_bytes(self) -> int:
        pages = self._pragma("page_count") - self._pragma("freelist_count")
        return pages * self._pragma("page_size")

    def _pragma(self, name: str) -> int:
        return int(self._db.execute(f"PRAGMA {name}").fetchone()[0])


_HALF = np.dtype("<f2")
_DAY_NS = 86_400 * 1_000_000_000
DIGESTS_MAX = 100_000
"""Maximum number of content digests cached by id, 13 MB; above it the cache is cleared. Reading 300 from the
file takes .5 ms, because the rows lie scattered among the vectors."""

_BATCH = 5_000
"""Maximum number of values in one statement. SQLite's limit is 32,766; above a few thousand it gets no
faster."""


# Vectors and digests are in separate tables: looking up a digest, or updating a day, reads and writes 50
# bytes a row instead of 800. Five rows with 384 dimensions fill a page of 4 KiB.
def _probe(database: Database) -> None:
    """Read from each table, so that a missing one is found when the file is opened."""
    database.execute(
        "SELECT (SELECT max(value) FROM meta), (SELECT max(id) FROM models),"
        " (SELECT max(id) FROM embeddings), (SELECT id FROM digests LIMIT 1)"
    ).fetchone()


_ROWS = "SELECT id, digest, vector FROM embeddings WHERE model = ?"


def _numbers(ids: Ids | Iterable[int]) -> Iterable[int]:
    """Return ids as Python integers, since SQLite doesn't accept numpy's."""
    numbers: Iterable[int] = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return numbers


def _listed(ids: Ids | Iterable[int]) -> Ids | list[int]:
    """Return ids as an array or a list, which numpy can convert."""
    return ids if isinstance(ids, np.ndarray) else list(ids)
