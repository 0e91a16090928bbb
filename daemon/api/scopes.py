"""The methods about scopes: the focus of an agent."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Annotated, Literal

from msgspec import UNSET, Meta, Struct, UnsetType, convert
from msgspec.structs import asdict, replace

from ..config.linked import LinkedProject
from ..context.records import ContextRequest
from ..context.service import ScopeTurn, past_context, turns_of
from ..core.errors import InvalidRequest, StateError, TooLarge
from ..core.parameters import NonEmpty, Texts
from ..core.times import iso_of
from ..engine.service import EngineMethods
from ..sessions.records import ContextFilter, ContextRow, Scope, Session, SessionSummary
from .context_replies import DroppedSliceReply, NearMissReply, ShownSlice
from .marks import Count, File, Owner, Plain, Root, Said, Sent, SliceId, Text
from .method import AgentRequest, Deadline, ScopeRequest, method, node_id_in, reply_of

NODES_MAX = 1_000
"""Maximum nodes that a call adds or removes; each may have to be looked up on the disk."""

AT_ONCE = 200
"""Scopes that are listed before other requests get the event loop: 3 ms."""

TURNS_MAX = 20
"""Maximum turns of a scope in a reply: each is read from the disk, a millisecond."""


class FocusRequest(ScopeRequest, frozen=True, kw_only=True):
    node_ids: Texts = ()
    paths: Texts = ()


class ExpandReply(Struct, frozen=True):
    expanded: Text[list[str]]
    already: Text[list[str]]
    unknown: Text[list[str]]


class ContractReply(Struct, frozen=True):
    contracted: Text[list[str]]
    unknown: Text[list[str]]


class ReleaseReply(Struct, frozen=True):
    released: bool


class HotFile(Struct, frozen=True):
    """A file that is being worked on, and why it counts as such."""

    path: File[str]
    reason: Plain[str]


class ConstraintOrigin(Struct, frozen=True):
    """An inherited constraint, and the scope above that gave it; without one, that was released since."""

    text: Said[str]
    scope_id: Plain[str | UnsetType] = UNSET
    agent_name: Owner[str | UnsetType] = UNSET


class TurnChangeReply(Struct, frozen=True, kw_only=True):
    """How a slice changed from the turn before, with the tokens of both."""

    id: SliceId[str]
    type: Plain[str]
    path: File[str | UnsetType] = UNSET
    change: Literal["new", "gone", "grown", "shrunk"]
    tokens: Count[int]
    tokens_before: Count[int]


class ScopeTurnReply(Struct, frozen=True):
    """A turn of a scope, and what changed in it. `news` says that only what was new was sent, `left_out`
    counts the changes not listed, `kept` the slices that stayed."""

    context_id: Plain[str]
    at: Plain[str]
    prompt: Said[str]
    tokens: Count[int]
    layers: Count[dict[str, int]]
    news: bool
    changes: list[TurnChangeReply]
    left_out: Count[int]
    kept: Count[int]


class ScopeContext(Struct, frozen=True, kw_only=True):
    """The context that a scope's last request would get now, whole and with its near misses."""

    prompt: Said[str]
    task_type: Said[str]
    max_tokens: Plain[int]
    reserve_tokens: Plain[int]
    max_bytes: Plain[int]
    tokens: Count[int]
    bytes: Count[int]
    layers: Count[dict[str, int]]
    partial: bool
    truncated: bool
    slices: list[ShownSlice]
    dropped: list[DroppedSliceReply]
    near: list[NearMissReply]
    gaps: Text[list[str]]
    degraded: Text[list[str]]
    context: Sent[str]


class ScopeSession(Struct, frozen=True, kw_only=True):
    """The session of a scope: of the agent that owns it, who may be another than the scope's."""

    agent_name: Owner[str]
    title: Said[str]
    ended: bool


class ScopeReply(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"id": "scope_id", "root": "project", "parent_id": "parent_scope_id", "hot": "hot_nodes"},
):
    """A scope, with the attributes of `Scope`, its session if that has a record, and its latest context that
    answered a prompt, else the latest.

    `layers` are the tokens of that context by layer, `last_prompt` the first line of its prompt, and
    `last_used` is the time of the last delivery.
    """

    id: Plain[str]
    root: Root[str]
    session_id: Text[str | UnsetType] = UNSET
    agent_id: Text[str | UnsetType] = UNSET
    agent_name: Owner[str | UnsetType] = UNSET
    task_type: Said[str | UnsetType] = UNSET
    focus_paths: Text[tuple[str, ...]]
    expanded: Text[tuple[str, ...]]
    constraints: Said[tuple[str, ...]]
    inherited_constraints: Said[tuple[str, ...]]
    constraint_origins: list[ConstraintOrigin]
    parent_id: Text[str | UnsetType] = UNSET
    hot: tuple[HotFile, ...]
    created_at: Plain[str | UnsetType] = UNSET
    memory_bytes: Count[int]
    session: ScopeSession | UnsetType = UNSET
    last_prompt: Said[str | UnsetType] = UNSET
    last_context_id: Said[str | UnsetType] = UNSET
    last_used: Plain[str | UnsetType] = UNSET
    layers: Count[dict[str, int] | UnsetType] = UNSET
    turns: list[ScopeTurnReply] | UnsetType = UNSET
    now: ScopeContext | UnsetType = UNSET
    degraded: Text[list[str] | UnsetType] = UNSET


class GetScopeRequest(ScopeRequest, frozen=True, kw_only=True):
    """`layers` asks for the context that the scope would get now, `turns` for its latest ones."""

    layers: bool = False
    turns: Annotated[int, Meta(ge=0, le=TURNS_MAX)] = 0
    deadline_ms: Deadline | None = None


class ListScopesRequest(AgentRequest, frozen=True, kw_only=True):
    """`session_id` asks for the scopes of one session."""

    cwd: str | None = None
    session_id: NonEmpty | None = None


class ScopesReply(Struct, frozen=True):
    scopes: list[ScopeReply]
    degraded: Text[list[str]]


class ScopeMethods(EngineMethods):
    """The methods over one engine."""

    @method("ExpandFocus", policy="scope", access="own")
    async def expand(self, request: FocusRequest) -> ExpandReply:
        """Add nodes to the focus of a scope."""
        return ExpandReply(**await self._engine.scoping.expand(request.scope_id, await self._nodes(request)))

    @method("ContractFocus", policy="scope", access="own")
    async def contract(self, request: FocusRequest) -> ContractReply:
        """Take nodes out of the focus of a scope."""
        return ContractReply(
            **await self._engine.scoping.contract(request.scope_id, await self._nodes(request))
        )

    @method("ReleaseScope", policy="scope", access="own")
    async def release(self, request: ScopeRequest) -> ReleaseReply:
        """Forget a scope."""
        await self._engine.scoping.release(request.scope_id)
        return ReleaseReply(released=True)

    @method("GetScope", policy="scope", access="read")
    async def get(self, request: GetScopeRequest) -> ScopeReply:
        """Return a scope, with its hot nodes as of its last context; below."""
        scope = self._engine.scopes.get(request.scope_id)
        latest, problem = await self._latest([scope], request)
        degraded = [problem] if problem else []
        sessions = await self._sessions_of([scope])
        rows = latest.get(scope.id, [])
        reply = self._reply(scope, sessions.get(scope.session_id), rows)
        if request.turns:
            may_see = partial(self._engine.permissions.may_list, agent=request.agent)
            found, problems = await turns_of(self._engine.deliveries, scope.id, request.turns, may_see)
            reply = replace(reply, turns=[_turn(turn) for turn in found])
            degraded += problems
        if request.layers:
            now, problem = await self._now(scope, rows, request)
            reply = replace(reply, now=now)
            degraded += [problem] if problem else []
        return replace(reply, degraded=[*dict.fromkeys(degraded)])

    @method("ListScopes", policy="list", access="read")
    async def list_scopes(self, request: ListScopesRequest) -> ScopesReply:
        """List scopes, the most recently used first."""
        root = None if request.cwd is None else await self._engine.projects.root_of(request.cwd)
        scopes = self._engine.scopes.of_project(root)
        if request.session_id is not None:
            scopes = [scope for scope in scopes if scope.session_id == request.session_id]
        latest, problem = await self._latest(scopes, request)
        sessions = await self._sessions_of(scopes)
        found: list[ScopeReply] = []
        for scope in scopes:
            found.append(self._reply(scope, sessions.get(scope.session_id), latest.get(scope.id, ())))
            if not len(found) % AT_ONCE:
                await asyncio.sleep(0)  # other requests come between
        return ScopesReply(found, [problem] if problem else [])

    async def _latest(
        self, scopes: Sequence[Scope], request: AgentRequest
    ) -> tuple[Mapping[str, list[ContextRow]], str]:
        """Return of each scope the latest contexts that the agent may see, first the one that answered a
        prompt; and why they can't be read."""
        chosen = ContextFilter(scope_ids=tuple(scope.id for scope in scopes))
        may_see = partial(self._engine.permissions.may_list, agent=request.agent)
        try:
            rows = (
                await self._engine.deliveries.contexts(chosen, 2 * len(scopes), "", may_see) if scopes else []
            )
        except StateError as error:
            return {}, f"what the scopes were given can't be told: {error}"
        found: dict[str, list[ContextRow]] = {}
        for row in sorted(rows, key=lambda row: not row.prompt):
            found.setdefault(row.scope_id, []).append(row)
        return found, ""

    async def _sessions_of(self, scopes: Sequence[Scope]) -> Mapping[str, ScopeSession]:
        """Return the sessions of scopes that have a record, by their ids."""
        sessions, ids = self._engine.sessions, {scope.session_id for scope in scopes} - {""}
        if len(ids) == 1:
            one = (await sessions.find(ids.pop())).session
            return {} if one is None else {one.id: _session(one)}
        listed = (await sessions.list(None)).sessions if ids else ()
        return {each.id: _session(each) for each in listed}

    async def _now(
        self, scope: Scope, rows: Sequence[ContextRow], request: GetScopeRequest
    ) -> tuple[ScopeContext, str]:
        """Return the context that the scope's last prompt would get now; without one that can be read, that
        of an empty request, and why. After news, which are small, it is one of the usual size."""
        engine, agent = self._engine, request.agent
        project = await engine.projects.open_root(scope.root)
        stored, problem = None, ""
        try:
            stored = await engine.deliveries.context(rows[0].id) if rows else None
        except StateError as error:
            problem = str(error)
        asked = ContextRequest(task_type=scope.task_type) if stored is None else past_context(stored).request
        if stored is None or asked.news:
            limits = project.config.context
            most = limits.max_tokens_of(asked.model)
            reserve = min(limits.reserve_tokens, most // 4)
            asked = replace(asked, max_tokens=most, reserve_tokens=reserve, max_bytes=limits.max_bytes)
        asked = replace(
            asked,
            format="markdown",
            delta=False,
            news=False,
            preview=True,
            agent_name=agent.name,
            agent_type=agent.type,
        )
        reply = await engine.contexts.look(project, scope, asked, request.deadline_ms)
        return convert({"dropped": [], **asdict(asked), **reply}, ScopeContext), problem

    async def _nodes(self, request: FocusRequest) -> list[str]:
        scope = self._engine.scopes.get(request.scope_id)
        project = self._engine.projects.get(scope.root)
        links: list[LinkedProject] = []
        if project is not None and project.config.linked.projects:
            permissions = self._engine.permissions
            policy = await permissions.require(project, request.agent, scope=scope)
            links = [each for each, _ in permissions.linked_now(project, request.agent, policy)]
        nodes = [
            *(node_id_in(scope.root, node, "node_ids", links) for node in request.node_ids),
            *(node_id_in(scope.root, path, "paths", links) for path in request.paths),
        ]
        if not nodes:
            raise InvalidRequest("node_ids or paths must name at least one node", "node_ids")
        if len(nodes) > NODES_MAX:
            raise TooLarge(f"{len(nodes):,} nodes were named; at most {NODES_MAX:,} are taken in one call")
        return nodes

    def _reply(self, scope: Scope, session: ScopeSession | None, rows: Sequence[ContextRow]) -> ScopeReply:
        last = rows[0] if rows else None
        used = iso_of(max(row.at for row in rows)) if rows else scope.created_at
        above = self._engine.scopes.origins_above(scope)
        return reply_of(
            ScopeReply,
            scope,
            inherited_constraints=tuple(above),
            constraint_origins=[_origin(text, origin) for text, origin in above.items()],
            hot=tuple(reply_of(HotFile, node) for node in scope.hot),
            session=session or UNSET,
            last_prompt=UNSET if last is None else last.prompt or UNSET,
            last_context_id=UNSET if last is None else last.id,
            last_used=used or UNSET,
            layers=UNSET if last is None else last.layers,
            turns=UNSET,
            now=UNSET,
            degraded=UNSET,
        )


def _session(one: Session | SessionSummary) -> ScopeSession:
    title = one.name or one.current_intent.partition("\n")[0]
    return ScopeSession(agent_name=one.agent_name, title=title, ended=bool(one.ended))


def _origin(text: str, origin: Scope | None) -> ConstraintOrigin:
    if origin is None:
        return ConstraintOrigin(text)
    return ConstraintOrigin(text, origin.id, origin.agent_name or UNSET)


def _turn(turn: ScopeTurn) -> ScopeTurnReply:
    row = turn.row
    changes = [reply_of(TurnChangeReply, change) for change in turn.changes]
    return reply_of(
        ScopeTurnReply,
        turn,
        context_id=row.id,
        at=iso_of(row.at),
        prompt=row.prompt,
        tokens=row.tokens,
        layers=row.layers,
        changes=changes,
    )
