"""Read positions (cursors) of transcripts, and their store: a small SQLite file of a project.

The store only saves work: a transcript whose cursor is lost is read again, and its decisions are recognized
as known.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Iterator
from contextlib import contextmanager

from msgspec import Struct

from ..core.errors import NewerVersion
from ..core.storage import (
    Database,
    DatabaseError,
    NewerDatabase,
    close_database,
    damage_raised,
    may_pass,
    open_database,
    quarantine_database,
    transaction,
)
from ..core.system import System

log = logging.getLogger(__name__)

NAME = "transcripts.db"
CURSORS_MAX = 10_000
"""Maximum cursors; the oldest are deleted. Hosts delete transcripts after a month or so."""
VERSION = 1
SCHEMA = """
CREATE TABLE cursors (
    path TEXT PRIMARY KEY,
    inode INTEGER NOT NULL,
    size INTEGER NOT NULL,
    digest TEXT NOT NULL,
    resume INTEGER NOT NULL,
    lines INTEGER NOT NULL,
    read_ns INTEGER NOT NULL
) STRICT;
CREATE INDEX cursors_by_time ON cursors (read_ns);
"""


_TAIL_BYTES = 4_096
"""Bytes at the end of the read part that identify a file: hosts write times and ids into every record."""


class Cursor(Struct, frozen=True):
    """The read position in the file with this inode.

    `size` bytes were read, and `digest` is the digest of the last of them. The next reading begins at byte
    `resume`, before which there are `lines` lines; transcripts.py says why that is earlier than `size`.
    """

    inode: int
    size: int
    digest: str
    resume: int
    lines: int

    def holds(self, descriptor: int, status: os.stat_result) -> bool:
        """Whether a file is the same, except for additions.

        Editors and hosts may rewrite or cut a file and keep its inode.
        """
        return (
            status.st_ino == self.inode
            and 0 <= self.resume <= self.size <= status.st_size
            and digest_before(descriptor, self.size) == self.digest
        )


def digest_before(descriptor: int, size: int) -> str:
    """Return a digest of the last bytes before an offset."""
    start = max(size - _TAIL_BYTES, 0)
    return hashlib.blake2b(os.pread(descriptor, size - start, start), digest_size=16).hexdigest()


class CursorStore:
    """The cursors of one project. Each call opens the file and blocks. Raises `OperationalError` as SQLite
    does, and `OSError`."""

    def __init__(self, folder: str, system: System) -> None:
        self._path = os.path.join(folder, NAME)
        self._system = system

    def find(self, path: str) -> Cursor | None:
        """Return a transcript's cursor, None for none."""
        if not os.path.lexists(self._path):
            return None
        try:
            with self._opened() as database:
                row = database.execute(
                    "SELECT inode, size, digest, resume, lines FROM cursors WHERE path = ?", (_key(path),)
                ).fetchone()
        except DatabaseError as error:
            self._quarantine(error)
            return None
        return None if row is None else Cursor(*row)

    def put(self, path: str, cursor: Cursor) -> None:
        """Store a transcript's cursor."""
        try:
            self._put(path, cursor)
        except DatabaseError as error:
            self._quarantine(error)
            self._put(path, cursor)

    def _quarantine(self, error: DatabaseError) -> None:
        """Quarantine a damaged file. Raises the error if it is temporary, `NewerVersion` for a newer file."""
        if isinstance(error, NewerDatabase):
            raise NewerVersion(f"transcripts can't be read here: {self._path}: {error}") from error
        if may_pass(error):
            raise error
        kept = quarantine_database(self._path, self._system)
        log.warning("how far transcripts were read is lost (%s); the file is kept as %s", error, kept)

    def _put(self, path: str, cursor: Cursor) -> None:
        row = (cursor.inode, cursor.size, cursor.digest, cursor.resume, cursor.lines)
        with self._opened() as database, transaction(database):
            database.execute(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?)",
                (_key(path), *row, self._system.time_ns()),
            )
            database.execute(
                "DELETE FROM cursors WHERE path IN"
                " (SELECT path FROM cursors ORDER BY read_ns DESC, path LIMIT -1 OFFSET ?)",
                (CURSORS_MAX,),
            )

    @contextmanager
    def _opened(self) -> Iterator[Database]:
        database = open_database(self._path, SCHEMA, VERSION, self._system).database
        try:
            with damage_raised():
                yield database
        finally:
            close_database(database)


def _key(path: str) -> str:
    """Return the real path of a file, as a text that SQLite takes."""
    return os.fsencode(os.path.realpath(path)).decode("utf-8", "backslashreplace")
