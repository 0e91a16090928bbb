"""SQLite: the only file that imports sqlite3. It opens databases, and quarantines damaged ones."""

from __future__ import annotations

import functools
import os
import shutil
import sqlite3
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any, TypeVar

from msgspec import Struct

from .errors import FovealError, made_by_newer
from .quarantine import KEPT_AS, MARK, clear_file
from .system import System

Database = sqlite3.Connection
DatabaseError = sqlite3.DatabaseError
OperationalError = sqlite3.OperationalError
Row = sqlite3.Row
T = TypeVar("T")


class Opened(Struct, frozen=True):
    """A database open for writing.

    `replaced` says why an earlier file was quarantined, or is empty. `anew` is True if there was an earlier
    file and the database has none of its content.
    """

    database: Database
    replaced: str = ""
    anew: bool = False


class OtherVersion(DatabaseError):
    """A database has the schema of another version of this program."""


class NewerDatabase(OtherVersion):
    """A database was made by a newer version of this program: it isn't damaged, and is left as it is."""


def open_database(
    path: str,
    schema: str,
    version: int,
    system: System,
    *,
    check: bool = True,
    derived: bool = False,
    distrusted: str = "",
    probe: Callable[[Database], object] = lambda _: None,
) -> Opened:
    """Open a database for writing; create it by `schema` if there is none.

    The file is private (0600) and in WAL mode. A damaged file is renamed, and an empty database takes its
    place. It is damaged if opening it or reading it with `probe` raises an error that isn't temporary
    (`may_pass`), if a value in the first rows of a table isn't of its column's type, with `check` if it
    fails SQLite's own check, or if it is of an earlier version. `distrusted` is the reason why the file is
    known to be damaged; then it isn't read. A file that is `derived` from other files and of another version
    is removed, not renamed. Raises `NewerDatabase` for a file of a newer version that isn't derived, and
    `DatabaseError` or `OSError` if the file is locked or can't be opened, since a new file would not help.
    """
    # Before SQLite opens them: it would wait for ever on a pipe in the place of the file or its log.
    done = [clear_file(path + suffix, system) for suffix in _SUFFIXES]
    cleared = "; ".join(sentence for sentence in done if KEPT_AS in sentence)
    try:
        if not derived:
            _refuse_newer(path, version)
        if distrusted and os.path.exists(path):
            raise DatabaseError(distrusted)
        return Opened(_open(path, schema, version, probe, check=check), cleared)
    except Exception as error:
        if may_pass(error):
            raise
        if derived and isinstance(error, OtherVersion):
            remove_database(path)
            return Opened(_open(path, schema, version, probe, check=check), cleared, anew=True)
        kept = quarantine_database(path, system)
        _remove_former_damaged(path, system)
        reason = f"{os.path.basename(path)} could not be used ({named(error)}); kept as {kept}"
        replaced = "; ".join(filter(None, (cleared, reason)))
        return Opened(_open(path, schema, version, probe, check=check), replaced, anew=True)


def copy_database(path: str, target: str) -> None:
    """Copy a database with its log into a new file while nobody writes to it. Raises `OSError`.

    On file systems that can share blocks (Btrfs, XFS) the copy takes space only for what differs later; else
    20 MB take some 20 ms.
    """
    for suffix in ("", "-wal"):
        if os.path.exists(path + suffix):
            os.close(os.open(target + suffix, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
            with open(path + suffix, "rb") as source, open(target + suffix, "wb") as copy:
                try:
                    while os.copy_file_range(source.fileno(), copy.fileno(), COPIED_BYTES):
                        pass
                except (AttributeError, OSError):  # macOS, and file systems that can't, or no longer
                    source.seek(0)
                    copy.seek(0)
                    shutil.copyfileobj(source, copy)


COPIED_BYTES = 1 << 30
"""Maximum bytes that the system is asked to copy at a time; it takes at most 2 GB."""


def remove_database(path: str) -> None:
    """Remove a database with its logs, those that are there."""
    for suffix in _SUFFIXES:
        with suppress(FileNotFoundError):
            os.unlink(path + suffix)


def quarantine_database(path: str, system: System) -> str:
    """Rename a database with its logs; return the new name without the folder. Raises `OSError`."""
    kept = f"{path}{MARK}{system.time_ns()}"
    for suffix in _SUFFIXES:
        if os.path.lexists(path + suffix):
            os.replace(path + suffix, kept + suffix)
    return os.path.basename(kept)


DAMAGED_MAX = 3
"""Maximum number of quarantined copies of a database, the latest."""


def _remove_former_damaged(path: str, system: System) -> None:
    """Remove the oldest quarantined copies above `DAMAGED_MAX`."""
    folder, name = os.path.split(path)
    moments = set()
    with system.scandir(folder or ".") as entries:
        for entry in entries:
            moment = entry.name.removeprefix(f"{name}{MARK}")
            if moment != entry.name and moment.isdigit():
                moments.add(int(moment))
    for former in sorted(moments)[:-DAMAGED_MAX]:
        if os.path.isfile(kept := f"{path}{MARK}{former}"):
            remove_database(kept)


def empty_log(database: Database) -> None:
    """Write the log into the database and empty its file, unless a reader uses it now."""
    database.execute("PRAGMA busy_timeout = 0")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.execute(f"PRAGMA busy_timeout = {BUSY_MS}")


BUSY_MS = 5_000
"""Milliseconds for which a statement waits for a lock, Python's default."""


def close_database(database: Database) -> None:
    """Close a database that `open_database` opened, after its log was written into it."""
    with suppress(DatabaseError):  # while readers have it open, closing doesn't checkpoint the log
        database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    database.close()


def open_reader(path: str, version: int) -> Database:
    """Open a database for reading. Raises `DatabaseError` if it can't be used, whatever is wrong with it."""
    _check_kinds(path)
    # Threads pass a reader to each other, one at a time, so SQLite's check of the thread is off.
    database = sqlite3.connect(_uri(path), uri=True, isolation_level=None, check_same_thread=False)
    try:
        with damage_raised():
            database.executescript(f"{_UNMAPPED} PRAGMA query_only = ON;")
            found = database.execute("PRAGMA user_version").fetchone()[0]
            if found != version:
                raise OtherVersion(f"its schema version is {found}, this program's {version}")
    except BaseException:
        database.close()
        raise
    return database


def check_database(path: str, schema: str = "", version: int = 0) -> None:
    """Read all of a database, and compare its values with `schema` if given. Raises `DatabaseError` if it is
    damaged. Takes seconds for a large one."""
    _check_kinds(path)
    # Read-only, so that closing doesn't write the log into the file, which must stay unchanged.
    with closing(sqlite3.connect(_uri(path), uri=True, isolation_level=None)) as database, damage_raised():
        found = database.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if found != "ok":
            raise DatabaseError(f"it fails SQLite's own check: {found}")
        named = database.execute("PRAGMA user_version").fetchone()[0]
        if schema and version < named <= NEWER_MAX:
            raise NewerDatabase(f"it {made_by_newer(named, version)}")
        if schema and named == version:
            _check_types(database, schema, None)
        elif schema and named:
            raise OtherVersion(f"its schema version is {named}, this program's {version}")


def may_pass(error: BaseException) -> bool:
    """Whether an error may pass by itself: the file is locked, or can't be opened, the disk is full or fails,
    memory or descriptors ran out, or the file waits for a newer version of this program.

    Any other error means that the database is damaged or isn't of its version.
    """
    if isinstance(error, NewerDatabase):
        return True
    if not isinstance(error, sqlite3.Error):
        return isinstance(error, (OSError, MemoryError))
    code = getattr(error, "sqlite_errorcode", None)
    if code is None:  # raised by the sqlite3 module: a text that isn't UTF-8 means damage, a misuse doesn't
        return isinstance(error, (sqlite3.ProgrammingError, sqlite3.InterfaceError))
    return (code & 0xFF) in _PASSING


def named(error: BaseException) -> str:
    """Return an error in words, with its class if it isn't an error of SQLite."""
    return str(error) if isinstance(error, sqlite3.Error) else f"{type(error).__name__}: {error}"[:300]


@contextmanager
def damage_raised() -> Iterator[None]:
    """Turn any error of a read that isn't temporary into `DatabaseError`."""
    try:
        yield
    except (DatabaseError, FovealError):
        raise
    except Exception as error:
        if may_pass(error):
            raise
        raise DatabaseError(f"it can't be read: {named(error)}") from error


@contextmanager
def transaction(database: Database) -> Iterator[None]:
    """Run the statements inside as one transaction; an error undoes all of them and is raised."""
    database.execute("BEGIN IMMEDIATE")
    try:
        yield
        database.execute("COMMIT")
    except BaseException:
        # A full disk or a failed write may have ended the transaction already.
        if database.in_transaction:
            database.execute("ROLLBACK")
        raise


def compact(database: Database) -> None:
    """Rewrite a database without its free space, and empty its log: what was deleted earlier is in neither.

    Needs the size of the database once more on the disk, and a second for some 100 MB.
    """
    database.execute("VACUUM")
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def settle_times(database: Database, table: str, now: object, latest: object) -> None:
    """Give the rows of a table with an `at` after the `latest` possible time the present one, so that what a
    wrong clock dated grows old too. Needs a transaction.

    If that would be most rows, the present clock is the wrong one, as at a start before the time is known:
    then nothing changes, since all rows would be too old once the clock is right.
    """
    database.execute(
        f"UPDATE {table} SET at = ?1 WHERE at > ?2 AND"  # noqa: S608 - the callers' own names
        f" (SELECT 2 * COUNT(*) FROM {table} WHERE at > ?2) < (SELECT COUNT(*) FROM {table})",
        (now, latest),
    )


BATCH = 500
"""Maximum number of values in a statement of `select_in`; SQLite's limit is 32,766."""


def select_in(
    database: Database,
    query: str,
    values: Iterable[object],
    *others: object,
    before: Sequence[object] = (),
    batch: int = BATCH,
) -> Iterator[Any]:
    """Yield the rows of a query with `IN ({marks})`, run for one batch of distinct values after the other.

    `before` are the parameters before the values, `others` those after.
    """
    for some in in_batches(values, batch):
        marks = ", ".join("?" * len(some))
        yield from database.execute(query.replace("{marks}", marks), (*before, *some, *others))


def in_batches(values: Iterable[T], size: int = BATCH) -> Iterator[list[T]]:
    """Yield values in batches, each value once."""
    unique = list(dict.fromkeys(values))
    for start in range(0, len(unique), size):
        yield unique[start : start + size]


_SUFFIXES = ("", "-wal", "-shm", "-journal", "-seal")
"""Suffixes of the files of a database: itself, its write-ahead log, the log's index, its rollback journal,
and a checksum that former versions kept."""

_UNMAPPED = "PRAGMA mmap_size = 0;"
"""Switches off memory mapping: if a mapped file is truncated or its disk fails, the process is killed
(SIGBUS), and reading isn't faster."""

WAL_BYTES = 16 * 1024 * 1024
"""Maximum bytes of the log after a checkpoint, so that a burst of writes doesn't occupy the disk for ever."""

PROBED_ROWS = 200
"""Number of rows of each table whose types are checked if a database is opened without reading all of it."""

_PASSING = frozenset({
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_FULL, sqlite3.SQLITE_PERM,
    sqlite3.SQLITE_AUTH, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_NOMEM, sqlite3.SQLITE_INTERRUPT, sqlite3.SQLITE_PROTOCOL, sqlite3.SQLITE_NOLFS,
})  # fmt: skip

_TYPES = {"INTEGER": "integer", "TEXT": "text", "BLOB": "blob", "REAL": "real"}
"""SQLite's name for the type of the values in a column, by the declared type."""


def _check_kinds(path: str) -> None:
    """Raise `DatabaseError` if the path of a database or of its logs isn't a regular file: on a pipe SQLite
    would wait for ever."""
    for suffix in _SUFFIXES:
        try:
            mode = os.stat(path + suffix).st_mode
        except FileNotFoundError:
            if not os.path.islink(path + suffix):
                continue
            mode = 0
        except OSError:
            mode = 0  # a loop of links
        if not stat.S_ISREG(mode):
            raise DatabaseError(f"{os.path.basename(path)}{suffix} is not a regular file")


NEWER_MAX = 10_000
"""The largest version that counts as a newer program's; a larger one was never written by any."""


def _refuse_newer(path: str, version: int) -> None:
    """Raise `NewerDatabase` for a file of a newer version, and change nothing of it."""
    if not os.path.exists(path):
        return
    try:
        # Read-only, so that closing doesn't write the log into the file, which must stay unchanged.
        with closing(sqlite3.connect(_uri(path), uri=True, isolation_level=None)) as database:
            found = database.execute("PRAGMA user_version").fetchone()[0]
    except sqlite3.Error:
        return  # opening it for writing says what is wrong
    if version < found <= NEWER_MAX:
        raise NewerDatabase(f"it {made_by_newer(found, version)}")


def _uri(path: str) -> str:
    """Return the address under which SQLite opens a file to read only."""
    quoted = path.replace("%", "%25").replace("?", "%3f").replace("#", "%23")
    return f"file:{quoted}?mode=ro"


def _open(
    path: str, schema: str, version: int, probe: Callable[[Database], object], *, check: bool
) -> Database:
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.close(descriptor)
    database = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    try:
        found = database.execute("PRAGMA user_version").fetchone()[0]
        if found not in {0, version}:
            raise OtherVersion(f"its schema version is {found}, this program's {version}")
        if found:
            if check and database.execute("PRAGMA quick_check(1)").fetchone()[0] != "ok":
                raise DatabaseError("it fails SQLite's own check")
            _check_types(database, schema, PROBED_ROWS)
        # NORMAL may lose the last transactions in a power cut, but not in a crash of the process, and never
        # the file itself.
        database.executescript(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
            f"PRAGMA journal_size_limit = {WAL_BYTES}; {_UNMAPPED}"
        )
        if not found and database.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()[0]:
            raise DatabaseError("it has tables but no schema version")
        if not found:
            database.executescript(f"BEGIN; {schema} PRAGMA user_version = {version}; COMMIT;")
        probe(database)
    except BaseException:
        database.close()
        raise
    return database


@functools.lru_cache(maxsize=32)
def _columns_of(schema: str) -> Mapping[str, Sequence[tuple[str, str]]]:
    """Return the columns of a schema's tables with the types of values allowed in each."""
    with closing(sqlite3.connect(":memory:")) as database:
        database.executescript(schema)
        columns: dict[str, list[tuple[str, str]]] = {}
        tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%'"
        for (table,) in database.execute(tables).fetchall():
            for _, name, declared, needed, _, key in database.execute(f'PRAGMA table_info("{table}")'):
                if declared in _TYPES:
                    allowed = f"'{_TYPES[declared]}'" + ("" if needed or key else ", 'null'")
                    columns.setdefault(table, []).append((name, allowed))
        return columns


def _check_types(database: Database, schema: str, rows: int | None) -> None:
    """Compare the types of each table's first rows, or of all, with the columns'; texts must be UTF-8."""
    limit = "" if rows is None else f" LIMIT {rows}"
    for table, columns in _columns_of(schema).items():
        wrong = " OR ".join(f'typeof("{name}") NOT IN ({allowed})' for name, allowed in columns)
        source = f'(SELECT * FROM "{table}"{limit})'  # noqa: S608 - names of ours
        found = database.execute(f"SELECT 1 FROM {source} WHERE {wrong} LIMIT 1")  # noqa: S608 - as above
        if found.fetchone() is not None:
            raise DatabaseError(f"a row of its table {table} has a value of another type than its column")
        texts = ", ".join(f'"{name}"' for name, allowed in columns if "text" in allowed)
        if texts:
            for _ in database.execute(f"SELECT {texts} FROM {source}"):  # noqa: S608 - as above
                pass
