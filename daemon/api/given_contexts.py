"""The methods about past contexts: their content, and why a file is or isn't in them.

Their docstrings become rows of docs/protocol.md; "below" means a section there.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, convert

from ..app.engine import Engine
from ..context.context_log import GIVEN_MAX, TEXT_FIELDS, Given
from ..core.errors import FovealError, NotFound
from ..core.parameters import NonEmpty
from ..privacy.permissions import Agent
from ..privacy.policy import Policy
from .method import AgentRequest, WireMap, method, milliseconds_since
from .timeline import iso_of

LIST_MAX = 100
"""Maximum number of contexts listed in a reply: 2 ms of the event loop."""

PROMPT_CHARACTERS = 200
"""Maximum characters of a prompt's first line in a list."""

MASKED_CHARACTERS = 2_000
"""Maximum characters of that line that are masked before it is cut, so that no half of a secret remains."""

COUNTED = ("slices", "dropped", "gaps", "degraded")
"""Fields of a reply that are lists; ListContexts returns only their lengths."""

SHOWN = ("tokens", "bytes", "partial", "truncated", "layers")
"""Fields of a reply that ListContexts returns as they are."""

WHOLE = ("gaps", "degraded", "items", "clock", "masked", "resident_tokens", "saved_tokens")
"""Fields of a reply that only GetBuiltContext returns, if the reply had them."""


class ListContextsRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None
    scope_id: str | None = None
    session_id: str | None = None
    limit: Annotated[int, Meta(ge=1, le=LIST_MAX)] = 50
    before: str = ""


class GivenEntry(Struct, frozen=True, kw_only=True):
    """A past context in a list; `slices`, `dropped`, `gaps` and `degraded` are counts."""

    context_id: str
    scope_id: str
    project: str
    at: str
    first_at: str
    times: int
    agent_name: str
    session_id: str
    request_id: str | UnsetType = UNSET
    prompt: str | None
    task_type: str
    format: str
    model: str
    tokens: int
    tokens_before: int
    bytes: int
    max_tokens: int
    reserve_tokens: int
    max_bytes: int
    elapsed_ms: float
    last_elapsed_ms: float
    cached: bool
    partial: bool
    truncated: bool
    layers: dict[str, int]
    slices: int
    dropped: int
    gaps: int
    degraded: int
    text_kept: bool
    preview: bool | UnsetType = UNSET
    previous: str | UnsetType = UNSET
    same_as: str | UnsetType = UNSET


class ListContextsReply(Struct, frozen=True):
    contexts: list[GivenEntry]


class GivenContextRequest(AgentRequest, frozen=True, kw_only=True):
    context_id: NonEmpty


class ExplainRequest(GivenContextRequest, frozen=True, kw_only=True):
    path: NonEmpty


class ExplainReply(Struct, frozen=True, kw_only=True):
    context_id: str
    path: str
    shown: bool
    named: bool
    slices: list[str]
    reasons: list[str]
    advice: list[str]
    degraded: list[str]
    elapsed_ms: float


class GivenContextMethods:
    """The methods over one engine.

    A context is shown only to agents that may see everything its agent could, by the current rules. For other
    agents it doesn't exist.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._contexts = engine.context_log.contexts

    @method("ListContexts", policy="own")
    async def list_contexts(self, request: ListContextsRequest) -> ListContextsReply:
        """List the past contexts since the daemon started that are still stored, the latest first; below."""
        chosen = await self._chosen(request)
        seen: list[Given] = []
        allowed: dict[tuple[str, tuple[str, ...], Policy], bool] = {}
        for given in chosen:
            key = (given.scope.root, given.agent_names, given.policy)
            if key not in allowed:
                allowed[key] = await self._may_list(given, request.agent)
            if allowed[key]:
                seen.append(given)
                if len(seen) == request.limit:
                    break
        new = [given for given in seen if given.heading is None]
        headings = await asyncio.to_thread(lambda: [_heading(given) for given in new])
        for given, heading in zip(new, headings, strict=True):
            given.heading = heading
        return ListContextsReply([convert(self._entry(given), GivenEntry) for given in seen])

    async def _chosen(self, request: ListContextsRequest) -> list[Given]:
        """Return the past contexts of a list, for any agent, the latest first. Raises `PermissionDenied` if
        the agent may not ask about the project."""
        before, scope_id, session_id = request.before, request.scope_id, request.session_id
        root = None
        if request.cwd is not None:
            root = await self._engine.projects.root_of(request.cwd)
            await self._engine.permissions.as_one_of(root, request.agent, ())
        chosen = [
            given
            for given in self._contexts.latest_first()
            if root in {None, given.scope.root}
            and scope_id in {None, given.scope.id}
            and session_id in {None, given.scope.session_id}
        ]
        if not before:
            return chosen
        ids = [given.id for given in chosen]
        return chosen[ids.index(before) + 1 :] if before in ids else []

    @method("GetBuiltContext", policy="own")
    async def get(self, request: GivenContextRequest) -> WireMap:
        """Return a context as it was given; below."""
        given = await self._given(request)
        scope, reply = given.scope, given.reply
        found = {
            **self._entry(given),
            **{name: list(reply.get(name, ())) for name in COUNTED},
            **{name: reply[name] for name in WHOLE if name in reply},
            "focus_paths": list(scope.focus_paths),
            "expanded": list(scope.expanded),
            "constraints": list(scope.constraints),
            "used": [
                {"path": place.path, "how": place.how, "at": iso_of(place.at)}
                for place in await self._engine.timeline.used(given.id)
            ],
            "problem": "" if given.has_text else "its text isn't kept any more, only what it was made of",
        }
        # In a thread: a prompt may be megabytes of pasted logs.
        texts = {name: reply[name] for name in TEXT_FIELDS if name in reply}
        return found | await asyncio.to_thread(
            masked_texts, texts | {"prompt": given.request.prompt}, given.policy
        )

    @method("ExplainPath", policy="own")
    async def explain(self, request: ExplainRequest) -> ExplainReply:
        """Say why a file is in a context, or why not; below."""
        started = time.perf_counter()
        given = await self._given(request)
        project = await self._engine.projects.open_root(given.scope.root)
        await self._engine.permissions.prepare(project, given.policy)
        explained = await self._engine.explaining.explain(project, given, request.path)
        return ExplainReply(
            context_id=given.id, path=request.path, **explained, elapsed_ms=milliseconds_since(started)
        )

    async def _given(self, request: GivenContextRequest) -> Given:
        """Return a context by its id. Raises `NotFound` for a context that the agent may not see, or
        `PermissionDenied`."""
        context_id = request.context_id
        given = self._contexts.get(context_id)
        if given is None or not await self._may_see(given, request.agent):
            raise NotFound(
                f"no context {context_id!r:.80}: the daemon keeps the last {GIVEN_MAX} since it started, and"
                " an agent gets only contexts that it may see as a whole; ListContexts names them"
            )
        return given

    async def _may_see(self, given: Given, agent: Agent) -> bool:
        """Whether the agent may see all of a context. Raises `PermissionDenied` for an agent without any
        permission."""
        policy = await self._engine.permissions.as_one_of(given.scope.root, agent, given.agent_names)
        return policy.sees_all_of(given.policy)

    async def _may_list(self, given: Given, agent: Agent) -> bool:
        try:
            return await self._may_see(given, agent)
        except FovealError:  # no permission, or the project's rules can't be read
            return False

    def _entry(self, given: Given) -> dict[str, Any]:
        scope, request, reply = given.scope, given.request, given.reply
        found = {
            "context_id": given.id,
            "scope_id": scope.id,
            "project": scope.root,
            "at": _iso(given.at),
            "first_at": _iso(given.first_at),
            "times": given.times,
            "agent_name": given.agent_name,
            "session_id": scope.session_id,
            "prompt": given.heading,
            "task_type": request.task_type,
            "format": request.format,
            "model": request.model,
            **{name: reply[name] for name in SHOWN},
            "tokens_before": given.tokens_before,
            "max_tokens": request.max_tokens,
            "reserve_tokens": request.reserve_tokens,
            "max_bytes": request.max_bytes,
            "elapsed_ms": given.elapsed_ms,
            "last_elapsed_ms": given.last_elapsed_ms,
            "cached": given.cached,
            **{name: len(reply.get(name, ())) for name in COUNTED},
            "text_kept": given.has_text,
        }
        if given.request.preview:
            found["preview"] = True
        if given.request_id:
            found["request_id"] = given.request_id
        if self._contexts.get(given.previous) is not None:
            found["previous"] = given.previous
            if given.is_same:
                found["same_as"] = given.previous
        return found


def _iso(moment: datetime) -> str:
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def _heading(given: Given) -> str:
    """Return the first line of a context's prompt, cut, with secrets masked."""
    prompt = given.request.prompt.lstrip()[:MASKED_CHARACTERS]
    first = given.policy.mask(prompt).partition("\n")[0].rstrip()
    return first if len(first) <= PROMPT_CHARACTERS else f"{first[: PROMPT_CHARACTERS - 1]}…"


def masked_texts(texts: Mapping[str, Any], policy: Policy) -> dict[str, Any]:
    """Return the texts of a reply and its `prompt` with secrets masked in those that the caller wrote.

    `policy` is that of the agent that got the context. Not for the event loop.
    """
    masked = dict(texts)
    for name in ("prompt", "system_prompt", "user_prompt"):
        if name in masked:
            masked[name] = policy.mask(masked[name])
    if "messages" in masked:
        masked["messages"] = [
            {**turn, "content": policy.mask(turn["content"])} for turn in masked["messages"]
        ]
    return masked
