"""The methods about past contexts: their content, and why a file is or isn't in them.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Annotated, Any

from msgspec import Meta, Struct, convert, field
from msgspec.structs import asdict

from ..access.permissions import Agent
from ..context.delivered import past_context
from ..context.misses import verdict_of
from ..core.errors import FovealError, NotFound, StateError
from ..core.parameters import NonEmpty
from ..core.times import bound_in, iso_of
from ..engine.engine import EngineMethods
from ..project.roots import relative_path
from ..sessions.delivered_context import Access, ContextFilter, ContextRow, StoredContext
from .context_replies import DeliveredContextReply, DeliveryFields
from .marks import Count, Plain, Text
from .method import AgentRequest, WireMap, method, milliseconds_since

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
        may_see = partial(self._may_list, agent=request.agent)
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
            used = list(await self._engine.deliveries.used_places(stored.id))
        except StateError as error:  # the context can be read all the same
            problem = f"what was used of it can't be told: {error}"
        if not stored.has_text:
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
            "text_kept": stored.has_text,
            "prompt": past.request.prompt,
        }

    @method("ExplainPath", policy="own", access="read")
    async def explain(self, request: ExplainRequest) -> ExplainReply:
        """Say why a file is in a context, or why not; below."""
        started = time.perf_counter()
        stored = await self._stored(request)
        project = await self._engine.projects.open_root(stored.row.project)
        await self._engine.permissions.prepare(project, stored.policy)
        explained = await self._engine.explaining.explain(project, past_context(stored), request.path)
        return ExplainReply(
            context_id=stored.id, path=request.path, **explained, elapsed_ms=milliseconds_since(started)
        )

    async def _stored(self, request: ContextIdRequest) -> StoredContext:
        """Return a context by its id. Raises `NotFound` for a context that the agent may not see, or
        `PermissionDenied`."""
        context_id = request.context_id
        stored = await self._engine.deliveries.context(context_id)
        if stored is None or not await self._may_see(stored.access, request.agent):
            raise NotFound(
                f"no context {context_id!r:.80}: it is older than history.days or was removed because of"
                " history.max_mb, or never existed; an agent gets only contexts that it may see as a whole.",
                "ListContexts names them",
            )
        return stored

    async def _may_see(self, access: Access, agent: Agent) -> bool:
        """Whether the agent may see all of a context. Raises `PermissionDenied` for an agent without any
        permission."""
        policy = await self._engine.permissions.as_one_of(access.project, agent, access.agent_names)
        return policy.sees_all_of(access.policy)

    async def _may_list(self, access: Access, agent: Agent) -> bool:
        try:
            return await self._may_see(access, agent)
        except FovealError:  # no permission, or the project's rules can't be read
            return False


def _entry(row: ContextRow) -> dict[str, Any]:
    found = asdict(row)
    found["context_id"] = found.pop("id")
    found["at"], found["first_at"] = iso_of(row.at), iso_of(row.first_at)
    del found["access"]
    for name in ("request_id", "previous", "same_as", "preview"):
        if not found[name]:
            del found[name]
    return found
