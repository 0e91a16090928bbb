"""The tables of links in a project's index: references, their targets and dependencies, the linking queue."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from ..core.storage import BATCH, Database, in_batches, select_in
from ..languages.shared.records import Symbol

SCHEMA = """
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE links (
    file_id INTEGER NOT NULL, line INTEGER NOT NULL, ordinal INTEGER NOT NULL, kind INTEGER NOT NULL,
    name INTEGER NOT NULL, scope INTEGER NOT NULL, target INTEGER NOT NULL, state INTEGER NOT NULL,
    PRIMARY KEY (file_id, line, ordinal)) WITHOUT ROWID;
CREATE INDEX links_by_target ON links (target, kind) WHERE target > 0;
CREATE INDEX links_by_name ON links (name, state, kind);
CREATE TABLE places (id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE);
CREATE TABLE consulted (
    file_id INTEGER NOT NULL, place INTEGER NOT NULL, PRIMARY KEY (file_id, place)) WITHOUT ROWID;
CREATE INDEX consulted_by_place ON consulted (place);
CREATE TABLE unlinked (
    turn INTEGER NOT NULL, file_id INTEGER NOT NULL UNIQUE, PRIMARY KEY (turn, file_id)) WITHOUT ROWID;
"""
"""A link is one reference in a file. `name` is the number in `names` of the last name of the reference as
written. `scope` is the definition that contains the reference, and `target` the definition that it refers to;
0 for none. The links in a definition are found by its lines, which saves an index: a link takes 57 bytes on
the disk. `consulted` has the files and folders (with a trailing slash) on which a file's links depend; these
need not exist, so they have numbers of their own. `unlinked` is the queue of files to link, which survives
the process; files with the lowest `turn` are urgent. Names and places that are no longer used stay: they are
few, and the index is rebuilt at times."""

KINDS: Final = ("call", "inherit", "decorate", "type", "use")
STATES: Final = ("name", "resolved", "external")
"""The names of the numbers in the tables. Increment the schema's version when their order changes."""

BY_NAME: Final = STATES.index("name")

LIMIT: Final = 2_000
"""Maximum number of links in an answer, more than anybody reads. Reading 2,000 takes 8 ms, 50 take 1 ms."""


class Definition(NamedTuple):
    """A definition with its id, which is kept while its file has a definition of that qualified name."""

    id: int
    path: str
    symbol: Symbol


class Link(NamedTuple):
    """A reference with its place and its target.

    `kind` is one of `KINDS`. `name` is the last name of the reference as written. `scope` is the id of the
    definition that contains the reference, and `target` the id of the definition that it refers to; 0 for
    none. `state` is one of `STATES`: `resolved` to the target (0 is a module itself), `name` if the reference
    may mean any definition of that name, or `external` if its target certainly lies outside of the project.
    """

    path: str
    line: int
    kind: str
    name: str
    scope: int
    target: int
    state: str


class LinkRow(NamedTuple):
    """A link in stored form: `kind` and `state` are indexes into `KINDS` and `STATES`."""

    line: int
    kind: int
    name: str
    scope: int
    target: int
    state: int


class LinkQueries:
    """Reads links over a reader's connection. Definitions and links are ordered by path and line."""

    def __init__(self, database: Database) -> None:
        self._db = database

    def definitions(self, ids: Collection[int]) -> dict[int, Definition]:
        """Return definitions by id, ordered by path and line, without deleted ones."""
        found = [
            definition_of(row) for row in select_in(self._db, f"{DEFINITIONS} WHERE d.id IN ({{marks}})", ids)
        ]
        found.sort(key=lambda each: (each.path, each.symbol.start_line, each.id))
        return {each.id: each for each in found}

    def definitions_at(self, path: str, name: str = "") -> list[Definition]:
        """Return a file's definitions of a qualified name, with duplicates such as `login~2`, in source
        order.

        Without a name, return all definitions of the file.
        """
        clause = "AND (d.name = ? OR substr(d.name, 1, length(?) + 1) = ? || '~')" if name else ""
        rows = self._db.execute(
            f"{DEFINITIONS} WHERE f.path = ? {clause} ORDER BY d.ordinal",
            (path, *([name] * 3 if name else [])),
        )
        found = [definition_of(row) for row in rows]
        # `login~2.inner` is inside a duplicate and no duplicate itself.
        return [each for each in found if not name or _is_twin(each.symbol.name, name)]

    def into(self, ids: Collection[int], kinds: Collection[str] = (), limit: int = LIMIT) -> list[Link]:
        """Return the resolved references to definitions, only of `kinds` if any are given."""
        return self._links("target", ids, f"l.target > 0{_of_kinds(kinds)}", limit)

    def out_of(self, ids: Collection[int], kinds: Collection[str] = (), limit: int = LIMIT) -> list[Link]:
        """Return the references inside definitions, in any state, without those inside nested definitions."""
        places = sorted(select_in(self._db, _PLACES_OF, ids))
        found: list[tuple[str, int, int, Link]] = []
        clause = f"d.id IN ({{marks}}){_of_kinds(kinds)}"
        for start in range(0, len(places), BATCH):
            batch = places[start : start + BATCH]
            # The next batch may have more definitions of the last file, with links that come earlier.
            if len(found) >= limit and batch[0][0] != places[start - 1][0]:
                break
            found.extend(map(_sorted_link, select_in(self._db, _OUT_OF + clause, [key[2] for key in batch])))
        found.sort()
        return [link for _, _, _, link in found[:limit]]

    def named(
        self,
        name: str,
        kinds: Collection[str] = (),
        states: Collection[str] = ("name",),
        limit: int = LIMIT,
    ) -> list[Link]:
        """Return the references whose last name is `name`, in the given states."""
        row = self._db.execute("SELECT id FROM names WHERE name = ?", (name,)).fetchone()
        if row is None:
            return []
        numbers = sorted(map(STATES.index, set(states)))
        clause = f"l.state IN ({', '.join(map(str, numbers))}){_of_kinds(kinds)}"
        return self._links("name", row, clause, limit)

    def inside(self, ids: Collection[int]) -> list[int]:
        """Return the ids of the definitions inside others: members of a class, nested functions.

        Includes members that the language places elsewhere in the same file (methods of a Go type).
        """
        found = dict.fromkeys(number for (number,) in select_in(self._db, _INSIDE, ids))
        return [each for each in found if each not in set(ids)]

    def unlinked(self) -> int:
        """Return the number of files that wait to be linked."""
        return int(self._db.execute("SELECT COUNT(*) FROM unlinked").fetchone()[0])

    def _links(self, column: str, values: Collection[int], clause: str, limit: int) -> list[Link]:
        """Return the first links, by path and line, with certain values in an indexed column.

        The files with such links are found in the database index alone, so that for a name with ten thousand
        references only the first few are fetched and sorted.
        """
        counts: dict[int, int] = {}
        counted = (
            f"SELECT l.file_id, COUNT(*) FROM links l WHERE l.{column} IN ({{marks}}) AND {clause}"  # noqa: S608 - fixed text and numbers
            " GROUP BY l.file_id"
        )
        for file_id, count in select_in(self._db, counted, values):
            counts[file_id] = counts.get(file_id, 0) + count
        paths = _paths(self._db, counts)
        chosen: list[int] = []
        room = limit
        for file_id in sorted(counts, key=lambda each: paths[each]):
            if room <= 0:
                break
            chosen.append(file_id)
            room -= counts[file_id]
        found: list[tuple[str, int, int, Link]] = []
        for files in in_batches(chosen):
            of_files = f"{clause} AND l.file_id IN ({', '.join(map(str, files))})"
            query = f"{_LINKS} WHERE l.{column} IN ({{marks}}) AND {of_files}"
            found.extend(map(_sorted_link, select_in(self._db, query, values)))
        found.sort()
        return [link for _, _, _, link in found[:limit]]


class LinkTable:
    """Writes links, in the indexer only. Call writing methods inside a transaction of the store."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._names = _Interned(database, "names", "name")
        self._places = _Interned(database, "places", "path")

    def forget_numbers(self) -> None:
        """Forget the cached numbers of names and places, because a transaction was rolled back."""
        self._names.forget()
        self._places.forget()

    def put(self, files: Mapping[int, Sequence[LinkRow]]) -> int:
        """Replace the links of files; return the number of files whose links changed.

        Files with unchanged links aren't written, because linking again mostly gives the same links.
        """
        numbers = self._names.numbers({row.name for rows in files.values() for row in rows})
        written: list[tuple[int, ...]] = []
        changed: list[int] = []
        for file_id, rows in files.items():
            found = sorted(
                (file_id, row.line, ordinal, row.kind, numbers[row.name], row.scope, row.target, row.state)
                for ordinal, row in enumerate(rows)
            )
            if found != self._db.execute(_LINKS_OF_FILE, (file_id,)).fetchall():
                changed.append(file_id)
                written.extend(found)
        self._db.executemany("DELETE FROM links WHERE file_id = ?", [(each,) for each in changed])
        self._db.executemany("INSERT INTO links VALUES (?, ?, ?, ?, ?, ?, ?, ?)", written)
        return len(changed)

    def put_consulted(self, files: Mapping[int, Collection[str]]) -> None:
        """Write the files and folders (with a trailing slash) on which the links of files depend."""
        numbers = self._places.numbers({path for paths in files.values() for path in paths})
        gone: list[tuple[int, int]] = []
        new: list[tuple[int, int]] = []
        for file_id, paths in files.items():
            before = {place for (place,) in self._db.execute(_CONSULTED_OF_FILE, (file_id,))}
            after = {numbers[path] for path in paths}
            gone.extend((file_id, place) for place in sorted(before - after))
            new.extend((file_id, place) for place in sorted(after - before))
        self._db.executemany("DELETE FROM consulted WHERE file_id = ? AND place = ?", gone)
        self._db.executemany("INSERT INTO consulted VALUES (?, ?)", new)

    def clear(self, file_id: int) -> None:
        """Delete a file's links and their dependencies, and remove it from the queue."""
        self._db.execute("DELETE FROM links WHERE file_id = ?", (file_id,))
        self._db.execute("DELETE FROM consulted WHERE file_id = ?", (file_id,))
        self._db.execute("DELETE FROM unlinked WHERE file_id = ?", (file_id,))

    def forget_definitions(self, file_id: int, ids: Collection[int]) -> None:
        """Remove deleted definitions of a file from all links.

        Links to them get the state `name`, and the files with such links are queued. Links inside them have
        no scope until this file is linked again.
        """
        for batch in in_batches(ids):
            marks = ", ".join("?" * len(batch))
            rows = self._db.execute(
                f"SELECT DISTINCT file_id FROM links WHERE target > 0 AND target IN ({marks})",  # noqa: S608 - marks only
                batch,
            )
            self.queue([file_id for (file_id,) in rows], urgent=True)
            self._db.execute(
                f"UPDATE links SET target = 0, state = {BY_NAME} WHERE target > 0 AND target IN ({marks})",  # noqa: S608 - marks only
                batch,
            )
            self._db.execute(
                f"UPDATE links SET scope = 0 WHERE file_id = ? AND scope IN ({marks})",  # noqa: S608 - marks only
                (file_id, *batch),
            )

    def consulting(self, places: Iterable[str]) -> list[int]:
        """Return the ids of the files whose links depend on one of `places`, sorted."""
        query = "SELECT c.file_id FROM consulted c JOIN places p ON p.id = c.place WHERE p.path IN ({marks})"
        return sorted({file_id for (file_id,) in select_in(self._db, query, places)})

    def consulting_files(self, file_ids: Iterable[int]) -> list[int]:
        """Return the ids of the files whose links depend on one of these files, sorted."""
        return self.consulting(_paths(self._db, file_ids).values())

    def queue(self, file_ids: Iterable[int], *, urgent: bool = False) -> None:
        """Add files to the linking queue, ahead of others if `urgent`."""
        rows = [(int(not urgent), each) for each in file_ids]
        self._db.executemany(
            "INSERT INTO unlinked VALUES (?, ?)"
            " ON CONFLICT (file_id) DO UPDATE SET turn = min(turn, excluded.turn)",
            rows,
        )

    def queue_all(self) -> None:
        """Add all files with references to the linking queue."""
        self._db.execute("DELETE FROM unlinked")
        self._db.execute("INSERT INTO unlinked SELECT 1, file_id FROM facts")

    def queued(self, limit: int) -> list[tuple[int, str, str]]:
        """Return (file id, path, language) of queued files, urgent ones first, at most `limit`."""
        rows = self._db.execute(f"{_QUEUED} ORDER BY u.turn, u.file_id LIMIT ?", (limit,))
        return rows.fetchall()

    def queued_last(self, limit: int) -> list[tuple[int, str, str]]:
        """Return (file id, path, language) of queued files from the end of the queue, at most `limit`."""
        rows = self._db.execute(f"{_QUEUED} ORDER BY u.turn DESC, u.file_id DESC LIMIT ?", (limit,))
        return rows.fetchall()

    def queued_among(self, paths: Iterable[str]) -> list[tuple[int, str, str]]:
        """Return (file id, path, language) of the queued files among `paths`, by id."""
        return sorted(select_in(self._db, f"{_QUEUED} WHERE f.path IN ({{marks}})", paths))

    def files(self, file_ids: Iterable[int]) -> list[tuple[int, str, str]]:
        """Return (file id, path, language) of files, by id."""
        query = "SELECT id, path, language FROM files WHERE id IN ({marks})"
        return sorted(select_in(self._db, query, file_ids))

    def queued_of(self, file_ids: Iterable[int]) -> list[tuple[int, str, str]]:
        """Return (file id, path, language) of the queued files among the given ones, by id."""
        return sorted(select_in(self._db, f"{_QUEUED} WHERE u.file_id IN ({{marks}})", file_ids))

    def waiting(self) -> int:
        """Return how many files wait to be linked."""
        return int(self._db.execute("SELECT COUNT(*) FROM unlinked").fetchone()[0])

    def waiting_ids(self) -> set[int]:
        """Return the ids of the files that wait to be linked."""
        return {file_id for (file_id,) in self._db.execute("SELECT file_id FROM unlinked")}

    def defining(self, names: Collection[str]) -> set[int]:
        """Return the ids of the files that define one of `names`, compared without qualifiers."""
        query = "SELECT file_id FROM definitions WHERE base IN ({marks})"
        return {file_id for (file_id,) in select_in(self._db, query, names)}

    def heirs_of(self, names: Collection[str]) -> set[str]:
        """Return the names, without qualifiers, of the classes linked to bases of one of `names`."""
        return {name for (name,) in select_in(self._db, _HEIRS, names)}

    def unqueue(self, file_ids: Iterable[int]) -> None:
        """Remove linked files from the queue."""
        self._db.executemany("DELETE FROM unlinked WHERE file_id = ?", [(each,) for each in file_ids])

    def definition_ids(self, file_id: int) -> dict[str, int]:
        """Return the ids of a file's definitions by qualified name, in source order."""
        rows = self._db.execute(
            "SELECT name, id FROM definitions WHERE file_id = ? ORDER BY ordinal", (file_id,)
        )
        return dict(rows.fetchall())

    def symbols(self, file_id: int) -> list[Symbol]:
        """Return a file's definitions, in source order."""
        rows = self._db.execute(
            f"SELECT {SYMBOL} FROM definitions d WHERE d.file_id = ? ORDER BY d.ordinal",  # noqa: S608 - fixed text
            (file_id,),
        )
        return [Symbol(*row) for row in rows]


INTERNED_MAX: Final = 50_000
"""Maximum number of cached texts with their numbers, about 6 MB; above it the cache is cleared.
Django has 25,000."""


class _Interned:
    """Texts and their numbers in a table, with a cache of recently used ones."""

    def __init__(self, database: Database, table: str, column: str) -> None:
        self._db = database
        self._insert = f"INSERT OR IGNORE INTO {table} ({column}) VALUES (?)"  # noqa: S608 - fixed names
        self._select = f"SELECT {column}, id FROM {table} WHERE {column} IN "  # noqa: S608 - fixed names
        self._known: dict[str, int] = {}

    def numbers(self, texts: Collection[str]) -> dict[str, int]:
        """Return the numbers of texts; texts without a number get a new one."""
        found = {text: self._known[text] for text in texts if text in self._known}
        missing = sorted(text for text in texts if text not in found)
        if missing:
            self._db.executemany(self._insert, [(text,) for text in missing])
            found.update(select_in(self._db, f"{self._select}({{marks}})", missing))
            if len(self._known) > INTERNED_MAX:
                self.forget()
            self._known.update((text, found[text]) for text in missing)
        return found

    def forget(self) -> None:
        """Clear the cache, so that all numbers are read from the table again."""
        self._known.clear()


SYMBOL = "d.name, d.kind, d.start_line, d.end_line, d.signature, d.doc, d.depth"
DEFINITIONS = f"SELECT d.id, f.path, {SYMBOL} FROM definitions d JOIN files f ON f.id = d.file_id"  # noqa: S608 - fixed text

_QUEUED = "SELECT u.file_id, f.path, f.language FROM unlinked u JOIN files f ON f.id = u.file_id"

_HEIRS = (
    "SELECT DISTINCT h.base FROM definitions d JOIN links l ON l.target = d.id JOIN definitions h"  # noqa: S608 - a fixed number
    f" ON h.id = l.scope WHERE l.target > 0 AND l.kind = {KINDS.index('inherit')} AND d.base IN ({{marks}})"
)

_LINK = "SELECT f.path, l.line, l.ordinal, l.kind, n.name, l.scope, l.target, l.state"
_LINKS = f"{_LINK} FROM links l JOIN names n ON n.id = l.name JOIN files f ON f.id = l.file_id"
_PLACES_OF = (
    "SELECT f.path, d.start_line, d.id FROM definitions d JOIN files f ON f.id = d.file_id"
    " WHERE d.id IN ({marks})"
)
_OUT_OF = (
    f"{_LINK} FROM definitions d JOIN links l ON l.file_id = d.file_id"
    " AND l.line BETWEEN d.start_line AND d.end_line AND l.scope = d.id"
    " JOIN names n ON n.id = l.name JOIN files f ON f.id = l.file_id WHERE "
)
_LINKS_OF_FILE = "SELECT * FROM links WHERE file_id = ? ORDER BY line, ordinal"
_CONSULTED_OF_FILE = "SELECT place FROM consulted WHERE file_id = ?"

_INSIDE = """
SELECT d.id FROM definitions o JOIN definitions d ON d.file_id = o.file_id JOIN files f ON f.id = d.file_id
WHERE o.id IN ({marks}) AND d.id != o.id AND (
    substr(d.name, 1, length(o.name) + 1) IN (o.name || '.', o.name || '/')
    OR (d.start_line >= o.start_line AND d.end_line <= o.end_line AND d.depth > o.depth))
ORDER BY f.path, d.ordinal
"""


def definition_of(row: Sequence[Any]) -> Definition:
    """Return the definition in a row of `DEFINITIONS`."""
    number, path, *symbol = row
    return Definition(number, path, Symbol(*symbol))


def _sorted_link(row: tuple[str, int, int, int, str, int, int, int]) -> tuple[str, int, int, Link]:
    """Return a link preceded by its sort keys."""
    path, line, ordinal, kind, name, scope, target, state = row
    return path, line, ordinal, Link(path, line, KINDS[kind], name, scope, target, STATES[state])


def _is_twin(found: str, name: str) -> bool:
    rest = found[len(name) :]
    return not rest or (rest[0] == "~" and rest[1:].isdigit())


def _of_kinds(kinds: Collection[str]) -> str:
    """Return the SQL clause for some kinds, for all if none are given. Raises `ValueError` for unknown kinds.

    The clause names all kinds even then, so that SQLite can use the index's column after the kind, the file.
    """
    numbers = sorted(map(KINDS.index, set(kinds or KINDS)))
    return f" AND l.kind IN ({', '.join(map(str, numbers))})"


def _paths(database: Database, file_ids: Iterable[int]) -> dict[int, str]:
    return dict(select_in(database, "SELECT id, path FROM files WHERE id IN ({marks})", file_ids))
