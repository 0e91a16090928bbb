"""Owns SQLite: the only file that imports sqlite3. It opens databases, and sets damaged ones aside."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from .aside import KEPT_AS, clear_file
from .lazy_dataclass import dataclass
from .system import System

Database = sqlite3.Connection
DatabaseError = sqlite3.DatabaseError
OperationalError = sqlite3.OperationalError


@dataclass(frozen=True, slots=True)
class Opened:
    """A database open for writing.

    `replaced` says why an earlier file was set aside, or is empty; `anew` that there was an earlier one, of
    which nothing is in it.
    """

    database: Database
    replaced: str = ""
    anew: bool = False


class OtherVersion(DatabaseError):
    """A database has the schema of another version of this program."""


def open_database(
    path: str, schema: str, version: int, system: System, *, check: bool = True, derived: bool = False
) -> Opened:
    """Open a database for writing and create it by `schema` where there is none.

    The file is private (0600) and in WAL mode. A file that is damaged, of another schema version, or without
    one of its tables, is renamed aside, and an empty one takes its place. One of another version, as after an
    update, that is `derived` from files is removed instead. Raises
    `OperationalError` or `OSError` when the file is locked or can't be opened, which a new file would not
    mend.
    """
    # Before SQLite looks: on a pipe in the place of its file or its log it waits for ever.
    done = [clear_file(path + suffix, system) for suffix in _SUFFIXES]
    cleared = "; ".join(one for one in done if KEPT_AS in one)
    try:
        return Opened(_open(path, schema, version, check=check), cleared)
    except OperationalError:
        raise
    except DatabaseError as error:
        if derived and isinstance(error, OtherVersion):
            for suffix in _SUFFIXES:
                with suppress(FileNotFoundError):
                    os.unlink(path + suffix)
            return Opened(_open(path, schema, version, check=check), cleared, anew=True)
        aside = f"{path}.damaged-{system.time_ns()}"
        for suffix in _SUFFIXES:
            if os.path.exists(path + suffix):
                os.replace(path + suffix, aside + suffix)
        reason = f"{os.path.basename(path)} could not be used ({error}); kept as {os.path.basename(aside)}"
        return Opened(_open(path, schema, version, check=check), reason, anew=True)


def open_reader(path: str, version: int) -> Database:
    """Open a database for reading. Raises `DatabaseError` if it can't be used."""
    for suffix in _SUFFIXES:
        # SQLite waits for ever on a pipe in the place of a file.
        with suppress(OSError):
            if not stat.S_ISREG(os.stat(path + suffix).st_mode):
                raise DatabaseError(f"{os.path.basename(path)}{suffix} is not a regular file")
    # Threads hand a reader on, one at a time, so SQLite's own check of the thread is off.
    database = sqlite3.connect(_uri(path), uri=True, isolation_level=None, check_same_thread=False)
    try:
        database.executescript(f"PRAGMA mmap_size = {MMAP_BYTES}; PRAGMA query_only = ON;")
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found != version:
            raise OtherVersion(f"its schema version is {found}, this program's {version}")
    except BaseException:
        database.close()
        raise
    return database


def check_database(path: str) -> None:
    """Read all of a database. Raises `DatabaseError` for a damaged one; seconds for a large one."""
    with suppress(OSError):
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise DatabaseError("it is not a regular file")
    # Read-only, so that closing it folds no log into a file that is to be kept as it is.
    database = sqlite3.connect(_uri(path), uri=True, isolation_level=None)
    try:
        found = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise DatabaseError(f"it fails SQLite's own check: {found}")
    finally:
        database.close()


def may_pass(error: DatabaseError) -> bool:
    """Whether an error may pass by itself: the file is locked, or can't be opened, or the disk is full.

    Otherwise it is damaged, or lacks what its version has: to open it again sets it aside then.
    """
    if not isinstance(error, OperationalError):
        return False
    # Said of a table that is missing, among others.
    return getattr(error, "sqlite_errorcode", None) != sqlite3.SQLITE_ERROR


@contextmanager
def transaction(database: Database) -> Iterator[None]:
    """Run the statements inside as one transaction; an error undoes all of them and goes on its way."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        # A full disk or a failed write may have ended the transaction already.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def database_bytes(path: str) -> int:
    """Return the size of a database and its log in bytes, 0 where there is none."""
    total = 0
    for suffix in ("", "-wal"):
        with suppress(FileNotFoundError):
            total += os.path.getsize(path + suffix)
    return total


_SUFFIXES = ("", "-wal", "-shm", "-journal")
"""Of the files of one database: itself, its write-ahead log, that log's index, a log of the other kind."""

MMAP_BYTES = 256 * 1024 * 1024
WAL_BYTES = 16 * 1024 * 1024
"""The log is cut back to this after a checkpoint, so that one burst of writes doesn't hold disk for ever."""


def _uri(path: str) -> str:
    """Return the address under which SQLite opens a file to read only."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?mode=ro"


def _open(path: str, schema: str, version: int, *, check: bool) -> Database:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found not in {0, version}:
            raise OtherVersion(f"its schema version is {found}, this program's {version}")
        if found and (missing := _tables(schema) - _tables_of(database)):
            raise DatabaseError(f"it has no table {min(missing)}")
        if found and check and database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
            raise DatabaseError("it fails SQLite's own check")
        # NORMAL may lose the last transactions in a power cut, but not in a crash of the process, and never
        # the file itself.
        database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
            f"PRAGMA journal_size_limit = {WAL_BYTES}; PRAGMA mmap_size = {MMAP_BYTES};"
        )
        if not found and database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise DatabaseError("it has tables but no schema version")
        if not found:
            database.executescript(f"BEGIN; {schema} PRAGMA user_version = {version}; COMMIT;")
    except BaseException:
        database.close()
        raise
    return database


def _tables(schema: str) -> set[str]:
    """Return the names of the tables that a schema makes."""
    database = sqlite3.connect(":memory:")
    try:
        database.executescript(schema)
        return _tables_of(database)
    finally:
        database.close()


def _tables_of(database: Database) -> set[str]:
    return {name for (name,) in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
