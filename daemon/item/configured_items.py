"""Owns the items in a configuration file: `[[items]]` in the user's config.toml or a project's foveal.toml.

A project's file may only add what an instruction file could: rules and references as text. It names no tool
and no command, and comes after what an instruction file says at the project's root.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from ..context.items import Item
from ..core.errors import InvalidRequest
from ..core.lazy_dataclass import dataclass
from ..core.system import Stamp
from .item_draft import ItemDraft, draft_of

USER_LEVEL, PROJECT_LEVEL = 200, 300
"""The levels of items that name none: those of instruction files of the user and at the project's root. It
is also the lowest a project's item may have, so that it comes before no rule of the user."""
MAX_ITEMS = 500
MAX_WARNINGS = 20
_HEADER = re.compile(r"^[ \t]*\[\[[ \t]*(?:items|\"items\"|'items')[ \t]*\]\]", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class ConfiguredItems:
    """The items of one file, and sentences that begin with its path about what can't be used."""

    items: tuple[Item, ...] = ()
    warnings: tuple[str, ...] = ()


def items_in(
    path: str, text: str, tables: Mapping[str, object], stamp: Stamp | None, *, trusted: bool
) -> ConfiguredItems:
    """Read the items of a file that was parsed: its absolute path, its text, and what TOML made of it.

    Each table of `[[items]]` has type ("rule", "reference"), name, text, include (else "always"),
    description, globs, priority_level. One that can't be used is left out with a warning. Never raises.
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
    return replace(draft.item(path, line), priority_level=_level(draft, trusted=trusted), stamp=stamp)


def _level(draft: ItemDraft, *, trusted: bool) -> int:
    if draft.priority_level is None:
        return USER_LEVEL if trusted else PROJECT_LEVEL
    return draft.priority_level if trusted else max(draft.priority_level, PROJECT_LEVEL)
