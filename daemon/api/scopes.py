"""Owns the methods about scopes: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..app.engine import Engine
from ..context.scopes import Scope
from ..core.errors import InvalidRequest, TooLarge
from ..core.parameters import Parameters
from .method_parts import Answer, Method, node_id_in

NODES_MAX = 1_000
"""Nodes that one call expands or contracts; each may have to be looked for on the disk."""


class ScopeMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.methods: Mapping[str, Method] = {
            "ExpandFocus": self._expand,
            "ContractFocus": self._contract,
            "ReleaseScope": self._release,
            "GetScope": self._get,
            "ListScopes": self._list,
        }

    async def _expand(self, parameters: Parameters) -> dict[str, Any]:
        scope_id, nodes = self._nodes(parameters)
        return await self._engine.scoping.expand(scope_id, nodes)

    async def _contract(self, parameters: Parameters) -> dict[str, Any]:
        scope_id, nodes = self._nodes(parameters)
        return await self._engine.scoping.contract(scope_id, nodes)

    async def _release(self, parameters: Parameters) -> dict[str, Any]:
        await self._engine.scoping.release(parameters.text("scope_id"))
        return {"released": True}

    def _get(self, parameters: Parameters) -> Answer:
        return self._scope_map(self._engine.scopes.get(parameters.text("scope_id")))

    async def _list(self, parameters: Parameters) -> dict[str, Any]:
        root = await self._engine.projects.root_of(parameters.text("cwd")) if parameters.has("cwd") else None
        return {"scopes": [self._scope_map(scope) for scope in self._engine.scopes.of_project(root)]}

    def _nodes(self, parameters: Parameters) -> tuple[str, list[str]]:
        scope = self._engine.scopes.get(parameters.text("scope_id"))
        project = self._engine.projects.get(scope.root)
        root = project.root if project else scope.root
        nodes = [
            node_id_in(root, node, field)
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
