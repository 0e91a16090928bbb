"""The instructions and items of a project, merged from all sources, and the changes clients make to them.

Sessions only name items: when a source changes, all sources are merged again, and every session has the
change.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from msgspec import Struct, field
from msgspec.structs import replace

from ..core.errors import InvalidRequest, NotFound
from ..project.service import Tree
from .instruction_files import RuleSet
from .item_store import ItemDraft, ItemStore, StoredItems, draft_of
from .items import IncludeMode, Item, ItemKey, item_key, key_of

STORED_SOURCE = "PutItem"
"""The source of items from PutItem."""
_COMPARED = 200
"""Maximum number of names compared to suggest the nearest; each takes about 20 µs."""


class AgentItems(Struct, frozen=True):
    """All items of a project, sorted by priority level, then by type (rules, references, tools), then by
    precedence.

    `stored` are the keys of items that PutItem put or changed. `modes` are those set for single tools, by
    server and name, and for servers, with an empty name.
    """

    items: tuple[Item, ...] = ()
    warnings: tuple[str, ...] = ()
    stored: frozenset[ItemKey] = frozenset()
    by_key: Mapping[ItemKey, Item] = field(default_factory=dict)
    modes: Mapping[tuple[str, str], IncludeMode] = field(default_factory=dict)

    def get(self, key: ItemKey) -> Item | None:
        """Return an item, None if there is none (any more)."""
        return self.by_key.get(key)


def merge_items(
    rules: Iterable[Item], configured: Iterable[Item], stored: StoredItems, tools: Iterable[Item]
) -> AgentItems:
    """Merge the sources: instruction files, configuration files (the user's first), what clients put, tools
    of MCP servers (those of the more specific file first).

    Of several items with the same key the first one in that order wins, so that no project's foveal.toml can
    replace a rule of the user; a warning names the others. An item that a client put wins over all: entirely
    if it has a text, else only its mode, patterns and, where given, level and description. A tool's mode is
    its own setting, else the one it was put with, else its server's default, else `always`.
    """
    found: dict[ItemKey, Item] = {}
    warnings: list[str] = []
    for item in (*rules, *configured, *tools):
        first = found.setdefault(key_of(item), item)
        if first is not item and first.source != item.source:
            warnings.append(
                f"{_place(item)}: {key_of(item)} is ignored, because {_place(first)} defines it too: "
                "rename one"
            )
    for key, draft in stored.drafts.items():
        own = found.get(key)
        if draft.text or (own is None and draft.stands_alone):
            found[key] = draft.item(STORED_SOURCE)
        elif own is not None:
            found[key] = _changed(own, draft)
        else:
            warnings.append(
                f"The {key} was put without a text for an item that is gone: delete it, "
                "or put it again with a text"
            )
    items = [_with_mode(item, stored) for item in found.values()]
    items.sort(key=lambda item: (item.priority_level, _TYPES.index(item.type)))
    return AgentItems(
        tuple(items),
        tuple(warnings),
        frozenset(stored.drafts),
        {key_of(item): item for item in items},
        stored.modes,
    )


def put_item(store: ItemStore, fields: Mapping[str, object], known: AgentItems) -> ItemDraft:
    """Store an item as a client gives it, replacing an item that was put with the same key.

    Without a text it only changes how the item is included; an item that was put with a text before keeps
    that text. Raises `InvalidRequest` for an unusable field, or for a rule or reference without a text that
    no other source has; `TooLarge`; `StateError`.
    """
    draft = draft_of(fields)
    if draft.key.type == "tool" and draft.include == "glob":
        raise InvalidRequest(
            "item.include can't be glob for a tool: use always, agent or manual.", "item.include"
        )
    before = store.load().drafts.get(draft.key)
    if before is not None and before.text and not draft.text:
        draft = replace(draft, text=before.text, description=draft.description or before.description)
    if not draft.stands_alone and known.get(draft.key) is None:
        raise InvalidRequest(
            f"item.text is missing: there is no {draft.key} whose text it could have.", "item.text"
        )
    store.put(draft)
    return draft


def delete_item(store: ItemStore, key: ItemKey, known: AgentItems) -> None:
    """Delete the item put under a key; an item of another source with that key shows again.

    Raises `NotFound` with the nearest name if there is no such item, `InvalidRequest` with the source if it
    comes from another source, `StateError`.
    """
    if store.delete(key):
        return
    item = known.get(key)
    if item is None:
        alike = [item for item in known.items if (item.type, item.server_name) == (key.type, key.server_name)]
        raise _unknown(f"there is no {key}.", key.name, [item.name for item in alike])
    raise InvalidRequest(
        f"The {key} wasn't put by a client, it comes from {_place(item)}: change it there, or "
        "put it with include manual to keep it out.",
        "name",
    )


def set_tool_mode(
    store: ItemStore,
    server_name: str,
    name: str,
    include: IncludeMode | None,
    known: AgentItems,
    servers: Collection[str],
) -> bool:
    """Set a tool's own mode, or its server's default where `name` is empty; None forgets the setting.

    `servers` are the names of all configured servers, also of those whose tools aren't listed yet. Returns
    whether anything changed. Raises `NotFound` with the nearest name for a server that isn't known, and for
    a tool that isn't among the known ones of its server; `InvalidRequest` for `glob`.
    """
    item_key("tool", name or "*", server_name)
    of_server = [item for item in known.items if item.type == "tool" and item.server_name == server_name]
    tools = [item.name for item in of_server]
    listed = any(key_of(item) not in known.stored for item in of_server)
    if include is not None or (server_name, name) not in store.load().modes:
        if not tools and server_name not in servers:
            names = {*servers, *(item.server_name for item in known.items if item.type == "tool")}
            raise _unknown(f"no server {server_name!r} is configured.", server_name, names)
        if name and (listed or server_name not in servers) and name not in tools:
            raise _unknown(f"the server {server_name} has no tool {name!r}.", name, tools)
    return store.set_mode(server_name, name, include)


_TYPES = ("rule", "reference", "tool")


def _changed(own: Item, draft: ItemDraft) -> Item:
    """Return an item of another source with the inclusion that a draft without a text sets."""
    return replace(
        own,
        include=draft.include,
        globs=draft.globs if draft.include == "glob" else (),
        description=draft.description or own.description,
        priority_level=own.priority_level if draft.priority_level is None else draft.priority_level,
    )


def _with_mode(item: Item, stored: StoredItems) -> Item:
    if item.type != "tool":
        return item
    own = stored.modes.get((item.server_name, item.name))
    if own is None and key_of(item) in stored.drafts:
        own = item.include
    include = own or stored.modes.get((item.server_name, ""), "always")
    return item if include == item.include else replace(item, include=include)


def _place(item: Item) -> str:
    return f"{item.source}, line {item.line}" if item.source.startswith("/") else item.source


def _unknown(problem: str, name: str, names: Collection[str]) -> NotFound:
    """Return the error for a name that isn't known, with the nearest known one."""
    near = difflib.get_close_matches(name, sorted(names)[:_COMPARED], 1)
    return (
        NotFound(f"{problem} Did you mean {near[0]!r}?")
        if near
        else NotFound(problem, "ListItems names what there is.")
    )


CHECK_S = 0.5
"""Seconds between two checks of all places where an instruction file could have appeared. Known files are
checked every time, and the watcher reports new ones in the project, so this matters only for the user's own
files."""


class ProjectInstructions:
    """The instructions of one project. On the event loop only."""

    def __init__(self, rules: RuleSet) -> None:
        self.rules = rules
        self.items = AgentItems()
        """The items of `rules` and of all other sources, as merged last."""
        self.stale = False
        """Whether instruction files may have changed, whatever their stamps."""
        self.generation = 0
        """Changes with the rules and the items, and when they may have changed."""
        self._checked = 0.0

    def is_check_due(self, now: float) -> bool:
        """Whether all places where an instruction file could have appeared are due for a check."""
        return now - self._checked >= CHECK_S

    def checked(self, now: float) -> None:
        """Note that all places were checked and nothing had changed, at this second of the event loop's
        time."""
        self._checked = now

    def expect_changes(self) -> None:
        """Mark the rules as outdated, so that they are discovered again: an instruction file changed."""
        self.stale = True
        self.generation += 1

    def set_rules(self, rules: RuleSet) -> None:
        """Replace the rules by those that were discovered again."""
        former, self.rules = self.rules, rules
        # Whether stamps prove anything is no change.
        if replace(rules, lasting=former.lasting) != former:
            self.generation += 1

    def set_items(self, items: AgentItems) -> None:
        """Replace the items by those that were merged again."""
        if (items.items, items.warnings) != (self.items.items, self.items.warnings):
            self.generation += 1
        self.items = items


class ItemOwner(Protocol):
    """A project with items. `folder` is its part of the state folder."""

    root: str
    """The project's folder."""
    folder: str
    """The folder of what is kept about the project."""
    tree: Tree
    """Its files."""
    instructions: ProjectInstructions
    """Its instruction files, and all its items as merged last."""

    def set_problem(self, cause: str, problem: str) -> None:
        """Set the problem with this cause; "" means that it is solved."""
