"""Owns the export of requests for analysis outside: page by page, the first first; knows no wire."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

from ..core.errors import InvalidRequest
from ..core.lazy_dataclass import dataclass
from ..session.sessions import timestamp_of
from .ledger import Ledger
from .recalled import Recalled

PAGE_CHARACTERS = 3_000_000
"""A page ends after so many characters: a frame of 16 MiB has room for as many and one request more, though
each takes four bytes. Packing them takes 2 to 4 ms, in many short messages up to ten times as long."""

REQUEST_CHARACTERS = 1_000_000
"""What was sent with a request is left out of an export where it takes more, so that a page always fits."""

_CURSOR = "#"
"""Begins what names the place where a page ended; no time begins so."""


@dataclass(frozen=True, slots=True)
class Page:
    """Some requests, and where the next page begins, to be given as `since`; empty after the last one."""

    requests: tuple[Recalled, ...]
    next: str


def export_page(
    ledger: Ledger,
    *,
    session_id: str | None = None,
    project_root: str | None = None,
    since: str = "",
    before: str = "",
    limit: int = 100,
    content: bool = False,
) -> Page:
    """Return the requests of a session, of a project, or all, in the order in which they were written.

    `since` is a time or a day in ISO 8601 (UTC where it names no zone), or the `next` of another page, whose
    requests this one follows; `before` is a time that all of them are before. Sessions that were never made
    or are gone count too. What was sent is read only with `content`, and left out where it takes more than
    `REQUEST_CHARACTERS`. What waits to be written is written first. Raises `InvalidRequest` for a bound that
    can't be used.
    """
    above, since = _start_of(since)
    bounds = since, _time_of(before, "before")
    ledger.write()
    found: list[Recalled] = []
    room = PAGE_CHARACTERS
    while len(found) < limit and room > 0:
        some = ledger.after(above, bounds, session_id, project_root, content=content)
        for number, request in some:
            if len(found) == limit or room <= 0:
                return Page(tuple(found), f"{_CURSOR}{above}")
            found.append(_bounded(request))
            above = number
            room -= found[-1].characters
        if not some:
            return Page(tuple(found), "")
    return Page(tuple(found), f"{_CURSOR}{above}")


def _bounded(request: Recalled) -> Recalled:
    """Return a request without what was sent where that is too large for a page."""
    sent = request.sent
    if sent is None or sent.framed_characters <= REQUEST_CHARACTERS:
        return request
    size = sent.framed_characters
    left_out = f"What was sent takes {size:,} characters, too many for an export; GetRequest has it."
    return replace(request, sent=None, problem=" ".join(filter(None, (request.problem, left_out))))


def _start_of(since: str) -> tuple[int, str]:
    """Return the number that a page begins behind, and the time that it begins with."""
    if not since.startswith(_CURSOR):
        return 0, _time_of(since, "since")
    digits = since.removeprefix(_CURSOR)
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= 18):
        raise InvalidRequest(f"since is no time and no next of a page: {since!r:.60}", "since")
    return int(digits), ""


def _time_of(text: str, field: str) -> str:
    if not text:
        return ""
    try:
        moment = datetime.fromisoformat(text)
        return timestamp_of(moment if moment.tzinfo else moment.replace(tzinfo=UTC))
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(
            f"{field} must be a time such as 2026-01-31T12:00:00Z or a day, not {text!r:.60}", field
        ) from error
