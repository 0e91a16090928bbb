"""The methods that return contexts to agents, or prepare them in the background.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable
from functools import lru_cache
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from ..access.service import owner_of, sees_all_of
from ..config.linked import LinkedProject
from ..context.records import LONG_CHARACTERS, LONG_HISTORY, ContextRequest, Format, Freshness, ScopeSelector
from ..context.service import check_owner
from ..core.errors import InvalidRequest
from ..core.parameters import LIST_MAX, Texts
from ..engine.service import EngineMethods
from ..privacy.policy import Policy
from ..rules.records import ItemType
from ..sessions.records import Scope, SentMessage, Session
from ..workspace.service import Project
from .context_replies import ContextFields
from .marks import Plain
from .method import (
    AgentRequest,
    Deadline,
    Items,
    WireMap,
    method,
    milliseconds_since,
    node_id_in,
    required_cwd,
)

MAX_TOKENS = 100_000_000
"""Maximum tokens of a context, more than any model takes; a larger number is a mistake. max_bytes bounds the
cost of a context too."""

MAX_BYTES = 16_000_000
"""Maximum bytes of a context, so that the reply fits into a frame of 16 MiB."""

MODEL_CHARACTERS_MAX = 200
"""Maximum characters of a model's name, which is matched against globs."""

CLEANED_MAX = 1_024
CLEANED_PATHS_MAX = 200
"""Maximum number of cached lists of clean focus paths, and of paths in each."""


class GetContextRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None
    scope_id: str | None = None
    session_id: str = ""
    agent_id: str = ""
    model: str = ""
    prompt: str = ""
    history: Annotated[tuple[SentMessage, ...], Meta(max_length=LIST_MAX)] = ()
    focus_paths: Texts | None = None
    include_items: Items = ()
    exclude_items: Items = ()
    constraints: Texts | None = None
    parent_scope_id: str = ""
    task_type: str = ""
    max_tokens: Annotated[int, Meta(ge=1, le=MAX_TOKENS)] | None = None
    reserve_tokens: Annotated[int, Meta(ge=0, le=MAX_TOKENS)] | None = None
    max_bytes: Annotated[int, Meta(ge=1, le=MAX_BYTES)] | None = None
    format: Format = "markdown"
    deadline_ms: Deadline | None = None
    fresh: Freshness = "shown"
    delta: bool = False
    preview: bool = False

    @property
    def is_long(self) -> bool:
        """Whether reading all of it would keep the event loop from other requests."""
        return (
            len(self.focus_paths or ()) > CLEANED_PATHS_MAX
            or len(self.prompt) > LONG_CHARACTERS
            or len(self.history) > LONG_HISTORY
        )


class PrepareReply(Struct, frozen=True):
    scope_id: Plain[str]
    state: Literal["preparing", "ready"]


class ContextMethods(EngineMethods):
    """The methods over one engine."""

    @method("GetContext", policy="own", access="read", reply=ContextFields)
    def get(self, request: GetContextRequest) -> WireMap | Awaitable[WireMap]:
        """Return the context for an agent; below."""
        started = time.perf_counter()
        project = None if request.is_long else self._project_nowait(request)
        scope = (
            None
            if project is None
            else self._engine.scoping.find(
                project.root, _selector(project, request, project.config.linked.projects)
            )
        )
        if project is not None and scope is not None:
            context = _request(project, scope.task_type, request)
            reply = self._engine.contexts.get_nowait(project, scope, context, request.fresh)
            if reply is not None:
                reply["elapsed_ms"] = milliseconds_since(started)
                return reply
        return self.reply(request, started)

    async def reply(self, request: GetContextRequest, started: float, *, news: bool = False) -> WireMap:
        """Return a context, building it if necessary. With `news` it holds only what the agent hasn't seen
        yet, as hooks need it."""
        project, scope, context = await self._scope(request, news=news)
        reply = await self._engine.contexts.get(project, scope, context, request.fresh, request.deadline_ms)
        reply["elapsed_ms"] = milliseconds_since(started)
        return reply

    @method("PrepareContext", policy="own", access="read")
    async def prepare(self, request: GetContextRequest, *, news: bool = False) -> PrepareReply:
        """Begin to build a context in the background, and answer at once."""
        project, scope, context = await self._scope(request, news=news)
        if self._engine.contexts.is_ready(project, scope, context, request.fresh):
            return PrepareReply(scope.id, "ready")
        self._engine.contexts.prepare(project, scope, context, request.fresh, request.deadline_ms)
        return PrepareReply(scope.id, "preparing")

    def _project_nowait(self, request: GetContextRequest) -> Project | None:
        if request.scope_id is not None:
            return self._engine.projects.get(self._engine.scopes.get(request.scope_id).root)
        return self._engine.projects.at_nowait(required_cwd(request.cwd))

    async def _scope(
        self, request: GetContextRequest, *, news: bool = False
    ) -> tuple[Project, Scope, ContextRequest]:
        """Return the project, the scope and the context request. An invalid request makes and changes no
        scope."""
        projects, scopes = self._engine.projects, self._engine.scopes
        permissions = self._engine.permissions
        if request.scope_id is not None:
            project = await projects.open_root(scopes.get(request.scope_id).root)
        else:
            project = await projects.at(required_cwd(request.cwd))
        scope = None if request.scope_id is None else scopes.get(request.scope_id)
        # An agent without permission creates no scope either; the answer's policy is decided later.
        policy = await permissions.require(project, request.agent, scope=scope, session_id=request.session_id)
        session = await self._session(policy, scope, request)
        check_owner(policy, project.config, session, scope.agent_id if scope else request.agent_id)
        links = tuple(each for each, _ in permissions.linked_now(project, request.agent, policy))
        if request.is_long:
            selector = await asyncio.to_thread(_selector, project, request, links)
            context = await asyncio.to_thread(_request, project, "", request, news=news)
        else:
            selector = _selector(project, request, links)
            context = _request(project, "", request, news=news)
        scoping = self._engine.scoping
        scope = await (scoping.previewed if request.preview else scoping.scope_for)(
            project, selector, lambda known: sees_all_of(policy, project.config, owner_of(known, session))
        )
        return project, scope, replace(context, task_type=scope.task_type)

    async def _session(
        self, policy: Policy, scope: Scope | None, request: GetContextRequest
    ) -> Session | None:
        """Return the session of a request from whose agent something is hidden; other agents may use any."""
        session_id = request.session_id or (scope.session_id if scope else "")
        return (await self._engine.sessions.find(session_id)).session if policy.is_limited else None


def _selector(
    project: Project, request: GetContextRequest, links: tuple[LinkedProject, ...]
) -> ScopeSelector:
    """Return what the scope of a request is found by; a focus may lead into the projects of `links`."""
    paths = request.focus_paths
    return ScopeSelector(
        scope_id=request.scope_id or "",
        session_id=request.session_id,
        agent_id=request.agent_id,
        agent_name=request.agent_name,
        focus_paths=None if paths is None else _focus_paths(project, paths, links),
        constraints=request.constraints,
        parent_scope_id=request.parent_scope_id,
        task_type=request.task_type,
    )


def _focus_paths(
    project: Project, given: tuple[str, ...], links: tuple[LinkedProject, ...]
) -> tuple[str, ...]:
    """Return focus paths relative to the root, without duplicates.

    The same paths repeat, and resolving symlinks in each would cost more than the answer. A path that later
    becomes a link out of the project is caught where files are read.
    """
    clean = _cleaned if len(given) <= CLEANED_PATHS_MAX else _clean
    return clean(project.root, given, links)


def _clean(root: str, given: tuple[str, ...], links: tuple[LinkedProject, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(node_id_in(root, path, "focus_paths", links) for path in given))


_cleaned = lru_cache(CLEANED_MAX)(_clean)


def _request(
    project: Project, task_type: str, request: GetContextRequest, *, news: bool = False
) -> ContextRequest:
    defaults, model = project.config.context, request.model
    if len(model) > MODEL_CHARACTERS_MAX:
        raise InvalidRequest(f"model is longer than {MODEL_CHARACTERS_MAX} characters", "model")
    max_tokens = defaults.max_tokens_of(model) if request.max_tokens is None else request.max_tokens
    reserve = request.reserve_tokens
    if reserve is None:
        # The default reserve would use up a small budget, so it is at most a quarter of the budget.
        reserve = min(defaults.reserve_tokens, max_tokens // 4)
    if reserve >= max_tokens:
        raise InvalidRequest(
            f"reserve_tokens ({reserve:,}) leaves nothing of max_tokens ({max_tokens:,}) for the context",
            "reserve_tokens",
        )
    agent = request.agent
    return ContextRequest(
        prompt=request.prompt,
        history=request.history,
        task_type=request.task_type or task_type,
        max_tokens=max_tokens,
        reserve_tokens=reserve,
        max_bytes=defaults.max_bytes if request.max_bytes is None else request.max_bytes,
        format=request.format,
        include_items=_item_keys(request.include_items, "include_items."),
        exclude_items=_item_keys(request.exclude_items, "exclude_items."),
        agent_name=agent.name,
        agent_type=agent.type,
        model=model,
        delta=request.delta,
        news=news,
        preview=request.preview,
    )


def _item_keys(items: Items, prefix: str) -> tuple[tuple[ItemType, str, str], ...]:
    """Return the item keys of a list without duplicates. Raises `InvalidRequest` for an impossible name."""
    if not items:  # as most requests
        return ()
    keys = [item.key(prefix) for item in items]
    return tuple(dict.fromkeys((key.type, key.name, key.server_name) for key in keys))
