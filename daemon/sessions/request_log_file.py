"""The request log's file: opening, locking, transactions, migration, and quarantine of a damaged one.

One file has the requests and contexts of all projects: a session's id names no project, so separate files
would all have to be searched; and one limit on disk use holds for all.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
import zlib
from collections.abc import Iterator

from ..core.errors import StateError
from ..core.quarantine import KEPT_AS, clear_file
from ..core.storage import (
    SEAL,
    Database,
    DatabaseError,
    close_database,
    damage_raised,
    may_pass,
    open_database,
    open_reader,
    quarantine_database,
    transaction,
)
from ..core.system import System
from ..rules.items import ItemKey
from . import context_table, request_table
from . import stored_contents as contents
from .request_record import ItemPart, Said, Sent

SCHEMA_VERSION = 3
"""The version of the tables. A file of version 1 is migrated, one of version 2 gets the tables of contexts;
one of a newer version is left as it is, and nothing is recorded."""

BARE_VERSION = 2
_BARE_SCHEMA = request_table.SCHEMA + contents.SCHEMA
_ADDED = context_table.SCHEMA + contents.CONTEXT_SCHEMA
SCHEMA = _BARE_SCHEMA + _ADDED


class LedgerFile:
    """The SQLite file at `path`, whose folder is made on demand. Thread-safe, one thread at a time.

    A crash loses uncommitted data only. Raises `StateError` if the disk refuses, or for a damaged file after
    it was put into quarantine: the next call finds an empty one.
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
        """Give the database for reading."""
        with self._lock:
            database = self._opened()
            try:
                with damage_raised():
                    yield database
            except DatabaseError as error:
                raise self._failure(error) from error

    @contextlib.contextmanager
    def writing(self) -> Iterator[Database]:
        """Give the database within a transaction."""
        with self.reading() as database, transaction(database):
            yield database

    def former_sent(self, database: Database, number: int) -> Sent | None:
        """Return the contents of a request of an earlier version that isn't migrated yet."""
        return _former_sent(database, number) if number <= self._former_last else None

    def move_former(self) -> None:
        """Migrate the contents in the file of an earlier version, in steps, and remove that file."""
        while self._former_last:
            try:
                with self.writing() as database:
                    moved = _move(database, self._former_last)
                if not moved:
                    with self.reading() as database:
                        _detach(database, self.path)
                        self._former_last = 0
            except StateError as error:
                if isinstance(error.__cause__, DatabaseError) and not may_pass(error.__cause__):
                    with self._lock:
                        self._quarantine_former(self._opened(), error.__cause__)
                raise

    def close(self) -> None:
        """Close the file and checkpoint the write-ahead log. No method works after that."""
        with self._lock:
            if self._database is not None:
                close_database(self._database, self.path)
            self._database = None
            self._closed = True

    def take_warnings(self) -> tuple[str, ...]:
        """Return the warnings since the last call."""
        with self._lock:
            warnings = tuple(self._warnings)
            self._warnings.clear()
            return warnings

    def _opened(self) -> Database:
        if self._closed:
            raise StateError(f"{self.path} is closed.")
        # Opening may have failed after damage; try again.
        return self._database or self._open(check=False)

    def _open(self, *, check: bool) -> Database:
        """Open the file. With `check` all of it is read, which takes a second or more for a large one."""
        try:
            os.makedirs(os.path.dirname(self.path), mode=0o700, exist_ok=True)
            self._warnings += _set_former_beside(self.path, self._system)
            self._warnings += _add_tables(self.path, self._system)
            opened = open_database(self.path, SCHEMA, SCHEMA_VERSION, self._system, check=check)
        except (OSError, DatabaseError) as error:
            raise StateError(
                f"{self.path} can't be opened ({error}); requests are not recorded until then. Mend that."
            ) from error
        self._database = opened.database
        if opened.replaced:
            self._warnings.append(f"The record of earlier requests is lost: {opened.replaced}.")
        self._attach_former(opened.database)
        return opened.database

    def _attach_former(self, database: Database) -> None:
        self._former_last = 0
        done = clear_file(former_path(self.path), self._system)
        if KEPT_AS in done:
            self._warnings.append(done)
        if not os.path.exists(former_path(self.path)):
            return
        try:
            with damage_raised():
                self._former_last = _attach(database, self.path)
        except DatabaseError as error:
            if may_pass(error):
                raise
            self._quarantine_former(database, error)

    def _quarantine_former(self, database: Database, error: DatabaseError) -> None:
        self._former_last = 0
        with contextlib.suppress(DatabaseError):
            database.execute("DETACH former")
        if os.path.exists(former_path(self.path)):
            kept = quarantine_database(former_path(self.path), self._system)
            self._warnings.append(f"Of earlier requests some or all is lost: {error}; kept as {kept}.")

    def _failure(self, error: DatabaseError) -> StateError:
        """Return the error for a failed statement, after putting a damaged file into quarantine."""
        if may_pass(error) or self._database is None:
            return StateError(f"{self.path} can't be used now ({error}); try again.")
        self._database.close()
        self._database = None
        self._open(check=True)
        return StateError(f"{self.path} could not be used ({error}); it was opened anew. Try again.")


def _add_tables(path: str, system: System) -> list[str]:
    """Add the tables of contexts to a file of version 2, and return what was wrong with it, in words.

    Raises `DatabaseError` or `OSError` if that can't be done now.
    """
    if not _is_version(path, BARE_VERSION):
        return []
    opened = open_database(path, _BARE_SCHEMA, BARE_VERSION, system)
    try:
        with transaction(opened.database):
            for statement in filter(str.strip, _ADDED.split(";")):
                opened.database.execute(statement)
            opened.database.execute(f"PRAGMA user_version = {SCHEMA_VERSION}")
    finally:
        close_database(opened.database, path)
    return [f"The record of earlier requests is lost: {opened.replaced}."] if opened.replaced else []


def _is_version(path: str, version: int) -> bool:
    """Whether a file is there, whole and of this version. Raises an error that may pass."""
    if not os.path.exists(path):
        return False
    try:
        open_reader(path, version, sealed=True).close()
    except DatabaseError as error:
        if may_pass(error):
            raise
        return False
    return True


FORMER_VERSION = 1
"""The former version: it cut texts into pieces, each stored once, with a list of pieces for each request."""


def former_path(path: str) -> str:
    """Return the path of the former file during the migration: `requests-v1.sqlite`."""
    name, ending = os.path.splitext(path)
    return f"{name}-v1{ending}"


_TAKE = """
INSERT INTO requests SELECT r.number, s.name, p.root, r.id, at, message_hash, tokens, bytes, elapsed_ms,
    items, considered, degraded, pruned, referred, sketch, COALESCE(record, X'')
    FROM former.requests r JOIN former.sessions s ON s.id = session JOIN former.projects p ON p.id = project
    LEFT JOIN former.bodies USING (number);
INSERT INTO items SELECT i.id, root, type, name, server_name
    FROM former.items i JOIN former.projects p ON p.id = project;
INSERT INTO item_days SELECT * FROM former.item_days
"""


def _set_former_beside(path: str, system: System) -> list[str]:
    """Rename the file at `path` if it is of the former version, so that a new one can be made; return what
    was in the way, in words.

    Raises `DatabaseError` or `OSError` if its version can't be read now.
    """
    for suffix in ("", "-wal", "-shm", SEAL):
        if os.path.isfile(path + suffix):
            clear_file(path + suffix, system)
    if not _is_version(path, FORMER_VERSION):
        return []
    done = []
    if os.path.exists(path) and os.path.exists(former_path(path)):
        # Its migration was interrupted, and then an earlier version made a new file.
        kept = quarantine_database(former_path(path), system)
        done.append(f"Of earlier requests some aren't shown: their file is kept as {kept}.")
    # The write-ahead log first: after a crash both are found under one name.
    for suffix in ("-wal", ""):
        with contextlib.suppress(FileNotFoundError):
            os.replace(path + suffix, former_path(path) + suffix)
    for suffix in ("-shm", SEAL):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(path + suffix)
    return done


def _attach(database: Database, path: str) -> int:
    """Attach the renamed file, copy its records if that wasn't done, and return the last request's number.

    Raises `DatabaseError` if it is damaged.
    """
    database.execute("ATTACH ? AS former", (former_path(path),))
    (last,) = database.execute("SELECT COALESCE(MAX(number), 0) FROM former.requests").fetchone()
    if not database.execute("SELECT 1 FROM requests LIMIT 1").fetchone():
        with transaction(database):
            for statement in _TAKE.split(";"):
                database.execute(statement)
    return int(last)


def _detach(database: Database, path: str) -> None:
    """Remove the file."""
    database.execute("DETACH former")
    for suffix in ("", "-wal", "-shm"):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(former_path(path) + suffix)


def _move(database: Database, last: int) -> bool:
    """Migrate the contents of some requests; returns whether there were any. Needs a transaction."""
    rows = database.execute(
        "SELECT number FROM requests WHERE pruned = '' AND number <= ?1 AND number >"
        " (SELECT COALESCE(MAX(last), 0) FROM packs WHERE last <= ?1) ORDER BY number LIMIT ?2",
        (last, contents.PACK_REQUESTS),
    ).fetchall()
    moved: dict[int, Sent] = {}
    for (number,) in rows:
        parts = _former_sent(database, number)
        if parts is None:
            request_table.set_pruned(database, number, "it was damaged")
        else:
            moved[number] = parts
    contents.add_pack(database, moved)
    return bool(rows)


def _former_sent(database: Database, number: int) -> Sent | None:
    """Return the contents of a request that isn't migrated yet; None if damaged or missing."""
    try:
        (manifest,) = database.execute(
            "SELECT manifest FROM former.bodies WHERE number = ?", (number,)
        ).fetchone()
        plain = json.loads(zlib.decompress(manifest))
        return _parts(plain, _texts(database, plain["texts"]))
    except Exception:  # noqa: BLE001 - any exception means damage
        return None


def _texts(database: Database, texts: list[list[int]]) -> Iterator[str]:
    pieces: dict[int, bytes] = {}
    for number in {number for text in texts for number in text}:
        digest, data = database.execute(
            "SELECT digest, data FROM former.pieces JOIN former.piece_data USING (id) WHERE id = ?", (number,)
        ).fetchone()
        pieces[number] = zlib.decompress(data)
        if hashlib.blake2b(pieces[number], digest_size=16).digest() != digest:
            raise DatabaseError("a piece is damaged")
    return (b"".join(pieces[number] for number in text).decode("utf-8", "surrogatepass") for text in texts)


def _parts(plain: dict[str, list[str]], texts: Iterator[str]) -> Sent:
    context, system_prompt, user_prompt = next(texts), next(texts), next(texts)
    history = tuple(Said(role, next(texts)) for role in plain["roles"])
    references = tuple(ItemPart(ItemKey("reference", *item), next(texts)) for item in plain["references"])
    rules = tuple(ItemPart(ItemKey("rule", *item), next(texts)) for item in plain["rules"])
    described = [(ItemKey("tool", *item), next(texts)) for item in plain["tools"]]
    tools = tuple(ItemPart(key, text, next(texts)) for key, text in described)
    return Sent(context, system_prompt, user_prompt, history, references, rules, tools)
