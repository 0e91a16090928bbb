"""Read positions (cursors) of transcripts, and their store: a small SQLite file of a project.

The store only saves work: a transcript whose cursor is lost is read again, and its decisions are recognized
as known.
"""

from __future__ import annotations

import hashlib
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from typing import TypeVar

from msgspec import Struct

from ..core.errors import StateError
from ..core.record_file import RecordFile
from ..core.storage import Database
from ..core.system import System

T = TypeVar("T")
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
    """The cursors of one project. Each call opens the file and blocks. Raises `StateError`."""

    def __init__(self, folder: str, system: System) -> None:
        self._path = os.path.join(folder, NAME)
        self._system = system

    def find(self, path: str) -> Cursor | None:
        """Return a transcript's cursor, None for none."""
        if not os.path.lexists(self._path):
            return None
        query = "SELECT inode, size, digest, resume, lines FROM cursors WHERE path = ?"
        row = self._use(lambda database: database.execute(query, (_key(path),)).fetchone())
        return None if row is None else Cursor(*row)

    def put(self, path: str, cursor: Cursor) -> None:
        """Store a transcript's cursor."""
        row = (_key(path), cursor.inode, cursor.size, cursor.digest, cursor.resume, cursor.lines)

        def write(database: Database) -> None:
            database.execute(
                "INSERT OR REPLACE INTO cursors VALUES (?, ?, ?, ?, ?, ?, ?)", (*row, self._system.time_ns())
            )
            database.execute(
                "DELETE FROM cursors WHERE path IN"
                " (SELECT path FROM cursors ORDER BY read_ns DESC, path LIMIT -1 OFFSET ?)",
                (CURSORS_MAX,),
            )

        self._use(write)

    def _use(self, work: Callable[[Database], T]) -> T:
        """Work in a transaction, again if the file was damaged and is empty now."""
        file = RecordFile(self._path, SCHEMA, VERSION, self._system)
        try:
            with suppress(StateError), file.writing() as database:
                return work(database)
            with file.writing() as database:
                return work(database)
        finally:
            for warning in file.take_warnings():
                log.warning("how far transcripts were read is lost: %s", warning)
            file.close()


def _key(path: str) -> str:
    """Return the real path of a file, as a text that SQLite takes."""
    return os.fsencode(os.path.realpath(path)).decode("utf-8", "backslashreplace")
