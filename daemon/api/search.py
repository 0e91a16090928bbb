"""Owns the methods that look for code: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

import difflib
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

from ..app.engine import Engine
from ..context.scopes import Scope
from ..core.errors import InvalidRequest
from ..core.parameters import Parameters
from ..languages.shared.table import LANGUAGES
from ..project.projects import Project
from ..project.roots import relative_path
from ..search.file_search import FILES_MAX, FILES_SHOWN
from ..search.filters import Filter, all_kinds, check_glob, kinds_in
from ..search.routes import RELATIONS, Relation, Route
from ..search.search import SearchQuery
from .method_parts import Method, deadline_in, freshness_in, node_id_in, timed

ROUTES = ("structural", "semantic", "positional", "hybrid")
HITS_MAX = 1_000

AGENT_PLACES, COMPARED = 4, 10
"""With a limit from the first on an agent's answer is chosen from as many files as other answers have: the
second may be far behind only then. Who asks for fewer gets these."""

SYMBOLS_SHOWN, SYMBOLS_MAX = 50, 500


class QueryMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.methods: Mapping[str, Method] = {
            "Query": self._query,
            "FindSymbols": self._find_symbols,
            "FindFiles": self._find_files,
            "GetNode": self._get_node,
        }

    async def _query(self, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        fresh = freshness_in(parameters)
        deadline_ms = deadline_in(parameters)
        project, first, scope = await self._asked_project(parameters)
        policy = await self._engine.permissions.require(project, parameters, scope=scope)
        limit = parameters.integer("limit", 10, 1, HITS_MAX) or 0
        for_agent = limit if parameters.flag("for_agent") else 0
        route, relation = _way(parameters)
        ask = SearchQuery(
            text=parameters.text("query"),
            limit=COMPARED if COMPARED > for_agent >= AGENT_PLACES else limit,
            filter=_filter(project, parameters),
            route=route,
            min_score=parameters.number("min_score", 0.0, 0.0, 1.0),
            first=first,
            for_agent=for_agent,
            relation=relation,
        )
        reply = await self._engine.query(project, ask, fresh, deadline_ms, policy)
        return timed({"project": project.root, **reply}, started)

    async def _find_symbols(self, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        deadline_ms = deadline_in(parameters)
        query = parameters.text("query")
        limit = parameters.integer("limit", SYMBOLS_SHOWN, 1, SYMBOLS_MAX) or 0
        project = await self._engine.projects.at(parameters.text("cwd"))
        policy = await self._engine.permissions.require(project, parameters)
        return timed(await self._engine.symbols(project, query, limit, deadline_ms, policy), started)

    async def _find_files(self, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        query = parameters.text("query", empty=False)
        limit = parameters.integer("limit", FILES_SHOWN, 1, FILES_MAX) or 0
        project = await self._engine.projects.at(parameters.text("cwd"))
        policy = await self._engine.permissions.require(project, parameters)
        files, total = await self._engine.files(project, query, limit, policy)
        return timed({"project": project.root, "files": files, "total": total}, started)

    async def _get_node(self, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        fresh = freshness_in(parameters)
        deadline_ms = deadline_in(parameters)
        project = await self._engine.projects.at(parameters.text("cwd"))
        policy = await self._engine.permissions.require(project, parameters)
        node_id = node_id_in(project.root, parameters.text("node_id", empty=False), "node_id")
        return timed(await self._engine.node(project, node_id, fresh, deadline_ms, policy), started)

    async def _asked_project(self, parameters: Parameters) -> tuple[Project, frozenset[str], Scope | None]:
        """Return the project that is asked, the files that the scope which asks has in its focus, and it."""
        if not parameters.has("scope_id"):
            return await self._engine.projects.at(parameters.text("cwd")), frozenset(), None
        scope = self._engine.scopes.get(parameters.text("scope_id"))
        nodes = (*scope.focus_paths, *scope.expanded)
        first = frozenset(node.partition("#")[0] for node in nodes)
        return await self._engine.projects.open_root(scope.root), first, scope


def _way(parameters: Parameters) -> tuple[Route | None, Relation | None]:
    """Return the route and the relation that a caller chose. Raises `InvalidRequest` if they contradict."""
    route = cast("Route", parameters.choice("route", "", ROUTES)) if parameters.has("route") else None
    if not parameters.has("relation"):
        return route, None
    relation = cast("Relation", parameters.choice("relation", "", RELATIONS))
    if route not in {None, "structural"}:
        raise InvalidRequest(f"relation is answered by the structure, not by the route {route}", "relation")
    return "structural", relation


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
    if not kinds:
        return  # most questions name none, and all kinds of all languages take 12 µs
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
