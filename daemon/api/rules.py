"""The methods about items (rules, references and tools) and about the servers of tools.

Their docstrings become rows of docs/methods.md; "below" means a section of docs/protocol-*.md.
"""

from __future__ import annotations

import os
import time
from typing import Annotated, Any, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from ..config.item_selection import ItemSelection, parse_selection
from ..context.service import profiles_for
from ..core.errors import NotFound
from ..core.parameters import LIST_MAX, NonEmpty
from ..core.times import bound_in
from ..engine.service import EngineMethods
from ..rules.records import (
    AgentItems,
    IncludeMode,
    Item,
    ItemKey,
    ItemScore,
    ItemType,
    ServerFile,
    ServerFileState,
    ServerState,
)
from ..rules.service import draft_of, item_key, key_in, key_of, remark_on, resolve
from ..workspace.service import Project, deadline_of
from .marks import Count, File, NameOfItem, Plain, Server, Text
from .method import DEADLINE_MAX_MS, Deadline, ItemName, ProjectRequest, method, milliseconds_since, reply_of

TEXTS_MAX_BYTES = 8_000_000
"""Maximum bytes of texts in a list, so that it fits a frame; later items are listed without theirs."""

ItemTypes = Annotated[tuple[ItemType, ...], Meta(max_length=LIST_MAX)]
ALL_TYPES: tuple[ItemType, ...] = get_args(ItemType)

Score = Annotated[float, Meta(ge=-1.0, le=2.0)]


class ListItemsRequest(ProjectRequest, frozen=True, kw_only=True):
    types: ItemTypes = ALL_TYPES
    content: bool = True


class ItemReply(ItemName, frozen=True, kw_only=True):
    include: Plain[str]
    description: Text[str | UnsetType] = UNSET
    globs: Text[list[str] | UnsetType] = UNSET
    priority_level: Plain[int]
    source: Text[str]
    line: Plain[int]
    put: bool
    server_include: Plain[str | UnsetType] = UNSET
    own_include: Plain[str | UnsetType] = UNSET
    text: Text[str | UnsetType] = UNSET


class ItemsReply(Struct, frozen=True):
    items: list[ItemReply]
    warnings: Text[list[str]]
    texts_left_out: Count[int]


class PutItemRequest(ProjectRequest, frozen=True, kw_only=True):
    item: Annotated[dict[str, Any], Meta(description="a map with type, name, include, text")]


class PutItemReply(Struct, frozen=True):
    item: ItemReply


class DeleteItemRequest(ProjectRequest, frozen=True, kw_only=True):
    type: ItemType
    name: NonEmpty
    server_name: str = ""


class DeleteItemReply(Struct, frozen=True):
    deleted: bool
    item: ItemReply | UnsetType = UNSET


class ToolModeRequest(ProjectRequest, frozen=True, kw_only=True):
    server_name: NonEmpty
    name: str = ""
    include: Literal["always", "manual", "agent", "glob", "default"]


class ToolMode(Struct, frozen=True):
    name: NameOfItem[str]
    include: Plain[str]


class ToolModeReply(Struct, frozen=True):
    changed: bool
    tools: list[ToolMode]


class SearchItemsRequest(ProjectRequest, frozen=True, kw_only=True):
    query: str
    items: Annotated[tuple[dict[str, Any], ...], Meta(max_length=LIST_MAX)] | None = None
    types: ItemTypes = ALL_TYPES
    top_k: Annotated[int, Meta(ge=0, le=1_000)] | None = None
    top_n: Annotated[int, Meta(ge=0, le=200)] | None = None
    include_score: Score | None = None
    floor: Score | None = None
    preset: Literal["aggressive", "normal", "conservative"] | None = None
    deadline_ms: Deadline | None = None

    @property
    def selection(self) -> ItemSelection | None:
        """Return the search's settings for choosing items, None if it doesn't set any."""
        fields = {
            "top_k": self.top_k,
            "top_n": self.top_n,
            "include_score": self.include_score,
            "floor": self.floor,
        }
        if self.preset is not None:
            return parse_selection({**fields, "preset": self.preset})
        return None if all(value is None for value in fields.values()) else parse_selection(fields)


class ScoredItem(ItemName, frozen=True, kw_only=True):
    """An item in a search result: `similarity_score` decided, `similarity` is the best cosine alone."""

    include: Plain[str]
    description: Text[str | UnsetType] = UNSET
    similarity_score: Plain[float]
    similarity: Plain[float | None]
    lexical: Plain[float]
    reason: Plain[str]


class SearchItemsReply(Struct, frozen=True):
    items: list[ScoredItem]
    considered: list[ScoredItem]
    degraded: Text[list[str]]
    elapsed_ms: Plain[float]


class ItemUsageRequest(ProjectRequest, frozen=True, kw_only=True):
    since: str = ""


class ItemCountsReply(ItemName, frozen=True, kw_only=True):
    include: Plain[str | None]
    requests: Plain[int]
    reported: Plain[int]
    referred: Plain[int]
    last_day: Plain[str]


class SuggestionReply(ItemName, frozen=True, kw_only=True):
    action: Literal["remove", "demote"]
    text: Text[str]


class DayShareReply(Struct, frozen=True):
    day: Plain[str]
    selected: Count[int]
    reported: Count[int]
    referred: Count[int]
    share: Count[float | None]


class ItemUsageReply(Struct, frozen=True):
    items: list[ItemCountsReply]
    suggestions: list[SuggestionReply]
    shares: list[DayShareReply]


class ListServersRequest(ProjectRequest, frozen=True, kw_only=True):
    refresh: bool = True
    again: bool = False


class ToolReply(Struct, frozen=True):
    name: NameOfItem[str]
    description: Text[str]


class ServerReply(Struct, frozen=True, kw_only=True):
    name: Server[str]
    line: Plain[int]
    transport: Plain[str]
    runs: Plain[str]
    command: Text[str]
    arguments: Text[tuple[str, ...]]
    folder: Text[str]
    environment: Text[list[str]]
    headers: Text[list[str]]
    variables: Text[list[str]]
    left_out: Text[str]
    listed_at: Plain[str]
    problem: Text[str]
    tools: list[ToolReply]
    tools_left_out: Plain[int]
    remark: Text[str | UnsetType] = UNSET


class CoveredProgram(Struct, frozen=True):
    """A program or script that an approval covers, with the hash of its content."""

    path: File[str]
    digest: Plain[str]


class ServerFileReply(Struct, frozen=True, kw_only=True):
    path: File[str]
    section: Plain[str]
    host: Plain[str]
    scope: Plain[str]
    digest: Plain[str]
    approved: bool
    problem: Text[str]
    servers: list[ServerReply]
    programs: list[CoveredProgram] | UnsetType = UNSET


class ServersReply(Struct, frozen=True):
    files: list[ServerFileReply]


class ApproveRequest(ProjectRequest, frozen=True, kw_only=True):
    path: NonEmpty
    digest: NonEmpty
    section: str | None = None


class ApproveReply(Struct, frozen=True):
    approved: Plain[int]


class RevokeRequest(ProjectRequest, frozen=True, kw_only=True):
    path: NonEmpty


class RevokeReply(Struct, frozen=True):
    revoked: Plain[int]


class ItemMethods(EngineMethods):
    """The methods over one engine."""

    @method("ListItems", policy="project", access="read")
    async def list_items(self, request: ListItemsRequest) -> ItemsReply:
        """List items; without `content` no texts. Beyond 8 MB of texts, items are listed without theirs, and
        `texts_left_out` counts them."""
        project = await self._engine.projects.at(request.cwd)
        items = await self._engine.items_of(project)
        policy = await self._engine.permissions.require(project, request.agent)
        listed, left_out = [], 0
        space = TEXTS_MAX_BYTES
        for item in items.items:
            if item.type in request.types:
                if request.content:
                    space -= len(item.text.encode("utf-8", "replace"))
                    left_out += space < 0
                listed.append(_item(item, items, with_text=request.content and space >= 0))
        warnings = [*project.instructions.rules.warnings, *items.warnings]
        if problem := project.problems.get("items"):
            warnings.append(problem)
        # A warning names its item in words, so that nobody could tell which are about hidden ones.
        return ItemsReply(listed, [] if policy.deny_items else warnings, left_out)

    @method("PutItem", policy="project", access="person")
    async def put_item(self, request: PutItemRequest) -> PutItemReply:
        """Put an item, and return it as it is now; without a `text` it changes how an item of another
        source is included."""
        fields = request.item
        draft_of(fields)  # checked before a project is opened for an unusable item
        project = await self._engine.projects.at(request.cwd)
        item, items = await self._engine.items.put(project, fields)
        self._engine.item_search.warm_again(project.root, items.items)
        self._publish_change(project)
        return PutItemReply(_item(item, items, with_text=False))

    @method("DeleteItem", policy="project", access="person")
    async def delete_item(self, request: DeleteItemRequest) -> DeleteItemReply:
        """Delete an item that was put; `item` is the item of another source that it replaced, if any."""
        key = item_key(request.type, request.name.strip(), request.server_name.strip())
        project = await self._engine.projects.at(request.cwd)
        own = await self._engine.items.delete(project, key)
        known = project.instructions.items
        self._publish_change(project)
        return DeleteItemReply(True, _item(own, known, with_text=False) if own else UNSET)

    @method("SetToolMode", policy="project", access="person")
    async def set_tool_mode(self, request: ToolModeRequest) -> ToolModeReply:
        """Set the mode of a tool, or without a `name` that of its server; `default` forgets a setting."""
        server, name = request.server_name, request.name
        include: IncludeMode | None = None if request.include == "default" else request.include
        project = await self._engine.projects.at(request.cwd)
        changed = await self._engine.items.set_tool_mode(project, server, name, include)
        self._engine.item_search.warm_again(project.root, project.instructions.items.items)
        tools = [
            ToolMode(item.name, item.include)
            for item in project.instructions.items.items
            if item.type == "tool" and item.server_name == server and name in {"", item.name}
        ]
        self._publish_change(project)
        return ToolModeReply(changed, tools)

    @method("SearchItems", policy="project", access="read")
    async def search_items(self, request: SearchItemsRequest) -> SearchItemsReply:
        """Search items of all modes as a context does for its prompt; below."""
        started = time.perf_counter()
        selection = request.selection
        project = await self._engine.projects.at(request.cwd)
        await self._engine.projects.reload_settings(project)
        await self._engine.items_of(project, request.deadline_ms)
        policy = await self._engine.permissions.require(project, request.agent)
        known = await self._engine.permissions.items(project, policy)
        named = request.items
        items = known.items if named is None else [_named(known, fields) for fields in named]
        deadline = deadline_of(project, request.deadline_ms)
        if selection is None:
            profiles = profiles_for(project.config, request.agent_name)
        else:
            profiles = resolve(*project.config.selection.levels(request.agent_name), selection)
        found = await self._engine.item_search.search(
            [item for item in items if item.type in request.types],
            request.query,
            profiles,
            within_s=deadline.left(DEADLINE_MAX_MS / 1000),
        )
        return SearchItemsReply(
            [_scored(score) for score in found.taken],
            [_scored(score) for score in found.considered],
            list(found.degraded),
            milliseconds_since(started),
        )

    @method("GetItemUsage", policy="project", access="read")
    async def item_usage(self, request: ItemUsageRequest) -> ItemUsageReply:
        """Return how often items were sent and referred to, and the resulting suggestions; `since` is a
        day."""
        bound_in(request.since[:10], "since", None)  # it must be a day
        project = await self._engine.projects.at(request.cwd)
        known = await self._engine.items.refresh(project)
        modes = {key: item.include for key, item in known.by_key.items()}
        usage = await self._engine.deliveries.item_usage(project.root, modes, request.since)
        return ItemUsageReply(
            [
                reply_of(ItemCountsReply, item, **_name(item.key), include=modes.get(item.key))
                for item in usage.items
            ],
            [
                SuggestionReply(**_name(found.key), action=found.action, text=found.text)
                for found in usage.suggestions
            ],
            [reply_of(DayShareReply, day) for day in usage.shares],
        )

    @method("ListToolServers", policy="project", access="read")
    async def list_servers(self, request: ListServersRequest) -> ServersReply:
        """List the MCP servers of a project and their tools. An approved server is run if its list of tools
        is missing; with `again` all approved servers are run, and without `refresh` no server is run."""
        project = await self._engine.projects.at(request.cwd)
        if request.again or request.refresh:
            await self._engine.items.list_tools(project, again=request.again)
            self._engine.item_search.warm_again(project.root, project.instructions.items.items)
        return ServersReply([_server_file(state) for state in await self._engine.items.servers(project)])

    @method("ApproveToolServers", policy="user's project", access="person")
    async def approve_servers(self, request: ApproveRequest) -> ApproveReply:
        """Approve the servers of a file; `approved` counts the sections that weren't before.
        `invalid_params` if the file has changed since it had this `digest`."""
        project = await self._engine.projects.at(request.cwd)
        approved = await self._engine.items.approve(project, request.path, request.section, request.digest)
        self._publish_change(project)
        return ApproveReply(approved)

    @method("RevokeToolServers", policy="user's project", access="person")
    async def revoke_servers(self, request: RevokeRequest) -> RevokeReply:
        """Revoke the approvals of a file; `revoked` counts them."""
        project = await self._engine.projects.at(request.cwd)
        revoked = await self._engine.items.revoke(project, request.path)
        self._publish_change(project)
        return RevokeReply(revoked)

    def _publish_change(self, project: Project) -> None:
        self._engine.events.publish("items.changed", {"project": project.root})


def _name(key: ItemKey) -> dict[str, Any]:
    return {"type": key.type, "name": key.name, "server_name": key.server_name or UNSET}


def _item(item: Item, known: AgentItems, *, with_text: bool) -> ItemReply:
    """Return an item in the form of the wire, without empty fields. `put` marks an item that was put.

    A tool also has its server's mode, and its own mode if one was set, which takes precedence.
    """
    key, is_tool = key_of(item), item.type == "tool"
    own = known.modes.get((item.server_name, item.name))
    has_own = is_tool and (own is not None or key in known.stored)
    return ItemReply(
        **_name(key),
        include=item.include,
        description=item.description or UNSET,
        globs=list(item.globs) or UNSET,
        priority_level=item.priority_level,
        source=item.source,
        line=item.line,
        put=key in known.stored,
        server_include=known.modes.get((item.server_name, ""), "always") if is_tool else UNSET,
        own_include=(own or item.include) if has_own else UNSET,
        text=item.text if item.text and with_text else UNSET,
    )


def _named(known: AgentItems, fields: dict[str, Any]) -> Item:
    """Return the named item, or an item given in full, which needn't be stored."""
    key = key_in(fields, "items.")
    item = known.get(key)
    if item is not None and not fields.get("text"):
        return item
    draft = draft_of({"include": "agent", **fields}, "items.")
    if not draft.stands_alone and not draft.description:
        raise NotFound(f"there is no {key}; give its text to search it all the same")
    return draft.item("SearchItems")


def _scored(score: ItemScore) -> ScoredItem:
    return ScoredItem(
        **_name(score.key),
        include=score.item.include,
        description=score.item.description or UNSET,
        similarity_score=score.score,
        similarity=score.similarity,
        lexical=score.lexical,
        reason=score.reason,
    )


def _server_file(state: ServerFileState) -> ServerFileReply:
    servers = [_server(server, state.file) for server in state.servers]
    programs = [CoveredProgram(path, digest) for path, digest in state.file.programs]
    return reply_of(
        ServerFileReply, state.file, approved=state.approved, servers=servers, programs=programs or UNSET
    )


def _server(state: ServerState, file: ServerFile) -> ServerReply:
    server, tools = state.server, state.tools
    return reply_of(
        ServerReply,
        server,
        runs=state.runs,
        folder=os.path.join(server.base, server.folder),
        environment=list(server.shown_environment),
        headers=[name for name, _ in (*server.headers, *server.header_variables)],
        variables=list(state.variables),
        left_out=state.left_out,
        listed_at=tools.listed_at if tools else "",
        problem=tools.problem if tools else "",
        tools=[ToolReply(tool.name, tool.description) for tool in (tools.tools if tools else ())],
        tools_left_out=tools.left_out if tools else 0,
        remark=remark_on(server, file) or UNSET,
    )
