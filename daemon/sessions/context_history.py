"""The history of delivered contexts. Queries over the deliveries."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from msgspec import convert

from ..core.errors import StateError
from ..core.storage import Database, Row, select_in
from .delivered_context import Access, ContextFilter, ContextRow, StoredContext
from .delivery_tables import data_of, sent_in, text_of, unpacked
from .request_record import Sent, conversation

TEXT_FIELDS = ("context", "system_prompt", "user_prompt", "messages", "tools")
"""Fields of a reply that hold its text; the others are its record."""


def list_contexts(
    database: Database, chosen: ContextFilter, hidden: Collection[int], limit: int, before: str
) -> list[ContextRow]:
    """Return contexts, the one that was delivered last first; with `before`, those older than that one, none
    if it isn't kept. `hidden` are the ids of access that the caller doesn't have."""
    where, values = ["TRUE"], list[object]()
    for name, condition in (
        ("project", "c.project = ?"),
        ("scope_id", "scope_id = ?"),
        ("session_id", "s.name = ?"),
        ("agent_name", "agent_name = ?"),
        ("path", "c.number IN (SELECT context FROM places JOIN files ON id = file WHERE path = ?)"),
    ):
        wanted = getattr(chosen, name)
        if wanted == "" and name == "session_id":
            where.append("session = 0")
        elif wanted is not None:
            where.append(condition)
            values.append(data_of(wanted))
    for condition, bound in (("at >= ?", chosen.since), ("at < ?", chosen.until)):
        if bound is not None:
            where.append(f"c.{condition}")
            values.append(bound)
    seen = f"access NOT IN ({', '.join(map(str, sorted(hidden)))})" if hidden else "TRUE"
    where += [seen, "turns > 0" if chosen.given else "TRUE"]
    if chosen.scope_ids is not None:
        latest = (_LATEST_OF_SCOPE.format(seen=seen, which=which) for which in ("TRUE", "request_id != X''"))
        where.append(f"c.number IN ({' UNION '.join(latest)})")
        values += [json.dumps(chosen.scope_ids)] * 2
    if before:
        where.append("(c.at, c.number) < (SELECT at, number FROM contexts WHERE id = ?)")
        values.append(data_of(before))
    order = f"WHERE {' AND '.join(where)} ORDER BY c.at DESC, c.number DESC LIMIT ?"
    return [row for row, _ in _rows(database, order, (*values, limit))]


def access_of(database: Database, ids: Iterable[int]) -> dict[int, Access]:
    """Return who may see contexts, by the `access` of their rows."""
    query = "SELECT id, data FROM access WHERE id IN ({marks})"
    return {number: convert(json.loads(data), Access) for number, data in select_in(database, query, ids)}


def get_context(database: Database, context_id: str) -> StoredContext | None:
    """Return a context, None if it isn't kept. Raises `StateError` if its record is damaged."""
    rows = _rows(database, "WHERE c.id = ?", (data_of(context_id),))
    if not rows:
        return None
    [(row, content)] = rows
    sent, data = database.execute(
        "SELECT sent, record FROM contents WHERE number = ?", (content,)
    ).fetchone() or (b"", b"")
    record = unpacked(data)
    if not isinstance(record, dict):
        raise StateError(f"the record of the context {context_id} is damaged: only the list still has it")
    found = sent_in(sent)
    texts = {} if found is None else _texts(found[0])
    reply = record["reply"] | {name: texts[name] for name in record["texts"] if name in texts}
    access = access_of(database, [row.access])[row.access]
    return StoredContext(row, record["scope"], record["request"], reply, access)


_LATEST_OF_SCOPE = """SELECT (
    SELECT number FROM contexts WHERE scope_id = CAST(value AS BLOB) AND turns > 0 AND {seen} AND {which}
    ORDER BY at DESC, number DESC LIMIT 1) FROM json_each(?)"""

_ROWS = """
SELECT content, c.id, scope_id, COALESCE(s.name, X'') AS session_id, c.project, agent_name, request_id,
    first_at, c.at, times, last_elapsed_ms, cached, preview, access, is_same, summary,
    COALESCE((SELECT p.id FROM contexts p WHERE p.id = c.previous), X'') AS previous,
    COALESCE((SELECT LENGTH(sent) FROM contents WHERE number = content), 0) > 0 AS text_kept
FROM contexts c LEFT JOIN sessions s ON s.id = session """


def _rows(database: Database, where: str, values: Sequence[object]) -> list[tuple[ContextRow, int]]:
    """Return rows with the numbers of their contents."""
    found, cursor = [], database.cursor()
    cursor.row_factory = Row
    for row in cursor.execute(_ROWS + where, values):
        fields: dict[str, Any] = {
            name: text_of(row[name]) if isinstance(row[name], bytes) else row[name]
            for name in row.keys()  # noqa: SIM118 - iterating a row gives its values
        }
        content, is_same = fields.pop("content"), fields.pop("is_same")
        fields["same_as"] = fields["previous"] if is_same else ""
        fields |= json.loads(fields.pop("summary"))
        found.append((convert(fields, ContextRow, strict=False), content))
    return found


def _texts(sent: Sent) -> dict[str, Any]:
    """Return the texts of a reply."""
    texts = {"context": sent.context, "system_prompt": sent.system_prompt, "user_prompt": sent.user_prompt}
    return texts | conversation(sent)
