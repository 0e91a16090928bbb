"""The methods about scopes: the focus of an agent."""

from __future__ import annotations

from msgspec import Struct, UnsetType

from ..context.scopes import HotNode, Scope
from ..core.errors import InvalidRequest, TooLarge
from ..core.parameters import Texts
from .method import AgentRequest, EngineMethods, ScopeRequest, method, node_id_in, reply_of

NODES_MAX = 1_000
"""Maximum nodes that a call adds or removes; each may have to be looked up on the disk."""


class FocusRequest(ScopeRequest, frozen=True, kw_only=True):
    node_ids: Texts = ()
    paths: Texts = ()


class ExpandReply(Struct, frozen=True):
    expanded: list[str]
    already: list[str]
    unknown: list[str]


class ContractReply(Struct, frozen=True):
    contracted: list[str]
    unknown: list[str]


class ReleaseRequest(AgentRequest, frozen=True, kw_only=True):
    scope_id: str


class ReleaseReply(Struct, frozen=True):
    released: bool


class ScopeReply(
    Struct,
    frozen=True,
    kw_only=True,
    rename={"id": "scope_id", "root": "project", "parent_id": "parent_scope_id", "hot": "hot_nodes"},
):
    """A scope, with the attributes of `Scope`."""

    id: str
    root: str
    session_id: str | UnsetType
    agent_id: str | UnsetType
    agent_name: str | UnsetType
    task_type: str | UnsetType
    focus_paths: tuple[str, ...]
    expanded: tuple[str, ...]
    constraints: tuple[str, ...]
    inherited_constraints: tuple[str, ...]
    parent_id: str | UnsetType
    hot: tuple[HotNode, ...]
    created_at: str | UnsetType
    memory_bytes: int


class ListScopesRequest(AgentRequest, frozen=True, kw_only=True):
    cwd: str | None = None


class ScopesReply(Struct, frozen=True):
    scopes: list[ScopeReply]


class ScopeMethods(EngineMethods):
    """The methods over one engine."""

    @method("ExpandFocus", policy="scope")
    async def expand(self, request: FocusRequest) -> ExpandReply:
        """Add nodes to the focus of a scope."""
        return ExpandReply(**await self._engine.scoping.expand(request.scope_id, self._nodes(request)))

    @method("ContractFocus", policy="scope")
    async def contract(self, request: FocusRequest) -> ContractReply:
        """Take nodes out of the focus of a scope."""
        return ContractReply(**await self._engine.scoping.contract(request.scope_id, self._nodes(request)))

    @method("ReleaseScope", policy="open")
    async def release(self, request: ReleaseRequest) -> ReleaseReply:
        """Forget a scope."""
        await self._engine.scoping.release(request.scope_id)
        return ReleaseReply(released=True)

    @method("GetScope", policy="scope")
    def get(self, request: ScopeRequest) -> ScopeReply:
        """Return a scope, with its hot nodes as of its last context."""
        return self._reply(self._engine.scopes.get(request.scope_id))

    @method("ListScopes", policy="list")
    async def list_scopes(self, request: ListScopesRequest) -> ScopesReply:
        """List scopes, the most recently used first."""
        root = None if request.cwd is None else await self._engine.projects.root_of(request.cwd)
        return ScopesReply([self._reply(scope) for scope in self._engine.scopes.of_project(root)])

    def _nodes(self, request: FocusRequest) -> list[str]:
        scope = self._engine.scopes.get(request.scope_id)
        project = self._engine.projects.get(scope.root)
        root = project.root if project else scope.root
        nodes = [
            *(node_id_in(root, node, "node_ids") for node in request.node_ids),
            *(node_id_in(root, path, "paths") for path in request.paths),
        ]
        if not nodes:
            raise InvalidRequest("node_ids or paths must name at least one node", "node_ids")
        if len(nodes) > NODES_MAX:
            raise TooLarge(f"{len(nodes):,} nodes were named; at most {NODES_MAX:,} are taken in one call")
        return nodes

    def _reply(self, scope: Scope) -> ScopeReply:
        inherited = self._engine.scopes.constraints_above(scope)
        return reply_of(ScopeReply, scope, inherited_constraints=tuple(inherited))
