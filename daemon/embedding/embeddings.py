"""The store of all embeddings: one SQLite file for all projects, by model and content."""

from __future__ import annotations

import glob
import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from msgspec import Struct

from ..core.storage import (
    DatabaseError,
    close_database,
    database_bytes,
    open_database,
    select_in,
    transaction,
)
from ..core.system import System
from .exact import Floats, Ids, are_in, as_ids, ordered_ids, stored_halves

SCHEMA_VERSION = 1
"""Increment this when the tables change. A file of another version is quarantined and everything embedded
again."""

USE_DAYS = 7
"""The day of the last use is written when it is this old, so that using embeddings hardly ever writes."""

PRUNED_SHARE = 0.9
"""A file that is too large is cut to this share of what is allowed, not to be at its limit again at once."""


class StoredVectors(Struct, frozen=True):
    """Embeddings by rows: their ids (n,), digests, and unit vectors (n, dim)."""

    ids: Ids
    digests: Sequence[bytes]
    matrix: Floats


class EmbeddingStatistics(Struct, frozen=True):
    """How many embeddings there are by model, how large the file is, and how much of that is in use."""

    counts: Mapping[str, int]
    bytes: int
    used_bytes: int


class EmbeddingStore:
    """Embeddings by model key and content digest, written by the embedder process only. Safe across threads.

    An id stands for one embedding of one content by one model and is never used again, not even by another
    file that takes this one's place (they begin at a random number below 2^62): so a vector file that names
    ids can be old, but not wrong. `replaced` says why an earlier file was quarantined, or is empty; of
    several that were, the last one is kept.

    Every method raises `DatabaseError` where the file turns out to be damaged. To open it again, with
    `check`, quarantines it then; reading all of it takes a second or more for a large file, so without
    `check` only its head is looked at.
    """

    def __init__(self, path: str, system: System, *, check: bool = False) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.path = path
        self._system = system
        self._lock = threading.Lock()
        self._digests: dict[int, bytes] = {}
        """Contents that were asked for by their ids, which are never used again."""
        opened = open_database(path, SCHEMA, SCHEMA_VERSION, system, check=check)
        self._db = opened.database
        self.replaced = opened.replaced
        _remove_all_but_last_damaged(path)
        # A batch lost to a power cut would let its ids be given again, while a vector file has them already.
        self._db.execute("PRAGMA synchronous = FULL")

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in."""
        with self._lock:
            close_database(self._db, self.path)

    def dim(self, model: str) -> int | None:
        """Return the size of a model's vectors, None while there are none."""
        with self._lock:
            return self._model(model)[1]

    def models(self) -> list[str]:
        """Return the keys of all models that ever embedded anything here, the latest first."""
        with self._lock:
            return [key for (key,) in self._db.execute("SELECT key FROM models ORDER BY id DESC")]

    def count(self, model: str, digests: Iterable[bytes]) -> int:
        """Return how many of those contents have an embedding, without noting a use."""
        with self._lock:
            return len(self._find(self._model(model)[0], digests))

    def used_bytes(self) -> int:
        """Return how much of the file is in use, which is what `prune` compares. Takes no time."""
        with self._lock:
            return self._used_bytes()

    def ids(self, model: str, digests: Iterable[bytes]) -> dict[bytes, int]:
        """Return the ids of those contents that have an embedding, and note that they are used."""
        with self._lock:
            number, _ = self._model(model)
            found = self._find(number, digests)
            if old := self._old(found):
                with transaction(self._db):
                    self._note_use(number, old)
        return {digest: row for digest, row, _ in found}

    def missing(self, model: str, digests: Iterable[bytes]) -> list[bytes]:
        """Return those contents without an embedding, each once, in the order given."""
        wanted = list(dict.fromkeys(digests))
        known = self.ids(model, wanted)
        return [digest for digest in wanted if digest not in known]

    def put(self, model: str, digests: Sequence[bytes], matrix: Floats) -> Ids:
        """Keep embeddings (n, dim) and return their ids (n,), in one transaction that a power cut can't undo.

        A content that has one keeps it and its id; of several in one batch the first counts. Raises
        `ValueError` for vectors that don't fit the contents or the model's other ones, or that have no
        direction.
        """
        if len(digests) != len(matrix):
            raise ValueError(f"{len(matrix)} vectors for {len(digests)} contents")
        if not digests:
            return as_ids([])
        halves = stored_halves(matrix, np.shape(matrix)[1]).astype(_HALF)
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
                # In the order of the table, which is three times as fast.
                [(number, digest, given[digest], today) for digest in sorted(given)],
            )
            self._db.execute("UPDATE meta SET value = ? WHERE key = 'next_id'", (start + len(new),))
        known.update(given)
        return as_ids([known[digest] for digest in digests])

    def digests(self, ids: Ids | Iterable[int]) -> dict[int, bytes]:
        """Return the contents that ids stand for; those that are gone are left out."""
        numbers = _numbers(ids)
        with self._lock:
            known = self._digests
            if len(known) > DIGESTS_MAX:
                known.clear()
            new = [number for number in numbers if number not in known]
            known.update(self._select("SELECT id, digest FROM embeddings WHERE id IN ({marks})", (), new))
            return {number: known[number] for number in numbers if number in known}

    def vectors(self, model: str, ids: Ids | Iterable[int]) -> StoredVectors:
        """Return embeddings by id, ordered by id; those that are gone, or another model's, are left out."""
        with self._lock:
            number, dim = self._model(model)
            return self._stored(self._select(f"{_ROWS} AND id IN ({{marks}})", (number,), _numbers(ids)), dim)

    def rows(self, model: str, batch: int = 4_096) -> Iterator[StoredVectors]:
        """Yield all embeddings of a model in batches, ordered by id; what is put meanwhile may come too."""
        after = -1
        while True:
            with self._lock:
                number, dim = self._model(model)
                rows = self._db.execute(
                    f"{_ROWS} AND id > ? ORDER BY id LIMIT ?", (number, after, batch)
                ).fetchall()
                stored = self._stored(rows, dim)
            if not rows:
                return
            yield stored
            after = rows[-1][0]

    def prune(self, max_bytes: int, keep: Ids | Iterable[int] = ()) -> int:
        """Forget the embeddings unused for longest until the rest takes at most `max_bytes`; return how many.

        Those with an id in `keep` stay. The file gives their room to new ones. It is written anew, smaller,
        when more than half of it is empty or what went lay too scattered to free enough: that takes some
        seconds a gigabyte, while the store can't be used, and for a moment the disk holds it twice.
        """
        with self._lock:
            used, count = self._used_bytes(), self._count()
            if used <= max_bytes or not count:
                return 0
            surplus = min(count, int(count * (1 - PRUNED_SHARE * max_bytes / used)) + 1)
            doomed = self._longest_unused(surplus, ordered_ids(as_ids(_listed(keep))))
            self._delete(doomed)
            half_empty = self._pragma("freelist_count") * 2 > self._pragma("page_count")
            if doomed and (half_empty or self._used_bytes() > max_bytes):
                self._db.execute("VACUUM")
            return len(doomed)

    def statistics(self) -> EmbeddingStatistics:
        """Count what is there; a million embeddings take 0.1 s."""
        with self._lock:
            counts = self._db.execute(
                "SELECT m.key, COUNT(d.id) FROM models m LEFT JOIN digests d ON d.model = m.id"
                " GROUP BY m.id ORDER BY m.key"
            ).fetchall()
            return EmbeddingStatistics(dict(counts), database_bytes(self.path), self._used_bytes())

    def _find(self, number: int, digests: Iterable[bytes]) -> list[tuple[bytes, int, int]]:
        """Return (digest, id, day of the last use) of those contents that have an embedding."""
        query = "SELECT digest, id, day FROM digests WHERE model = ? AND digest IN ({marks})"
        return self._select(query, (number,), set(digests))

    def _longest_unused(self, count: int, kept: Ids) -> list[tuple[int, int, bytes]]:
        """Return (id, model, digest) of at most `count` embeddings that aren't in `kept`, in order."""
        chosen: list[tuple[int, int, bytes]] = []
        rows = self._db.execute("SELECT id, model, digest FROM digests ORDER BY day, id")
        while len(chosen) < count and (some := rows.fetchmany(_BATCH)):
            spared = are_in(as_ids([row[0] for row in some]), kept)
            chosen += [row for row, is_kept in zip(some, spared, strict=True) if not is_kept]
        rows.close()
        return chosen[:count]

    def _delete(self, doomed: Sequence[tuple[int, int, bytes]]) -> None:
        """Delete embeddings, in transactions of a size that keeps the write-ahead log small."""
        self._digests.clear()
        for start in range(0, len(doomed), _BATCH):
            rows = doomed[start : start + _BATCH]
            with transaction(self._db):
                self._db.executemany("DELETE FROM embeddings WHERE id = ?", [row[:1] for row in rows])
                self._db.executemany(
                    "DELETE FROM digests WHERE model = ? AND digest = ?", sorted(row[1:] for row in rows)
                )

    def _old(self, found: Iterable[tuple[bytes, int, int]]) -> list[bytes]:
        """Return the contents whose use must be noted."""
        today = self._today()
        # A day in the future was noted under a clock that was wrong.
        return [digest for digest, _, day in found if not today - USE_DAYS < day <= today]

    def _note_use(self, number: int, digests: Iterable[bytes]) -> None:
        today = self._today()
        self._db.executemany(
            "UPDATE digests SET day = ? WHERE model = ? AND digest = ?",
            [(today, number, digest) for digest in digests],
        )

    def _model(self, model: str) -> tuple[int, int | None]:
        """Return a model's number and the size of its vectors; (-1, None) while there are none."""
        row = self._db.execute("SELECT id, dim FROM models WHERE key = ?", (model,)).fetchone()
        return (-1, None) if row is None else (int(row[0]), int(row[1]))

    def _model_for(self, model: str, dim: int) -> int:
        self._db.execute("INSERT OR IGNORE INTO models (key, dim) VALUES (?, ?)", (model, dim))
        number, known = self._model(model)
        if known != dim:
            raise ValueError(f"vectors of {dim} dimensions, where those of {model} have {known}")
        return number

    def _select(self, query: str, before: tuple[object, ...], values: Iterable[Any]) -> list[Any]:
        """Run a query with `IN ({marks})`. The values are sorted first: neighbours lie in the same page."""
        return list(select_in(self._db, query, sorted(values), before=before, batch=_BATCH))

    def _stored(self, rows: Iterable[tuple[int, bytes, bytes]], dim: int | None) -> StoredVectors:
        ordered = sorted(rows)
        size = dim or 0
        # Each one: a page that was zeroed gives nothing for a column, and SQLite's check may pass it.
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
"""Maximum number of contents that are remembered by their ids, 13 MB; all are forgotten when there are more.
The rows lie scattered among the vectors, so that to read 300 takes .5 ms."""

_BATCH = 5_000
"""Values in one statement. SQLite's limit is 32,766; above some thousands it gets no faster."""

# Vectors and digests lie in tables of their own: to look digests up, or to note a day, reads and writes 50
# bytes a row, not 800. Five rows with 384 dimensions fill a page of 4 KiB.
SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('next_id', (random() & 0x3fffffffffffffff) | 1);
CREATE TABLE models (id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, dim INTEGER NOT NULL);
CREATE TABLE embeddings (
    id INTEGER PRIMARY KEY, model INTEGER NOT NULL, digest BLOB NOT NULL, vector BLOB NOT NULL);
CREATE TABLE digests (
    model INTEGER NOT NULL, digest BLOB NOT NULL, id INTEGER NOT NULL, day INTEGER NOT NULL,
    PRIMARY KEY (model, digest)) WITHOUT ROWID;
"""

_ROWS = "SELECT id, digest, vector FROM embeddings WHERE model = ?"


def _numbers(ids: Ids | Iterable[int]) -> Iterable[int]:
    """Return ids as Python's numbers; SQLite knows none of numpy's."""
    numbers: Iterable[int] = ids.tolist() if isinstance(ids, np.ndarray) else ids
    return numbers


def _listed(ids: Ids | Iterable[int]) -> Ids | list[int]:
    """Return ids as something that numpy takes for a row of them."""
    return ids if isinstance(ids, np.ndarray) else list(ids)


def _remove_all_but_last_damaged(path: str) -> None:
    """Remove the files quarantined earlier, except the last, which stays for inspection."""
    prefix = f"{path}.damaged-"
    found = glob.glob(f"{glob.escape(prefix)}*")
    moments = {name.removeprefix(prefix).partition("-")[0] for name in found}
    last = max(moments, key=lambda moment: (len(moment), moment), default="")
    for name in found:
        if name.removeprefix(prefix).partition("-")[0] != last:
            os.unlink(name)
