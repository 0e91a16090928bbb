"""Owns the methods about contexts: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

import asyncio
import marshal
import time
from collections.abc import Mapping
from typing import Any, cast

from msgspec import Struct
from msgspec.structs import replace

from ..app.engine import Engine
from ..config.settings import ContextConfig
from ..context.requests import LONG_CHARACTERS, LONG_HISTORY, ContextRequest, Format, Freshness, Message
from ..context.scopes import Scope, ScopeTable
from ..context.scoping import ScopeSelector
from ..core.errors import InvalidRequest
from ..core.parameters import Parameters
from ..privacy.permissions import agent_in
from ..project.projects import Project
from ..rules.item_draft import key_in
from ..rules.items import ItemType
from .method_parts import Answer, Method, deadline_in, freshness_in, node_id_in, timed

MAX_TOKENS = 100_000_000
"""More than any model takes; a larger number is a mistake. What a context costs is held by max_bytes too."""

MAX_BYTES = 16_000_000
"""A reply must fit into one frame of 16 MiB."""

MODEL_CHARACTERS_MAX = 200
"""No model has a longer name; globs are held against it."""

FORMATS = ("markdown", "prompts", "messages", "json")

CLEANED_MAX = 1_024
CLEANED_PATHS_MAX = 200
"""Maximum number of cached lists of clean focus paths, and of paths in each."""

ASKED_MAX, ASKED_KEY_BYTES = 512, 4_096
"""Maximum number of cached parsed requests, and bytes of each."""

MARSHAL_EXACT = 2
"""The last version of marshal's format in which equal values have equal bytes, whoever else holds them. Other
than `==` it tells 1 from True."""


class ContextCall(Struct, frozen=True):
    """What the parameters of a request came to, and of what."""

    root: str
    settings: ContextConfig
    scope: Scope
    request: ContextRequest
    fresh: Freshness

    def holds(self, project: Project, scopes: ScopeTable) -> bool:
        """Whether the same parameters come to the same now; the scope counts as used then."""
        return (
            self.settings is project.config.context
            and self.root == project.root
            and scopes.find(self.scope.identity) is self.scope
        )


class ContextMethods:
    """The methods by name over one engine. With `news` their contexts hold only what a prompt adds."""

    def __init__(self, engine: Engine, *, news: bool = False) -> None:
        self._engine = engine
        self._news = news
        self._cleaned: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        self._asked: dict[bytes, ContextCall] = {}
        self.methods: Mapping[str, Method] = {
            "GetContext": self._get,
            "PrepareContext": self._prepare,
        }

    def _get(self, parameters: Parameters) -> Answer:
        started = time.perf_counter()
        project = None if _is_long(parameters) else self._project_nowait(parameters)
        asked = None if project is None else self._asked_before(project, parameters)
        if project is not None and asked is not None:
            contexts = self._engine.contexts
            reply = contexts.get_nowait(project, asked.scope, asked.request, asked.fresh)
            if reply is not None:
                return timed(reply, started)
        return self._build(parameters, freshness_in(parameters), started)

    def _asked_before(self, project: Project, parameters: Parameters) -> ContextCall | None:
        """Return what a request means if its scope is there and stays as it is.

        Agents ask with the same parameters again and again, and reading them would cost a quarter of the
        answer. A prompt is asked once.
        """
        if parameters.has("prompt") or parameters.has("history"):
            return self._read(project, parameters)
        key = marshal.dumps(cast("dict[str, Any]", parameters.fields), MARSHAL_EXACT)
        asked = self._asked.get(key)
        if asked is not None and asked.holds(project, self._engine.scopes):
            return asked
        asked = self._read(project, parameters)
        if asked is not None and len(key) <= ASKED_KEY_BYTES:
            if len(self._asked) >= ASKED_MAX:
                self._asked.clear()
            self._asked[key] = asked
        return asked

    def _read(self, project: Project, parameters: Parameters) -> ContextCall | None:
        fresh = freshness_in(parameters)
        scope = self._engine.scoping.find(project.root, self._selector(project, parameters))
        if scope is None:
            return None
        settings = project.config.context
        request = _request(project, scope.task_type, parameters, news=self._news)
        return ContextCall(project.root, settings, scope, request, fresh)

    async def _build(self, parameters: Parameters, fresh: Freshness, started: float) -> dict[str, Any]:
        deadline_ms = deadline_in(parameters)
        project, scope, request = await self._scope(parameters)
        return timed(await self._engine.contexts.get(project, scope, request, fresh, deadline_ms), started)

    async def _prepare(self, parameters: Parameters) -> dict[str, Any]:
        fresh = freshness_in(parameters)
        deadline_ms = deadline_in(parameters)
        project, scope, request = await self._scope(parameters)
        if self._engine.contexts.is_ready(project, scope, request, fresh):
            return {"scope_id": scope.id, "state": "ready"}
        self._engine.contexts.prepare(project, scope, request, fresh, deadline_ms)
        return {"scope_id": scope.id, "state": "preparing"}

    def _project_nowait(self, parameters: Parameters) -> Project | None:
        if parameters.has("scope_id"):
            return self._engine.projects.get(self._engine.scopes.get(parameters.text("scope_id")).root)
        return self._engine.projects.at_nowait(parameters.text("cwd"))

    async def _scope(self, parameters: Parameters) -> tuple[Project, Scope, ContextRequest]:
        """Return what a request is about. A request that can't be used makes and changes no scope."""
        if parameters.has("scope_id"):
            project = await self._engine.projects.open_root(
                self._engine.scopes.get(parameters.text("scope_id")).root
            )
        else:
            project = await self._engine.projects.at(parameters.text("cwd"))
        scope = self._engine.scopes.get(parameters.text("scope_id")) if parameters.has("scope_id") else None
        # Who may not ask makes no scope either; what holds for the answer is decided with all that is known.
        await self._engine.permissions.require(
            project, parameters, scope=scope, session_id=parameters.text("session_id", "")
        )
        if _is_long(parameters):
            selector = await asyncio.to_thread(self._selector, project, parameters)
            request = await asyncio.to_thread(_request, project, "", parameters, news=self._news)
        else:
            selector = self._selector(project, parameters)
            request = _request(project, "", parameters, news=self._news)
        scope = await self._engine.scoping.scope_for(project, selector)
        return project, scope, replace(request, task_type=scope.task_type)

    def _selector(self, project: Project, parameters: Parameters) -> ScopeSelector:
        paths = parameters.texts("focus_paths")
        return ScopeSelector(
            scope_id=parameters.text("scope_id", ""),
            session_id=parameters.text("session_id", ""),
            agent_id=parameters.text("agent_id", ""),
            agent_name=parameters.text("agent_name", ""),
            focus_paths=None if paths is None else self._focus_paths(project.root, paths),
            constraints=parameters.texts("constraints"),
            parent_scope_id=parameters.text("parent_scope_id", ""),
            task_type=parameters.text("task_type", ""),
        )

    def _focus_paths(self, root: str, given: tuple[str, ...]) -> tuple[str, ...]:
        """Return focus paths relative to the root, each once.

        The same ones come again and again, and looking for symlinks in each would cost more than the answer.
        A path that becomes a link out of the project later is caught where files are read.
        """
        cleaned = self._cleaned.get((root, given))
        if cleaned is None:
            cleaned = tuple(dict.fromkeys(node_id_in(root, path, "focus_paths") for path in given))
            if len(self._cleaned) >= CLEANED_MAX:
                self._cleaned.clear()
            if len(given) <= CLEANED_PATHS_MAX:
                self._cleaned[root, given] = cleaned
        return cleaned


def _is_long(parameters: Parameters) -> bool:
    """Whether there is so much in a request that to look at it would keep the event loop from others."""
    fields = parameters.fields
    paths, prompt, history = fields.get("focus_paths"), fields.get("prompt"), fields.get("history")
    return (
        (isinstance(paths, list) and len(paths) > CLEANED_PATHS_MAX)
        or (isinstance(prompt, str) and len(prompt) > LONG_CHARACTERS)
        or (isinstance(history, list) and len(history) > LONG_HISTORY)
    )


def _request(
    project: Project, task_type: str, parameters: Parameters, *, news: bool = False
) -> ContextRequest:
    defaults = project.config.context
    model = parameters.text("model", "")
    if len(model) > MODEL_CHARACTERS_MAX:
        raise InvalidRequest(f"model is longer than {MODEL_CHARACTERS_MAX} characters", "model")
    max_tokens = parameters.integer("max_tokens", defaults.max_tokens_of(model), 1, MAX_TOKENS) or 0
    # The default reserve would leave nothing of a small budget, so there it is a quarter at most.
    reserve = (
        parameters.integer("reserve_tokens", min(defaults.reserve_tokens, max_tokens // 4), 0, MAX_TOKENS)
        or 0
    )
    if reserve >= max_tokens:
        raise InvalidRequest(
            f"reserve_tokens ({reserve:,}) leaves nothing of max_tokens ({max_tokens:,}) for the context",
            "reserve_tokens",
        )
    return ContextRequest(
        prompt=parameters.text("prompt", ""),
        history=tuple(Message(one.text("role"), one.text("content")) for one in parameters.maps("history")),
        task_type=parameters.text("task_type", task_type),
        max_tokens=max_tokens,
        reserve_tokens=reserve,
        max_bytes=parameters.integer("max_bytes", defaults.max_bytes, 1, MAX_BYTES) or 0,
        format=cast("Format", parameters.choice("format", "markdown", FORMATS)),
        include_items=_item_keys(parameters, "include_items"),
        exclude_items=_item_keys(parameters, "exclude_items"),
        agent_name=agent_in(parameters)[0],
        agent_type=agent_in(parameters)[1],
        model=model,
        delta=parameters.flag("delta"),
        news=news,
        preview=parameters.flag("preview"),
    )


def _item_keys(parameters: Parameters, name: str) -> tuple[tuple[ItemType, str, str], ...]:
    """Return the items that a list names, each once. Raises `InvalidRequest` for what can't name one."""
    keys = [key_in(one.fields, f"{name}.") for one in parameters.maps(name)]
    return tuple(dict.fromkeys((key.type, key.name, key.server_name) for key in keys))
