"""The method that returns what happened in a session."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from .method import EngineMethods, SessionRequest, method

LIMIT_MAX = 1_000

TimelineKind = Literal[
    "start", "prompt", "subagent", "edit", "read", "decision", "compaction", "resume", "end"
]


class TimelineRequest(SessionRequest, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=LIMIT_MAX)] = 200
    before: str = ""


class TimelineEntry(Struct, frozen=True, kw_only=True):
    """An event of a session. `shown` and `used` count the places of its context."""

    at: str
    kind: TimelineKind
    agent_id: str | UnsetType = UNSET
    agent_name: str | UnsetType = UNSET
    text: str | UnsetType = UNSET
    paths: list[str] | UnsetType = UNSET
    context_id: str | UnsetType = UNSET
    request_id: str | UnsetType = UNSET
    tokens: int | UnsetType = UNSET
    used: int | UnsetType = UNSET
    shown: int | UnsetType = UNSET
    experience_id: str | UnsetType = UNSET


class TimelineReply(Struct, frozen=True):
    session_id: str
    project: str
    entries: list[TimelineEntry]
    next: str | UnsetType = UNSET


class TimelineMethods(EngineMethods):
    """The methods about the timeline of a session."""

    @method("GetTimeline", policy="session")
    async def timeline(self, request: TimelineRequest) -> TimelineReply:
        """Return what happened in a session in the last 30 days, the latest first; below. `next` is present
        if there is more: pass it as `before`."""
        return TimelineReply(request.session_id, "", [])
