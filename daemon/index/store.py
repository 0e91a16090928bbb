"""A project's index on disk: one SQLite file, its source of truth. Never reads the project's own files."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from msgspec import Struct

from ..core.storage import (
    Database,
    DatabaseError,
    check_database,
    close_database,
    damage_raised,
    empty_log,
    open_database,
    open_reader,
    select_in,
    transaction,
)
from ..core.system import Stamp, System
from ..languages.shared.interface import FileInterface, InterfaceChange, change_between
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Import, References, Symbol
from ..project.records import FileRecord, ResolvedImport
from .chunk_table import NO_TEXT, ChunkQueries, ChunkTable, StoredText
from .chunk_table import SCHEMA as CHUNK_SCHEMA
from .fact_table import SCHEMA as FACT_SCHEMA
from .fact_table import FactsDamaged, FactTable, StoredFacts
from .graph_queries import GraphQueries
from .import_table import SCHEMA as IMPORT_SCHEMA
from .import_table import ImportRow, ImportTable
from .link_table import SCHEMA as LINK_SCHEMA
from .link_table import SYMBOL, LinkQueries, LinkTable
from .message_table import SCHEMA as MESSAGE_SCHEMA
from .message_table import Changed, Messages, changed_for

SCHEMA_VERSION = 6
"""Increment this when the tables change. An index of another version is quarantined and rebuilt from the
project's files."""

FILE_NAME = "index.sqlite"

CACHE_KIB = 16 * 1024
"""Maximum KiB of pages that the writer's connection caches. With SQLite's default of 2 MB, indexes over
hashes and names were written out and read again within a transaction, which took a twelfth of a first
index."""


class FileContent(Struct, frozen=True):
    """The contents to write for a file: its record, definitions, imports, chunks, and facts (None if its
    language has none)."""

    record: FileRecord
    symbols: Sequence[Symbol]
    imports: Sequence[ImportRow]
    chunks: StoredText = NO_TEXT
    facts: StoredFacts | None = None


class InterfaceChanged(Struct, frozen=True):
    """A change of a file's interface. `other_file` says that the file was added, removed, or changed its
    language, which also affects the other files of its folder."""

    path: str
    change: InterfaceChange
    other_file: bool


class FileActivity(Struct, frozen=True):
    """How much a file is worked on: its number of recent commits, the number of edits seen while watching,
    and the time of the last edit in nanoseconds since the epoch."""

    path: str
    commits: int
    edits: int
    edited_ns: int


class Store:
    """Writes a project's index. Only the indexer process has one, for each project. Not thread-safe.

    `replaced` says why the former index was quarantined, or is empty.
    """

    def __init__(self, folder: str, system: System, distrusted: str = "") -> None:
        """Open or create an index; `distrusted` says why an existing index can't be used, or is empty."""
        os.makedirs(folder, mode=0o700, exist_ok=True)
        self.path = os.path.join(folder, FILE_NAME)
        self._probed: dict[str, FileRecord] = {}
        opened = open_database(
            self.path,
            SCHEMA,
            SCHEMA_VERSION,
            system,
            derived=True,
            distrusted=distrusted,
            probe=self._probe,
        )
        self._db = opened.database
        self._db.execute(f"PRAGMA cache_size = -{CACHE_KIB}")
        self.chunks = ChunkTable(self._db)
        self.facts = FactTable(self._db)
        self.imports = ImportTable(self._db)
        self.links = LinkTable(self._db)
        self.replaced = opened.replaced
        if self.replaced or opened.anew:
            _begin_generations(self._db, system)

    def relax(self) -> None:
        """Release memory and the space of the log after much writing."""
        self._db.execute("PRAGMA shrink_memory")
        empty_log(self._db)

    def close(self) -> None:
        """Close the database; this writes the write-ahead log into the file."""
        close_database(self._db)

    @contextmanager
    def transaction(self) -> Iterator[int]:
        """Run the enclosed writes as one transaction; yield the new generation, which is stored with them."""
        with self.side_notes():
            yield self.advance()

    def advance(self) -> int:
        """Increase the generation and return it. Call this inside a transaction."""
        generation = self.generation + 1
        self._db.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (generation,))
        return generation

    @contextmanager
    def side_notes(self) -> Iterator[None]:
        """Run writes that don't change the tree as one transaction, without a new generation."""
        try:
            with transaction(self._db):
                yield
        except BaseException:
            self.links.forget_numbers()
            raise

    @property
    def generation(self) -> int:
        """The generation of the index, a number that grows with each change of the tree."""
        return _generation_in(self._db)

    def get_meta(self, key: str) -> str | None:
        """Return a stored setting."""
        return _meta(self._db, key)

    def set_meta(self, key: str, value: str) -> None:
        """Store a setting of the index, inside or outside of a transaction."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def delete_meta(self, key: str) -> None:
        """Delete a setting of the index."""
        self._db.execute("DELETE FROM meta WHERE key = ?", (key,))

    def load_files(self) -> dict[str, FileRecord]:
        """Return all records by path."""
        return _load_files(self._db)

    def take_files(self) -> dict[str, FileRecord]:
        """Return all records as read when the index was opened, and drop them. Call this once."""
        files, self._probed = self._probed, {}
        return files

    def _probe(self, database: Database) -> None:
        """Read everything that each start needs, so that damage in it is found when the index is opened."""
        self._probed = _load_files(database)
        _generation_in(database)

    def put_records(self, records: Iterable[FileRecord]) -> None:
        """Write records; contents of these files stay, but those of skipped files are deleted."""
        for record in records:
            self._db.execute(_PUT_FILE, _file_row(record))
            if record.skipped:
                self._clear_content(self._file_id(record.path))

    def put_contents(self, contents: Iterable[FileContent]) -> list[InterfaceChanged]:
        """Replace the contents of files, and queue these files for linking.

        Returns the changes of their interfaces.
        """
        changed: list[InterfaceChanged] = []
        for content in contents:
            self._db.execute(_PUT_FILE, _file_row(content.record))
            file_id = self._file_id(content.record.path)
            self.imports.put(file_id, content.imports)
            self._put_definitions(file_id, content.symbols)
            self.chunks.put(file_id, content.chunks)
            change = self._put_facts(file_id, content)
            if change.change or change.other_file:
                changed.append(change)
        return changed

    def remove_files(self, paths: Iterable[str]) -> None:
        """Delete files with all their contents."""
        for path in paths:
            row = self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
            if row is not None:
                self._clear_content(row[0])
                self._db.execute("DELETE FROM files WHERE id = ?", row)

    def add_edits(self, paths: Iterable[str], now_ns: int) -> None:
        """Count one edit for each path. Edits of the future, by a wrong clock, count as of now."""
        self._db.execute("UPDATE activity SET edited_ns = ? WHERE edited_ns > ?", (now_ns, now_ns))
        self._db.executemany(
            "INSERT INTO activity VALUES (?, 0, 1, ?) ON CONFLICT (path) DO UPDATE"
            " SET edits = edits + 1, edited_ns = excluded.edited_ns",
            [(path, now_ns) for path in paths],
        )

    def put_commits(self, counts: Mapping[str, tuple[int, int]]) -> None:
        """Replace the commit counts from git's history: path to (commits, time of the latest in seconds)."""
        self._db.execute("UPDATE activity SET commits = 0")
        self._db.executemany(
            "INSERT INTO activity VALUES (?, ?, 0, 0) ON CONFLICT (path) DO UPDATE"
            " SET commits = excluded.commits",
            [(path, commits) for path, (commits, _) in counts.items()],
        )

    def put_messages(self, messages: Messages) -> None:
        """Replace the messages of git's history."""
        messages.put(self._db)

    def _file_id(self, path: str) -> int:
        return int(self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()[0])

    def _put_definitions(self, file_id: int, symbols: Sequence[Symbol]) -> None:
        """Replace a file's definitions. Definitions with the same name keep their id, so that links to them
        stay valid."""
        former = self.links.definition_ids(file_id)
        self._db.execute("DELETE FROM definitions WHERE file_id = ?", (file_id,))
        self._db.executemany(
            "INSERT INTO definitions VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (former.pop(s.name, None), file_id, ordinal, s.name, base_name(s.name, s.kind), s.kind,
                 s.start_line, s.end_line, s.signature, s.doc, s.depth)
                for ordinal, s in enumerate(symbols)
            ],
        )  # fmt: skip
        self.links.forget_definitions(file_id, former.values())

    def _put_facts(self, file_id: int, content: FileContent) -> InterfaceChanged:
        path, facts = content.record.path, content.facts
        former: FileInterface | None = None
        with suppress(FactsDamaged):  # the new interface replaces a damaged one
            former, _ = self.facts.interface(path)
        if facts is None:
            self.facts.clear(file_id)
            self.links.clear(file_id)
            return InterfaceChanged(path, change_between(former, None), former is not None)
        self.facts.put(file_id, facts)
        self.links.queue([file_id])
        if former is None:
            names = frozenset(base_name(symbol.name) for symbol in content.symbols)
            return InterfaceChanged(path, InterfaceChange(names, shape=True), other_file=True)
        change = change_between(former, facts.shown_interface())
        return InterfaceChanged(path, change, former.language != content.record.language)

    def _clear_content(self, file_id: int) -> None:
        self.imports.clear(file_id)
        self._put_definitions(file_id, ())
        self.facts.clear(file_id)
        self.links.clear(file_id)
        self.chunks.clear(file_id)


class Reader:
    """Reads a project's index over its own connection, for one thread; sees committed transactions only."""

    def __init__(self, folder: str) -> None:
        """Open an index. Raises `DatabaseError`."""
        self.path = os.path.join(folder, FILE_NAME)
        self._db = open_reader(self.path, SCHEMA_VERSION)
        self.chunks = ChunkQueries(self._db)
        self.links = LinkQueries(self._db)
        self.graph = GraphQueries(self._db)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()

    def get_meta(self, key: str) -> str | None:
        """Return a stored setting."""
        return _meta(self._db, key)

    def check(self) -> None:
        """Read the whole database to find damage; takes seconds for a large one. Raises `DatabaseError`."""
        check_index(os.path.dirname(self.path))

    @contextmanager
    def snapshot(self) -> Iterator[int]:
        """Make all enclosed reads see the same state; yield its generation."""
        self._db.execute("BEGIN")
        try:
            yield _generation_in(self._db)
        finally:
            if self._db.in_transaction:  # a failed read may have ended it
                self._db.execute("COMMIT")

    def load_files(self) -> dict[str, FileRecord]:
        """Return all records by path."""
        return _load_files(self._db)

    def record(self, path: str) -> FileRecord | None:
        """Return a file's record; its digest is that of the content from which its definitions were read."""
        return next(iter(_records(self._db.execute(f"{_FILES} WHERE path = ?", (path,)))), None)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return a file's definitions in source order."""
        rows = self._db.execute(
            f"SELECT {SYMBOL} FROM definitions d JOIN files f ON f.id = d.file_id"  # noqa: S608 - fixed text
            " WHERE f.path = ? ORDER BY d.ordinal",
            (path,),
        )
        return tuple(Symbol(*row) for row in rows)

    def imports(self, path: str) -> tuple[ResolvedImport, ...]:
        """Return a file's imports with their targets, in source order."""
        rows = self._db.execute(
            "SELECT i.module, i.name, i.line, i.required, i.target, i.missing FROM imports i"
            " JOIN files f ON f.id = i.file_id WHERE f.path = ? ORDER BY i.id",
            (path,),
        )
        return tuple(
            ResolvedImport(Import(module, name, line, bool(required)), target, bool(missing))
            for module, name, line, required, target, missing in rows
        )

    def facts(self, path: str) -> tuple[FileInterface | None, References | None]:
        """Return a file's interface and its other references, for the linker; None if they can't be used."""
        facts = FactTable(self._db)
        row = self._db.execute("SELECT id FROM files WHERE path = ?", (path,)).fetchone()
        try:
            return (None, None) if row is None else (facts.interface(path)[0], facts.references(row[0]))
        except FactsDamaged:  # the indexer reads the file again when it meets this
            return None, None

    def mentioning(self, names: Collection[str]) -> list[str]:
        """Return the files that mention one of `names` in code, sorted, and a few others at worst."""
        facts, files = FactTable(self._db), self._db.execute("SELECT id, path FROM files")
        paths = dict(files.fetchall())
        return sorted(paths[each] for each in facts.saying(facts.file_ids() & paths.keys(), names))

    def importers(self, path: str) -> tuple[tuple[str, int], ...]:
        """Return the importers of a file as (path, line of the first import), by path."""
        rows = self._db.execute(
            "SELECT f.path, MIN(i.line) FROM imports i JOIN files f ON f.id = i.file_id"
            # The SQL index on targets omits empty ones, so SQLite uses it only if the query excludes them.
            " WHERE i.target = ? AND i.target != '' GROUP BY f.path ORDER BY f.path",
            (path,),
        )
        return tuple((importer, line) for importer, line in rows)

    def definitions_named(self, name: str, limit: int = 50) -> tuple[tuple[str, Symbol], ...]:
        """Return definitions whose qualified name is or ends in `name`: (path, symbol), at most `limit`.

        `login` and `Session.login` both find `auth.Session.login`, and `Session.login~2`, the second
        definition of a name.
        """
        bases = {name, base_name(name), base_name(name, "section")}
        rows = self._db.execute(
            f"SELECT f.path, {SYMBOL} FROM definitions d JOIN files f ON f.id = d.file_id"  # noqa: S608 - fixed text
            f" WHERE d.base IN ({', '.join('?' * len(bases))}) AND (d.base = ? OR d.name = ?"
            " OR instr('.' || d.name || '~', '.' || ? || '~')) ORDER BY d.depth, f.path, d.ordinal LIMIT ?",
            (*sorted(bases), name, name, name, limit),
        )
        return tuple((path, Symbol(*row)) for path, *row in rows)

    def lines_of_kinds(self, paths: Iterable[str], kinds: Collection[str]) -> dict[str, list[int]]:
        """Return by path the first lines of definitions of some kinds, in order."""
        found: dict[str, list[int]] = {}
        marks = ", ".join("?" * len(kinds))
        for path in dict.fromkeys(paths):
            rows = self._db.execute(
                "SELECT d.start_line FROM definitions d JOIN files f ON f.id = d.file_id"  # noqa: S608 - marks only
                f" WHERE f.path = ? AND d.kind IN ({marks}) ORDER BY d.start_line",
                (path, *sorted(kinds)),
            )
            if lines := [line for (line,) in rows]:
                found[path] = lines
        return found

    def commits(self, paths: Iterable[str]) -> dict[str, int]:
        """Return by path the number of recent commits that changed a file, without files that have none."""
        query = "SELECT path, commits FROM activity WHERE commits > 0 AND path IN ({marks})"
        return dict(select_in(self._db, query, paths))

    def changed_for(self, terms: Mapping[str, float], paths: Collection[str]) -> dict[str, Changed]:
        """Return by path how similar the messages of past commits that changed a file are to weighted terms;
        without files that have none."""
        return changed_for(self._db, terms, paths)

    def activity(self, limit: int) -> tuple[FileActivity, ...]:
        """Return the activity of the most active files, the top `limit` by each measure, ordered by path."""
        found = {
            row[0]: FileActivity(*row)
            for column in ("commits", "edits", "edited_ns")
            for row in self._db.execute(
                f"SELECT path, commits, edits, edited_ns FROM activity WHERE {column} > 0"  # noqa: S608 - fixed text
                f" ORDER BY {column} DESC, path LIMIT ?",
                (limit,),
            )
        }
        return tuple(found[path] for path in sorted(found))


def rebase(path: str, system: System, dropped: Iterable[str] = ()) -> None:
    """Make the copy of an index that of another folder with the same project: all files count as touched, and
    what happened to the other files is forgotten, with the settings `dropped`. Raises `DatabaseError` if it
    is damaged."""
    opened = open_database(path, SCHEMA, SCHEMA_VERSION, system, derived=True, probe=_load_files)
    database = opened.database
    try:
        if opened.replaced:
            raise DatabaseError(opened.replaced)
        with transaction(database):
            database.execute("UPDATE files SET mtime_ns = 0, ctime_ns = 0, inode = 0, racy = 1")
            database.execute("UPDATE activity SET edits = 0, edited_ns = 0")
            database.executemany("DELETE FROM meta WHERE key = ?", [(key,) for key in ("suspects", *dropped)])
            _begin_generations(database, system)
    finally:
        close_database(database)


def check_index(folder: str) -> None:
    """Read a whole index to find damage; takes seconds for a large one. Raises `DatabaseError`."""
    path = os.path.join(folder, FILE_NAME)
    check_database(path, SCHEMA, SCHEMA_VERSION)
    database = open_reader(path, SCHEMA_VERSION)
    try:
        _load_files(database)
        _generation_in(database)
    finally:
        database.close()


def open_tables(folder: str) -> tuple[Database, Callable[[], dict[str, FileRecord]]]:
    """Open an index for reading in a side process; return its database, and a function that returns all
    records by path."""
    database = open_reader(os.path.join(folder, FILE_NAME), SCHEMA_VERSION)
    return database, lambda: _load_files(database)


_SCHEMA = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value) WITHOUT ROWID;
INSERT INTO meta VALUES ('generation', 0);
CREATE TABLE files (
    id INTEGER PRIMARY KEY AUTOINCREMENT, path TEXT NOT NULL UNIQUE, size INTEGER NOT NULL,
    mtime_ns INTEGER NOT NULL, ctime_ns INTEGER NOT NULL, inode INTEGER NOT NULL, digest BLOB NOT NULL,
    language TEXT NOT NULL,
    skipped TEXT NOT NULL, lines INTEGER NOT NULL, symbols INTEGER NOT NULL, racy INTEGER NOT NULL);
CREATE TABLE definitions (
    id INTEGER PRIMARY KEY AUTOINCREMENT, file_id INTEGER NOT NULL, ordinal INTEGER NOT NULL,
    name TEXT NOT NULL, base TEXT NOT NULL, kind TEXT NOT NULL, start_line INTEGER NOT NULL,
    end_line INTEGER NOT NULL, signature TEXT NOT NULL, doc TEXT NOT NULL, depth INTEGER NOT NULL);
CREATE UNIQUE INDEX definitions_by_file ON definitions (file_id, ordinal);
CREATE INDEX definitions_by_base ON definitions (base);
CREATE TABLE activity (
    path TEXT PRIMARY KEY, commits INTEGER NOT NULL, edits INTEGER NOT NULL, edited_ns INTEGER NOT NULL
) WITHOUT ROWID;
"""

SCHEMA = _SCHEMA + IMPORT_SCHEMA + CHUNK_SCHEMA + FACT_SCHEMA + LINK_SCHEMA + MESSAGE_SCHEMA
"""All tables of an index."""

_PUT_FILE = """
INSERT INTO files (path, size, mtime_ns, ctime_ns, inode, digest, language, skipped, lines, symbols, racy)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE SET size = excluded.size,
mtime_ns = excluded.mtime_ns, ctime_ns = excluded.ctime_ns, inode = excluded.inode, digest = excluded.digest,
language = excluded.language, skipped = excluded.skipped, lines = excluded.lines, symbols = excluded.symbols,
racy = excluded.racy
"""

_FILES = (
    "SELECT path, size, mtime_ns, ctime_ns, inode, digest, language, skipped, lines, symbols, racy FROM files"
)


def _file_row(record: FileRecord) -> tuple[object, ...]:
    # Inodes are unsigned 64-bit numbers on some file systems; SQLite's integers are signed.
    stamp = record.stamp
    return (record.path, stamp.size, stamp.mtime_ns, stamp.ctime_ns, _signed(stamp.inode), record.digest,
            record.language, record.skipped, record.lines, record.symbols, record.racy)  # fmt: skip


def _load_files(database: Database) -> dict[str, FileRecord]:
    with damage_raised():
        return {record.path: record for record in _records(database.execute(f"{_FILES} ORDER BY path"))}


def _meta(database: Database, key: str) -> str | None:
    row = database.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
    return None if row is None else str(row[0])


def _begin_generations(database: Database, system: System) -> None:
    """Start at the clock's milliseconds, so that no generation of a former index is used again."""
    database.execute("UPDATE meta SET value = ? WHERE key = 'generation'", (system.time_ns() // 1_000_000,))


def _generation_in(database: Database) -> int:
    row = database.execute("SELECT value FROM meta WHERE key = 'generation'").fetchone()
    if row is None or type(row[0]) is not int:
        raise DatabaseError("it doesn't say of which generation it is")
    return row[0]


def _records(
    rows: Iterable[tuple[str, int, int, int, int, bytes, str, str, int, int, int]],
) -> Iterator[FileRecord]:
    for path, size, mtime, ctime, inode, digest, language, skipped, lines, symbols, racy in rows:
        stamp = Stamp(size, mtime, ctime, inode & _UNSIGNED)
        yield FileRecord(path, stamp, bytes(digest), language, skipped, lines, symbols, bool(racy))


_UNSIGNED = (1 << 64) - 1


def _signed(number: int) -> int:
    return number - (1 << 64) if number >= 1 << 63 else number
