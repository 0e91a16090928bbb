"""Owns the items that clients put into a project, and the modes they set for tools: one JSON file.

A person may read and mend the file. What this version doesn't know of it is kept as it is.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Any, cast, get_args

from msgspec import Struct, field

from ..core.errors import InvalidRequest, StateError, TooLarge
from ..core.system import Stamp, System, is_racy, stamp_of
from .item_draft import ItemDraft, draft_of, fields_of, key_in
from .item_keys import ItemKey
from .items import IncludeMode

VERSION = 1
MAX_ITEMS = 2_000
"""As many as there may be instruction files."""
MAX_MODES = 10_000
"""Tools whose mode is set; a busy machine has some hundred tools."""
MAX_FILE_BYTES = 16 * 1024 * 1024
"""Above the 8 MiB that the texts of all instruction files may have, and read in a quarter of a second."""


class StoredItems(Struct, frozen=True):
    """What is stored for a project: drafts by key in the order in which they were first put, the
    default modes of servers by name, and the modes of single tools by server and name."""

    drafts: Mapping[ItemKey, ItemDraft] = field(default_factory=dict)
    server_modes: Mapping[str, IncludeMode] = field(default_factory=dict)
    tool_modes: Mapping[tuple[str, str], IncludeMode] = field(default_factory=dict)


class ItemStore:
    """The file at `path`, whose folder exists. May be used from several threads; calls may wait for a disk.

    Raises `StateError` with the path for a file that can't be read, used or written; such a file is never
    written over. An unreadable one fails every call until a person mends it or moves it away.
    """

    def __init__(self, path: str, system: System) -> None:
        self.path = path
        self._system = system
        self._lock = threading.Lock()
        self._stamp: Stamp | None = None
        self._known: StoredItems | None = None

    def load(self) -> StoredItems:
        """Return what is stored; one stat while the file is as it was."""
        with self._lock:
            if self._known is None or self._stamp is None or self._stamp != self._stamp_now():
                self._read()
            assert self._known is not None
            return self._known

    def put(self, draft: ItemDraft) -> bool:
        """Store a draft in the place of one with its key; true if there was none.

        A tool's mode that was set before gives way to the one it is put with. Raises `TooLarge`.
        """
        added = False

        def change(content: dict[str, Any]) -> None:
            nonlocal added
            items = content.setdefault("items", [])
            place = _place(items, draft.key)
            if added := place is None:
                if len(items) >= MAX_ITEMS:
                    raise TooLarge(f"The project has {MAX_ITEMS} items already: delete some first.")
                items.append(fields_of(draft))
            else:
                unknown = {key: value for key, value in items[place].items() if key not in _FIELDS}
                items[place] = fields_of(draft) | unknown
            if draft.key.type == "tool":
                _set_mode(content, draft.key.server_name, draft.key.name, None)

        self._change(change)
        return added

    def delete(self, key: ItemKey) -> bool:
        """Delete what was put under a key; false if nothing was."""
        deleted = False

        def change(content: dict[str, Any]) -> None:
            nonlocal deleted
            place = _place(content.get("items", []), key)
            if deleted := place is not None:
                del content["items"][place]

        self._change(change)
        return deleted

    def set_mode(self, server_name: str, name: str, include: IncludeMode | None) -> bool:
        """Set a tool's mode, or a server's default where `name` is empty; None forgets it.

        Returns whether that changed anything. Raises `TooLarge`, and `InvalidRequest` for `glob`: tools
        have no patterns.
        """
        if include == "glob":
            raise InvalidRequest("include can't be glob for a tool: use always, agent or manual.", "include")
        changed = False

        def change(content: dict[str, Any]) -> None:
            nonlocal changed
            changed = _set_mode(content, server_name, name, include)

        self._change(change)
        return changed

    def _change(self, change: Callable[[dict[str, Any]], None]) -> None:
        """Read the file, change its content, and replace it unless nothing changed."""
        with self._lock:
            content = self._read()
            before = json.dumps(content)
            change(content)
            if json.dumps(content) == before:
                return
            stored = _stored(content)
            data = json.dumps({**content, "version": VERSION}, indent=1, ensure_ascii=False).encode(
                "utf-8", "replace"
            )
            if len(data) > MAX_FILE_BYTES:
                raise TooLarge(f"The project's items would exceed {MAX_FILE_BYTES} bytes: delete some first.")
            try:
                self._system.write_atomic(self.path, data + b"\n")
            except OSError as error:
                self._stamp = self._known = None
                raise self._unusable(
                    f"can't be written: {error.strerror or error}. Nothing changed"
                ) from error
            # Without a stamp it is read again: within a tick of the clock another write may go unseen.
            self._stamp, self._known = None, stored

    def _read(self) -> dict[str, Any]:
        """Read the file and remember what it says; an empty content where there is none."""
        self._stamp = self._known = None
        now = self._system.time_ns()
        try:
            data, status = self._system.read(self.path, MAX_FILE_BYTES + 1)
        except FileNotFoundError:
            self._known = StoredItems()
            return {}
        except OSError as error:
            raise self._unusable(f"can't be read: {error.strerror or error}") from error
        if len(data) > MAX_FILE_BYTES:
            raise self._unusable(f"exceeds {MAX_FILE_BYTES} bytes")
        try:
            content = json.loads(data)
            if not isinstance(content, dict):
                raise InvalidRequest("it holds no object")
            if (version := content.get("version", VERSION)) != VERSION:
                raise InvalidRequest(f"it is of version {version!r}, this foveal knows {VERSION}")
            self._known = _stored(content)
        except Exception as error:  # whatever it raises, it is damaged
            raise self._unusable(f"can't be used ({error})") from error
        stamp = stamp_of(status)
        self._stamp = None if is_racy(stamp, now) else stamp
        return content

    def _stamp_now(self) -> Stamp | None:
        try:
            return stamp_of(self._system.stat(self.path))
        except OSError:
            return None

    def _unusable(self, problem: str) -> StateError:
        return StateError(f"The items in {self.path} {problem}. Mend the file or move it away.")


_FIELDS = frozenset(
    {"type", "name", "server_name", "include", "description", "text", "globs", "priority_level", "source"}
)


def _stored(content: Mapping[str, Any]) -> StoredItems:
    """Read what a file holds. Raises `InvalidRequest` that says what can't be used."""
    items = content.get("items", [])
    if not isinstance(items, list) or not all(isinstance(fields, dict) for fields in items):
        raise InvalidRequest("items must be a list of objects")
    drafts: dict[ItemKey, ItemDraft] = {}
    for number, fields in enumerate(items):
        draft = draft_of(fields, f"items[{number}].")
        drafts[draft.key] = draft
    server_modes: dict[str, IncludeMode] = {}
    tool_modes: dict[tuple[str, str], IncludeMode] = {}
    modes = content.get("tool_modes", {})
    if not isinstance(modes, dict) or not all(isinstance(server, dict) for server in modes.values()):
        raise InvalidRequest("tool_modes must be an object of objects")
    for server_name, server in modes.items():
        if "default" in server:
            server_modes[server_name] = _mode(server["default"], server_name)
        tools = server.get("tools", {})
        if not isinstance(tools, dict):
            raise InvalidRequest(f"tool_modes.{server_name}.tools must be an object")
        for name, include in tools.items():
            tool_modes[server_name, name] = _mode(include, f"{server_name}.tools.{name}")
    if len(drafts) > MAX_ITEMS or len(tool_modes) + len(server_modes) > MAX_MODES:
        raise TooLarge(f"At most {MAX_ITEMS} items and {MAX_MODES} modes of tools are kept for a project.")
    return StoredItems(drafts, server_modes, tool_modes)


def _mode(value: object, place: str) -> IncludeMode:
    if value not in get_args(IncludeMode) or value == "glob":
        raise InvalidRequest(f"tool_modes.{place} must be always, agent or manual")
    return cast("IncludeMode", value)


def _place(items: list[dict[str, Any]], key: ItemKey) -> int | None:
    return next((place for place, fields in enumerate(items) if key_in(fields) == key), None)


def _set_mode(content: dict[str, Any], server_name: str, name: str, include: IncludeMode | None) -> bool:
    """Change a mode within the content, leaving no empty objects behind; returns whether it changed."""
    modes = content.get("tool_modes", {})
    server = modes.get(server_name, {})
    owner, key = (server.get("tools", {}), name) if name else (server, "default")
    if owner.get(key) == include:
        return False
    if include is None:
        del owner[key]
    else:
        owner[key] = include
    if name:
        server["tools"] = owner
    if not server.get("tools", True):
        del server["tools"]
    modes[server_name] = server
    if not server:
        del modes[server_name]
    content["tool_modes"] = modes
    if not modes:
        del content["tool_modes"]
    return True
