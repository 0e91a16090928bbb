"""The items that clients put into a project and the modes they set for tools, in one JSON file.

A person may read and edit the file. Unknown fields in it are kept.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast, get_args

from msgspec import Meta, Struct, field

from ..core.errors import InvalidRequest, NewerVersion, StateError, TooLarge, refuse_newer
from ..core.globs import compile_glob
from ..core.parameters import read_request
from ..core.system import Stamp, System, is_racy, stamp_of
from .items import IncludeMode, Item, ItemKey, has_harmful, item_key

VERSION = 1
MAX_ITEMS = 2_000
"""Maximum number of items put into a project, as many as instruction files."""
MAX_MODES = 10_000
"""Maximum number of tools whose mode is set; a busy machine has some hundred tools."""
MAX_FILE_BYTES = 16 * 1024 * 1024
"""More than the 8 MiB of all instruction files together; read in a quarter of a second."""


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
        """Return the stored items; takes one stat while the file is unchanged."""
        with self._lock:
            if self._known is None or self._stamp is None or self._stamp != self._stamp_now():
                self._read()
            assert self._known is not None
            return self._known

    def put(self, draft: ItemDraft) -> bool:
        """Store a draft, replacing the one with the same key; true if there was none.

        The mode of a tool replaces a mode that was set before. Raises `TooLarge`.
        """
        added = False

        def change(content: dict[str, Any]) -> None:
            nonlocal added
            items = content.setdefault("items", [])
            place = _place(items, draft.key)
            if added := place is None:
                if len(items) >= MAX_ITEMS:
                    raise TooLarge(f"the project has {MAX_ITEMS} items already: delete some first.")
                items.append(fields_of(draft))
            else:
                unknown = {key: value for key, value in items[place].items() if key not in _FIELDS}
                items[place] = fields_of(draft) | unknown
            if draft.key.type == "tool":
                _set_mode(content, draft.key.server_name, draft.key.name, None)

        self._change(change)
        return added

    def delete(self, key: ItemKey) -> bool:
        """Delete the draft with a key; false if there was none."""
        deleted = False

        def change(content: dict[str, Any]) -> None:
            nonlocal deleted
            place = _place(content.get("items", []), key)
            if deleted := place is not None:
                del content["items"][place]

        self._change(change)
        return deleted

    def set_mode(self, server_name: str, name: str, include: IncludeMode | None) -> bool:
        """Set a tool's mode, or a server's default if `name` is empty; None removes the setting.

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
                raise TooLarge(f"the project's items would exceed {MAX_FILE_BYTES} bytes: delete some first.")
            try:
                self._system.write_atomic(self.path, data + b"\n")
            except OSError as error:
                self._stamp = self._known = None
                raise self._unusable(
                    f"can't be written: {error.strerror or error}. Nothing changed"
                ) from error
            # Without a stamp the file is read again: a write within the same clock tick has the same stamp.
            self._stamp, self._known = None, stored

    def _read(self) -> dict[str, Any]:
        """Read and cache the file; returns an empty content if there is none."""
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
            version = content.get("version", VERSION)
            refuse_newer(self.path, version, VERSION)
            if version != VERSION:
                raise InvalidRequest(f"it is of version {version!r}, this foveal knows {VERSION}")
            self._known = _stored(content)
        except NewerVersion:
            raise
        except Exception as error:  # any exception means damage
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
    """Read a file's content. Raises `InvalidRequest` that names the unusable part."""
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
        raise TooLarge(f"at most {MAX_ITEMS} items and {MAX_MODES} modes of tools are kept for a project.")
    return StoredItems(drafts, server_modes, tool_modes)


def _mode(value: object, place: str) -> IncludeMode:
    if value not in get_args(IncludeMode) or value == "glob":
        raise InvalidRequest(f"tool_modes.{place} must be always, agent or manual")
    return cast("IncludeMode", value)


def _place(items: list[dict[str, Any]], key: ItemKey) -> int | None:
    return next((place for place, fields in enumerate(items) if key_in(fields) == key), None)


def _set_mode(content: dict[str, Any], server_name: str, name: str, include: IncludeMode | None) -> bool:
    """Change a mode in the content and remove empty objects; returns whether anything changed."""
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


MAX_DESCRIPTION_CHARACTERS = 2_048
"""Maximum characters of a description: Claude Code cuts a tool's there, and a skill may have half as many."""
MAX_TEXT_BYTES = 262_144
"""Maximum bytes of UTF-8 of a text: two and a half times a context of the default size."""
MAX_SOURCE_CHARACTERS = 1_024
MAX_GLOBS = 100
LEVELS = (100, 999)
"""Priority levels have three digits."""
DEFAULT_LEVEL = 500


class ItemDraft(Struct, frozen=True):
    """An item as a client or a configuration file gives it, checked. Without a `priority_level` the item
    keeps its own.

    Without a text it only says how another source's item with that key is included."""

    key: ItemKey
    include: IncludeMode
    description: str = ""
    text: str = ""
    globs: tuple[str, ...] = ()
    priority_level: int | None = None
    source: str = ""

    @property
    def stands_alone(self) -> bool:
        """Whether it is an item by itself; tools need no text."""
        return bool(self.text) or self.key.type == "tool"

    def item(self, source: str, line: int = 1) -> Item:
        """Return the item. `source` is used if none was given."""
        return Item(
            type=self.key.type,
            name=self.key.name,
            include=self.include,
            text=self.text,
            source=self.source or source,
            line=line,
            description=self.description,
            globs=self.globs if self.include == "glob" else (),
            priority_level=DEFAULT_LEVEL if self.priority_level is None else self.priority_level,
            server_name=self.key.server_name,
            owner="stored",
        )


class _GivenKey(Struct):
    """The fields that name an item."""

    type: str = ""
    name: str = ""
    server_name: str = ""


class _GivenItem(_GivenKey, kw_only=True):
    """The fields of an item, as a client or a file gives them."""

    include: IncludeMode
    description: str = ""
    text: str = ""
    globs: tuple[str, ...] = ()
    priority_level: Annotated[int, Meta(ge=LEVELS[0], le=LEVELS[1])] | None = None
    source: str = ""


def draft_of(fields: Mapping[str, object], prefix: str = "item.") -> ItemDraft:
    """Make a draft of a map: type, name, include, server_name?, description?, text?, globs?,
    priority_level?, source?. Unknown fields and nulls are ignored.

    Raises `InvalidRequest` that names the field, with `prefix` before it.
    """
    given = read_request(_GivenItem, fields, prefix)
    text = given.text.replace("\r\n", "\n").strip("\n")
    sizes = (
        ("description", len(given.description), MAX_DESCRIPTION_CHARACTERS, "characters"),
        ("text", len(text.encode("utf-8", "replace")), MAX_TEXT_BYTES, "bytes"),
        ("globs", len(given.globs), MAX_GLOBS, "patterns"),
        ("source", len(given.source), MAX_SOURCE_CHARACTERS, "characters"),
    )
    for name, size, most, unit in sizes:
        if size > most:
            raise _wrong(prefix + name, f"has {size} {unit}, at most {most} are allowed")
    if given.include == "glob" and not given.globs:
        raise _wrong(f"{prefix}globs", 'must name at least one pattern for include "glob"')
    for glob in given.globs:
        try:
            compile_glob(glob)
        except ValueError as error:
            raise _wrong(f"{prefix}globs", f"can't be used: {error}") from error
    if has_harmful(text):
        raise _wrong(f"{prefix}text", "has control characters, which may fake or hide text: leave them out")
    if has_harmful(given.source) or "\n" in given.source:
        raise _wrong(f"{prefix}source", "must be one line without control characters")
    return ItemDraft(
        key=_key(given, prefix),
        include=given.include,
        description=" ".join(given.description.split()),
        text=text if text.strip() else "",
        globs=tuple(dict.fromkeys(given.globs)),
        priority_level=given.priority_level,
        source=given.source,
    )


def key_in(fields: Mapping[str, object], prefix: str = "") -> ItemKey:
    """Return the key that a map names: type, name, server_name?. Raises `InvalidRequest`."""
    return _key(read_request(_GivenKey, fields, prefix), prefix)


def _key(given: _GivenKey, prefix: str) -> ItemKey:
    try:
        return item_key(given.type, given.name.strip(), given.server_name.strip())
    except InvalidRequest as error:
        raise InvalidRequest(f"{prefix}{error}", f"{prefix}{error.field}") from error


def _wrong(field: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{field} {problem}.", field)


def fields_of(draft: ItemDraft) -> dict[str, object]:
    """Return a draft as a map that `draft_of` reads, without empty fields."""
    fields: dict[str, object] = {"type": draft.key.type, "name": draft.key.name, "include": draft.include}
    optional = {
        "server_name": draft.key.server_name,
        "description": draft.description,
        "text": draft.text,
        "globs": list(draft.globs),
        "priority_level": draft.priority_level,
        "source": draft.source,
    }
    return fields | {name: value for name, value in optional.items() if value not in ("", [], None)}
