"""The methods about past contexts: their content, and why a file is or isn't in them.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, convert, field
from msgspec.structs import asdict

from ..access.agent import Agent
from ..context.context_history import TEXT_FIELDS, Access, Given
from ..context.misses import verdict_of
from ..core.errors import FovealError, InvalidRequest, NotFound, StateError
from ..core.parameters import NonEmpty
from ..engine.engine import Engine
from ..project.roots import relative_path
from ..sessions.context_table import ContextFilter, ContextRow, microseconds_of, moment_of
from ..sessions.session import moment_in, timestamp_of
from .context_replies import GivenContextReply
from .marks import Count, Owner, Plain, Root, Said, Text
from .method import AgentRequest, WireMap, method, milliseconds_since
from .timeline import iso_of

LIST_MAX = 100
"""Maximum number of contexts listed in a reply: 2 ms of the event loop."""

COUNTED = ("slices", "dropped", "gaps", "degraded")
"""Fields of a reply that are lists; ListContexts returns only their lengths."""

WHOLE = ("gaps", "degraded", "items", "clock", "masked", "resident_tokens", "saved_tokens")
"""Fields of a reply that only GetBuiltContext returns, if the reply had them."""


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


class GivenEntry(Struct, frozen=True, kw_only=True):
    """A past context in a list; `slices`, `dropped`, `gaps` and `degraded` are counts."""

    context_id: Plain[str]
    scope_id: Plain[str]
    project: Root[str]
    at: Plain[str]
    first_at: Plain[str]
    times: Count[int]
    agent_name: Owner[str]
    session_id: Text[str]
    request_id: Plain[str | UnsetType] = UNSET
    prompt: Said[str]
    task_type: Said[str]
    format: Plain[str]
    model: Said[str]
    tokens: Count[int]
    tokens_before: Count[int]
    bytes: Count[int]
    max_tokens: Count[int]
    reserve_tokens: Count[int]
    max_bytes: Count[int]
    elapsed_ms: Count[float]
    last_elapsed_ms: Count[float]
    cached: bool
    partial: bool
    truncated: bool
    layers: Count[dict[str, int]]
    slices: Count[int]
    dropped: Count[int]
    gaps: Count[int]
    degraded: Count[int]
    text_kept: bool
    preview: bool | UnsetType = UNSET
    previous: Plain[str | UnsetType] = UNSET
    same_as: Plain[str | UnsetType] = UNSET


class ListContextsReply(Struct, frozen=True):
    contexts: list[GivenEntry]


class GivenContextRequest(AgentRequest, frozen=True, kw_only=True):
    context_id: NonEmpty


class ExplainRequest(GivenContextRequest, frozen=True, kw_only=True):
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


class GivenContextMethods:
    """The methods over one engine.

    A context is shown only to agents that may see everything its agent could, by the current rules. For other
    agents it doesn't exist.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._history = engine.context_history

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
            _microseconds(request.since, "since"),
            _microseconds(request.until, "until"),
        )
        may_see = partial(self._may_list, agent=request.agent)
        rows = await self._history.page(chosen, request.limit, request.before, may_see)
        return ListContextsReply([convert(_entry(row), GivenEntry) for row in rows])

    @method("GetBuiltContext", policy="own", access="read", reply=GivenContextReply)
    async def get(self, request: GivenContextRequest) -> WireMap:
        """Return a context as it was given; below."""
        given = await self._given(request)
        scope, reply = given.scope, given.reply
        used, problem = [], ""
        try:
            used = list(await self._engine.timeline.used(given.id))
        except StateError as error:  # the context can be read all the same
            problem = f"what was used of it can't be told: {error}"
        if not given.has_text:
            problem = "its text isn't kept any more, only what it was made of"
        return {
            **_entry(given.row),
            **{name: list(reply.get(name, ())) for name in COUNTED},
            **{name: reply[name] for name in WHOLE if name in reply},
            "focus_paths": list(scope.focus_paths),
            "expanded": list(scope.expanded),
            "constraints": list(scope.constraints),
            "used": [{"path": place.path, "how": place.how, "at": iso_of(place.at)} for place in used],
            "verdict": verdict_of(given.request, reply, given.row.elapsed_ms),
            "limit": reply.get("limit", ""),
            "near": list(reply.get("near", ())),
            "problem": problem,
            **{name: reply[name] for name in TEXT_FIELDS if name in reply},
            "text_kept": given.has_text,
            "prompt": given.request.prompt,
        }

    @method("ExplainPath", policy="own", access="read")
    async def explain(self, request: ExplainRequest) -> ExplainReply:
        """Say why a file is in a context, or why not; below."""
        started = time.perf_counter()
        given = await self._given(request)
        project = await self._engine.projects.open_root(given.row.project)
        await self._engine.permissions.prepare(project, given.policy)
        explained = await self._engine.explaining.explain(project, given, request.path)
        return ExplainReply(
            context_id=given.id, path=request.path, **explained, elapsed_ms=milliseconds_since(started)
        )

    async def _given(self, request: GivenContextRequest) -> Given:
        """Return a context by its id. Raises `NotFound` for a context that the agent may not see, or
        `PermissionDenied`."""
        context_id = request.context_id
        given = await self._history.get(context_id)
        if given is None or not await self._may_see(given.access, request.agent):
            raise NotFound(
                f"no context {context_id!r:.80}: it is older than history.days or was removed because of"
                " history.max_mb, or never existed; an agent gets only contexts that it may see as a whole.",
                "ListContexts names them",
            )
        return given

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
    found["at"], found["first_at"] = _iso(row.at), _iso(row.first_at)
    found["layers"] = {name: found.pop(name) for name in ("anchor", "focus", "horizon")}
    for name in ("number", "digest", "access", "packed"):
        del found[name]
    if found.pop("is_same") and row.previous:
        found["same_as"] = row.previous
    for name in ("request_id", "previous", "preview"):
        if not found[name]:
            del found[name]
    return found


def _iso(microseconds: int) -> str:
    return timestamp_of(moment_of(microseconds))


def _microseconds(text: str, field: str) -> int | None:
    """Return a time in ISO 8601 (UTC without a zone) in microseconds, None for an empty one."""
    try:
        return microseconds_of(moment_in(text)) if text else None
    except (ValueError, OverflowError) as error:
        raise InvalidRequest(f"{field} is no time in ISO 8601: {text!r:.60}", field) from error
