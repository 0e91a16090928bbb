"""Owns the warnings about a configuration file: their place, their number, and the nearest known key."""

from __future__ import annotations

import difflib

from .settings import KEYS
from .source import ConfigSource
from .values import quoted

_MAX_WARNINGS = 20
_MAX_COMPARED = 60


class Warnings:
    """Collects the warnings about one file; a hostile one can't make more than `_MAX_WARNINGS` of them."""

    def __init__(self, source: ConfigSource) -> None:
        self._source = source
        self._sentences: list[str] = []
        self._more = 0

    def add(self, table: str, name: str, text: str) -> None:
        """Add a sentence about a key of a table, or about one outside any if `table` is empty."""
        if len(self._sentences) < _MAX_WARNINGS:
            place = self._source.place(f"{table}.{name}" if table else name)
            self._sentences.append(f"{place}: {text}")
        else:
            self._more += 1

    def add_unknown(self, table: str, name: str, value: object) -> None:
        """Add that a key or a table is unknown, with the nearest known one."""
        if len(self._sentences) >= _MAX_WARNINGS:
            self._more += 1  # spares a hostile file's 100,000 keys the search for the nearest one
            return
        is_table = not table and isinstance(value, dict)
        nearest = _nearest_table(name) if is_table else _nearest_key(table, name)
        what = f"unknown {'table' if is_table else 'key'} {quoted(f'{table}.{name}' if table else name)}"
        hint = f"did you mean {nearest}?" if nearest else "docs/configuration.md lists the known ones."
        self.add(table, name, f"{what} is ignored; {hint}")

    def sentences(self) -> tuple[str, ...]:
        """Return what was collected."""
        rest = (f"{self._source.path}: {self._more} more warnings.",) if self._more else ()
        return (*self._sentences, *rest)


def _nearest_table(name: str) -> str:
    return next((f"[{near}]" for near in difflib.get_close_matches(name[:_MAX_COMPARED], KEYS, 1)), "")


def _nearest_key(table: str, name: str) -> str:
    """Return the known key that was most likely meant, of the same table where one is near, or nothing."""
    name = name[:_MAX_COMPARED]
    if near := difflib.get_close_matches(name, KEYS.get(table, ()), 1):
        return f"{table}.{near[0]}"
    owners = {key: owner for owner, keys in KEYS.items() for key in keys}
    return next((f"{owners[key]}.{key}" for key in difflib.get_close_matches(name, owners, 1)), "")
