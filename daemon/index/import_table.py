"""The imports of a project's files as the index stores them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from msgspec import Struct

from ..core.storage import Database
from ..languages.shared.records import Import

SCHEMA = """
CREATE TABLE imports (
    id INTEGER PRIMARY KEY, file_id INTEGER NOT NULL, module TEXT NOT NULL, name TEXT NOT NULL,
    line INTEGER NOT NULL, required INTEGER NOT NULL, target TEXT NOT NULL, missing INTEGER NOT NULL);
CREATE INDEX imports_by_file ON imports (file_id);
CREATE INDEX imports_by_target ON imports (target) WHERE target != '';
CREATE INDEX imports_by_module ON imports (module) WHERE target = '';
CREATE TABLE import_keys (
    key TEXT NOT NULL, import_id INTEGER NOT NULL, PRIMARY KEY (key, import_id)) WITHOUT ROWID;
CREATE INDEX import_keys_by_import ON import_keys (import_id);
"""


class ImportRow(Struct, frozen=True):
    """An import as it is stored, with its target file ("" if none was found) and its retry keys: a file that
    appears later is matched to the import by these keys (see `ImportResolver.retry_keys`)."""

    imported: Import
    target: str
    missing: bool
    keys: tuple[str, ...]


class StoredImport(Struct, frozen=True):
    """An import with its row id, the importing file and that file's language, for resolving it again."""

    row: int
    importer: str
    language: str
    imported: Import
    target: str
    missing: bool


class ImportTable:
    """Writes the imports of one index. Call writing methods inside a transaction of the store."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def put(self, file_id: int, rows: Iterable[ImportRow]) -> None:
        """Replace a file's imports."""
        self.clear(file_id)
        for row in rows:
            cursor = self._db.execute(
                "INSERT INTO imports (file_id, module, name, line, required, target, missing)"
                " VALUES (?, ?, ?, ?, ?, ?, ?)",
                (file_id, row.imported.module, row.imported.name, row.imported.line,
                 row.imported.required, row.target, row.missing),
            )  # fmt: skip
            self._db.executemany(_PUT_KEY, [(key, cursor.lastrowid) for key in row.keys])

    def clear(self, file_id: int) -> None:
        """Delete a file's imports."""
        self._db.execute(
            "DELETE FROM import_keys WHERE import_id IN (SELECT id FROM imports WHERE file_id = ?)",
            (file_id,),
        )
        self._db.execute("DELETE FROM imports WHERE file_id = ?", (file_id,))

    def to_retry(self, keys: Iterable[str], targets: Iterable[str]) -> list[StoredImport]:
        """Return the imports whose target may change: those stored under one of `keys`, and those whose
        target is one of `targets`."""
        found: dict[int, StoredImport] = {}
        for clause, values in (
            ("i.id IN (SELECT import_id FROM import_keys WHERE key = ?)", keys),
            ("i.target = ?", targets),
        ):
            for value in values:
                for row in self._db.execute(f"{_STORED_IMPORTS} WHERE {clause}", (value,)):
                    found[row[0]] = _stored_import(row)
        return [found[row] for row in sorted(found)]

    def all(self) -> list[StoredImport]:
        """Return all imports of the project, for use after the rules of resolution changed."""
        return [_stored_import(row) for row in self._db.execute(f"{_STORED_IMPORTS} ORDER BY i.id")]

    def update(self, updates: Iterable[tuple[int, str, bool]]) -> None:
        """Write new targets of imports, given as (row id, target, missing)."""
        self._db.executemany(
            "UPDATE imports SET target = ?, missing = ? WHERE id = ?",
            [(target, missing, row) for row, target, missing in updates],
        )

    def put_keys(self, keys: Iterable[tuple[int, Sequence[str]]]) -> set[int]:
        """Write new retry keys of imports, given as (row id, keys); return the rows whose keys changed."""
        changed = set()
        for row, wanted in keys:
            found = {key for (key,) in self._db.execute(_KEYS, (row,))}
            if found != set(wanted):
                self._db.execute("DELETE FROM import_keys WHERE import_id = ?", (row,))
                self._db.executemany(_PUT_KEY, [(key, row) for key in wanted])
                changed.add(row)
        return changed


_PUT_KEY = "INSERT OR IGNORE INTO import_keys VALUES (?, ?)"
_KEYS = "SELECT key FROM import_keys WHERE import_id = ?"

_STORED_IMPORTS = (
    "SELECT i.id, f.path, f.language, i.module, i.name, i.line, i.required, i.target, i.missing"
    " FROM imports i JOIN files f ON f.id = i.file_id"
)


def _stored_import(row: tuple[int, str, str, str, str, int, int, str, int]) -> StoredImport:
    number, importer, language, module, name, line, required, target, missing = row
    return StoredImport(
        number, importer, language, Import(module, name, line, bool(required)), target, bool(missing)
    )
