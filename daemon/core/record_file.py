"""A SQLite file of records: opened when it is first needed, and put into quarantine when it is damaged."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from .errors import StateError
from .storage import (
    Database,
    DatabaseError,
    close_database,
    compact,
    damage_raised,
    may_pass,
    open_database,
    transaction,
)
from .system import System


class RecordFile:
    """The SQLite file at `path` with the tables of `schema`. Thread-safe, one thread at a time.

    What is deleted is overwritten, so that nothing stays in the free space of the file.

    Raises `StateError` if the disk refuses, or for a damaged file after it was put into quarantine: the next
    call finds an empty one.
    """

    def __init__(self, path: str, schema: str, version: int, system: System) -> None:
        self.path = path
        self._schema = schema
        self._version = version
        self._system = system
        self._lock = threading.Lock()
        self._database: Database | None = None
        self._warnings: list[str] = []
        self._closed = False

    @contextmanager
    def reading(self) -> Iterator[Database]:
        """Give the database for reading."""
        with self._lock:
            database = self._database or self._open(check=False)
            try:
                with damage_raised():
                    yield database
            except DatabaseError as error:
                if may_pass(error):
                    raise StateError(f"{self.path} can't be used now ({error}); try again.") from error
                database.close()
                self._database = None
                self._open(check=True)
                raise StateError(f"{self.path} could not be used ({error}); it was opened anew.") from error

    @contextmanager
    def writing(self) -> Iterator[Database]:
        """Give the database within a transaction."""
        with self.reading() as database, transaction(database):
            yield database

    def compact(self) -> None:
        """Rewrite the file, so that nothing deleted stays in it or in its log."""
        with self.reading() as database:
            compact(database)

    def take_warnings(self) -> tuple[str, ...]:
        """Return the warnings since the last call."""
        with self._lock:
            warnings, self._warnings = tuple(self._warnings), []
            return warnings

    def close(self) -> None:
        """Close the file. No method works after that."""
        with self._lock:
            if self._database is not None:
                close_database(self._database)
            self._database, self._closed = None, True

    def _open(self, *, check: bool) -> Database:
        if self._closed:
            raise StateError(f"{self.path} is closed.")
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            opened = open_database(self.path, self._schema, self._version, self._system, check=check)
        except (OSError, DatabaseError) as error:
            raise StateError(f"{self.path} can't be opened ({error}).") from error
        if opened.replaced:
            self._warnings.append(opened.replaced)
        opened.database.execute("PRAGMA secure_delete = ON")
        self._database = opened.database
        return opened.database
