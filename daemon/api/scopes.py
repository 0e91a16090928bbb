"""The methods about scopes: the focus of an agent."""

from __future__ import annotations

from msgspec import UNSET, Struct, UnsetType

from ..config.linked import LinkedProject
from ..core.errors import InvalidRequest, TooLarge
from ..core.parameters import Texts
from ..engine.service import EngineMethods
from ..sessions.records import Scope
from .marks import Count, File, Owner, Plain, Root, Said, Text
from .method import AgentRequest, ScopeRequest, method, node_id_in, reply_of

NODES_MAX = 1_000
"""Maximum nodes that a call adds or removes; each may have to be looked up on the disk."""


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


class ScopeReply(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"id": "scope_id", "root": "project", "parent_id": "parent_scope_id", "hot": "hot_nodes"},
):
    """A scope, with the attributes of `Scope`."""

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
    parent_id: Text[str | UnsetType] = UNSET
    hot: tuple[HotFile, ...]
    created_at: Plain[str | UnsetType] = UNSET
    memory_bytes: Count[int]


class ListScopesRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None


class ScopesReply(Struct, frozen=True):
    scopes: list[ScopeReply]


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
    def get(self, request: ScopeRequest) -> ScopeReply:
        """Return a scope, with its hot nodes as of its last context."""
        return self._reply(self._engine.scopes.get(request.scope_id))

    @method("ListScopes", policy="list", access="read")
    async def list_scopes(self, request: ListScopesRequest) -> ScopesReply:
        """List scopes, the most recently used first."""
        root = None if request.cwd is None else await self._engine.projects.root_of(request.cwd)
        return ScopesReply([self._reply(scope) for scope in self._engine.scopes.of_project(root)])

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

    def _reply(self, scope: Scope) -> ScopeReply:
        inherited = self._engine.scopes.constraints_above(scope)
        hot = tuple(reply_of(HotFile, node) for node in scope.hot)
        return reply_of(ScopeReply, scope, inherited_constraints=tuple(inherited), hot=hot)
