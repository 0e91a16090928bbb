"""The items of open projects: their sources are merged and cached until one changes; clients change them
here, and tools of MCP servers are listed.
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import Iterable, Mapping
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from ..config.settings import Environment
from ..config.source import read_source
from ..core.confined_folder import stamp_now
from ..core.errors import ConfigError, InvalidRequest, NotFound, StateError
from ..core.system import Stamp, System, stamps_hold
from ..core.work import Work
from ..privacy.trust import PROJECT_FILE
from .agent_items import (
    AgentItems,
    ItemOwner,
    ProjectInstructions,
    delete_item,
    merge_items,
    put_item,
    set_tool_mode,
)
from .approvals import Approvals, Approved, ServerFileState, approved_servers, file_states, list_tools
from .instruction_files import RuleSet, discover
from .instruction_places import is_instruction_path, rule_files
from .item_search import ItemSearch
from .item_store import ItemDraft, ItemStore, StoredItems, draft_of, key_in
from .items import (
    IncludeMode,
    Item,
    ItemKey,
    has_harmful,
    item_key,
    item_text,
    key_of,
    one_line,
    plan_without_session,
    some_lines,
)
from .selection import resolve
from .server_config import McpServer, ServerFiles, read_server_files
from .server_launch import ProgramFiles, remark_on
from .tool_lists import ToolList, ToolLister, ToolLists, list_in

ITEMS_FILE = "items.json"
APPROVALS_FILE = "approvals.json"
TOOLS_FOLDER = "tools"

SERVERS_CHECK_S = 10.0
"""Seconds between checks of all hosts' configuration files. Hosts write into them all the time
(~/.claude.json holds a history of tens of megabytes), and a new server needs approval first anyway. The
approved files are checked for each answer: once changed, they aren't approved any more."""

_NOTHING_APPROVED = Approved({})
_NO_SERVERS = ServerFiles((), (), settled=True)


class ItemSources(Struct, frozen=True):
    """The sources of a project's items: the rules, the stamps of the other files, and the servers' files,
    checked `at` that second of the event loop's clock and read only if any is approved. `in_use` are the
    approved ones. `lasting` is False if something could not be read for a temporary reason, see `System`."""

    rules: RuleSet
    stamps: tuple[tuple[str, Stamp | None], ...]
    servers: ServerFiles
    in_use: ServerFiles
    at: float
    lasting: bool

    def unchanged(self, system: System, now: float) -> bool:
        """Tell whether merging again would give the same, by a few calls of `stat`; rules are not checked."""
        if not self.lasting or not stamps_hold(system.lstat, self.stamps):
            return False
        if not self.in_use.unchanged(system):
            return False
        return now - self.at < SERVERS_CHECK_S or self.servers.unchanged(system)


class _Merged(Struct, frozen=True):
    """The items, their sources, and a sentence about each unusable source."""

    items: AgentItems
    sources: ItemSources
    problem: str


class Items:
    """The items of all open projects. On the event loop only; blocking work runs in threads."""

    def __init__(self, environment: Environment, system: System, work: Work, lister: ToolLister) -> None:
        state = environment.state_dir
        self._environment = environment
        self._system = system
        self._work = work
        self._lister = lister
        self._approvals = Approvals(os.path.join(state, APPROVALS_FILE), system)
        self._programs = ProgramFiles(environment.variables, environment.home, system)
        self._lists = ToolLists(os.path.join(state, TOOLS_FOLDER), system)
        self._stores: dict[str, ItemStore] = {}
        self._sources: dict[str, ItemSources] = {}
        self._locks: dict[str, asyncio.Lock] = {}

    # Reading

    def holds(self, project: ItemOwner, now: float) -> bool:
        """Tell whether the items are those on disk, by `stat`: of the approved servers' files each time,
        of all other places now and then.

        `now` is the event loop's time in seconds.
        """
        known, instructions = self._sources.get(project.root), project.instructions
        if known is None or known.rules is not instructions.rules or instructions.stale:
            return False
        due = instructions.is_check_due(now)
        if not known.in_use.unchanged(self._system):
            return False
        if not known.rules.unchanged(self._system, texts_only=not due):
            return False
        if due:
            # Only what holds is noted: a request asks twice, and only the second one reads again.
            if not known.unchanged(self._system, now):
                return False
            instructions.checked(now)
        return True

    async def refresh(self, project: ItemOwner) -> AgentItems:
        """Return a project's items as they are on the disk now."""
        async with self._lock(project):
            if not await self._is_current(project):
                await self._read(project)
        return project.instructions.items

    async def put(self, project: ItemOwner, fields: Mapping[str, object]) -> tuple[Item, AgentItems]:
        """Put an item, durably; returns the item and all items."""
        known = await self._usable(project)
        draft = await self._work.in_writer(partial(put_item, self._store(project), fields, known))
        items = await self._reread(project)
        item = items.get(draft.key)
        if item is None:
            raise NotFound(f"the {draft.key} was put, but is gone already; put it again")
        return item, items

    async def delete(self, project: ItemOwner, key: ItemKey) -> Item | None:
        """Delete the item put under a key; returns the item of another source that shows again, if any."""
        known = await self._usable(project)
        await self._work.in_writer(partial(delete_item, self._store(project), key, known))
        return (await self._reread(project)).get(key)

    async def set_tool_mode(
        self, project: ItemOwner, server_name: str, name: str, include: IncludeMode | None
    ) -> bool:
        """Set a tool's mode, or its server's default if `name` is empty; returns whether anything changed."""
        known = await self._usable(project)
        files = (await asyncio.to_thread(self._server_files, project.root)).files
        servers = {server.name for file in files for server in file.servers}
        change = partial(set_tool_mode, self._store(project), server_name, name, include, known, servers)
        changed = await self._work.in_writer(change)
        await self._reread(project)
        return changed

    # The servers that offer tools

    async def servers(self, project: ItemOwner) -> tuple[ServerFileState, ...]:
        """Return the configuration files with their servers and the known tools."""
        await self.refresh(project)
        return await asyncio.to_thread(self._file_states, project.root)

    async def approve(self, project: ItemOwner, path: str, section: str | None, digest: str) -> int:
        """Approve a file as a person saw it; returns how many sections were newly approved."""
        files = (await asyncio.to_thread(self._server_files, project.root)).files
        chosen = [file for file in files if file.path == path and section in {None, file.section}]
        chosen = [file for file in chosen if not digest or file.digest == digest] or chosen[:1]
        if not chosen:
            known = ", ".join(sorted({file.path for file in files})) or "none"
            raise NotFound(f"{path!r:.300} configures no servers for {project.root}; these do: {known}")
        done = 0
        for file in chosen:
            done += await self._work.in_writer(partial(self._approvals.approve, file, digest or file.digest))
        await self._reread(project)
        return done

    async def revoke(self, project: ItemOwner, path: str) -> int:
        """Revoke the approvals of a file; returns how many there were."""
        done = await self._work.in_writer(partial(self._approvals.revoke, path))
        await self._reread(project)
        return done

    async def forget_project(self, root: str) -> None:
        """Revoke the approvals of a project's files."""
        await self._work.in_writer(partial(self._approvals.forget, root))

    async def list_tools(self, project: ItemOwner, *, again: bool) -> tuple[tuple[McpServer, ToolList], ...]:
        """Run the approved servers that weren't listed yet, or all, and merge their tools into the items."""
        # In a thread of its own: it takes seconds, and no context should wait for it.
        found = await asyncio.to_thread(self._list_tools, project.root, again)
        await self._reread(project)
        return found

    def close(self) -> None:
        """End the servers that are listing tools."""
        self._lister.close()

    # Reading, in threads

    def _file_states(self, root: str) -> tuple[ServerFileState, ...]:
        return file_states(self._server_files(root).files, self._approvals.load(), self._lists)

    def _list_tools(self, root: str, again: bool) -> tuple[tuple[McpServer, ToolList], ...]:
        files = self._server_files(root).files
        return list_tools(files, self._approvals.load(), self._lists, self._lister, again=again)

    def _server_files(self, root: str) -> ServerFiles:
        return self._programs.covered(read_server_files(root, self._environment.home, self._system))

    def _merge(self, root: str, store: ItemStore, rules: RuleSet, now: float) -> _Merged:
        """Read all sources but the rules, and merge them."""
        own, project = self._environment.config_path, os.path.join(root, PROJECT_FILE)
        approvals = os.path.join(self._environment.state_dir, APPROVALS_FILE)
        denials = self._system.denials
        # Before reading, since a file may change meanwhile.
        stamps = tuple(
            (path, stamp_now(self._system, path)) for path in (own, project, store.path, approvals)
        )
        problems: list[str] = []
        try:
            stored = store.load()
        except StateError as error:
            stored = StoredItems()
            problems.append(str(error))
        try:
            approved = self._approvals.load()
        except StateError as error:
            approved = _NOTHING_APPROVED
            problems.append(str(error))
        servers = self._server_files(root) if approved.approvals else _NO_SERVERS
        configured = [self._configured(own, ""), self._configured(project, root)]
        in_use = approved_servers(servers.files, approved)
        tools = self._lists.items(in_use)
        items = merge_items(
            rules.items, [item for source in configured for item in source.items], stored, tools
        )
        warnings = (*(warning for source in configured for warning in source.warnings), *items.warnings)
        items = replace(items, warnings=warnings)
        lasting = self._system.denials == denials
        known = [file for file in servers.files if approved.of(file)]
        programs = dict(stamp for file in known for stamp in self._programs.stamps(file))
        used = _files_of(in_use, servers)
        used = replace(used, stamps=(*used.stamps, *programs.items()))
        sources = ItemSources(rules, stamps, servers, used, now, lasting)
        return _Merged(items, sources, " ".join(problems))

    def _configured(self, path: str, root: str) -> ConfiguredItems:
        """Return the items of a configuration file; none if it can't be read, which is reported elsewhere."""
        try:
            source = read_source(path, self._system, within=root)
        except ConfigError:
            return ConfiguredItems()
        if source is None:
            return ConfiguredItems()
        return items_in(path, source.text, source.tables, source.stamp, trusted=not root)

    # Helpers

    async def _is_current(self, project: ItemOwner) -> bool:
        known = self._sources.get(project.root)
        if known is None or known.rules is not project.instructions.rules or project.instructions.stale:
            return False

        now = asyncio.get_running_loop().time()

        def unchanged() -> bool:
            return known.rules.unchanged(self._system) and known.unchanged(self._system, now)

        return await self._work.in_builder(unchanged)

    async def _read(self, project: ItemOwner) -> None:
        """Read the sources of a project; its lock is held."""
        instructions = project.instructions
        unchanged = partial(instructions.rules.unchanged, self._system)
        if instructions.stale or not await self._work.in_builder(unchanged):
            instructions.stale = False
            found = partial(discover, project.root, self._environment.home, project.tree.files, self._system)
            instructions.set_rules(await self._work.in_builder(found))
        now = asyncio.get_running_loop().time()
        work = partial(self._merge, project.root, self._store(project), instructions.rules, now)
        merged = await self._work.in_builder(work)
        self._sources[project.root] = merged.sources
        instructions.set_items(merged.items)
        project.set_problem("items", merged.problem)

    async def _reread(self, project: ItemOwner) -> AgentItems:
        """Read the sources again after one was changed here."""
        async with self._lock(project):
            await self._read(project)
        return project.instructions.items

    async def _usable(self, project: ItemOwner) -> AgentItems:
        """Return the items; raises `StateError` if the put items can't be read."""
        items = await self.refresh(project)
        await self._work.in_builder(self._store(project).load)
        return items

    def _store(self, project: ItemOwner) -> ItemStore:
        store = self._stores.get(project.folder)
        if store is None:
            store = ItemStore(os.path.join(project.folder, ITEMS_FILE), self._system)
            self._stores[project.folder] = store
        return store

    def _lock(self, project: ItemOwner) -> asyncio.Lock:
        return self._locks.setdefault(project.root, asyncio.Lock())


def _files_of(servers: Iterable[McpServer], files: ServerFiles) -> ServerFiles:
    """Return the stamps of the files that define these servers."""
    paths = {server.source for server in servers}
    return ServerFiles((), tuple(stamp for stamp in files.stamps if stamp[0] in paths), files.settled)


USER_LEVEL, PROJECT_LEVEL = 200, 300
"""The default levels of configured items: those of instruction files of the user and at the project's root.
The latter is also the lowest that a project's item may have, so that it never precedes a rule of the user."""
MAX_ITEMS = 500
MAX_WARNINGS = 20
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*(?:items|\"items\"|'items')[ \t]*\]\]", re.MULTILINE)


class ConfiguredItems(Struct, frozen=True):
    """The items of one file, and warnings that begin with its path."""

    items: tuple[Item, ...] = ()
    warnings: tuple[str, ...] = ()


def items_in(
    path: str, text: str, tables: Mapping[str, object], stamp: Stamp | None, *, trusted: bool
) -> ConfiguredItems:
    """Read the items of a parsed file: its absolute path, its text, and its TOML tables.

    Each table of `[[items]]` has type ("rule", "reference"), name, text, include (else "always"),
    description, globs, priority_level. An unusable item is left out with a warning. Never raises.
    """
    given = tables.get("items")
    if given is None:
        return ConfiguredItems()
    if not isinstance(given, list) or not all(isinstance(fields, dict) for fields in given):
        return ConfiguredItems(
            (), (f"{path}: items must be tables that begin with [[items]]; they are ignored.",)
        )
    lines = [text.count("\n", 0, match.start()) + 1 for match in _HEADER.finditer(text)]
    items: dict[tuple[str, str], Item] = {}
    warnings: list[str] = []
    for number, fields in enumerate(given[:MAX_ITEMS]):
        line = lines[number] if len(lines) == len(given) else 1
        try:
            item = _item(fields, path, line, stamp, trusted=trusted)
        except InvalidRequest as error:
            warnings.append(f"{path}, line {line}: an item is left out, {error}")
            continue
        first = items.setdefault((item.type, item.name), item)
        if first is not item:
            warnings.append(
                f"{path}, line {line}: an item is left out, since line {first.line} has a "
                f"{item.type} {item.name!r} already."
            )
    if len(given) > MAX_ITEMS:
        warnings.append(f"{path}: of {len(given)} items only the first {MAX_ITEMS} are read.")
    if len(warnings) > MAX_WARNINGS:
        warnings[MAX_WARNINGS:] = [f"{path}: {len(warnings) - MAX_WARNINGS} more warnings about items."]
    return ConfiguredItems(tuple(items.values()), tuple(warnings))


def _item(fields: Mapping[str, object], path: str, line: int, stamp: Stamp | None, *, trusted: bool) -> Item:
    """Make an item of a table. Raises `InvalidRequest`."""
    draft = draft_of({"include": "always", **fields, "source": None}, "")
    if draft.key.type == "tool":
        raise InvalidRequest("tools come from MCP servers: name a rule or a reference.", "type")
    if not draft.text:
        raise InvalidRequest("text is missing: give it in the file.", "text")
    return replace(
        draft.item(path, line),
        priority_level=_level(draft, trusted=trusted),
        stamp=stamp,
        owner="user" if trusted else "project",
    )


def _level(draft: ItemDraft, *, trusted: bool) -> int:
    if draft.priority_level is None:
        return USER_LEVEL if trusted else PROJECT_LEVEL
    return draft.priority_level if trusted else max(draft.priority_level, PROJECT_LEVEL)
