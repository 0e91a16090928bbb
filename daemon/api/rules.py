"""Owns the methods about items and the servers of tools: parameters in, plain maps out; knows no wire."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, cast

from ..app.engine import Engine
from ..core.errors import InvalidRequest, NotFound
from ..core.parameters import MISSING, Parameters
from ..project.freshness import deadline_of
from ..project.project import Project
from ..rules.agent_items import AgentItems
from ..rules.approvals import ServerFileState, ServerState
from ..rules.item_plans import profiles_for
from ..rules.item_store import draft_of, key_in
from ..rules.items import IncludeMode, Item, ItemKey, item_key, key_of
from ..rules.selection import ItemScore, ItemSelection, parse_selection, resolve
from ..sessions.request_record import key_map

Method = Callable[[Parameters], Awaitable[dict[str, Any]]]

TYPES = ("rule", "reference", "tool")
TOOL_MODES = ("always", "manual", "agent", "glob", "default")
PRESETS = ("aggressive", "normal", "conservative")

TEXTS_MAX_BYTES = 8_000_000
"""A list holds texts of so many bytes, so that it fits a frame; of later items it tells all but the text."""

DEADLINE_MAX_MS = 600_000


class ItemMethods:
    """The methods by name over one engine."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.methods: Mapping[str, Method] = {
            "ListItems": self._list_items,
            "PutItem": self._put_item,
            "DeleteItem": self._delete_item,
            "SetToolMode": self._set_tool_mode,
            "SearchItems": self._search_items,
            "GetItemUsage": self._get_item_usage,
            "ListToolServers": self._list_tool_servers,
            "ApproveToolServers": self._approve_tool_servers,
            "RevokeToolServers": self._revoke_tool_servers,
        }

    async def _list_items(self, parameters: Parameters) -> dict[str, Any]:
        project = await self._engine.projects.at(parameters.text("cwd"))
        types, content = _types(parameters), parameters.flag("content", True)
        items = await self._engine.items_of(project)
        listed, left_out = [], 0
        room = TEXTS_MAX_BYTES
        for item in items.items:
            if item.type in types:
                if content:
                    room -= len(item.text.encode("utf-8", "replace"))
                    left_out += room < 0
                listed.append(item_map(item, items, with_text=content and room >= 0))
        warnings = [*project.instructions.rules.warnings, *items.warnings]
        if problem := project.problems.get("items"):
            warnings.append(problem)
        return {"items": listed, "warnings": warnings, "texts_left_out": left_out}

    async def _put_item(self, parameters: Parameters) -> dict[str, Any]:
        fields = parameters.map("item")
        if fields is None:
            raise InvalidRequest("item is missing; it must be a map with type, name, include, text", "item")
        draft_of(fields)  # before a project is opened for what can't be used
        project = await self._engine.projects.at(parameters.text("cwd"))
        item, items = await self._engine.items.put(project, fields)
        self._engine.item_search.warm_again(project.root, items.items)
        self._tell_changed(project)
        return {"item": item_map(item, items, with_text=False)}

    async def _delete_item(self, parameters: Parameters) -> dict[str, Any]:
        key = item_key_of(parameters)
        project = await self._engine.projects.at(parameters.text("cwd"))
        own = await self._engine.items.delete(project, key)
        known = project.instructions.items
        self._tell_changed(project)
        return {"deleted": True, **({"item": item_map(own, known, with_text=False)} if own else {})}

    async def _set_tool_mode(self, parameters: Parameters) -> dict[str, Any]:
        server, name = parameters.text("server_name", empty=False), parameters.text("name", "")
        mode = parameters.choice("include", MISSING, TOOL_MODES)
        include = None if mode == "default" else cast("IncludeMode", mode)
        project = await self._engine.projects.at(parameters.text("cwd"))
        changed = await self._engine.items.set_tool_mode(project, server, name, include)
        self._engine.item_search.warm_again(project.root, project.instructions.items.items)
        tools = [
            {"name": item.name, "include": item.include}
            for item in project.instructions.items.items
            if item.type == "tool" and item.server_name == server and name in {"", item.name}
        ]
        self._tell_changed(project)
        return {"changed": changed, "tools": tools}

    async def _search_items(self, parameters: Parameters) -> dict[str, Any]:
        started = time.perf_counter()
        query, types = parameters.text("query"), _types(parameters)
        named = parameters.maps("items") if parameters.has("items") else None
        request = _selection(parameters)
        deadline_ms = parameters.integer("deadline_ms", None, 0, DEADLINE_MAX_MS)
        agent_name = parameters.text("agent_name", "")
        project = await self._engine.projects.at(parameters.text("cwd"))
        await self._engine.projects.reload_settings(project)
        known = await self._engine.items_of(project, deadline_ms)
        items = known.items if named is None else [_named(known, one) for one in named]
        deadline = deadline_of(project, deadline_ms)
        if request is None:
            profiles = profiles_for(project.config, agent_name)
        else:
            profiles = resolve(*project.config.selection.levels(agent_name), request)
        found = await self._engine.item_search.search(
            [item for item in items if item.type in types],
            query,
            profiles,
            within_s=deadline.left(DEADLINE_MAX_MS / 1000),
        )
        return {
            "items": [_score_map(one) for one in found.taken],
            "considered": [_score_map(one) for one in found.considered],
            "degraded": list(found.degraded),
            "elapsed_ms": round((time.perf_counter() - started) * 1000, 3),
        }

    async def _get_item_usage(self, parameters: Parameters) -> dict[str, Any]:
        since = parameters.text("since", "")
        project = await self._engine.projects.at(parameters.text("cwd"))
        known = await self._engine.items.refresh(project)
        modes = {key: item.include for key, item in known.by_key.items()}
        root, requests = project.root, self._engine.requests
        items = await requests.ask_usage(lambda usage: usage.items(root, since))
        suggestions = await requests.ask_usage(lambda usage: usage.suggestions(root, modes, since))
        shares = await requests.ask_usage(lambda usage: usage.shares(root, since))
        return {
            "items": [
                {
                    **key_map(one.key),
                    "include": modes.get(one.key),
                    "requests": one.requests,
                    "reported": one.reported,
                    "referred": one.referred,
                    "last_day": one.last_day,
                }
                for one in items
            ],
            "suggestions": [
                {**key_map(one.key), "action": one.action, "text": one.text} for one in suggestions
            ],
            "shares": [
                {
                    "day": one.day,
                    "selected": one.selected,
                    "reported": one.reported,
                    "referred": one.referred,
                    "share": one.share,
                }
                for one in shares
            ],
        }

    async def _list_tool_servers(self, parameters: Parameters) -> dict[str, Any]:
        again, refresh = parameters.flag("again"), parameters.flag("refresh", True)
        project = await self._engine.projects.at(parameters.text("cwd"))
        if again or refresh:
            await self._engine.items.list_tools(project, again=again)
            self._engine.item_search.warm_again(project.root, project.instructions.items.items)
        return {"files": [_file_map(one) for one in await self._engine.items.servers(project)]}

    async def _approve_tool_servers(self, parameters: Parameters) -> dict[str, Any]:
        path, digest = parameters.text("path", empty=False), parameters.text("digest", empty=False)
        section = parameters.optional_text("section")
        project = await self._engine.projects.at(parameters.text("cwd"))
        approved = await self._engine.items.approve(project, path, section, digest)
        self._tell_changed(project)
        return {"approved": approved}

    async def _revoke_tool_servers(self, parameters: Parameters) -> dict[str, Any]:
        path = parameters.text("path", empty=False)
        project = await self._engine.projects.at(parameters.text("cwd"))
        revoked = await self._engine.items.revoke(project, path)
        self._tell_changed(project)
        return {"revoked": revoked}

    def _tell_changed(self, project: Project) -> None:
        self._engine.events.publish("items.changed", {"project": project.root})


def item_key_of(parameters: Parameters) -> ItemKey:
    """Return the item that a request names by type, name and server."""
    return item_key(
        parameters.choice("type", MISSING, TYPES),
        parameters.text("name", empty=False).strip(),
        parameters.text("server_name", "").strip(),
    )


def item_map(item: Item, known: AgentItems, *, with_text: bool) -> dict[str, Any]:
    """Return an item as the wire has it; what is empty is left out. `put` marks one that was put.

    A tool has its server's mode too, and its own where one was set: that goes before.
    """
    key = key_of(item)
    found: dict[str, Any] = {**key_map(key), "include": item.include}
    if item.description:
        found["description"] = item.description
    if item.globs:
        found["globs"] = list(item.globs)
    found |= {"priority_level": item.priority_level, "source": item.source, "line": item.line}
    found["put"] = key in known.stored
    if item.type == "tool":
        found["server_include"] = known.server_modes.get(item.server_name, "always")
        own = known.tool_modes.get((item.server_name, item.name))
        if own is not None or key in known.stored:
            found["own_include"] = own or item.include
    if item.text and with_text:
        found["text"] = item.text
    return found


def _types(parameters: Parameters) -> frozenset[str]:
    types = parameters.texts("types")
    unknown = [one for one in types or () if one not in TYPES]
    if unknown:
        raise InvalidRequest(
            f"types names {unknown[0]!r:.60}, which is none; there are {', '.join(TYPES)}", "types"
        )
    return frozenset(TYPES if types is None else types)


def _selection(parameters: Parameters) -> ItemSelection | None:
    """Return how a search is to choose, as far as it says that itself."""
    names = ("top_k", "top_n", "include_score", "floor")
    fields: dict[str, object] = {
        "top_k": parameters.integer("top_k", None, 0, 1_000),
        "top_n": parameters.integer("top_n", None, 0, 200),
        "include_score": _score(parameters, "include_score"),
        "floor": _score(parameters, "floor"),
    }
    if parameters.has("preset"):
        fields["preset"] = parameters.choice("preset", MISSING, PRESETS)
    elif all(fields[name] is None for name in names):
        return None
    return parse_selection(fields)


def _score(parameters: Parameters, name: str) -> float | None:
    return parameters.number(name, 0.0, -1.0, 2.0) if parameters.has(name) else None


def _named(known: AgentItems, parameters: Parameters) -> Item:
    """Return the item that is named, or the one that is given whole, which needn't be kept anywhere."""
    fields = parameters.fields
    key = key_in(fields, "items.")
    item = known.get(key)
    if item is not None and not fields.get("text"):
        return item
    draft = draft_of({"include": "agent", **fields}, "items.")
    if not draft.stands_alone and not draft.description:
        raise NotFound(f"there is no {key}; give its text to search it all the same")
    return draft.item("SearchItems")


def _score_map(one: ItemScore) -> dict[str, Any]:
    """Return a scored item; `similarity_score` is what decided, `similarity` the best cosine alone."""
    found: dict[str, Any] = {**key_map(one.key), "include": one.item.include}
    if one.item.description:
        found["description"] = one.item.description
    return found | {
        "similarity_score": one.score,
        "similarity": one.similarity,
        "lexical": one.lexical,
        "reason": one.reason,
    }


def _file_map(state: ServerFileState) -> dict[str, Any]:
    file = state.file
    return {
        "path": file.path,
        "section": file.section,
        "host": file.host,
        "scope": file.scope,
        "digest": file.digest,
        "approved": state.approved,
        "problem": file.problem,
        "servers": [_server_map(one) for one in state.servers],
    }


def _server_map(state: ServerState) -> dict[str, Any]:
    server, tools = state.server, state.tools
    return {
        "name": server.name,
        "line": server.line,
        "transport": server.transport,
        "runs": state.runs,
        "command": server.command,
        "arguments": list(server.arguments),
        "folder": os.path.join(server.base, server.folder),
        "environment": list(server.shown_environment),
        "headers": [name for name, _ in (*server.headers, *server.header_variables)],
        "variables": list(state.variables),
        "left_out": state.left_out,
        "listed_at": tools.listed_at if tools else "",
        "problem": tools.problem if tools else "",
        "tools": [
            {"name": tool.name, "description": tool.description} for tool in (tools.tools if tools else ())
        ],
        "tools_left_out": tools.left_out if tools else 0,
    }
