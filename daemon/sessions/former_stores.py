"""Moves what the version before kept in requests.sqlite and timeline.sqlite into deliveries.sqlite, once."""

from __future__ import annotations

import json
import lzma
import os
import zlib
from collections.abc import Sequence
from functools import lru_cache

from ..core.errors import StateError
from ..core.storage import (
    Database,
    DatabaseError,
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
from .delivery_tables import FILE, GZIP, SCHEMA, VERSION, clean, packed, text_of

REQUESTS, TIMELINE = "requests.sqlite", "timeline.sqlite"


def move_former(folder: str, system: System) -> None:
    """Make deliveries.sqlite of the files of the version before, and remove these.

    The new file appears whole, by a rename. A damaged file is put into quarantine, and the rest is moved.
    Raises `StateError` if the disk refuses; then nothing was changed, and the next start tries again.
    """
    target = os.path.join(folder, FILE)
    requests, timeline = (os.path.join(folder, name) for name in (REQUESTS, TIMELINE))
    try:
        if not os.path.exists(target) and waits_to_be_moved(folder):
            building = f"{target}.tmp"
            remove_database(building)
            database = open_database(building, SCHEMA, VERSION, system).database
            database.create_function("moment", 1, lambda at: milliseconds_of(moment_in(at)))
            database.create_function("plain", 1, lambda data: clean(text_of(data)))
            database.create_function("sent", 2, _sent)
            _copy(requests, 3, database, _FROM_REQUESTS, system)
            _copy(timeline, 1, database, _FROM_TIMELINE, system)
            close_database(database)
            os.replace(building, target)
            remove_database(building)
            system.fsync_folder(folder)
        for path in (requests, timeline):
            remove_database(path)
    except (OSError, DatabaseError) as error:
        raise StateError(
            f"the records of requests and sessions can't be moved to {target}: {error}"
        ) from error


def waits_to_be_moved(folder: str) -> bool:
    """Whether a folder has files of the version before, as after a start on a full disk."""
    return any(os.path.exists(os.path.join(folder, name)) for name in (REQUESTS, TIMELINE))


def _copy(path: str, version: int, database: Database, statements: Sequence[str], system: System) -> None:
    if not os.path.exists(path):
        return
    try:
        with damage_raised():
            open_reader(path, version).close()
            database.execute("ATTACH DATABASE ? AS former", (path,))
            try:
                with transaction(database):
                    for statement in statements:
                        database.execute(statement)
            finally:
                database.execute("DETACH DATABASE former")
    except DatabaseError as error:
        if may_pass(error):
            raise
        quarantine_database(path, system)


def _sent(number: int, pack: bytes) -> bytes:
    """Return what was sent with a request or context of a pack as it is stored now, b"" if it is lost."""
    try:
        return packed(json.loads(_lines_in(pack)[number].decode("utf-8", "surrogatepass")))
    except Exception:  # noqa: BLE001 - any exception means damage
        return b""


@lru_cache(maxsize=1)
def _lines_in(pack: bytes) -> dict[int, bytes]:
    """Return the lines of a pack by number; each is read several times in a row."""
    is_single = pack.startswith(b"\x1f\x8b")
    lines = zlib.decompress(pack, GZIP) if is_single else lzma.decompress(pack)
    return {int(number): line for number, line in (each.split(b" ", 1) for each in lines.split(b"\n"))}


_FROM_REQUESTS = (
    """
INSERT INTO sessions (name, project, host)
SELECT session, project, '' FROM (
    SELECT session, project, number FROM former.requests
    UNION ALL SELECT session_id, project, 1e12 + number FROM former.contexts)
WHERE session != X'' GROUP BY session HAVING MIN(number)""",
    """
INSERT INTO contents SELECT number, moment(at), sent(number, (
    SELECT data FROM former.packs WHERE first <= number ORDER BY first DESC LIMIT 1)), X''
FROM former.requests WHERE pruned = ''""",
    """
INSERT INTO requests SELECT number, COALESCE(s.id, 0), r.id, r.project, moment(at),
    iif(pruned = '', number, 0), pruned, referred, json_object(
    'message_hash', message_hash, 'tokens', tokens, 'bytes', bytes,
    'elapsed_ms', elapsed_ms, 'items', items, 'considered', considered, 'degraded', degraded), record
FROM former.requests r LEFT JOIN sessions s ON s.name = r.session""",
    "INSERT INTO items SELECT id, project, type, name, server_name FROM former.items",
    "INSERT INTO item_days SELECT item, include, day, requests, reported, referred FROM former.item_days",
    """
CREATE TEMP TABLE linked AS SELECT c.number, r.number AS request,
    COALESCE(r.number, c.number + (SELECT COALESCE(MAX(number), 0) FROM former.requests)) AS content
FROM former.contexts c
LEFT JOIN former.requests r ON r.session = c.session_id AND r.id = c.request_id AND r.pruned = ''""",
    """
INSERT INTO contents SELECT content, at / 1000, iif(packed, sent(number, (
    SELECT p.data FROM former.context_packs p WHERE first <= number ORDER BY first DESC LIMIT 1)), X''),
    d.data FROM former.contexts JOIN linked USING (number) JOIN former.context_records d USING (number)
WHERE request IS NULL""",
    """
UPDATE contents SET record = d.data, at = MAX(contents.at, c.at / 1000)
FROM former.contexts c JOIN linked l USING (number) JOIN former.context_records d USING (number)
WHERE l.request = contents.number""",
    "INSERT OR IGNORE INTO access SELECT id, CAST(data AS TEXT) FROM former.context_access",
    """
INSERT INTO contexts SELECT c.number, c.id, content, scope_id, COALESCE(s.id, 0), c.project, agent_name,
    access, first_at / 1000, at / 1000, times, 0, last_elapsed_ms, cached, preview, request_id, previous,
    is_same, digest, tokens, bytes, tokens_before, '{}', 0, 0,
    json_object('prompt', plain(prompt), 'task_type', plain(task_type), 'format',
    plain(format), 'model', plain(model), 'tokens', tokens, 'tokens_before', tokens_before,
    'bytes', bytes, 'max_tokens', max_tokens, 'reserve_tokens', reserve_tokens, 'max_bytes', max_bytes,
    'elapsed_ms', elapsed_ms, 'partial', json(iif(partial, 'true', 'false')),
    'truncated', json(iif(truncated, 'true', 'false')),
    'layers', json_object('anchor', anchor, 'focus', focus, 'horizon', horizon), 'slices', slices,
    'dropped', dropped, 'gaps', gaps, 'degraded', degraded)
FROM former.contexts c JOIN linked USING (number) LEFT JOIN sessions s ON s.name = session_id""",
    "INSERT INTO files SELECT id, path, project FROM former.context_files",
    """
INSERT INTO places SELECT context, file, '', 0, 0, NULL, NULL, NULL FROM former.context_paths
WHERE context IN (SELECT number FROM contexts)""",
)

_FROM_TIMELINE = (
    """
INSERT INTO sessions SELECT NULL, CAST(name AS BLOB), CAST(project AS BLOB), host, observed, mined, 0, 0
FROM former.sessions WHERE TRUE
ON CONFLICT (name) DO UPDATE SET project = iif(project = X'', excluded.project, project),
    host = excluded.host, observed = excluded.observed, mined = excluded.mined""",
    """
INSERT INTO entries SELECT e.number, COALESCE(s.id, 0), at, kind,
    iif(mark = '' OR mark GLOB 'late:*', 'hook:' || e.number, mark), CAST(context_id AS BLOB),
    json_object('agent_id', agent_id, 'agent_name', agent_name, 'text', text, 'request_id', request_id,
    'experience_id', experience_id, 'paths', json(paths), 'outcome', iif(mark GLOB 'late:*', 'too late', ''))
FROM former.entries e LEFT JOIN former.sessions f ON f.id = e.session
LEFT JOIN sessions s ON s.name = CAST(f.name AS BLOB)""",
    """
UPDATE contexts SET turns = t.times, shown = t.shown, used = t.used, types = (
    SELECT json_group_object(key, json_array(value -> 0, value -> 1, value -> 2)) FROM json_each(t.types))
FROM former.turns t WHERE contexts.id = CAST(t.context_id AS BLOB)""",
    """
INSERT OR IGNORE INTO files SELECT NULL, CAST(path AS BLOB), CAST(project AS BLOB) FROM former.paths""",
    """
INSERT OR REPLACE INTO places SELECT c.number, f.id, l.type, l.characters, l.size, l.edited, l.read, l.named
FROM former.turns t JOIN former.places l ON turn = t.number JOIN former.paths p ON p.id = l.path
JOIN contexts c ON c.id = CAST(t.context_id AS BLOB)
JOIN files f ON f.path = CAST(p.path AS BLOB) AND f.project = CAST(t.project AS BLOB)""",
)
"""An entry whose context came too late had a mark that began with `late:`."""
