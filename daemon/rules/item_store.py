"""The items that clients put into a project and the modes they set for tools, in one JSON file.

A person may read and edit the file.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Mapping
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct, convert, field, to_builtins
from msgspec.structs import replace

from ..core.errors import InvalidRequest, TooLarge
from ..core.globs import compile_glob
from ..core.json_file import JsonFile
from ..core.parameters import read_request
from ..core.system import System
from .items import IncludeMode, Item, ItemKey, has_harmful, item_key

ITEMS_VERSION = 1
MAX_ITEMS = 2_000
"""Maximum number of items put into a project, as many as instruction files."""
MAX_MODES = 10_000
"""Maximum number of tools whose mode is set; a busy machine has some hundred tools."""
MAX_FILE_BYTES = 16 * 1024 * 1024
"""More than the 8 MiB of all instruction files together; read in a quarter of a second."""


class StoredItems(Struct, frozen=True):
    """What is stored for a project: drafts by key in the order in which they were first put, and the modes
    of single tools by server and name, those of servers with an empty name."""

    drafts: Mapping[ItemKey, ItemDraft] = field(default_factory=dict)
    modes: Mapping[tuple[str, str], IncludeMode] = field(default_factory=dict)


class ItemStore:
    """The file at `path`, whose folder exists. May be used from several threads; calls may wait for a disk.

    Raises `StateError` with the path for a file that can't be read, used or written; such a file is never
    written over. An unreadable one fails every call until a person mends it or moves it away. A change that
    would exceed a limit raises `TooLarge`.
    """

    def __init__(self, path: str, system: System) -> None:
        self.path = path
        self._lock = threading.Lock()
        self._file = JsonFile(
            path,
            system,
            version=ITEMS_VERSION,
            max_bytes=MAX_FILE_BYTES,
            called=f"The items in {path}",
            decode=_stored,
        )

    def load(self) -> StoredItems:
        """Return the stored items."""
        with self._lock:
            return self._file.read() or StoredItems()

    def put(self, draft: ItemDraft) -> None:
        """Store a draft, replacing the one with the same key. The mode of a tool replaces a mode that was
        set before."""
        tool = draft.key.server_name, draft.key.name

        def change(stored: StoredItems) -> StoredItems:
            modes = {key: mode for key, mode in stored.modes.items() if key != tool}
            return StoredItems({**stored.drafts, draft.key: draft}, modes)

        self._change(change)

    def delete(self, key: ItemKey) -> bool:
        """Delete the draft with a key; false if there was none."""
        return self._change(
            lambda stored: replace(
                stored, drafts={each: draft for each, draft in stored.drafts.items() if each != key}
            )
        )

    def set_mode(self, server_name: str, name: str, include: IncludeMode | None) -> bool:
        """Set a tool's mode, or a server's default if `name` is empty; None removes the setting.

        Returns whether that changed anything. Raises `InvalidRequest` for `glob`: tools have no patterns.
        """
        if include == "glob":
            raise InvalidRequest("include can't be glob for a tool: use always, agent or manual.", "include")

        def change(stored: StoredItems) -> StoredItems:
            modes = {key: mode for key, mode in stored.modes.items() if key != (server_name, name)}
            return replace(
                stored, modes=modes if include is None else {**modes, (server_name, name): include}
            )

        return self._change(change)

    def _change(self, change: Callable[[StoredItems], StoredItems]) -> bool:
        """Replace the file unless nothing changed; returns whether anything did."""
        with self._lock:
            before = self._file.read() or StoredItems()
            after = change(before)
            if after == before:
                return False
            content = _content_of(after)
            is_large = len(json.dumps(content, indent=1)) > MAX_FILE_BYTES - 100
            if is_large or len(after.drafts) > MAX_ITEMS or len(after.modes) > MAX_MODES:
                raise TooLarge(
                    f"at most {MAX_ITEMS} items and {MAX_MODES} modes of tools are kept for a project,"
                    f" in {MAX_FILE_BYTES} bytes: delete some first."
                )
            self._file.write(content)
            return True


class _ServerModes(Struct, omit_defaults=True):
    """The modes of a server and its tools in the file."""

    default: Literal["always", "agent", "manual"] | None = None
    tools: dict[str, Literal["always", "agent", "manual"]] = {}


class _FileContent(Struct):
    """The content of the file."""

    items: tuple[dict[str, Any], ...] = ()
    tool_modes: dict[str, _ServerModes] = {}


def _stored(content: Mapping[str, Any]) -> StoredItems:
    """Read a file's content. Raises an error that names the unusable part."""
    read = convert(content, _FileContent)
    drafts = [draft_of(fields, f"items[{number}].") for number, fields in enumerate(read.items)]
    modes: dict[tuple[str, str], IncludeMode] = {}
    for server, each in read.tool_modes.items():
        modes |= {(server, name): mode for name, mode in each.tools.items()}
        if each.default is not None:
            modes[server, ""] = each.default
    return StoredItems({draft.key: draft for draft in drafts}, modes)


def _content_of(stored: StoredItems) -> dict[str, object]:
    """Return what is stored as the file has it."""
    servers: dict[str, dict[str, Any]] = {}
    for (server, name), mode in stored.modes.items():
        of_server = servers.setdefault(server, {})
        if name:
            of_server.setdefault("tools", {})[name] = mode
        else:
            of_server["default"] = mode
    items = [to_builtins(draft) for draft in stored.drafts.values()]
    return {"items": [{**item.pop("key"), **item} for item in items], "tool_modes": servers}


MAX_DESCRIPTION_CHARACTERS = 2_048
"""Maximum characters of a description: Claude Code cuts a tool's there, and a skill may have half as many."""
MAX_TEXT_BYTES = 262_144
"""Maximum bytes of UTF-8 of a text: two and a half times a context of the default size."""
MAX_SOURCE_CHARACTERS = 1_024
MAX_GLOBS = 100
LEVELS = (1, 999)
"""Priority levels are shown with three digits, as `001`, and may be given so."""
DEFAULT_LEVEL = 500


class ItemDraft(Struct, frozen=True, omit_defaults=True):
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


class _KeyFields(Struct):
    """The fields that name an item."""

    type: str = ""
    name: str = ""
    server_name: str = ""


class _ItemFields(_KeyFields, kw_only=True):
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
    level = fields.get("priority_level")
    if isinstance(level, str):
        if not re.fullmatch("[0-9]{1,3}", level):
            raise _wrong(
                f"{prefix}priority_level", f'must be from 1 to 999, as 1 or "001", not {level!r:.60}'
            )
        fields = {**fields, "priority_level": int(level)}
    given = read_request(_ItemFields, fields, prefix)
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
    return _key(read_request(_KeyFields, fields, prefix), prefix)


def _key(given: _KeyFields, prefix: str) -> ItemKey:
    try:
        return item_key(given.type, given.name.strip(), given.server_name.strip())
    except InvalidRequest as error:
        raise InvalidRequest(f"{prefix}{error}", f"{prefix}{error.field}") from error


def _wrong(field: str, problem: str) -> InvalidRequest:
    return InvalidRequest(f"{field} {problem}.", field)
