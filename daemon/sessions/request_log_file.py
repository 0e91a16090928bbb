"""Owns the ledger's file as a file: opening it, its lock and transactions, what becomes of a damaged one.

One file holds the requests of all projects: a session's id names no project, so that with a file for each all
would be searched; one bound on disk use holds for all; and what several projects share is kept once.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Iterator

from ..core.errors import StateError
from ..core.quarantine import KEPT_AS, clear_file
from ..core.storage import (
    Database,
    DatabaseError,
    close_database,
    damage_raised,
    may_pass,
    open_database,
    quarantine_database,
    transaction,
)
from ..core.system import System
from . import request_log_migration as former
from . import request_table
from . import stored_contents as contents
from .request_record import Sent

SCHEMA_VERSION = 2
"""Raised when the tables change. A file of version 1 is taken over; one of another is set aside, and an empty
one begun."""

SCHEMA = request_table.SCHEMA + contents.SCHEMA


class LedgerFile:
    """The SQLite file at `path`, whose folder is made when needed. Safe across threads, one at a time.

    A crash loses what was not committed and nothing else. Raises `StateError` for what the disk refuses; for
    a file that turns out to be damaged too, after it was set aside: the next call meets an empty one.
    """

    def __init__(self, path: str, system: System) -> None:
        self.path = path
        self._system = system
        self._lock = threading.Lock()
        self._warnings: list[str] = []
        self._database: Database | None = None
        self._closed = False
        self._former_last = 0
        with self._lock:
            self._open(check=False)

    @contextlib.contextmanager
    def reading(self) -> Iterator[Database]:
        """Lend the database to read from."""
        with self._lock:
            database = self._opened()
            try:
                with damage_raised():
                    yield database
            except DatabaseError as error:
                raise self._failure(error) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[Database]:
        """Lend the database with a transaction: all that is written is kept, or nothing."""
        with self.reading() as database, transaction(database):
            yield database

    def former_sent(self, database: Database, number: int) -> Sent | None:
        """Return what was sent for a request of an earlier version that wasn't moved over yet."""
        return former.sent(database, number) if number <= self._former_last else None

    def move_former(self) -> None:
        """Move what was sent out of the file of an earlier version, in steps, and remove that file."""
        while self._former_last:
            try:
                with self.writing() as database:
                    moved = former.move(database, self._former_last)
                if not moved:
                    with self.reading() as database:
                        former.detach(database, self.path)
                        self._former_last = 0
            except StateError as error:
                if isinstance(error.__cause__, DatabaseError) and not may_pass(error.__cause__):
                    with self._lock:
                        self._quarantine_former(self._opened(), error.__cause__)
                raise

    def close(self) -> None:
        """Close the file; the write-ahead log is folded in. Nothing can be asked after that."""
        with self._lock:
            if self._database is not None:
                close_database(self._database, self.path)
            self._database = None
            self._closed = True

    def take_warnings(self) -> tuple[str, ...]:
        """Return what was set aside since the last call."""
        with self._lock:
            warnings = tuple(self._warnings)
            self._warnings.clear()
            return warnings

    def _opened(self) -> Database:
        if self._closed:
            raise StateError(f"{self.path} is closed.")
        # It could not be opened after it was found damaged; that may have been mended.
        return self._database or self._open(check=False)

    def _open(self, *, check: bool) -> Database:
        """Open the file. With `check` all of it is read, which takes a second or more for a large one."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            former.set_beside(self.path, self._system)
            opened = open_database(self.path, SCHEMA, SCHEMA_VERSION, self._system, check=check)
        except (OSError, DatabaseError) as error:
            raise StateError(
                f"{self.path} can't be opened ({error}); requests are not recorded until then. Mend that."
            ) from error
        self._database = opened.database
        if opened.replaced:
            self._warnings.append(f"The record of earlier requests is lost: {opened.replaced}.")
            self._remove_former_damaged()
        self._attach_former(opened.database)
        return opened.database

    def _attach_former(self, database: Database) -> None:
        self._former_last = 0
        done = clear_file(former.path_of(self.path), self._system)
        if KEPT_AS in done:
            self._warnings.append(done)
        if not os.path.exists(former.path_of(self.path)):
            return
        try:
            with damage_raised():
                self._former_last = former.attach(database, self.path)
        except DatabaseError as error:
            if may_pass(error):
                raise
            self._quarantine_former(database, error)

    def _quarantine_former(self, database: Database, error: DatabaseError) -> None:
        self._former_last = 0
        with contextlib.suppress(DatabaseError):
            database.execute("DETACH former")
        if os.path.exists(former.path_of(self.path)):
            kept = quarantine_database(former.path_of(self.path), self._system)
            self._warnings.append(f"Of earlier requests some or all is lost: {error}; kept as {kept}.")

    def _failure(self, error: DatabaseError) -> StateError:
        """Return the error for a failed statement, after a damaged file was set aside."""
        if may_pass(error) or self._database is None:
            return StateError(f"{self.path} can't be used now ({error}); try again.")
        self._database.close()
        self._database = None
        self._open(check=True)
        return StateError(f"{self.path} could not be used ({error}); it was opened anew. Try again.")

    def _remove_former_damaged(self) -> None:
        """Remove what was set aside earlier; the last one is there for who wants to know what happened."""
        folder, name = os.path.split(self.path)
        aside = f"{name}.damaged-"
        with self._system.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.name.startswith(aside)]
        moments = {name: int(name.removeprefix(aside).partition("-")[0]) for name in names}
        for one in names:
            if moments[one] != max(moments.values()):
                os.unlink(os.path.join(folder, one))
