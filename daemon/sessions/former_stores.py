"""Moves what the version before kept in requests.sqlite and timeline.sqlite into deliveries.sqlite, once."""

from __future__ import annotations

import json
import lzma
import os
import zlib
from collections.abc import Callable
from contextlib import closing, suppress

from ..core.errors import StateError
from ..core.storage import (
    Database,
    DatabaseError,
    OtherVersion,
    Row,
    close_database,
    damage_raised,
    may_pass,
    open_database,
    open_reader,
    quarantine_database,
    remove_database,
    transaction,
)
from ..core.system import System
from ..core.times import milliseconds_of, moment_in
from .delivered_context import ShownPlace
from .delivery_tables import (
    FILE,
    GZIP,
    SCHEMA,
    VERSION,
    data_of,
    packed,
    put_content,
    put_places,
    put_session,
    text_of,
)
from .session_events import HOOK_MARK

REQUESTS, TIMELINE = "requests.sqlite", "timeline.sqlite"


def move_former(folder: str, system: System) -> None:
    """Make deliveries.sqlite of the files of the version before, and remove these.

    The new file appears whole, by a rename. A damaged file is put into quarantine, and the rest is moved.
    Raises `StateError` if the disk refuses; then nothing was changed, and the next start tries again.
    """
    target = os.path.join(folder, FILE)
    former = [os.path.join(folder, name) for name in (REQUESTS, TIMELINE)]
    try:
        if not os.path.exists(target) and any(map(os.path.exists, former)):
            building = f"{target}.tmp"
            remove_database(building)
            opened = open_database(building, SCHEMA, VERSION, system)
            for path, copy in zip(former, (_copy_requests, _copy_timeline), strict=True):
                _copy(path, opened.database, copy, system)
            close_database(opened.database)
            os.replace(building, target)
            remove_database(building)
            system.fsync_folder(folder)
        for path in former:
            remove_database(path)
    except (OSError, DatabaseError) as error:
        raise StateError(
            f"the records of requests and sessions can't be moved to {target}: {error}"
        ) from error


def waits_to_be_moved(folder: str) -> bool:
    """Whether a folder has files of the version before, as after a start on a full disk."""
    return any(os.path.exists(os.path.join(folder, name)) for name in (REQUESTS, TIMELINE))


def _copy(path: str, database: Database, copy: Callable[[Database, Database], None], system: System) -> None:
    if not os.path.exists(path):
        return
    try:
        with damage_raised(), transaction(database), closing(_opened(path)) as former:
            copy(former, database)
    except DatabaseError as error:
        if may_pass(error):
            raise
        quarantine_database(path, system)


def _opened(path: str) -> Database:
    versions = {REQUESTS: (3, 2), TIMELINE: (1,)}[os.path.basename(path)]
    for version in versions[:-1]:
        with suppress(OtherVersion):
            return open_reader(path, version)
    return open_reader(path, versions[-1])


def _copy_requests(former: Database, database: Database) -> None:
    sessions: dict[bytes, int] = {b"": 0}
    contents: dict[tuple[bytes, bytes], int] = {}
    texts = _Texts(former, "packs")
    rows = former.execute(f"SELECT {', '.join((*_REQUEST, *_LISTED))} FROM requests ORDER BY number")  # noqa: S608 - names of ours
    for number, session, project, request_id, at, pruned, referred, record, *listed in rows:
        moment, content = milliseconds_of(moment_in(at)), 0
        if not pruned:
            content = contents[session, request_id] = put_content(database, moment, texts.of(number), b"")
        if session not in sessions:
            sessions[session] = put_session(database, text_of(session), text_of(project))
        summary = json.dumps(dict(zip(_LISTED, listed, strict=True)))
        row = sessions[session], request_id, project, moment, content, pruned, referred, summary, record
        database.execute("INSERT INTO requests VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", (number, *row))
    items = former.execute("SELECT id, project, type, name, server_name FROM items")
    database.executemany("INSERT INTO items VALUES (?, ?, ?, ?, ?)", items)
    days = former.execute("SELECT item, include, day, requests, reported, referred FROM item_days")
    database.executemany("INSERT INTO item_days VALUES (?, ?, ?, ?, ?, ?)", days)
    if former.execute("PRAGMA user_version").fetchone()[0] >= WITH_CONTEXTS:
        _copy_contexts(former, database, sessions, contents)


def _copy_contexts(
    former: Database,
    database: Database,
    sessions: dict[bytes, int],
    contents: dict[tuple[bytes, bytes], int],
) -> None:
    texts, cursor = _Texts(former, "context_packs"), former.cursor()
    cursor.row_factory = Row
    rows = cursor.execute(
        "SELECT c.*, r.data AS record, a.data AS rights FROM contexts c JOIN context_records r USING (number)"
        " JOIN context_access a ON a.id = access ORDER BY number"
    )
    for row in rows:
        number, session, at = row["number"], row["session_id"], row["at"] // 1000
        if session not in sessions:
            sessions[session] = put_session(database, text_of(session), text_of(row["project"]))
        content = contents.get((session, row["request_id"]))
        if content is None:
            content = put_content(database, at, texts.of(number) if row["packed"] else b"", row["record"])
        else:
            update = "UPDATE contents SET record = ?, at = MAX(at, ?) WHERE number = ?"
            database.execute(update, (row["record"], at, content))
        summary = {name: _plain(row[name]) for name in _SUMMARY}
        summary |= {name: bool(row[name]) for name in ("partial", "truncated")}
        summary["layers"] = {name: row[name] for name in ("anchor", "focus", "horizon")}
        rights = row["rights"].decode("ascii")
        database.execute("INSERT OR IGNORE INTO access VALUES (NULL, ?)", (rights,))
        database.execute(
            f"INSERT INTO contexts SELECT ?, ?, ?, ?, ?, ?, ?, id{', ?' * 18} FROM access WHERE data = ?",  # noqa: S608 - marks only
            (number, row["id"], content, row["scope_id"], sessions[session], row["project"],
             row["agent_name"], row["first_at"] // 1000, at, row["times"], 0, row["last_elapsed_ms"],
             row["cached"], row["preview"], row["request_id"], row["previous"], row["is_same"],
             row["digest"], row["tokens"], row["bytes"], row["tokens_before"], "{}", 0, 0,
             json.dumps(summary), rights),
        )  # fmt: skip
    shown = former.execute(
        "SELECT context, project, path FROM context_paths JOIN context_files f ON f.id = file"
        " WHERE context IN (SELECT number FROM contexts)"
    )
    for number, project, path in shown:
        put_places(database, number, text_of(project), [ShownPlace(text_of(path))])


def _copy_timeline(former: Database, database: Database) -> None:
    sessions = {0: 0}
    for number, name, project, host, *use in former.execute(
        "SELECT id, name, project, host, observed, mined, saved, saved_files FROM sessions"
    ):
        sessions[number] = put_session(database, name, project, host)
        update = "UPDATE sessions SET observed = ?, mined = ?, saved = ?, saved_files = ? WHERE id = ?"
        database.execute(update, (*use, sessions[number]))
    entries = former.execute(f"SELECT {', '.join((*_ENTRY, *_TOLD))} FROM entries ORDER BY number")  # noqa: S608 - names of ours
    for number, session, at, kind, found, context_id, paths, *told in entries:
        is_late = found.startswith(LATE_MARK)
        mark = f"{HOOK_MARK}{number}" if is_late or not found else found
        data = dict(zip(_TOLD, told, strict=True)) | {"paths": json.loads(paths)}
        data["outcome"] = "too late" if is_late else ""
        row = sessions.get(session, 0), at, kind, mark, data_of(context_id), json.dumps(data)
        database.execute("INSERT OR REPLACE INTO entries VALUES (?, ?, ?, ?, ?, ?, ?)", (number, *row))
    turns = former.execute("SELECT context_id, times, shown, used, types FROM turns")
    for context_id, *counts, types in turns:
        sums = json.dumps({name: counts[:3] for name, counts in json.loads(types).items()})
        update = "UPDATE contexts SET turns = ?, shown = ?, used = ?, types = ? WHERE id = ?"
        database.execute(update, (*counts, sums, data_of(context_id)))
    places = former.execute(
        "SELECT context_id, t.project, p.path, l.type, characters, size, edited, read, named"
        " FROM turns t JOIN places l ON turn = t.number JOIN paths p ON p.id = l.path"
    )
    for context_id, project, path, *place in places:
        file = data_of(path), data_of(project)
        database.execute("INSERT OR IGNORE INTO files VALUES (NULL, ?, ?)", file)
        database.execute(
            "INSERT OR REPLACE INTO places SELECT c.number, f.id, ?, ?, ?, ?, ?, ? FROM contexts c, files f"
            " WHERE c.id = ? AND f.path = ? AND f.project = ?",
            (*place, data_of(context_id), *file),
        )


WITH_CONTEXTS = 3
"""The version of requests.sqlite from which on it has past contexts."""

LATE_MARK = "late:"
"""The beginning of the mark of an entry whose context came too late."""

_REQUEST = ("number", "session", "project", "id", "at", "pruned", "referred", "record")
_LISTED = ("message_hash", "tokens", "bytes", "elapsed_ms", "items", "considered", "degraded")
_SUMMARY = ("prompt", "task_type", "format", "model", "tokens", "tokens_before", "bytes", "max_tokens",
            "reserve_tokens", "max_bytes", "elapsed_ms", "slices", "dropped", "gaps", "degraded")  # fmt: skip
_ENTRY = ("number", "session", "at", "kind", "mark", "context_id", "paths")
_TOLD = ("agent_id", "agent_name", "text", "request_id", "experience_id")


def _plain(value: object) -> object:
    return text_of(value) if isinstance(value, bytes) else value


class _Texts:
    """What was sent, of requests or contexts in the order of their numbers, several packed together."""

    def __init__(self, former: Database, table: str) -> None:
        self._former = former
        self._query = f"SELECT last, data FROM {table} WHERE first <= ? ORDER BY first DESC LIMIT 1"  # noqa: S608 - one of two names
        self._last = 0
        self._lines: dict[int, bytes] = {}

    def of(self, number: int) -> bytes:
        """Return what was sent as it is stored now, b"" if it is lost."""
        if number > self._last:
            self._last, data = self._former.execute(self._query, (number,)).fetchone() or (0, b"")
            self._lines = _unpacked(data)
        try:
            return packed(json.loads(self._lines[number].decode("utf-8", "surrogatepass")))
        except Exception:  # noqa: BLE001 - any exception means damage
            return b""


def _unpacked(data: bytes) -> dict[int, bytes]:
    """Return the lines of a pack by number; none if it is damaged."""
    try:
        single = data.startswith(b"\x1f\x8b")
        lines = zlib.decompress(data, GZIP) if single else lzma.decompress(data)
        pairs = (line.split(b" ", 1) for line in lines.split(b"\n"))
        return {int(number): line for number, line in pairs}
    except Exception:  # noqa: BLE001 - any exception means damage
        return {}
