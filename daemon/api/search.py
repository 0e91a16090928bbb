"""The methods that search code: questions, names, files, and the relations of a node.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

import difflib
import os
import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert
from msgspec.structs import replace

from ..config.linked import LinkedProject
from ..context.records import Freshness
from ..core.errors import InvalidRequest
from ..core.parameters import NonEmpty, Texts
from ..core.times import bound_in
from ..engine.service import EngineMethods
from ..languages.shared.language import LANGUAGES
from ..project.service import relative_path
from ..search.records import (
    FILES_MAX,
    FILES_SHOWN,
    Filter,
    OtherProject,
    ProjectCall,
    Relation,
    Route,
    SearchQuery,
)
from ..search.service import all_kinds, check_glob, kinds_in, placed
from ..sessions.records import Scope
from ..workspace.service import Project
from .marks import File, Plain, Root, Text
from .method import (
    AgentRequest,
    Deadline,
    ProjectRequest,
    method,
    milliseconds_since,
    node_id_in,
    required_cwd,
)

HITS_MAX = 1_000

AGENT_PLACES, COMPARED = 4, 10
"""With a limit of at least `AGENT_PLACES`, the answer to an agent is chosen among `COMPARED` files, as many
as other answers have, so that a clear gap behind the best file can be seen. A smaller limit takes the first
files."""

SYMBOLS_SHOWN, SYMBOLS_MAX = 50, 500

WireEntry = dict[str, object]
"""An entry of a list in a search's description."""


class QueryRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None
    scope_id: str | None = None
    query: str
    limit: Annotated[int, Meta(ge=1, le=HITS_MAX)] = 10
    route: Route | None = None
    relation: Relation | None = None
    path_prefix: str | None = None
    glob: str | None = None
    languages: Texts = ()
    kinds: Texts = ()
    symbol: str | None = None
    changed_since: str | None = None
    min_score: Annotated[float, Meta(ge=0.0, le=1.0)] = 0.0
    for_agent: bool = False
    all_projects: bool = False
    fresh: Freshness = "shown"
    deadline_ms: Deadline | None = None


class QueryReply(Struct, frozen=True, kw_only=True):
    project: Root[str]
    intent: Plain[str]
    route: Plain[str]
    evidence: Text[list[str]]
    results: Text[list[WireEntry]]
    degraded: Text[list[str]]
    clock: Plain[str]
    hint: Text[str | UnsetType] = UNSET
    elapsed_ms: Plain[float]


class FindSymbolsRequest(ProjectRequest, frozen=True, kw_only=True):
    query: str
    limit: Annotated[int, Meta(ge=1, le=SYMBOLS_MAX)] = SYMBOLS_SHOWN
    deadline_ms: Deadline | None = None


class FoundSymbol(Struct, frozen=True):
    node_id: File[str]
    path: File[str]
    symbol: Text[str]
    kind: Text[str]
    start_line: Plain[int]
    end_line: Plain[int]
    line: Plain[int]
    text: Text[str]


class FindSymbolsReply(Struct, frozen=True, kw_only=True):
    project: Root[str]
    symbols: list[FoundSymbol]
    partial: bool
    degraded: Text[list[str]]
    clock: Plain[str]
    elapsed_ms: Plain[float]


class FindFilesRequest(ProjectRequest, frozen=True, kw_only=True):
    query: NonEmpty
    limit: Annotated[int, Meta(ge=1, le=FILES_MAX)] = FILES_SHOWN


class FindFilesReply(Struct, frozen=True):
    project: Root[str]
    files: Text[list[str]]
    total: Plain[int]
    elapsed_ms: Plain[float]


class NodeRequest(ProjectRequest, frozen=True, kw_only=True):
    node_id: NonEmpty
    fresh: Freshness = "shown"
    deadline_ms: Deadline | None = None


class NodeReply(Struct, frozen=True, kw_only=True):
    node_id: File[str]
    path: File[str]
    kind: Text[str]
    start_line: Plain[int]
    end_line: Plain[int]
    definition: Text[str]
    truncated: bool
    symbols: Text[list[WireEntry]]
    imports: Text[list[WireEntry]]
    importers: Text[list[WireEntry]]
    symbol: Text[str | UnsetType] = UNSET
    signature: Text[str | UnsetType] = UNSET
    doc: Text[str | UnsetType] = UNSET
    callers: Text[list[WireEntry] | UnsetType] = UNSET
    callees: Text[list[WireEntry] | UnsetType] = UNSET
    subclasses: Text[list[WireEntry] | UnsetType] = UNSET
    superclasses: Text[list[WireEntry] | UnsetType] = UNSET
    more: Text[list[str] | UnsetType] = UNSET
    remark: Plain[str | UnsetType] = UNSET
    unsaved: bool | UnsetType = UNSET
    degraded: Text[list[str]]
    clock: Plain[str]
    elapsed_ms: Plain[float]


class ChangesRequest(ProjectRequest, frozen=True, kw_only=True):
    range: str = ""
    fresh: Freshness = "tree"
    deadline_ms: Deadline | None = None


class ChangedPlace(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A caller of a changed definition, or a test that reaches it in some `calls`."""

    path: File[str]
    line: Plain[int]
    enclosing: Text[str]
    text: Text[str]
    certainty: Plain[str]
    calls: Plain[int] = 0
    via: Text[str] = ""


class ChangedDefinition(Struct, frozen=True, kw_only=True):
    node_id: File[str]
    path: File[str]
    symbol: Text[str]
    symbol_kind: Text[str]
    kind: Literal["signature", "removed", "renamed", "body"]
    start_line: Plain[int]
    end_line: Plain[int]
    former: Text[str | UnsetType] = UNSET
    before: Text[str | UnsetType] = UNSET
    after: Text[str | UnsetType] = UNSET
    parameters: Text[list[str] | UnsetType] = UNSET
    callers: list[ChangedPlace]
    callers_total: Plain[int]
    by_name: Plain[int]
    tests: list[ChangedPlace]
    tests_total: Plain[int]
    partial: bool = False


class ReachingTests(Struct, frozen=True):
    """A test file, and the number of its tests that reach a changed definition."""

    path: File[str]
    reached: Plain[int]


class ChangesReply(Struct, frozen=True, kw_only=True):
    project: Root[str]
    before: Plain[str]
    after: Plain[str]
    files: Plain[int]
    added: Plain[int]
    changes: list[ChangedDefinition]
    more: Plain[int]
    tests: list[ReachingTests]
    degraded: Text[list[str]]
    clock: Plain[str]
    elapsed_ms: Plain[float]


class QueryMethods(EngineMethods):
    """The methods over one engine."""

    @method("Query", policy="own", access="read")
    async def query(self, request: QueryRequest) -> QueryReply:
        """Find the places in a project that answer a question."""
        started = time.perf_counter()
        if request.relation is not None and request.route not in {None, "structural"}:
            raise InvalidRequest(
                f"relation is answered by the structure, not by the route {request.route}", "relation"
            )
        asked, first, scope = await self._asked_project(request)
        policy = await self._engine.permissions.require(asked, request.agent, scope=scope)
        others = await self._engine.permissions.linked(asked, request.agent, policy)
        left_out = 0
        if request.all_projects:
            roots = {each.linked.root for each in others}
            found_too, left_out = await self._engine.permissions.everywhere(asked, request.agent)
            others = [*others, *(each for each in found_too if each.linked.root not in roots)]
        prefix = request.path_prefix or ""
        inside = in_linked(asked, others, prefix)
        project = asked
        beside = [each for each in others if inside is None or each is not inside[0]] if prefix else []
        if inside is not None:
            seen = LinkedProject.seen_from(inside[0].linked.root, asked.root)
            beside.append(OtherProject(seen, policy, partial(self._engine.projects.open_root, asked.root)))
            project, policy = await inside[0].open(), inside[0].policy
            request, first = replace(request, path_prefix=inside[1]), frozenset()
        for_agent = request.limit if request.for_agent else 0
        question = SearchQuery(
            text=request.query,
            limit=COMPARED if COMPARED > for_agent >= AGENT_PLACES else request.limit,
            filter=_filter(project, request),
            route=request.route if request.relation is None else "structural",
            min_score=request.min_score,
            first=first,
            for_agent=for_agent,
            relation=request.relation,
        )
        call = ProjectCall.begin(project, policy, request.fresh, request.deadline_ms)
        found = await self._engine.answers.query(call, question, () if prefix else others, beside)
        if inside is not None:
            found["results"] = placed(inside[0].linked, found["results"])
        if left_out:
            found["degraded"].append(f"{left_out:,} closed projects weren't asked: open those that matter")
        return QueryReply(project=asked.root, **found, elapsed_ms=milliseconds_since(started))

    @method("FindSymbols", policy="own", access="read")
    async def find_symbols(self, request: FindSymbolsRequest) -> FindSymbolsReply:
        """Find definitions by a part of their name; below."""
        started = time.perf_counter()
        project = await self._engine.projects.at(request.cwd)
        policy = await self._engine.permissions.require(project, request.agent)
        call = ProjectCall.begin(project, policy, deadline_ms=request.deadline_ms)
        found = await self._engine.answers.symbols(call, request.query, request.limit)
        return FindSymbolsReply(**found, elapsed_ms=milliseconds_since(started))

    @method("FindFiles", policy="own", access="read")
    async def find_files(self, request: FindFilesRequest) -> FindFilesReply:
        """Find paths that contain `query`, ignoring case: first those that begin with it, or whose name does.
        `limit` is at most 500."""
        started = time.perf_counter()
        project = await self._engine.projects.at(request.cwd)
        policy = await self._engine.permissions.require(project, request.agent)
        call = ProjectCall.begin(project, policy)
        files, total = await self._engine.answers.files(call, request.query, request.limit)
        return FindFilesReply(project.root, files, total, milliseconds_since(started))

    @method("GetNode", policy="own", access="read")
    async def get_node(self, request: NodeRequest) -> NodeReply:
        """Return a file or definition with its text, its imports and its importers. A definition has
        `symbol, signature, doc`; `unsaved` is true where an unsaved buffer stands in for the file."""
        started = time.perf_counter()
        project = await self._engine.projects.at(request.cwd)
        policy = await self._engine.permissions.require(project, request.agent)
        others = await self._engine.permissions.linked(project, request.agent, policy)
        inside = in_linked(project, others, request.node_id)
        here = ProjectCall.begin(project, policy, request.fresh, request.deadline_ms)
        if inside is not None:
            other, given = inside
            call = ProjectCall.begin(await other.open(), other.policy, request.fresh, request.deadline_ms)
            node_id = node_id_in(call.project.root, given, "node_id")
            node = await self._engine.answers.linked_node(call, node_id, here, other.linked)
        else:
            node_id = node_id_in(project.root, request.node_id, "node_id")
            node = await self._engine.answers.own_node(here, node_id, others)
        return NodeReply(**node, elapsed_ms=milliseconds_since(started))

    @method("GetChanges", policy="own", access="read")
    async def get_changes(self, request: ChangesRequest) -> ChangesReply:
        """Return what the work tree, or a `range` of commits as git names it, breaks; below."""
        started = time.perf_counter()
        project = await self._engine.projects.at(request.cwd)
        policy = await self._engine.permissions.require(project, request.agent)
        call = ProjectCall.begin(project, policy, request.fresh, request.deadline_ms)
        found = await self._engine.answers.changes(call, request.range)
        return convert({**found, "elapsed_ms": milliseconds_since(started)}, ChangesReply)

    async def _asked_project(self, request: QueryRequest) -> tuple[Project, frozenset[str], Scope | None]:
        """Return the project of a question, the files in the focus of the asking scope, and that scope."""
        if request.scope_id is None:
            return await self._engine.projects.at(required_cwd(request.cwd)), frozenset(), None
        scope = self._engine.scopes.get(request.scope_id)
        nodes = (*scope.focus_paths, *scope.expanded)
        first = frozenset(node.partition("#")[0] for node in nodes)
        return await self._engine.projects.open_root(scope.root), first, scope


def in_linked(
    project: Project, others: Sequence[OtherProject], given: str
) -> tuple[OtherProject, str] | None:
    """Return the linked project that a path or node id leads into, and the rest from its root; None for
    any other path."""
    path, mark, symbol = given.partition("#")
    path = os.path.normpath(os.path.join(project.root, path)) if others and path else ""
    for other in others:
        rest = path.removeprefix(f"{other.linked.root}/")
        if rest != path or path == other.linked.root:
            return other, f"{rest}/" if given.endswith("/") else f"{rest}{mark}{symbol}"
    return None


def _filter(project: Project, request: QueryRequest) -> Filter:
    """Return the filter of results. Raises `InvalidRequest` for impossible values."""
    prefix = request.path_prefix or ""
    if prefix:
        folder = "/" if prefix.endswith("/") else ""
        inside = relative_path(project.root, prefix, "path_prefix")
        prefix = inside + folder if inside else ""
    glob = request.glob or ""
    if glob:
        try:
            check_glob(glob)
        except ValueError as error:
            raise InvalidRequest(f"glob can't be used: {error}", "glob") from error
    languages = request.languages
    unknown = [name for name in languages if name not in LANGUAGES]
    if unknown:
        near = ", ".join(difflib.get_close_matches(unknown[0], LANGUAGES, 3)) or ", ".join(sorted(LANGUAGES))
        raise InvalidRequest(f"languages has the unknown name {unknown[0]!r:.80}; is it {near}?", "languages")
    kinds = request.kinds
    _check_kinds(project, kinds)
    return Filter(
        path_prefix=prefix,
        glob=glob,
        languages=frozenset(languages),
        kinds=frozenset(kinds),
        symbol=request.symbol or "",
        changed_ns=bound_in(request.changed_since or "", "changed_since", 0) * 1_000_000,
    )


def _check_kinds(project: Project, kinds: Sequence[str]) -> None:
    """Raise `InvalidRequest` for unknown kinds, listing those that the project can have."""
    if not kinds:
        return  # most questions name none, and all kinds of all languages take 12 µs
    known = all_kinds()
    unknown = [kind for kind in kinds if kind not in known]
    if unknown:
        near = difflib.get_close_matches(unknown[0], known, 1)
        meant = f"is it {near[0]}? " if near else ""
        raise InvalidRequest(
            f"kinds has the unknown name {unknown[0]!r:.80}; {meant}here there can be"
            f" {', '.join(kinds_in(project.tree))}",
            "kinds",
        )
