"""The request log: what was used and sent for each request, returned exactly. Queries over the deliveries."""

from __future__ import annotations

import json

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from ..core.errors import InvalidRequest, NotFound
from ..core.storage import Database
from ..core.times import bound_in, iso_of
from ..rules.records import ItemKey
from .delivery_tables import data_of, sent_in, text_of, unpacked
from .request_record import DamagedRecord, RequestRecord, Sent, record_in

LOST = "What was sent is lost: its record is damaged."

RECORD_LOST = "The record is damaged: its items and slices are lost."

PAGE_BYTES = 3_000_000
"""Bytes of JSON after which a page ends: a frame of 16 MiB has room for them and one more request, even with
prompts twice. Packing them takes 2 to 4 ms, ten times as long for many short messages."""

REQUEST_BYTES = 1_000_000
"""Maximum bytes of a request's contents in an export; larger ones are left out, so that a page always
fits."""

_CURSOR = "#"
"""Prefix of a page's cursor; no time begins with it."""

_PAGE, _CONTENT_PAGE = 100, 10
"""Number of requests read at once for an export; with contents fewer, since a content may fill a frame."""

_LAST = 2**63 - 1


class RequestSummary(Struct, frozen=True):
    """A request in a list. `items`, `considered` and `degraded` are counts; `pruned` says why the contents
    are gone, or is empty; `referred` is a count, None while no reply was reported."""

    id: str
    session_id: str
    project_root: str
    at: str
    message_hash: str
    tokens: int
    bytes: int
    elapsed_ms: float
    items: int
    considered: int
    degraded: int
    pruned: str
    referred: int | None


class RequestRow(Struct, frozen=True):
    """A row: the summary, its number and that of its content, and the positions of items that a reply
    referred to."""

    number: int
    content: int
    summary: RequestSummary
    referred: tuple[int, ...] | None


class LoggedRequest(Struct, frozen=True):
    """A request from the log. `problem` is empty if `sent` is exactly what was sent; else it says what is
    lost or damaged: everything (`sent` is None), or some parts, which are empty. `referred` are the items
    that a reply referred to, None while no reply was reported."""

    record: RequestRecord
    sent: Sent | None
    problem: str = ""
    referred: tuple[ItemKey, ...] | None = None

    size: int = 0
    """The bytes of both as JSON."""


class RequestPage(Struct, frozen=True):
    """Some requests, and the cursor of the next page, to be given as `since`; empty after the last page."""

    requests: tuple[LoggedRequest, ...]
    next: str


class ExportQuery(Struct, frozen=True, kw_only=True):
    """The requests of an export: of a session, of a project, or all.

    `since` is a time or a day in ISO 8601 (UTC without a zone), or the `next` of the page before; `before` is
    an exclusive end.
    """

    session_id: str | None = None
    project_root: str | None = None
    since: str = ""
    before: str = ""
    limit: int = 100
    content: bool = False


def list_requests(
    database: Database, session_id: str, limit: int, before: str = ""
) -> tuple[RequestSummary, ...]:
    """Return a session's requests, the latest first; with `before`, those older than that request.

    Raises `NotFound` if that request is gone.
    """
    below = find_request(database, session_id, before).number if before else _LAST
    where = "WHERE s.name = ? AND number < ? ORDER BY number DESC LIMIT ?"
    return tuple(row.summary for row in _rows(database, where, data_of(session_id), below, limit))


def get_request(database: Database, session_id: str, request_id: str) -> LoggedRequest:
    """Return a request with the exact texts that were sent. Raises `NotFound`."""
    return _logged(database, find_request(database, session_id, request_id), content=True)


def export_requests(database: Database, query: ExportQuery) -> RequestPage:
    """Return requests in the order in which they were written, also of sessions that are gone. Contents are
    left out if larger than `REQUEST_BYTES`. Raises `InvalidRequest` for an unusable bound."""
    above, since = _start_of(query.since)
    before = bound_in(query.before, "before", _LAST)
    where, named = "", query.session_id if query.session_id is not None else query.project_root
    if named is not None:
        where = "s.name = ? AND " if query.session_id is not None else "r.project = ? AND "
    where = f"WHERE {where}number > ? AND at >= ? AND at < ? ORDER BY number LIMIT ?"
    values = () if named is None else (data_of(named),)
    requests: list[LoggedRequest] = []
    room = PAGE_BYTES
    while True:
        most = _CONTENT_PAGE if query.content else _PAGE
        rows = _rows(database, where, *values, above, since, before, most)
        if not rows:
            return RequestPage(tuple(requests), "")
        for row in rows:
            if len(requests) == query.limit or room <= 0:
                return RequestPage(tuple(requests), f"{_CURSOR}{above}")
            requests.append(_bounded(_logged(database, row, content=query.content)))
            above = row.number
            room -= requests[-1].size


def find_request(database: Database, session_id: str, request_id: str) -> RequestRow:
    """Return the row of a request. Raises `NotFound`."""
    rows = _rows(database, "WHERE s.name = ? AND r.id = ?", data_of(session_id), data_of(request_id))
    if not rows:
        raise NotFound(
            f"the session {session_id!r:.130} has no request {request_id!r:.80}: it was removed as too old,"
            " or never existed.",
            "ListRequests names those that there are.",
        )
    return rows[0]


def read_record(database: Database, row: RequestRow) -> RequestRecord | None:
    """Return the record of a request, None if it is damaged."""
    (data,) = database.execute("SELECT record FROM requests WHERE number = ?", (row.number,)).fetchone()
    try:
        return record_in(unpacked(data))
    except DamagedRecord:
        return None


def read_sent(database: Database, content: int) -> tuple[Sent, str] | None:
    """Return what was sent, and a problem if messages are built differently now; None if it is lost."""
    row = database.execute("SELECT sent FROM contents WHERE number = ?", (content,)).fetchone()
    return None if row is None else sent_in(row[0])


def _logged(database: Database, row: RequestRow, *, content: bool) -> LoggedRequest:
    """Return the request of a row. Without `content`, its content isn't read, and is None."""
    summary, problems = row.summary, []
    record = read_record(database, row)
    if record is None:
        record, problems = _bare(summary), [RECORD_LOST]
    sent: Sent | None = None
    if summary.pruned:
        problems.append(f"What was sent is not kept any more: {summary.pruned}.")
    else:
        if content:
            sent, problem = read_sent(database, row.content) or (None, LOST)
            problems.append(problem)
        problems.append(_masked_problem(record))
    referred = None
    if row.referred is not None:
        referred = tuple(record.items[n].key for n in row.referred if n < len(record.items))
    size = len(json.dumps(to_builtins((record, sent))))
    return LoggedRequest(record, sent, " ".join(filter(None, problems)), referred, size)


_ROWS = """
SELECT number, content, referred, r.id, s.name, r.project, r.at, pruned, summary
FROM requests r JOIN sessions s ON s.id = session """


def _rows(database: Database, where: str, *values: object) -> list[RequestRow]:
    found = []
    rows = database.execute(_ROWS + where, values)
    for number, content, noted, request_id, session, project, at, pruned, summary in rows:
        referred = None if noted is None else _positions(noted)
        names = text_of(request_id), text_of(session), text_of(project)
        count = None if referred is None else len(referred)
        listed = RequestSummary(*names, iso_of(at), **json.loads(summary), pruned=pruned, referred=count)
        found.append(RequestRow(number, content, listed, referred))
    return found


def _positions(text: str) -> tuple[int, ...]:
    """Return the stored positions, none if damaged: that only costs a count."""
    try:
        return tuple(map(int, json.loads(text)))
    except Exception:  # noqa: BLE001 - any exception means damage
        return ()


def _bare(summary: RequestSummary) -> RequestRecord:
    """Return a record with the fields of a summary only."""
    return RequestRecord(
        summary.id,
        summary.session_id,
        summary.project_root,
        summary.at,
        summary.message_hash,
        tokens=summary.tokens,
        bytes=summary.bytes,
        elapsed_ms=summary.elapsed_ms,
    )


def _masked_problem(record: RequestRecord) -> str:
    """Return the sentence that says how many secrets are masked in the stored texts, or ""."""
    if not record.masked:
        return ""
    values = "A value that looks like a secret is"
    if record.masked > 1:
        values = f"{record.masked:,} values that look like secrets are"
    return f"{values} kept as [masked]; the answer to the agent had its own text unchanged."


def _bounded(request: LoggedRequest) -> LoggedRequest:
    """Return a request, without its contents if they are too large for a page."""
    if request.sent is None or request.size <= REQUEST_BYTES:
        return request
    left_out = f"What was sent takes {request.size:,} bytes, too many for an export; GetRequest has it."
    return replace(request, sent=None, size=0, problem=" ".join(filter(None, (request.problem, left_out))))


def _start_of(since: str) -> tuple[int, int]:
    """Return the number after which a page begins, and the time from which it begins."""
    if not since.startswith(_CURSOR):
        return 0, bound_in(since, "since", 0)
    digits = since.removeprefix(_CURSOR)
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise InvalidRequest(f"since is no time and no next of a page: {since!r:.60}", "since")
    return int(digits), 0
