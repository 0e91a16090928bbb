"""The tables of delivered contexts: a row for each, the files that it showed, and who may see it."""

from __future__ import annotations

import json
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from msgspec import Struct, field
from msgspec.structs import asdict

from ..core.storage import Database, select_in
from .request_table import GZIP, data_of, text_of

SCHEMA = """
CREATE TABLE contexts (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id BLOB NOT NULL UNIQUE, scope_id BLOB NOT NULL,
    session_id BLOB NOT NULL, project BLOB NOT NULL, agent_name BLOB NOT NULL, request_id BLOB NOT NULL,
    first_at INTEGER NOT NULL, at INTEGER NOT NULL, times INTEGER NOT NULL, elapsed_ms REAL NOT NULL,
    last_elapsed_ms REAL NOT NULL, cached INTEGER NOT NULL, preview INTEGER NOT NULL, previous BLOB NOT NULL,
    prompt BLOB NOT NULL, task_type BLOB NOT NULL, format BLOB NOT NULL, model BLOB NOT NULL,
    tokens INTEGER NOT NULL, tokens_before INTEGER NOT NULL, bytes INTEGER NOT NULL,
    max_tokens INTEGER NOT NULL, reserve_tokens INTEGER NOT NULL, max_bytes INTEGER NOT NULL,
    partial INTEGER NOT NULL, truncated INTEGER NOT NULL, anchor INTEGER NOT NULL, focus INTEGER NOT NULL,
    horizon INTEGER NOT NULL, slices INTEGER NOT NULL, dropped INTEGER NOT NULL, gaps INTEGER NOT NULL,
    degraded INTEGER NOT NULL, packed INTEGER NOT NULL, is_same INTEGER NOT NULL, digest BLOB NOT NULL,
    access INTEGER NOT NULL);
CREATE INDEX contexts_by_time ON contexts (at);
CREATE INDEX contexts_by_project ON contexts (project, at);
CREATE INDEX contexts_by_session ON contexts (session_id, at);
CREATE INDEX contexts_by_scope ON contexts (scope_id, at);
CREATE INDEX contexts_by_agent ON contexts (agent_name, at);
CREATE TABLE context_records (number INTEGER PRIMARY KEY, data BLOB NOT NULL);
CREATE TABLE context_access (id INTEGER PRIMARY KEY, data BLOB NOT NULL UNIQUE);
CREATE TABLE context_files (
    id INTEGER PRIMARY KEY, path BLOB NOT NULL, project BLOB NOT NULL, UNIQUE (path, project));
CREATE TABLE context_paths (
    file INTEGER NOT NULL, context INTEGER NOT NULL, PRIMARY KEY (file, context)) WITHOUT ROWID;
CREATE INDEX context_paths_by_context ON context_paths (context);
"""
"""Times are in microseconds since 1970. A row has what a list needs; `context_records` has the rest, as
compressed JSON. `packed` says that the text lies in `context_packs`; else it is that of the request
`request_id`. `digest` is of the text. Who may see a context is stored once for all contexts of an agent."""


Digest = bytes
RARE = 1_000
"""Number of contexts above which a file counts as common: then contexts are read in their order until enough
of them showed it, else those that did are sorted."""


class ContextRow(Struct, frozen=True):
    """A delivered context in a list, with the columns of the table.

    `slices`, `dropped`, `gaps` and `degraded` are counts; `prompt` is its first line. `previous` is the id of
    the scope's preceding context, "" if it isn't kept.
    """

    id: str
    scope_id: str
    session_id: str
    project: str
    agent_name: str
    request_id: str
    first_at: int
    at: int
    times: int
    elapsed_ms: float
    last_elapsed_ms: float
    cached: bool
    preview: bool
    previous: str
    prompt: str
    task_type: str
    format: str
    model: str
    tokens: int
    tokens_before: int
    bytes: int
    max_tokens: int
    reserve_tokens: int
    max_bytes: int
    partial: bool
    truncated: bool
    anchor: int
    focus: int
    horizon: int
    slices: int
    dropped: int
    gaps: int
    degraded: int
    packed: bool
    is_same: bool = False
    digest: Digest = b""
    access: int = 0
    number: int = 0
    text_kept: bool = True


class KeptContext(Struct, frozen=True):
    """The stored form of a delivered context: its row, its record, who may see it, and the shown files."""

    row: ContextRow
    record: Mapping[str, Any]
    access: Mapping[str, Any]
    paths: tuple[str, ...]


class ContextFilter(Struct, frozen=True):
    """The contexts of a list; None for any. `since` and `until` are times, the second exclusive; `hidden`
    are the ids of `context_access` that the caller may not see."""

    project: str | None = None
    scope_id: str | None = None
    session_id: str | None = None
    agent_name: str | None = None
    path: str | None = None
    since: int | None = None
    until: int | None = None
    hidden: frozenset[int] = field(default_factory=frozenset)


class Deliveries(Struct):
    """How often a context was delivered since the last write, and how the last time."""

    at: int
    last_elapsed_ms: float
    cached: bool
    preview: bool
    request_id: str
    times: int = 1


_STORED = tuple(name for name in ContextRow.__struct_fields__ if name not in {"number", "text_kept"})
_BOOLS = frozenset(("cached", "preview", "partial", "truncated", "packed", "is_same", "text_kept"))
_MARKS = ", ".join("?" * len(_STORED))
_INSERT = f"INSERT INTO contexts ({', '.join(_STORED)}) VALUES ({_MARKS})"  # noqa: S608 - names of ours
_LISTED = ", ".join(f"c.{name}" for name in _STORED if name != "previous")
_COLUMNS = f"""
SELECT c.number, COALESCE((SELECT p.id FROM contexts p WHERE p.id = c.previous), X''), c.packed OR EXISTS (
    SELECT 1 FROM requests r WHERE r.session = c.session_id AND r.id = c.request_id AND r.pruned = ''),
    {_LISTED} FROM contexts c """  # noqa: S608 - names of ours


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def microseconds_of(moment: datetime) -> int:
    """Return an aware time in microseconds since 1970."""
    return (moment - _EPOCH) // timedelta(microseconds=1)


def moment_of(microseconds: int) -> datetime:
    """Return the time of microseconds since 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def insert(database: Database, kept: KeptContext) -> int | None:
    """Insert a context; return its number, None if it is there already. Needs a transaction."""
    row = kept.row
    if number_of(database, row.id) is not None:
        return None
    same = database.execute("SELECT digest FROM contexts WHERE id = ?", (data_of(row.previous),)).fetchone()
    values = asdict(row) | {"is_same": same == (row.digest,), "access": _access(database, kept.access)}
    number = database.execute(_INSERT, [_plain(values[name]) for name in _STORED]).lastrowid
    assert number is not None
    record = zlib.compress(_json(kept.record), wbits=GZIP)
    database.execute("INSERT INTO context_records VALUES (?, ?)", (number, record))
    project = data_of(row.project)
    for path in map(data_of, dict.fromkeys(kept.paths)):
        database.execute("INSERT OR IGNORE INTO context_files VALUES (NULL, ?, ?)", (path, project))
        database.execute(
            "INSERT INTO context_paths SELECT id, ? FROM context_files WHERE path = ? AND project = ?",
            (number, path, project),
        )
    return number


def note(database: Database, context_id: str, more: Deliveries) -> None:
    """Count further deliveries of a context. Needs a transaction."""
    request = data_of(more.request_id)
    database.execute(
        "UPDATE contexts SET times = times + ?, at = ?, last_elapsed_ms = ?, cached = ?,"
        " preview = preview AND ?, request_id = CASE ? WHEN X'' THEN request_id ELSE ? END WHERE id = ?",
        (more.times, more.at, more.last_elapsed_ms, more.cached, more.preview, request, request,
         data_of(context_id)),
    )  # fmt: skip


def number_of(database: Database, context_id: str) -> int | None:
    """Return the number of a context."""
    found = database.execute("SELECT number FROM contexts WHERE id = ?", (data_of(context_id),)).fetchone()
    return None if found is None else int(found[0])


def find(database: Database, context_id: str) -> ContextRow | None:
    """Return the row of a context."""
    return next(_rows(database, "WHERE c.id = ?", (data_of(context_id),)), None)


def latest_of(database: Database, scope_id: str) -> str:
    """Return the id of the context that a scope was given last, "" if none is kept."""
    found = database.execute(
        "SELECT id FROM contexts WHERE scope_id = ? ORDER BY at DESC, number DESC LIMIT 1",
        (data_of(scope_id),),
    ).fetchone()
    return "" if found is None else text_of(found[0])


def page(database: Database, chosen: ContextFilter, limit: int, before: str = "") -> list[ContextRow]:
    """Return contexts, the one that was delivered last first; with `before`, those older than that one, none
    if it isn't kept."""
    where, values = ["TRUE"], list[object]()
    for name in ("project", "scope_id", "session_id", "agent_name"):
        wanted = getattr(chosen, name)
        if wanted is not None:
            where.append(f"c.{name} = ?")
            values.append(data_of(wanted))
    if chosen.path is not None:
        condition, more = _showing(database, chosen.path)
        where.append(condition)
        values += more
    if chosen.since is not None:
        where.append("c.at >= ?")
        values.append(chosen.since)
    if chosen.until is not None:
        where.append("c.at < ?")
        values.append(chosen.until)
    if chosen.hidden:
        where.append(f"c.access NOT IN ({', '.join(map(str, sorted(chosen.hidden)))})")
    if before:
        bound = database.execute("SELECT at, number FROM contexts WHERE id = ?", (data_of(before),))
        place = bound.fetchone()
        if place is None:
            return []
        where.append("(c.at, c.number) < (?, ?)")
        values += place
    order = f"WHERE {' AND '.join(where)} ORDER BY c.at DESC, c.number DESC LIMIT ?"
    return list(_rows(database, order, (*values, limit)))


def record_of(database: Database, number: int) -> dict[str, Any] | None:
    """Return the record of a context, None if it is damaged, by a checksum."""
    row = database.execute("SELECT data FROM context_records WHERE number = ?", (number,)).fetchone()
    return None if row is None else _json_in(row[0], packed=True)


def access_in(database: Database, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
    """Return who may see contexts, by the `access` of their rows; without those that are damaged."""
    query = "SELECT id, data FROM context_access WHERE id IN ({marks})"
    found = {number: _json_in(data, packed=False) for number, data in select_in(database, query, ids)}
    return {number: access for number, access in found.items() if access is not None}


def remove(database: Database, numbers: Collection[int]) -> None:
    """Remove contexts, but not their packed texts. Needs a transaction."""
    for number in numbers:
        database.execute("DELETE FROM contexts WHERE number = ?", (number,))
        database.execute("DELETE FROM context_records WHERE number = ?", (number,))
    for _ in select_in(database, "DELETE FROM context_paths WHERE context IN ({marks})", numbers):
        pass


def remove_unused(database: Database) -> None:
    """Remove files and rights that no context refers to any more. Needs a transaction."""
    database.execute("DELETE FROM context_files WHERE id NOT IN (SELECT file FROM context_paths)")
    database.execute("DELETE FROM context_access WHERE id NOT IN (SELECT access FROM contexts)")


def _rows(database: Database, where: str, values: Sequence[object]) -> Iterator[ContextRow]:
    names = ("number", "previous", "text_kept", *(name for name in _STORED if name != "previous"))
    for row in database.execute(_COLUMNS + where, values):
        found: dict[str, Any] = dict(zip(names, row, strict=True))
        for name, value in found.items():
            if name in _BOOLS:
                found[name] = bool(value)
            elif isinstance(value, bytes) and name != "digest":
                found[name] = text_of(value)
        yield ContextRow(**found)


def _showing(database: Database, path: str) -> tuple[str, list[object]]:
    """Return the condition that a context showed a file of this path in its project."""
    files = "SELECT id FROM context_files WHERE path = ?"
    contexts = f"SELECT context FROM context_paths WHERE file IN ({files})"  # noqa: S608 - from above
    data = data_of(path)
    if len(database.execute(f"{contexts} LIMIT ?", (data, RARE)).fetchall()) < RARE:
        return f"c.number IN ({contexts})", [data]
    shown = f"SELECT 1 FROM context_paths WHERE context = c.number AND file IN ({files})"  # noqa: S608 - above
    return f"EXISTS ({shown})", [data]


def _access(database: Database, access: Mapping[str, Any]) -> int:
    data = _json(access)
    database.execute("INSERT OR IGNORE INTO context_access VALUES (NULL, ?)", (data,))
    return int(database.execute("SELECT id FROM context_access WHERE data = ?", (data,)).fetchone()[0])


def _plain(value: object) -> object:
    return data_of(value) if isinstance(value, str) else value


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")


def _json_in(data: bytes, *, packed: bool) -> dict[str, Any] | None:
    try:
        found = json.loads(zlib.decompress(data, GZIP) if packed else data)
    except Exception:  # noqa: BLE001 - any exception means damage
        return None
    return found if isinstance(found, dict) else None
