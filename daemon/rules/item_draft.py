"""Owns the item draft: an item as a client or a configuration file gives it, checked; knows no file.

It isn't an item yet: one without text says only how another source's item of that identity is included.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast, get_args

from msgspec import Struct

from ..core.errors import InvalidRequest
from ..project.globs import compile_glob
from .item_keys import ItemKey, item_key
from .item_texts import has_harmful
from .items import IncludeMode, Item

MAX_DESCRIPTION_CHARACTERS = 2_048
"""What Claude Code shows of a tool's description at most, and twice what a skill may have."""
MAX_TEXT_BYTES = 262_144
"""UTF-8 of one text: two and a half times a whole context of the default size."""
MAX_SOURCE_CHARACTERS = 1_024
MAX_GLOBS = 100
LEVELS = (100, 999)
"""Priority levels have three digits."""
DEFAULT_LEVEL = 500


class ItemDraft(Struct, frozen=True):
    """What is given of an item. A `priority_level` that isn't given stays that of the item it is about."""

    key: ItemKey
    include: IncludeMode
    description: str = ""
    text: str = ""
    globs: tuple[str, ...] = ()
    priority_level: int | None = None
    source: str = ""

    @property
    def stands_alone(self) -> bool:
        """Whether it is an item by itself: a tool needs no text."""
        return bool(self.text) or self.key.type == "tool"

    def item(self, source: str, line: int = 1) -> Item:
        """Return the item that it stands for. `source` is used where none was given."""
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
        )


def draft_of(fields: Mapping[str, object], prefix: str = "item.") -> ItemDraft:
    """Make a draft of a map: type, name, include, server_name?, description?, text?, globs?,
    priority_level?, source?. Unknown fields are ignored, and so is one that is null.

    Raises `InvalidRequest` that names the field, with `prefix` before it.
    """
    reader = _Reader(fields, prefix)
    include = reader.include("include")
    globs = reader.globs()
    if include == "glob" and not globs:
        raise reader.wrong("globs", 'must name at least one pattern for include "glob"')
    return ItemDraft(
        key=reader.key(),
        include=include,
        description=" ".join(reader.text("description", MAX_DESCRIPTION_CHARACTERS).split()),
        text=reader.body(),
        globs=globs,
        priority_level=reader.level(),
        source=reader.line("source", MAX_SOURCE_CHARACTERS),
    )


def key_in(fields: Mapping[str, object], prefix: str = "") -> ItemKey:
    """Return the key that a map names: type, name, server_name?. Raises `InvalidRequest`."""
    return _Reader(fields, prefix).key()


def fields_of(draft: ItemDraft) -> dict[str, object]:
    """Return a draft as a map that `draft_of` understands, without what wasn't given."""
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


class _Reader:
    """Checked reading of a map's fields."""

    def __init__(self, fields: Mapping[str, object], prefix: str) -> None:
        self._fields = fields
        self._prefix = prefix

    def wrong(self, name: str, problem: str) -> InvalidRequest:
        field = f"{self._prefix}{name}"
        return InvalidRequest(f"{field} {problem}.", field)

    def key(self) -> ItemKey:
        type_, name, server_name = (self._string(field) for field in ("type", "name", "server_name"))
        try:
            return item_key(type_, name.strip(), server_name.strip())
        except InvalidRequest as error:
            raise InvalidRequest(f"{self._prefix}{error}", f"{self._prefix}{error.field}") from error

    def include(self, name: str) -> IncludeMode:
        return cast("IncludeMode", self._choice(name, get_args(IncludeMode)))

    def text(self, name: str, most: int) -> str:
        value = self._string(name)
        if len(value) > most:
            raise self.wrong(name, f"has {len(value)} characters, at most {most} are allowed")
        return value

    def line(self, name: str, most: int) -> str:
        value = self.text(name, most)
        if has_harmful(value) or "\n" in value:
            raise self.wrong(name, "must be one line without control characters")
        return value

    def body(self) -> str:
        text = self.text("text", MAX_TEXT_BYTES).replace("\r\n", "\n").strip("\n")
        size = len(text.encode("utf-8", "replace"))
        if size > MAX_TEXT_BYTES:
            raise self.wrong("text", f"has {size} bytes, at most {MAX_TEXT_BYTES} are allowed")
        if has_harmful(text):
            raise self.wrong("text", "has control characters, which may fake or hide text: leave them out")
        return text if text.strip() else ""

    def globs(self) -> tuple[str, ...]:
        value = self._fields.get("globs")
        if value is None:
            return ()
        if not isinstance(value, list | tuple) or not all(isinstance(glob, str) for glob in value):
            raise self.wrong("globs", "must be a list of strings")
        if len(value) > MAX_GLOBS:
            raise self.wrong("globs", f"has {len(value)} patterns, at most {MAX_GLOBS} are allowed")
        for glob in value:
            try:
                compile_glob(glob)
            except ValueError as error:
                raise self.wrong("globs", f"can't be used: {error}") from error
        return tuple(dict.fromkeys(value))

    def level(self) -> int | None:
        value = self._fields.get("priority_level")
        if value is None:
            return None
        low, high = LEVELS
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise self.wrong("priority_level", f"must be an integer from {low} to {high}")
        return value

    def _choice(self, name: str, choices: tuple[str, ...]) -> str:
        value = self._fields.get(name)
        if not isinstance(value, str) or value not in choices:
            raise self.wrong(name, f"must be one of {', '.join(choices)}")
        return value

    def _string(self, name: str) -> str:
        value = self._fields.get(name)
        if value is not None and not isinstance(value, str):
            raise self.wrong(name, "must be a string")
        return value or ""
