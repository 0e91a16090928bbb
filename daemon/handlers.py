"""Owns the methods of the wire, a function each: parameters in, plain maps out. The wire stops here."""

from __future__ import annotations

import asyncio
import difflib
import os
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from typing import Any, cast

from .. import __version__
from ..ipc import errors as codes
from ..ipc.connection import Connection
from ..ipc.errors import RpcError
from ..ipc.protocol import PROTOCOL_VERSION
from .context.items import ItemType
from .context.requests import ContextRequest, Format, Freshness, Message
from .context.scopes import Scope
from .embedding.messages import VectorProgress
from .engine import Engine
from .errors import (
    Busy,
    ChildDied,
    ConfigError,
    DeadlineExceeded,
    FovealError,
    InvalidRequest,
    NotFound,
    PermissionDenied,
    ProjectUnavailable,
    StateError,
    TooLarge,
    Unsupported,
)
from .events import TOPICS
from .experience.draft import draft_of
from .experience.experience import Experience
from .item.item_draft import key_in
from .item_methods import ItemMethods
from .parameters import MISSING, Parameters
from .project.languages import LANGUAGES
from .project.roots import relative_path
from .projects import OVERLAY_CHARACTERS, Project
from .request_methods import RequestMethods
from .retrieval.filters import Filter, all_kinds, check_glob, kinds_in
from .retrieval.routes import Route
from .scoping import ScopeSelector
from .searching import Ask
from .semantics import Semantics, progress_map
from .session_methods import SessionMethods
from .storage import OperationalError

MAX_TOKENS = 100_000_000
"""More than any model takes; a larger number is a mistake. What a context costs is held by max_bytes too."""

MAX_BYTES = 16_000_000
"""A reply must fit into one frame of 16 MiB."""

DEADLINE_MAX_MS = 600_000
FRESHNESS = ("shown", "tree", "no")
ROUTES = ("structural", "semantic", "positional", "hybrid")
FORMATS = ("markdown", "prompts", "messages", "json")
EVENTS_OF_FILES = ("opened", "focused", "changed", "closed")
OUTCOMES = ("success", "failure", "reverted")
LIST_LIMIT = 1_000

NODES_MAX = 1_000
"""Nodes that one call expands or contracts; each may have to be looked for on the disk."""

CLEANED_MAX = 1_024
CLEANED_PATHS_MAX = 200
"""So many lists of focus paths are remembered in their clean form, each of so many paths at most."""

Handled = dict[str, Any] | Awaitable[dict[str, Any]]

_CODES: tuple[tuple[type[FovealError], str], ...] = (
    (InvalidRequest, codes.INVALID_PARAMS),
    (NotFound, codes.NOT_FOUND),
    (PermissionDenied, codes.PERMISSION_DENIED),
    (ConfigError, codes.PROJECT_UNAVAILABLE),
    (ProjectUnavailable, codes.PROJECT_UNAVAILABLE),
    (TooLarge, codes.TOO_LARGE),
    (DeadlineExceeded, codes.TIMEOUT),
    (Busy, codes.BUSY),
    (ChildDied, codes.BUSY),
    (Unsupported, codes.UNSUPPORTED),
    (StateError, codes.INTERNAL),
)


def to_error(error: Exception) -> RpcError | None:
    """Return the wire's error for one that was raised on purpose; None for any other."""
    for kind, code in _CODES:
        if isinstance(error, kind):
            field = error.field if isinstance(error, InvalidRequest) else None
            return RpcError(code, str(error), {"field": field} if field else None)
    if isinstance(error, FovealError):
        return RpcError(codes.INTERNAL, str(error))
    if isinstance(error, OperationalError):
        return RpcError(
            codes.INTERNAL, f"the state folder could not be written ({error}); see: foveal doctor"
        )
    return None


class Handlers:
    """The methods over one engine. `stop` asks the daemon to shut down."""

    def __init__(self, engine: Engine, stop: Callable[[], None]) -> None:
        self._engine = engine
        self._stop = stop
        self._started = time.monotonic()
        self._cleaned: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}
        self._methods: Mapping[str, Callable[[Connection, Parameters], Handled]] = {
            "Ping": self._ping,
            "Status": self._status,
            "OpenProject": self._open_project,
            "CloseProject": self._close_project,
            "ListProjects": self._list_projects,
            "ReindexProject": self._reindex_project,
            "GetContext": self._get_context,
            "PrepareContext": self._prepare_context,
            "ExpandFocus": self._expand_focus,
            "ContractFocus": self._contract_focus,
            "ReleaseScope": self._release_scope,
            "GetScope": self._get_scope,
            "ListScopes": self._list_scopes,
            "Query": self._query,
            "GetNode": self._get_node,
            "NotifyFile": self._notify_file,
            "SetEmbedding": self._set_embedding,
            "Subscribe": self._subscribe,
            "GraftExperience": self._graft_experience,
            "ListExperiences": self._list_experiences,
            "Shutdown": self._shutdown,
        }
        others = ItemMethods(engine), SessionMethods(engine), RequestMethods(engine)
        self._others = {name: method for one in others for name, method in one.methods.items()}

    @property
    def methods(self) -> tuple[str, ...]:
        """The names of all methods."""
        return (*self._methods, *self._others)

    def handle(self, connection: Connection, method: str, params: dict[str, Any]) -> Handled:
        """Answer a request: at once where nothing has to be waited for, else by an awaitable."""
        handler = self._methods.get(method)
        if handler is not None:
            return handler(connection, Parameters(params))
        other = self._others.get(method)
        if other is None:
            raise RpcError(
                codes.UNKNOWN_METHOD,
                f"there is no method {method!r:.80}; there are {', '.join(self.methods)}",
            )
        return other(Parameters(params))

    # Housekeeping

    def _ping(self, connection: Connection, parameters: Parameters) -> Handled:
        wanted = parameters.integer("protocol", None, 0, 1 << 31)
        if wanted is not None and wanted != PROTOCOL_VERSION:
            older = "client" if wanted < PROTOCOL_VERSION else "daemon (foveal restart after an upgrade)"
            raise RpcError(
                codes.UNSUPPORTED,
                f"the client speaks protocol {wanted}, the daemon {PROTOCOL_VERSION}: update the {older}",
                {"protocol": PROTOCOL_VERSION, "version": __version__},
            )
        return {"version": __version__, "protocol": PROTOCOL_VERSION, "pid": os.getpid()}

    async def _status(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        engine = self._engine
        chosen = list(engine.projects)
        if parameters.has("cwd"):
            root = await engine.projects.root_of(parameters.text("cwd"))
            chosen = [project for project in chosen if project.root == root]
        return {
            "version": __version__,
            "protocol": PROTOCOL_VERSION,
            "pid": os.getpid(),
            "uptime_s": round(time.monotonic() - self._started, 3),
            "rss_bytes": _resident_bytes(),
            "projects": [await self._project_map(project) for project in chosen],
            "scopes": len(engine.scopes),
            "scopes_bytes": engine.scopes.memory_bytes,
            "indexer_pid": engine.indexing.link.pid,
            "embedder": engine.semantics.describe(),
            "degraded": list(engine.warnings),
        }

    def _subscribe(self, connection: Connection, parameters: Parameters) -> Handled:
        topics = parameters.texts("topics")
        if topics is None:
            raise InvalidRequest(f"topics is missing; there are {', '.join(sorted(TOPICS))}", "topics")
        unknown = [topic for topic in topics if topic not in TOPICS]
        if unknown:
            raise InvalidRequest(
                f"topics names {unknown[0]!r:.80}, which is none; there are {', '.join(sorted(TOPICS))}",
                "topics",
            )
        events = self._engine.events
        events.subscribe(connection, topics, connection.publish)
        connection.when_lost(events.unsubscribe)
        return {"topics": list(topics)}

    def _shutdown(self, connection: Connection, parameters: Parameters) -> Handled:
        asyncio.get_running_loop().call_soon(self._stop)
        return {"stopping": True}

    # Projects

    async def _open_project(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        projects = self._engine.projects
        if parameters.has("cwd"):
            project = await projects.at(parameters.text("cwd"))
        else:
            project = await projects.open_named(parameters.text("path"))
        return await self._project_map(project)

    async def _close_project(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        path = parameters.text("path", empty=False)
        if "\0" in path:
            raise InvalidRequest("path has a NUL character in it, which no path can have", "path")
        if not await self._engine.close_project(path):
            roots = ", ".join(project.root for project in self._engine.projects)
            raise NotFound(f"{path!r:.200} isn't open; these are: {roots or 'none'}")
        return {"closed": True}

    async def _list_projects(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        return {"projects": [await self._project_map(project) for project in self._engine.projects]}

    async def _reindex_project(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        full = parameters.flag("full")
        project = await self._engine.projects.open_named(parameters.text("path"))
        await self._engine.indexing.reindex(project, full=full)
        return await self._project_map(project)

    async def _project_map(self, project: Project) -> dict[str, Any]:
        size = await self._engine.size(project)
        progress, embedding = project.progress, self._engine.semantics.progress(project.root)
        skipped = project.tree.skipped
        if progress is not None:
            skipped |= {f"folder:{reason}": count for reason, count in progress.skipped}
        vectors = progress_map(embedding or VectorProgress(project.root, 0, 0, 0.0))
        problem = self._engine.semantics.problem(project.root)
        return {
            **{name: value for name, value in vectors.items() if name != "project"},
            "root": project.root,
            "state": project.state,
            "files": len(project.tree.files),
            "symbols": project.tree.symbols,
            "chunks": size.chunks,
            "embedding": _embedding_state(self._engine.semantics, embedding),
            "files_pending": project.tree.pending,
            "files_unlinked": 0 if progress is None else progress.unlinked,
            "watch": "off" if progress is None else progress.watch,
            "degraded": [*project.degraded, *([f"no search by meaning: {problem}"] if problem else [])],
            "skipped": skipped,
            "rules": len(project.rules.items),
            "experiences": project.pool.statistics().experiences,
            "index_bytes": size.bytes,
            "clock": project.clock,
        }

    # Contexts

    def _get_context(self, connection: Connection, parameters: Parameters) -> Handled:
        started = time.perf_counter()
        fresh = _freshness(parameters)
        project = None if _is_long(parameters) else self._project_nowait(parameters)
        if project is not None:
            selector = self._selector(project, parameters)
            scope = self._engine.scoping.find(project.root, selector)
            if scope is not None:
                request = _request(project, scope.task_type, parameters)
                reply = self._engine.contexts.get_nowait(project, scope, request, fresh)
                if reply is not None:
                    return _timed(reply, started)
        return self._build_context(parameters, fresh, started)

    async def _build_context(
        self, parameters: Parameters, fresh: Freshness, started: float
    ) -> dict[str, Any]:
        deadline_ms = parameters.integer("deadline_ms", None, 0, DEADLINE_MAX_MS)
        project, scope, request = await self._scope(parameters)
        return _timed(await self._engine.contexts.get(project, scope, request, fresh, deadline_ms), started)

    async def _prepare_context(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        fresh = _freshness(parameters)
        deadline_ms = parameters.integer("deadline_ms", None, 0, DEADLINE_MAX_MS)
        project, scope, request = await self._scope(parameters)
        if self._engine.contexts.is_ready(project, scope, request, fresh):
            return {"scope_id": scope.id, "state": "ready"}
        self._engine.contexts.prepare(project, scope, request, fresh, deadline_ms)
        return {"scope_id": scope.id, "state": "preparing"}

    # Scopes

    async def _expand_focus(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        scope_id, nodes = self._nodes(parameters)
        return await self._engine.scoping.expand(scope_id, nodes)

    async def _contract_focus(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        scope_id, nodes = self._nodes(parameters)
        return await self._engine.scoping.contract(scope_id, nodes)

    async def _release_scope(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        await self._engine.scoping.release(parameters.text("scope_id"))
        return {"released": True}

    def _get_scope(self, connection: Connection, parameters: Parameters) -> Handled:
        return self._scope_map(self._engine.scopes.get(parameters.text("scope_id")))

    async def _list_scopes(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        root = await self._engine.projects.root_of(parameters.text("cwd")) if parameters.has("cwd") else None
        return {"scopes": [self._scope_map(scope) for scope in self._engine.scopes.of_project(root)]}

    # Nodes, files, experiences

    async def _query(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        fresh = _freshness(parameters)
        deadline_ms = parameters.integer("deadline_ms", None, 0, DEADLINE_MAX_MS)
        project, first = await self._asked_project(parameters)
        ask = Ask(
            text=parameters.text("query"),
            limit=parameters.integer("limit", 10, 1, LIST_LIMIT) or 0,
            filter=_filter(project, parameters),
            route=cast("Route", parameters.choice("route", "", ROUTES)) if parameters.has("route") else None,
            min_score=parameters.number("min_score", 0.0, 0.0, 1.0),
            first=first,
        )
        reply = await self._engine.query(project, ask, fresh, deadline_ms)
        return _timed({"project": project.root, **reply}, started)

    async def _asked_project(self, parameters: Parameters) -> tuple[Project, frozenset[str]]:
        """Return the project that is asked, and the files that the scope which asks has in its focus."""
        if not parameters.has("scope_id"):
            return await self._engine.projects.at(parameters.text("cwd")), frozenset()
        scope = self._engine.scopes.get(parameters.text("scope_id"))
        nodes = (*scope.focus_paths, *scope.expanded)
        return await self._engine.projects.open_root(scope.root), frozenset(
            node.partition("#")[0] for node in nodes
        )

    async def _get_node(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        fresh = _freshness(parameters)
        deadline_ms = parameters.integer("deadline_ms", None, 0, DEADLINE_MAX_MS)
        project = await self._engine.projects.at(parameters.text("cwd"))
        node_id = _clean(project.root, parameters.text("node_id", empty=False), "node_id")
        return _timed(await self._engine.node(project, node_id, fresh, deadline_ms), started)

    def _notify_file(self, connection: Connection, parameters: Parameters) -> Handled:
        event = parameters.choice("event", "", EVENTS_OF_FILES)
        text = parameters.optional_text("text")
        if text is not None and len(text) > OVERLAY_CHARACTERS:
            raise TooLarge(
                f"text has {len(text):,} characters; at most {OVERLAY_CHARACTERS:,} are kept for a buffer"
            )
        cwd, path = parameters.text("cwd"), parameters.text("path", empty=False)
        project = self._engine.projects.at_nowait(cwd)
        if project is None:
            return self._note_file_later(cwd, path, event, text)
        # At once, since the next request on the connection may be answered at once too.
        return self._note_file(project, path, event, text)

    async def _note_file_later(self, cwd: str, path: str, event: str, text: str | None) -> dict[str, Any]:
        return self._note_file(await self._engine.projects.at(cwd), path, event, text)

    def _note_file(self, project: Project, path: str, event: str, text: str | None) -> dict[str, Any]:
        relative = relative_path(project.root, path, "path")
        self._engine.note_file(project, relative, event, text)
        return {"noted": relative}

    async def _set_embedding(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        paused = parameters.flag("paused", MISSING)
        if not self._engine.semantics.enabled:
            raise Unsupported("embedding is switched off (embedding.enabled in config.toml)")
        await self._engine.semantics.set_paused(paused=paused)
        return {"paused": paused}

    async def _graft_experience(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        cwd = parameters.text("cwd")
        fields = parameters.map("experience")
        if fields is None:
            if parameters.has("transcript_path"):
                raise Unsupported("this version takes an experience as a map; it doesn't read transcripts")
            raise InvalidRequest(
                "experience is missing; it must be a map with decision, agent_id, session_id", "experience"
            )
        draft = draft_of(fields)
        result = await self._engine.graft(await self._engine.projects.at(cwd), draft)
        return {
            "grafted": result.grafted,
            "duplicates": result.duplicates,
            "skipped": [{"reason": reason} for _, reason in result.skipped],
            "experience_ids": list(result.ids),
            "warnings": [warning for _, warning in result.warnings],
        }

    async def _list_experiences(self, connection: Connection, parameters: Parameters) -> dict[str, Any]:
        limit = parameters.integer("limit", 50, 0, LIST_LIMIT) or 0
        filters = {
            name: parameters.optional_text(name) for name in ("agent_id", "session_id", "since", "query")
        }
        filters["outcome"] = parameters.choice("outcome", "", OUTCOMES) if parameters.has("outcome") else None
        project = await self._engine.projects.at(parameters.text("cwd"))
        experiences, total = await self._engine.experiences(project, limit, filters)
        return {"experiences": [_experience_map(one) for one in experiences], "total": total}

    # What the methods share

    def _project_nowait(self, parameters: Parameters) -> Project | None:
        if parameters.has("scope_id"):
            return self._engine.projects.get(self._engine.scopes.get(parameters.text("scope_id")).root)
        return self._engine.projects.at_nowait(parameters.text("cwd"))

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
            cleaned = tuple(dict.fromkeys(_clean(root, path, "focus_paths") for path in given))
            if len(self._cleaned) >= CLEANED_MAX:
                self._cleaned.clear()
            if len(given) <= CLEANED_PATHS_MAX:
                self._cleaned[root, given] = cleaned
        return cleaned

    async def _scope(self, parameters: Parameters) -> tuple[Project, Scope, ContextRequest]:
        """Return what a request is about. A request that can't be used makes and changes no scope."""
        if parameters.has("scope_id"):
            project = await self._engine.projects.open_root(
                self._engine.scopes.get(parameters.text("scope_id")).root
            )
        else:
            project = await self._engine.projects.at(parameters.text("cwd"))
        await self._engine.projects.reload_settings(project)
        if _is_long(parameters):
            selector = await asyncio.to_thread(self._selector, project, parameters)
        else:
            selector = self._selector(project, parameters)
        request = _request(project, "", parameters)
        scope = await self._engine.scoping.scope_for(project, selector)
        return project, scope, replace(request, task_type=scope.task_type)

    def _nodes(self, parameters: Parameters) -> tuple[str, list[str]]:
        scope = self._engine.scopes.get(parameters.text("scope_id"))
        project = self._engine.projects.get(scope.root)
        root = project.root if project else scope.root
        nodes = [
            _clean(root, node, field)
            for field in ("node_ids", "paths")
            for node in parameters.texts(field) or ()
        ]
        if not nodes:
            raise InvalidRequest("node_ids or paths must name at least one node", "node_ids")
        if len(nodes) > NODES_MAX:
            raise TooLarge(f"{len(nodes):,} nodes were named; at most {NODES_MAX:,} are taken in one call")
        return scope.id, nodes

    def _scope_map(self, scope: Scope) -> dict[str, Any]:
        found = {
            "scope_id": scope.id,
            "project": scope.root,
            "session_id": scope.session_id,
            "agent_id": scope.agent_id,
            "agent_name": scope.agent_name,
            "task_type": scope.task_type,
            "focus_paths": list(scope.focus_paths),
            "expanded": list(scope.expanded),
            "constraints": list(scope.constraints),
            "inherited_constraints": list(self._engine.scopes.constraints_above(scope)),
            "parent_scope_id": scope.parent_id,
            "hot_nodes": [{"path": node.path, "reason": node.reason} for node in scope.hot],
            "created_at": scope.created_at,
            "memory_bytes": scope.memory_bytes,
        }
        return {name: value for name, value in found.items() if value != ""}


def _is_long(parameters: Parameters) -> bool:
    """Whether there are so many focus paths that looking at each would keep the event loop from others."""
    return len(parameters.texts("focus_paths") or ()) > CLEANED_PATHS_MAX


def _request(project: Project, task_type: str, parameters: Parameters) -> ContextRequest:
    defaults = project.config.context
    max_tokens = parameters.integer("max_tokens", defaults.max_tokens, 1, MAX_TOKENS) or 0
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
    )


def _item_keys(parameters: Parameters, name: str) -> tuple[tuple[ItemType, str, str], ...]:
    """Return the items that a list names, each once. Raises `InvalidRequest` for what can't name one."""
    keys = [key_in(one.fields, f"{name}.") for one in parameters.maps(name)]
    return tuple(dict.fromkeys((key.type, key.name, key.server_name) for key in keys))


def _freshness(parameters: Parameters) -> Freshness:
    return cast("Freshness", parameters.choice("fresh", "shown", FRESHNESS))


def _filter(project: Project, parameters: Parameters) -> Filter:
    """Return what results must be. Raises `InvalidRequest` for what can't be such."""
    prefix = parameters.optional_text("path_prefix") or ""
    if prefix:
        folder = "/" if prefix.endswith("/") else ""
        inside = relative_path(project.root, prefix, "path_prefix")
        prefix = inside + folder if inside else ""
    glob = parameters.optional_text("glob") or ""
    if glob:
        try:
            check_glob(glob)
        except ValueError as error:
            raise InvalidRequest(f"glob can't be used: {error}", "glob") from error
    languages = parameters.texts("languages") or ()
    unknown = [name for name in languages if name not in LANGUAGES]
    if unknown:
        near = ", ".join(difflib.get_close_matches(unknown[0], LANGUAGES, 3)) or ", ".join(sorted(LANGUAGES))
        raise InvalidRequest(f"languages names {unknown[0]!r:.80}, which is none; is it {near}?", "languages")
    kinds = parameters.texts("kinds") or ()
    _check_kinds(project, kinds)
    return Filter(
        path_prefix=prefix,
        glob=glob,
        languages=frozenset(languages),
        kinds=frozenset(kinds),
        symbol=parameters.optional_text("symbol") or "",
        changed_ns=_nanoseconds(parameters.optional_text("changed_since"), "changed_since"),
    )


def _check_kinds(project: Project, kinds: Sequence[str]) -> None:
    """Raise `InvalidRequest` for what is no kind of any language, naming those that the project can have."""
    known = all_kinds()
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, 1)
        meant = f"is it {near[0]}? " if near else ""
        raise InvalidRequest(
            f"kinds names {unknown[0]!r:.80}, which is none; {meant}here there can be"
            f" {', '.join(kinds_in(project.tree))}",
            "kinds",
        )


def _nanoseconds(written: str | None, field: str) -> int:
    """Return a time in ISO 8601 in nanoseconds since the epoch, 0 for none. Without a zone it is UTC."""
    if not written:
        return 0
    try:
        moment = datetime.fromisoformat(written)
    except ValueError as error:
        raise InvalidRequest(
            f"{field} must be a time such as 2026-01-31T12:00:00Z: {error}", field
        ) from error
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    return int(moment.timestamp() * 1_000_000_000)


def _embedding_state(semantics: Semantics, progress: VectorProgress | None) -> str:
    """Return how a project's embedding stands: off, waiting, running, paused, failed or done."""
    if not semantics.enabled:
        return "off"
    if progress is None:
        return "waiting"
    if progress.problem:
        return "failed"
    if not progress.pending:
        return "done"
    return "paused" if semantics.paused else "running"


def _clean(root: str, given: str, field: str) -> str:
    """Return a focus path or node id with its path relative to the root; globs are left as they are."""
    path, mark, symbol = given.partition("#")
    if path in {"", ".", "./"} and not mark:
        return "."
    return (relative_path(root, path, field) or ("" if mark else ".")) + mark + symbol


def _timed(reply: dict[str, Any], started: float) -> dict[str, Any]:
    reply["elapsed_ms"] = round((time.perf_counter() - started) * 1000, 3)
    return reply


def _experience_map(experience: Experience) -> dict[str, Any]:
    found = asdict(experience)
    outcome = {"kind": found.pop("outcome")}
    error = found.pop("error")
    if error:
        outcome["error"] = error
    found["experience_id"] = found.pop("id")
    found["files_touched"] = list(experience.files_touched)
    if outcome["kind"]:
        found["outcome"] = outcome
    return found


def _resident_bytes() -> int:
    """Return the memory the process has in RAM; where /proc is missing, the most it ever had."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except FileNotFoundError:
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
