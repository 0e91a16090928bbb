"""Owns the layout of meta.json: a session as bytes and back, unknown fields kept; knows no file."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import TypeVar, cast, get_args

from ..rules.items import IncludeMode, ItemKey, ItemType
from .sessions import Session, SessionItem

T = TypeVar("T")

META_VERSION = 1
"""Raised when a field changes its meaning; a new field doesn't need it."""


class Damaged(Exception):  # the store catches it; it never reaches a person as such
    """Bytes that no session can be read from. The text completes a sentence that begins with the file."""


class NewerVersion(Exception):  # the store catches it, as above
    """A record of a version that this program doesn't know; it isn't damaged and must be left alone."""


def bytes_of(session: Session) -> bytes:
    """Return a session as JSON, one field and one item a line, fit for a text editor.

    Half surrogates, which a mended file may hold, survive: they are written as they were read.
    """
    fields: dict[str, object] = {"version": META_VERSION}
    fields.update((name, getattr(session, name)) for name in _TEXTS)
    fields["context"] = session.context
    fields["items"] = [{**_key_fields(item.key), "include": item.include} for item in session.items]
    fields["removed"] = [_key_fields(key) for key in session.removed]
    fields["selection"] = session.selection
    fields["revision"] = session.revision
    fields.update(session.extra)
    lines = ",\n".join(f"  {json.dumps(name)}: {_json_of(value)}" for name, value in fields.items())
    return f"{{\n{lines}\n}}\n".encode("utf-8", "surrogatepass")


def session_in(data: bytes) -> Session:
    """Read a session. Types are checked, limits are not, since a person may have mended the file.

    Raises `Damaged`, `NewerVersion`.
    """
    try:
        fields = json.loads(data)
    except Exception as error:
        raise Damaged(f"is not JSON ({error})") from error
    if not isinstance(fields, dict):
        raise Damaged("is not a map")
    version = _typed(fields, "version", int)
    if version > META_VERSION:
        raise NewerVersion(f"has version {version}, and this program knows {META_VERSION}")
    texts = {name: _typed(fields, name, str) for name in _TEXTS if name in _NEEDED or name in fields}
    return Session(
        **texts,
        context=_context_in(_typed(fields, "context", dict, {})),
        items=tuple(_item_in(one) for one in _maps(fields, "items")),
        removed=tuple(_key_in(one) for one in _maps(fields, "removed")),
        selection=_selection_in(fields.get("selection")),
        revision=_typed(fields, "revision", int, 0),
        extra={name: value for name, value in fields.items() if name not in _KNOWN},
    )


_NEEDED = ("id", "project_root", "created")
_TEXTS = (*_NEEDED, "name", "agent_name", "last_observed", "last_idle", "ended", "current_intent", "env_hint")
_KNOWN = frozenset(("version", *_TEXTS, "context", "items", "removed", "selection", "revision"))


def _json_of(value: object) -> str:
    """Return a value as JSON: an entry of a list or a map a line, whatever lies in it in that line."""
    if not value or not isinstance(value, list | Mapping):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list):
        return f"[\n{_lines_of(json.dumps(one, ensure_ascii=False) for one in value)}\n  ]"
    pairs = (
        f"{json.dumps(key, ensure_ascii=False)}: {json.dumps(one, ensure_ascii=False)}"
        for key, one in value.items()
    )
    return f"{{\n{_lines_of(pairs)}\n  }}"


def _lines_of(entries: Iterable[str]) -> str:
    return ",\n".join(f"    {entry}" for entry in entries)


def _key_fields(key: ItemKey) -> dict[str, str]:
    fields = {"type": key.type, "name": key.name}
    return {**fields, "server_name": key.server_name} if key.server_name else dict(fields)


def _key_in(fields: Mapping[str, object]) -> ItemKey:
    return _item_in({**fields, "include": "manual"}).key


def _item_in(fields: Mapping[str, object]) -> SessionItem:
    try:
        return _item(
            fields.get("type"), fields.get("name"), fields.get("server_name", ""), fields.get("include")
        )
    except TypeError as error:
        raise Damaged("has an item with a list or a map for a text") from error


@lru_cache(maxsize=16_384)
def _item(kind: object, name: object, server_name: object, include: object) -> SessionItem:
    """Return the one item with these fields: thousands of sessions name the same few hundred."""
    if kind not in get_args(ItemType) or include not in get_args(IncludeMode):
        raise Damaged(f"has an item of type {kind!r:.60} and include {include!r:.60}")
    if not isinstance(name, str) or not isinstance(server_name, str):
        raise Damaged("has an item whose name or server_name is no text")
    return SessionItem(ItemKey(cast("ItemType", kind), name, server_name), cast("IncludeMode", include))


def _selection_in(value: object) -> Mapping[str, object]:
    """Return how items are chosen, unchecked: what can't be used costs that setting, not the session.

    A word stands for its preset, and so does anything else that is no map.
    """
    if value is None:
        return {}
    return value if isinstance(value, dict) else {"preset": value}


def _context_in(sets: Mapping[str, object]) -> Mapping[str, tuple[str, ...]]:
    context = {}
    for name, entries in sets.items():
        if not isinstance(entries, list) or not all(isinstance(entry, str) for entry in entries):
            raise Damaged(f"has a context set {name!r:.60} that is no list of strings")
        if entries:
            context[name] = tuple(entries)
    return context


def _maps(fields: Mapping[str, object], name: str) -> list[dict[str, object]]:
    maps = _typed(fields, name, list, [])
    if not all(isinstance(one, dict) for one in maps):
        raise Damaged(f"has {name} that are no maps")
    return maps


def _typed(fields: Mapping[str, object], name: str, kind: type[T], default: T | None = None) -> T:
    value = fields.get(name, default)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise Damaged(f"lacks {name}" if value is None else f"has {name} of a wrong type")
    return value
