"""Owns the answers of models on disk, by what they were asked: a text is paid for once."""

from __future__ import annotations

import os
import threading

from ..core.storage import close_database, damage_raised, database_bytes, open_database, transaction
from ..core.system import System

SCHEMA_VERSION = 1
"""Raised when the table changes; a file of another version is set aside."""

ANSWERS_BYTES = 32_000_000
"""Characters of answers that are kept; above it those unused for longest are forgotten."""

KEPT_SHARE = 0.9
"""A cache that is full is cut to this share, not to be full again at once."""

USE_NS = 24 * 3_600_000_000_000
"""The time of the last use is written when it is a day old, so that reading hardly ever writes."""

SCHEMA = """
CREATE TABLE answers (
    key BLOB PRIMARY KEY,
    answer TEXT NOT NULL,
    size INTEGER NOT NULL,
    used_ns INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX answers_by_use ON answers (used_ns);
"""


class ModelCache:
    """Answers by key, in one private SQLite file. Safe across threads.

    `replaced` says why an earlier file was set aside, or is empty. Every method raises `DatabaseError` where
    the file can't be used; the constructor `OSError` too.
    """

    def __init__(self, path: str, system: System, most: int = ANSWERS_BYTES) -> None:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        self.path = path
        self._system = system
        self._most = most
        self._lock = threading.Lock()
        opened = open_database(path, SCHEMA, SCHEMA_VERSION, system)
        self._database = opened.database
        self.replaced = opened.replaced
        self._size = self._database.execute("SELECT COALESCE(SUM(size), 0) FROM answers").fetchone()[0]

    def get(self, key: bytes) -> str | None:
        """Return the answer that was kept under a key."""
        with self._lock, damage_raised():
            row = self._database.execute(
                "SELECT answer, used_ns FROM answers WHERE key = ?", (key,)
            ).fetchone()
            if row is None:
                return None
            now = self._system.time_ns()
            if abs(now - row[1]) > USE_NS:
                self._database.execute("UPDATE answers SET used_ns = ? WHERE key = ?", (now, key))
            return str(row[0])

    def put(self, key: bytes, answer: str) -> None:
        """Keep an answer, and forget others if there is no more room."""
        with self._lock, damage_raised(), transaction(self._database):
            before = self._database.execute("SELECT size FROM answers WHERE key = ?", (key,)).fetchone()
            self._database.execute(
                "INSERT OR REPLACE INTO answers VALUES (?, ?, ?, ?)",
                (key, answer, len(answer), self._system.time_ns()),
            )
            size = self._size + len(answer) - (before[0] if before else 0)
            if size > self._most:
                size = self._forget(size)
            self._size = size

    def bytes(self) -> int:
        """Return the size of the file in bytes."""
        return database_bytes(self.path)

    def close(self) -> None:
        """Close the file; nothing may be asked after that."""
        with self._lock:
            close_database(self._database, self.path)

    def _forget(self, size: int) -> int:
        """Forget the answers unused for longest; return how large the rest is."""
        doomed = []
        for key, taken in self._database.execute("SELECT key, size FROM answers ORDER BY used_ns, key"):
            if size <= KEPT_SHARE * self._most:
                break
            doomed.append((key,))
            size -= taken
        self._database.executemany("DELETE FROM answers WHERE key = ?", doomed)
        return size
