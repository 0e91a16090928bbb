"""What happened in sessions and which shown places were of use: their rows, written and read in a thread.

Only here are texts masked and paths placed in their project. Times are milliseconds since 1970.
"""

from __future__ import annotations

import json
import os
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from ..core.errors import InvalidRequest
from ..core.storage import Database
from ..privacy.secret_gate import mask_said
from ..project.service import relative_path
from ..transcripts.records import Activity
from ..transcripts.service import asked, placed
from .delivery_tables import clean, data_of, put_session, text_of

TimelineKind = Literal[
    "start", "prompt", "subagent", "edit", "read", "decision", "compaction", "resume", "end"
]
Use = Literal["edited", "read", "named"]
Outcome = Literal["", "too late"]
"""What became of the context for an entry, if it isn't as usual: it wasn't ready when the agent went on."""

PATHS_MAX = 50
"""Maximum number of paths of an entry."""

TEXT_CHARACTERS = 200
MASKED_CHARACTERS = 2_000
"""Maximum characters of a text that are masked before it is cut, so that no half of a secret remains."""

REPORTED_MS = 60_000
"""Milliseconds between an edit in a hook's event and the same edit in the transcript."""

HOOK_MARK = "hook:"
"""The beginning of the mark of an entry that a hook reported."""


class SessionOrigin(Struct):
    """The host and the folder of a session; `root` is that of its project, found before it is written."""

    session_id: str
    host: str
    cwd: str
    root: str = ""


class Entry(Struct):
    """Something that happened in a session. `mark` identifies it there: an entry replaces an earlier one.

    `paths` are relative to the root, or as the host wrote them until they are stored; `last` is the time of
    an entry's last activity in a transcript.
    """

    session_id: str
    at: int
    kind: TimelineKind
    mark: str
    agent_id: str = ""
    agent_name: str = ""
    text: str = ""
    paths: tuple[str, ...] = ()
    context_id: str = ""
    request_id: str = ""
    experience_id: str = ""
    outcome: Outcome = ""
    last: int = 0


class UseSign(Struct, frozen=True):
    """A sign that a file was used: `path` is relative to the root, or if it isn't `exact` perhaps only the
    last parts of that."""

    session_id: str
    how: Use
    path: str
    at: int
    exact: bool = True


class TranscriptPart(Struct, frozen=True):
    """What agents did to files in a new part of a session's transcript; `cwd` is its folder."""

    session_id: str
    cwd: str
    activity: tuple[Activity, ...]
    at: int


class StoredEntry(Struct, frozen=True):
    """An entry as it is read; `tokens`, `shown` and `used` are of its context, None if they aren't known."""

    number: int
    entry: Entry
    tokens: int | None
    shown: int | None
    used: int | None


class UsedPlace(Struct, frozen=True):
    """A used place of a context."""

    path: str
    how: Use
    at: int


# Writing; each needs a transaction.


def masked_entry(entry: Entry) -> Entry:
    """Return an entry with the first line of its text, without secrets and what hooks added to it."""
    masked = mask_said(asked(entry.text[:MASKED_CHARACTERS])).text
    first = clean(masked.partition("\n")[0].rstrip())
    cut = first if len(first) <= TEXT_CHARACTERS else f"{first[: TEXT_CHARACTERS - 1]}…"
    return replace(entry, text=cut)


def put_entry(database: Database, entry: Entry) -> None:
    """Store an entry with the paths that lie in its project. One of files needs any."""
    session, root = put_session(database, entry.session_id), project_of(database, entry.session_id)
    paths = entry.paths if entry.kind == "decision" else tuple(_relative(root, entry.paths))
    if paths or entry.kind not in {"edit", "read"}:
        _store(database, session, replace(entry, paths=paths))


def put_sign(database: Database, sign: UseSign) -> None:
    """Mark the place that a sign means as used."""
    session = put_session(database, sign.session_id)
    if path := _inside(project_of(database, sign.session_id), sign.path):
        _mark_used(database, session, [replace(sign, path=path)])


def put_transcript(database: Database, part: TranscriptPart) -> None:
    """Store what agents did to files, and mark the shown places that they used."""
    session, root = put_session(database, part.session_id), project_of(database, part.session_id)
    for entry in _entries_in(part, root):
        known = _reported(database, session, entry)
        paths = tuple(path for path in entry.paths if path not in known)
        if paths:
            _store(database, session, replace(entry, paths=paths))
    observed = "UPDATE sessions SET observed = max(observed, ?1), mined = max(mined, ?1) WHERE id = ?2"
    database.execute(observed, (part.at, session))
    _mark_used(database, session, list(_signs_in(part, root)))


def project_of(database: Database, session_id: str) -> str:
    """Return the root of a session's project, "" for none."""
    row = database.execute("SELECT project FROM sessions WHERE name = ?", (data_of(session_id),)).fetchone()
    return "" if row is None else text_of(row[0])


def _store(database: Database, session: int, entry: Entry) -> None:
    fields = {name: getattr(entry, name) for name in _DATA}
    database.execute(
        "INSERT INTO entries VALUES (NULL, ?, ?, ?, ?, ?, ?) ON CONFLICT (session, mark) DO UPDATE SET"
        " at = excluded.at, context_id = excluded.context_id, data = excluded.data",
        (session, entry.at, entry.kind, clean(entry.mark), data_of(entry.context_id),
         clean(json.dumps(fields, ensure_ascii=False))),
    )  # fmt: skip


_DATA = ("agent_id", "agent_name", "text", "paths", "request_id", "experience_id", "outcome")


def _reported(database: Database, session: int, entry: Entry) -> set[str]:
    """Return the paths of the entries of the same kind that came from hooks at that time."""
    rows = database.execute(
        "SELECT data FROM entries WHERE session = ? AND at BETWEEN ? AND ? AND kind = ? AND mark GLOB ?",
        (session, entry.at - REPORTED_MS, max(entry.last, entry.at) + REPORTED_MS, entry.kind,
         f"{HOOK_MARK}*"),
    )  # fmt: skip
    return {path for (data,) in rows for path in json.loads(data)["paths"]}


def _entries_in(part: TranscriptPart, root: str) -> Iterable[Entry]:
    """Return an entry for the files that an agent read in a turn, and one for those that it edited."""
    entries: dict[str, Entry] = {}
    for item in part.activity:
        path = _inside(root, item.path, part.cwd)
        if item.how == "named" or not path:
            continue
        if not os.path.isabs(item.path) and not os.path.lexists(os.path.join(root, path)):
            continue  # a word of a command that looks like a path
        kind: TimelineKind = "edit" if item.how == "edited" else "read"
        mark = f"{item.agent_id}:{item.line}:{kind}"
        first = milliseconds(item.first, part.at)
        entry = entries.setdefault(mark, Entry(part.session_id, first, kind, mark, item.agent_id))
        entry.last = max(entry.last, milliseconds(item.last, part.at))
        if path not in entry.paths and len(entry.paths) < PATHS_MAX:
            entry.paths = (*entry.paths, path)
    return entries.values()


def _signs_in(part: TranscriptPart, root: str) -> Iterator[UseSign]:
    for item in part.activity:
        at, is_exact = milliseconds(item.last, part.at), os.path.isabs(item.path)
        path = item.path
        if item.how != "named" or is_exact:
            path = _inside(root, path, part.cwd)
        if path:
            yield UseSign(part.session_id, item.how, clean(path), at, is_exact)


def _relative(root: str, paths: Iterable[str]) -> Iterator[str]:
    """Yield the paths of files in a project, relative to its root."""
    yield from filter(None, (_inside(root, path) for path in paths))


def _inside(root: str, path: str, cwd: str = "") -> str:
    """Return the path of a file relative to the root, "" for one outside of it; `cwd` is the folder of a
    transcript that has the path."""
    try:
        found = placed(path, cwd, root) if cwd else path
        return clean(relative_path(root, found)) if root else ""
    except (InvalidRequest, ValueError, OSError):  # whatever a host or a transcript has there
        return ""


def milliseconds(at: str, otherwise: int) -> int:
    """Return a time of a host in milliseconds since 1970, or another time if it can't be read."""
    try:
        moment = datetime.fromisoformat(at)
        found = int((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        return otherwise
    return min(max(found, 0), otherwise)


def _mark_used(database: Database, session: int, signs: Sequence[UseSign]) -> None:
    """Mark the places of a session that were shown before they were used."""
    if not signs:
        return
    at = max(sign.at for sign in signs)
    database.execute("UPDATE sessions SET observed = max(observed, ?) WHERE id = ?", (at, session))
    inexact = any(not sign.exact for sign in signs)
    by_name = _shown_files(database, session) if inexact else {}
    for sign in signs:
        for file in _files_meant(database, session, sign, by_name):
            database.execute(
                f"UPDATE places SET {sign.how} = ? WHERE {sign.how} IS NULL AND type != '' AND file = ?"  # noqa: S608 - one of three words
                " AND context IN (SELECT number FROM contexts WHERE session = ? AND first_at <= ?)",
                (sign.at, file, session, sign.at),
            )
            database.execute(
                "UPDATE contexts SET used = (SELECT COUNT(COALESCE(edited, read, named)) FROM places"
                " WHERE context = contexts.number) WHERE session = ?"
                " AND number IN (SELECT context FROM places WHERE file = ?)",
                (session, file),
            )


def _files_meant(
    database: Database, session: int, sign: UseSign, by_name: dict[str, dict[str, int]]
) -> list[int]:
    """Return the number of the file that a sign means: the file itself, else of the shown files the only one
    that ends in the same parts."""
    if sign.exact:
        query = "SELECT f.id FROM files f JOIN sessions s USING (project) WHERE s.id = ? AND path = ?"
        return [number for (number,) in database.execute(query, (session, data_of(sign.path)))]
    named = by_name.get(os.path.basename(sign.path), {})
    if sign.path in named:
        return [named[sign.path]]
    ending = [number for path, number in named.items() if f"/{path}".endswith(f"/{sign.path}")]
    return ending if len(ending) == 1 else []


def _shown_files(database: Database, session: int) -> dict[str, dict[str, int]]:
    """Return the numbers of the files that a session was shown, by path, by the last part of that."""
    found: defaultdict[str, dict[str, int]] = defaultdict(dict)
    rows = database.execute(
        "SELECT DISTINCT path, f.id FROM contexts c JOIN places ON context = c.number"
        " JOIN files f ON f.id = file WHERE session = ? AND type != ''",
        (session,),
    )
    for data, number in rows:
        path = text_of(data)
        found[os.path.basename(path)][path] = number
    return found


# Reading


def entries_of(
    database: Database, session_id: str, limit: int, before: tuple[int, int] | None
) -> list[StoredEntry]:
    """Return entries of a session, the latest first; with `before`, a time and a number, only older ones."""
    rows = database.execute(
        "SELECT e.number, e.at, kind, mark, e.context_id, data, tokens, shown, iif(s.observed, used, NULL)"
        " FROM sessions s JOIN entries e ON e.session = s.id LEFT JOIN contexts c ON c.id = e.context_id"
        " WHERE s.name = ? AND (e.at, e.number) < (?, ?) ORDER BY e.at DESC, e.number DESC LIMIT ?",
        (data_of(session_id), *(before or (2**62, 0)), limit),
    )
    entries = []
    for number, at, kind, mark, context_id, data, *counts in rows:
        fields = json.loads(data)
        fields["paths"] = tuple(fields["paths"])
        entry = Entry(session_id, at, kind, mark, context_id=text_of(context_id), **fields)
        entries.append(StoredEntry(number, entry, *counts))
    return entries


def used_places(database: Database, context_id: str) -> list[UsedPlace]:
    """Return the used places of a context, by path."""
    rows = database.execute(
        "SELECT path, edited, read, named FROM contexts c JOIN places ON context = c.number"
        " JOIN files f ON f.id = file WHERE c.id = ?"
        " AND COALESCE(edited, read, named) IS NOT NULL ORDER BY path",
        (data_of(context_id),),
    )
    used = []
    for path, edited, read, named in rows:
        how: Use = "edited" if edited is not None else "read" if read is not None else "named"
        used.append(UsedPlace(text_of(path), how, next(at for at in (edited, read, named) if at is not None)))
    return used


def last_signs(database: Database, session_id: str = "") -> dict[str, int]:
    """Return the time of the latest entry or context of sessions, or of one, in milliseconds since 1970."""
    rows = database.execute(
        "SELECT name, MAX(IFNULL((SELECT MAX(at) FROM entries WHERE session = s.id), 0),"
        " IFNULL((SELECT MAX(at) FROM contexts WHERE session = s.id AND turns > 0), 0))"
        " FROM sessions s WHERE ?1 = X'' OR name = ?1",
        (data_of(session_id),),
    )
    return {text_of(name): at for name, at in rows if at}


def first_prompt(database: Database, session_id: str) -> str:
    """Return the text of a session's first prompt that has one, "" for none."""
    rows = database.execute(
        "SELECT data FROM entries JOIN sessions s ON s.id = session WHERE name = ? AND kind = 'prompt'"
        " ORDER BY at, number LIMIT 20",
        (data_of(session_id),),
    )
    return next((text for (data,) in rows if (text := json.loads(data)["text"])), "")


def is_answered(database: Database, session_id: str, prompt: str) -> bool:
    """Whether a prompt is the latest of a session's main agent, by its first line, and has its context in a
    window that wasn't emptied since."""
    rows = database.execute(
        "SELECT kind, e.context_id, data FROM entries e JOIN sessions s ON s.id = session"
        " WHERE name = ? AND kind IN ('start', 'resume', 'prompt', 'compaction')"
        " ORDER BY at DESC, e.number DESC LIMIT 20",
        (data_of(session_id),),
    )
    for kind, context_id, data in rows:
        fields = json.loads(data)
        if not fields["agent_id"] and (fields["text"] or kind == "compaction"):
            said = masked_entry(Entry(session_id, 0, "prompt", "", text=prompt)).text
            return kind != "compaction" and bool(text_of(context_id)) and fields["text"] == said
    return False


def sessions_of(database: Database, project: str) -> set[str]:
    """Return the ids of a project's sessions."""
    rows = database.execute("SELECT name FROM sessions WHERE project = ?", (data_of(project),))
    return {text_of(name) for (name,) in rows}
