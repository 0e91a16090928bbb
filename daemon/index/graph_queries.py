"""Queries over a project's whole graph: the names that exist, imports between files, unused definitions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sized
from itertools import islice
from typing import Any, NamedTuple

from ..core.storage import Database, select_in
from .link_table import BY_NAME, DEFINITIONS, SYMBOL, Definition, definition_of


class ImportEdge(NamedTuple):
    """A file that imports another file, with the line of the first such import."""

    importer: str
    target: str
    line: int


class ModuleImport(NamedTuple):
    """An import of a module from outside of the project."""

    path: str
    line: int
    module: str


class GraphQueries:
    """Reads the graph over a reader's connection. The order of results depends on the content alone."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def definitions_named(self, name: str, limit: int) -> list[Definition]:
        """Return definitions whose qualified name is or ends in `name`, outermost first, at most `limit`.

        `login` and `Session.login` both find `auth.Session.login`, and `Session.login~2`, the second
        definition of a name. Sections of documents are not included.
        """
        rows = self._db.execute(
            f"{DEFINITIONS} WHERE {_NAMED} ORDER BY {_BY_DEPTH} LIMIT ?", (*_name(name), limit)
        )
        return [definition_of(row) for row in rows]

    def count_named(self, name: str) -> int:
        """Return the number of definitions that `definitions_named` would find without a limit."""
        row = self._db.execute(f"SELECT COUNT(*) FROM definitions d WHERE {_NAMED}", _name(name)).fetchone()  # noqa: S608 - fixed text
        return int(row[0])

    def owners(self, ids: Collection[int]) -> dict[int, Definition]:
        """Return the enclosing definition of each member, by member id: `Session` for `Session.login`."""
        return {member: definition_of(row) for member, *row in select_in(self._db, _OWNERS, ids)}

    def members_named(self, owners: Collection[int], bases: Collection[str]) -> list[tuple[int, Definition]]:
        """Return (owner, member) for the direct members of `owners` whose last name is one of `bases`."""
        rows = self._of_names(_MEMBERS, owners, bases)
        return [(owner, definition_of(row)) for owner, *row in rows]

    def constructors(self, classes: Collection[int], bases: Collection[str]) -> dict[int, int]:
        """Return the class of each constructor, by constructor id. A constructor is a direct member that has
        one of the names `bases`, or the name of its class."""
        return dict(self._of_names(_CONSTRUCTORS, classes, bases))

    def constructed(self, members: Collection[int], bases: Collection[str]) -> dict[int, int]:
        """Return the class that each member constructs, by member id. A member constructs the class that it
        belongs to if it has one of the names `bases`, or the name of that class."""
        return dict(self._of_names(_CONSTRUCTED, members, bases))

    def leads_on(self, ids: Collection[int], limit: int) -> list[tuple[int, int]]:
        """Return (scope, target) of the resolved references inside definitions, each pair once."""
        return self._pairs(_LEADS_ON, ids, limit)

    def leads_back(self, ids: Collection[int], limit: int) -> list[tuple[int, int]]:
        """Return (scope, target) of the resolved references to definitions, each pair once."""
        return self._pairs(_LEADS_BACK, ids, limit)

    def base_names(self, limit: int) -> list[str]:
        """Return the distinct last names of definitions without sections, sorted; 20,000 take 4 ms."""
        rows = self._db.execute(
            "SELECT DISTINCT base FROM definitions WHERE kind != 'section' ORDER BY base LIMIT ?", (limit,)
        )
        return [base for (base,) in rows]

    def section_titles(self, limit: int) -> list[str]:
        """Return the distinct titles of sections, sorted."""
        rows = self._db.execute(
            "SELECT DISTINCT base FROM definitions WHERE kind = 'section' ORDER BY base LIMIT ?", (limit,)
        )
        return [base for (base,) in rows]

    def import_edges(self) -> list[ImportEdge]:
        """Return the imports between files, by importer and target."""
        return [ImportEdge(*row) for row in self._db.execute(f"{_EDGES} {_GROUPED}")]

    def edges_into(self, targets: Collection[str]) -> list[ImportEdge]:
        """Return the imports that lead to the files `targets`, by importer and target."""
        rows = select_in(self._db, f"{_EDGES} AND i.target IN ({{marks}}) {_GROUPED}", targets)
        return sorted(ImportEdge(*row) for row in rows)

    def module_imports(self, module: str, limit: int) -> list[ModuleImport]:
        """Return the imports of an external module or of its submodules, by path and line."""
        # Submodule names continue with `.`, `/` or `:`, so they sort before the character after that mark.
        ranges = [
            value for mark, after in ("./", "/0", ":;") for value in (f"{module}{mark}", f"{module}{after}")
        ]
        rows = self._db.execute(_MODULE_IMPORTS, (module, *ranges, limit))
        return [ModuleImport(*row) for row in rows]

    def imports_of(self, target: str, name: str) -> list[ModuleImport]:
        """Return the imports of a single name from a file of the project, by path and line."""
        rows = self._db.execute(
            "SELECT DISTINCT f.path, n.line, n.module FROM imports i"
            " JOIN imports n ON n.file_id = i.file_id AND n.module = i.module AND n.name = ?"
            " JOIN files f ON f.id = i.file_id WHERE i.target != '' AND i.target = ? ORDER BY f.path, n.line",
            (name, target),
        )
        return [ModuleImport(*row) for row in rows]

    def unreferenced(
        self, kinds: Collection[str], paths: Collection[str] | None = None
    ) -> Iterator[Definition]:
        """Return unused definitions of some kinds, by path and place; in all files if `paths` is None.

        A definition is unused if no link leads to it and no unresolved link has its name, not counting links
        in its own body.
        """
        query = _UNREFERENCED.replace("{kinds}", _marks(kinds))
        if paths is None:
            rows: Iterable[Any] = self._db.execute(query.replace("{files}", ""), tuple(kinds))
        else:
            query = query.replace("{files}", "AND f.path IN ({marks})")
            rows = select_in(self._db, query, sorted(paths), before=tuple(kinds))
        return map(definition_of, rows)

    def _pairs(self, query: str, ids: Collection[int], limit: int) -> list[tuple[int, int]]:
        return list(islice(select_in(self._db, query, ids, limit), limit))

    def _of_names(self, query: str, ids: Collection[int], bases: Collection[str]) -> Iterator[Any]:
        names = sorted(bases)
        return select_in(self._db, query.replace("{names}", _marks(names)), ids, *names)


_NAMED = (
    "d.base = ? AND d.kind != 'section'"
    " AND (d.base = ? OR d.name = ? OR instr('.' || d.name || '~', '.' || ? || '~'))"
)
_BY_DEPTH = "d.depth, f.path, d.ordinal"

_EDGES = (
    "SELECT f.path, i.target, MIN(i.line) FROM imports i JOIN files f ON f.id = i.file_id"
    " WHERE i.target != ''"
)
_GROUPED = "GROUP BY f.path, i.target ORDER BY f.path, i.target"

_UNREFERENCED = f"""
SELECT d.id, f.path, {SYMBOL} FROM files f CROSS JOIN definitions d ON d.file_id = f.id
WHERE d.kind IN ({{kinds}}) {{files}}
AND NOT EXISTS (SELECT 1 FROM links l WHERE l.target > 0 AND l.target = d.id AND l.scope != d.id)
AND NOT EXISTS (SELECT 1 FROM links l JOIN names n ON n.id = l.name
                WHERE n.name = d.base AND l.state = {BY_NAME} AND l.scope != d.id)
ORDER BY f.path, d.ordinal
"""  # noqa: S608 - fixed text and numbers

_MEMBER = (
    "d.file_id = o.file_id AND (d.name = o.name || '.' || d.base"
    " OR substr(d.name, 1, length(o.name) + length(d.base) + 2) = o.name || '.' || d.base || '~')"
)
# `+` makes SQLite scan the definitions of the same file, some hundreds, instead of those of all files.
_OWNERS = (
    f"SELECT d.id, o.id, f.path, {SYMBOL.replace('d.', 'o.')} FROM definitions d"  # noqa: S608 - fixed text
    f" JOIN definitions o ON {_MEMBER} JOIN files f ON f.id = o.file_id WHERE d.id IN ({{marks}})"
)
_MEMBERS = (
    f"SELECT o.id, d.id, f.path, {SYMBOL} FROM definitions o JOIN definitions d ON {_MEMBER}"  # noqa: S608 - fixed text
    " JOIN files f ON f.id = d.file_id WHERE o.id IN ({marks}) AND +d.base IN ({names})"
    " ORDER BY f.path, d.ordinal"
)
_HELD_BY = "('function', 'method', 'constant', 'variable', 'field', 'property', 'macro')"
_CONSTRUCTORS = (
    f"SELECT d.id, o.id FROM definitions o JOIN definitions d ON {_MEMBER}"  # noqa: S608 - fixed text
    f" WHERE o.id IN ({{marks}}) AND o.kind NOT IN {_HELD_BY}"
    " AND (+d.base IN ({names}) OR +d.base = o.base)"
)
# The conditions on the member alone come first, so that few classes are looked up.
_CONSTRUCTED = (
    f"SELECT d.id, o.id FROM definitions d JOIN definitions o ON {_MEMBER}"  # noqa: S608 - fixed text
    " WHERE d.id IN ({marks})"
    " AND (d.base IN ({names}) OR instr('.' || d.name, '.' || d.base || '.' || d.base) > 0)"
    f" AND o.kind NOT IN {_HELD_BY}"
)

_MODULE_IMPORTS = """
SELECT f.path, MIN(i.line), i.module FROM imports i JOIN files f ON f.id = i.file_id
WHERE i.target = '' AND i.required AND i.id IN (
    SELECT id FROM imports WHERE target = '' AND module = ?
    UNION ALL SELECT id FROM imports WHERE target = '' AND module >= ? AND module < ?
    UNION ALL SELECT id FROM imports WHERE target = '' AND module >= ? AND module < ?
    UNION ALL SELECT id FROM imports WHERE target = '' AND module >= ? AND module < ?)
GROUP BY f.path ORDER BY f.path LIMIT ?
"""

_LEADS_ON = """
SELECT DISTINCT l.scope, l.target FROM definitions d
JOIN links l ON l.file_id = d.file_id AND l.line BETWEEN d.start_line AND d.end_line
WHERE d.id IN ({marks}) AND l.scope = d.id AND l.target > 0 ORDER BY l.scope, l.target LIMIT ?
"""

_LEADS_BACK = """
SELECT DISTINCT scope, target FROM links WHERE target > 0 AND target IN ({marks}) AND scope > 0
ORDER BY scope, target LIMIT ?
"""


def _name(name: str) -> tuple[str, str, str, str]:
    last = name.rpartition(".")[2] or name
    return last.partition("~")[0] or last, name, name, name


def _marks(values: Sized) -> str:
    return ", ".join("?" * len(values))
