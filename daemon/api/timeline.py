"""The method that returns what happened in a session."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from ..core.errors import NotFound
from ..core.times import iso_of
from ..engine.engine import EngineMethods
from ..sessions.session_events import StoredEntry, TimelineKind
from .marks import Count, Owner, Plain, Root, Said, Text
from .method import SessionRequest, method, reply_of

LIMIT_MAX = 1_000


class TimelineRequest(SessionRequest, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = 200
    before: str = ""


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """An event of a session. `shown` and `used` count the places of its context; `outcome` is present if the
    context came too late for the agent."""

    at: Plain[str]
    kind: TimelineKind
    agent_id: Text[str | UnsetType] = UNSET
    agent_name: Owner[str | UnsetType] = UNSET
    text: Said[str | UnsetType] = UNSET
    paths: Text[list[str] | UnsetType] = UNSET
    context_id: Said[str | UnsetType] = UNSET
    request_id: Said[str | UnsetType] = UNSET
    outcome: Literal["too late"] | UnsetType = UNSET
    tokens: Count[int | UnsetType] = UNSET
    used: Count[int | UnsetType] = UNSET
    shown: Count[int | UnsetType] = UNSET
    experience_id: Said[str | UnsetType] = UNSET


class TimelineReply(Struct, frozen=True):
    session_id: Text[str]
    project: Root[str]
    entries: list[TimelineEntry]
    next: Plain[str | UnsetType] = UNSET


class TimelineMethods(EngineMethods):
    """The methods about the timeline of a session."""

    @method("GetTimeline", policy="session", access="read")
    async def timeline(self, request: TimelineRequest) -> TimelineReply:
        """Return what happened in a session, the latest first; below. `next` is present
        if there is more: pass it as `before`."""
        page = await self._engine.timeline.page(request.session_id, request.limit, request.before)
        session = (await self._engine.sessions.find(request.session_id)).session
        project = session.project_root if session is not None else page.project
        if not project:  # there is no such session, or its folder belongs to no project
            raise NotFound(f"no session {request.session_id!r:.130};", "ListSessions names what there is")
        entries = [_entry(entry) for entry in page.entries]
        return TimelineReply(request.session_id, project, entries, page.next or UNSET)


def _entry(stored: StoredEntry) -> TimelineEntry:
    entry = stored.entry
    return reply_of(
        TimelineEntry,
        entry,
        at=iso_of(entry.at),
        paths=list(entry.paths) or UNSET,
        tokens=_known(stored.tokens),
        used=_known(stored.used),
        shown=_known(stored.shown),
    )


def _known(count: int | None) -> int | UnsetType:
    return UNSET if count is None else count
