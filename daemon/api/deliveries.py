"""The methods about past contexts: their content, why a file is or isn't in them, what happened in their
sessions, what they cost and what was of use.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

import asyncio
import os
import time
from functools import partial
from typing import Annotated, Any, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert, field
from msgspec.structs import asdict

from ...hooks.hosts.registry import host_named
from ..access.service import require_all
from ..context.service import past_context, verdict_of
from ..core.errors import NotFound, StateError
from ..core.parameters import NonEmpty
from ..core.times import bound_in, iso_of
from ..engine.service import EngineMethods
from ..project.service import relative_path
from ..sessions.records import (
    ContextFilter,
    ContextRow,
    Grouping,
    StoredContext,
    StoredEntry,
    TimelineKind,
    UsageCounts,
)
from .context_replies import DeliveredContextReply, DeliveryFields
from .marks import Count, Owner, Plain, Root, Said, Text
from .method import AgentRequest, SessionRequest, WireMap, method, milliseconds_since, reply_of

LIST_MAX = 100
"""Maximum number of contexts listed in a reply: 2 ms of the event loop."""

COUNTED = ("slices", "dropped", "gaps", "degraded")
"""Fields of a reply that are lists; ListContexts returns only their lengths."""


class ListContextsRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None
    scope_id: str | None = None
    session_id: str | None = None
    path: NonEmpty | None = None
    of_agent: str | None = field(default=None, name="agent")
    since: str = ""
    until: str = ""
    limit: Annotated[int, Meta(ge=1, le=LIST_MAX)] = 50
    before: str = ""


class DeliveryEntry(DeliveryFields, frozen=True, kw_only=True):
    """A past context in a list; `slices`, `dropped`, `gaps` and `degraded` are counts."""

    slices: Count[int]
    dropped: Count[int]
    gaps: Count[int]
    degraded: Count[int]


class ListContextsReply(Struct, frozen=True):
    contexts: list[DeliveryEntry]


class ContextIdRequest(AgentRequest, frozen=True, kw_only=True):
    context_id: NonEmpty


class ExplainRequest(ContextIdRequest, frozen=True, kw_only=True):
    path: NonEmpty


class ExplainReply(Struct, frozen=True, kw_only=True):
    context_id: Plain[str]
    path: Text[str]
    shown: bool
    named: bool
    slices: Text[list[str]]
    reasons: Text[list[str]]
    advice: Text[list[str]]
    degraded: Text[list[str]]
    elapsed_ms: Plain[float]


ENTRIES_MAX = 1_000


class TimelineRequest(SessionRequest, frozen=True, kw_only=True):
    limit: Annotated[int, Meta(ge=1, le=ENTRIES_MAX)] = 200
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


class UsageRequest(AgentRequest, frozen=True, kw_only=True):
    by: Grouping
    cwd: str | None = None
    since: str = ""
    until: str = ""


class UsageRow(Struct, frozen=True, kw_only=True):
    """The contexts of a group: their number, their size, and the places that they showed."""

    key: Text[str]
    name: Text[str | UnsetType] = UNSET
    project: Text[str | UnsetType] = UNSET
    turns: Count[int]
    tokens: Count[int]
    bytes: Count[int]
    tokens_before: Count[int]
    places_shown: Count[int]
    places_used: Count[int]
    sessions: Count[int]


class UnusedPlace(Struct, frozen=True):
    """A file that was shown in `shown` contexts and never used."""

    path: Text[str]
    project: Text[str]
    shown: Count[int]


class SavedCharacters(Struct, frozen=True):
    """Nothing, since it can't be measured; for clients of former versions."""

    characters: Count[int] = 0
    basis: Plain[str] = "Not measured: `afterwards` counts what agents read by themselves."


class AfterwardsReply(Struct, frozen=True):
    """What agents read by themselves in the sessions in which that can be observed."""

    sessions: Count[int]
    tokens: Count[int]
    files_given: Count[int]
    read_again: Count[int]
    read_elsewhere: Count[int]


class UsageReply(Struct, frozen=True):
    rows: list[UsageRow]
    total: UsageRow
    never_used: list[UnusedPlace]
    saved: SavedCharacters
    afterwards: AfterwardsReply


class DeliveryMethods(EngineMethods):
    """The methods over one engine.

    A context is shown only to agents that may see everything its agent could, by the current rules. For other
    agents it doesn't exist.
    """

    @method("ListContexts", policy="own", access="read")
    async def list_contexts(self, request: ListContextsRequest) -> ListContextsReply:
        """List past contexts, the latest first, also those from before a restart; below."""
        root, path = None, request.path
        if request.cwd is not None:
            root = await self._engine.projects.root_of(request.cwd)
            await self._engine.permissions.as_one_of(root, request.agent, ())
            path = path and await asyncio.to_thread(relative_path, root, path)
        chosen = ContextFilter(
            root,
            request.scope_id,
            request.session_id,
            request.of_agent,
            path,
            bound_in(request.since, "since", None),
            bound_in(request.until, "until", None),
        )
        may_see = partial(self._engine.permissions.may_list, agent=request.agent)
        rows = await self._engine.deliveries.contexts(chosen, request.limit, request.before, may_see)
        return ListContextsReply([convert(_entry(row), DeliveryEntry) for row in rows])

    @method("GetBuiltContext", policy="own", access="read", reply=DeliveredContextReply)
    async def get(self, request: ContextIdRequest) -> WireMap:
        """Return a context as it was given; below."""
        stored = await self._stored(request)
        past = past_context(stored)
        scope, reply = past.scope, past.reply
        used, problem = [], ""
        try:
            used = list(await self._engine.deliveries.used_places(stored.row.id))
        except StateError as error:  # the context can be read all the same
            problem = f"what was used of it can't be told: {error}"
        if "context" not in reply:
            problem = "its text isn't kept any more, only what it was made of"
        return {
            **reply,
            **_entry(stored.row),
            **{name: list(reply.get(name, ())) for name in COUNTED},
            "focus_paths": list(scope.focus_paths),
            "expanded": list(scope.expanded),
            "constraints": list(scope.constraints),
            "used": [{"path": place.path, "how": place.how, "at": iso_of(place.at)} for place in used],
            "verdict": verdict_of(past.request, reply, stored.row.elapsed_ms),
            "limit": reply.get("limit", ""),
            "near": list(reply.get("near", ())),
            "problem": problem,
            "text_kept": "context" in reply,
            "prompt": past.request.prompt,
        }

    @method("ExplainPath", policy="own", access="read")
    async def explain(self, request: ExplainRequest) -> ExplainReply:
        """Say why a file is in a context, or why not; below."""
        started = time.perf_counter()
        stored = await self._stored(request)
        project = await self._engine.projects.open_root(stored.row.project)
        await self._engine.permissions.prepare(project, stored.access.policy)
        explained = await self._engine.explaining.explain(project, past_context(stored), request.path)
        return ExplainReply(
            context_id=stored.row.id, path=request.path, **explained, elapsed_ms=milliseconds_since(started)
        )

    @method("GetTimeline", policy="session", access="read")
    async def timeline(self, request: TimelineRequest) -> TimelineReply:
        """Return what happened in a session, the latest first; below. `next` is present
        if there is more: pass it as `before`."""
        page = await self._engine.timeline.page(request.session_id, request.limit, request.before)
        session = (await self._engine.sessions.find(request.session_id)).session
        project = session.project_root if session is not None else page.project
        if not project:  # there is no such session, or its folder belongs to no project
            raise NotFound(f"no session {request.session_id!r:.130};", "ListSessions names what there is")
        entries = [_timeline_entry(entry) for entry in page.entries]
        return TimelineReply(request.session_id, project, entries, page.next or UNSET)

    @method("GetUsage", policy="own", access="person")
    async def usage(self, request: UsageRequest) -> UsageReply:
        """Return the cost and use of the contexts of a project or of all, in groups; below.
        `since` and `until` are times or days in ISO 8601."""
        root = None if request.cwd is None else await self._engine.projects.root_of(request.cwd)
        if request.agent.is_named:
            # The counts are of what was shown to all agents, so only who may see everything learns them.
            permissions = self._engine.permissions
            if root is None:
                await permissions.require_everywhere(request.agent)
            else:
                require_all((await permissions.view(root, request.agent)).policy)
        report = await self._engine.deliveries.usage(request.by, root, request.since, request.until)
        names: dict[str, str] = {}
        if request.by == "session":
            sessions = (await self._engine.sessions.list(root)).sessions
            names = {session.id: session.name for session in sessions}
        return UsageReply(
            [_row(row, names.get(row.key) or _name_of(request.by, row)) for row in report.rows],
            _row(report.total, ""),
            [reply_of(UnusedPlace, place) for place in report.never_used],
            SavedCharacters(),
            reply_of(AfterwardsReply, report.afterwards),
        )

    async def _stored(self, request: ContextIdRequest) -> StoredContext:
        """Return a context by its id. Raises `NotFound` for a context that the agent may not see, or
        `PermissionDenied`."""
        context_id = request.context_id
        stored = await self._engine.deliveries.context(context_id)
        if stored is None or not await self._engine.permissions.may_see(stored.access, request.agent):
            kept = "isn't kept any more (history.days, history.max_mb), or never existed"
            reason = f"turn {context_id!r:.80} {kept}"
            if request.agent.is_named:
                reason += "; an agent gets only contexts that it may see as a whole"
            raise NotFound(f"{reason}.", "ListContexts names them")
        return stored


def _entry(row: ContextRow) -> dict[str, Any]:
    found = asdict(row)
    found["context_id"] = found.pop("id")
    found["at"], found["first_at"] = iso_of(row.at), iso_of(row.first_at)
    del found["access"]
    for name in ("request_id", "previous", "same_as", "preview"):
        if not found[name]:
            del found[name]
    return found


def _timeline_entry(stored: StoredEntry) -> TimelineEntry:
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


def _name_of(by: Grouping, row: UsageCounts) -> str:
    """Return the name of a group for people, "" for none."""
    if by == "project":
        return os.path.basename(row.key)
    if by == "host":
        host = host_named(row.key)
        return host.title if host is not None else ""
    return row.name


def _row(row: UsageCounts, name: str) -> UsageRow:
    return reply_of(UsageRow, row, name=name or UNSET)
