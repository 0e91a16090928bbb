"""Owns the item plan: which items a request is to have, and how each came in; knows no session and no search.

A plan is made before a context is built: only what depends on the files in focus is left to the build.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct

from ..project.globs import compile_glob
from .items import IncludeMode, Item


class PlannedItem(Struct, frozen=True):
    """An item of a request: how it came in, and the score that a search gave it."""

    item: Item
    include: IncludeMode
    score: float | None = None

    @property
    def slice_id(self) -> str:
        """The id of its slice, unique within a context."""
        of_server = f"{self.item.server_name}/" if self.item.server_name else ""
        return f"{self.item.type}:{of_server}{self.item.name}"


class LeftOutItem(Struct, frozen=True):
    """An item that a search considered and that the request hasn't, with its score and the reason."""

    item: Item
    score: float
    reason: str


class ItemPlan(Struct, frozen=True):
    """The items of one request, in their order. One with the mode `glob` enters if a file in focus matches.

    `files` are absolute paths that a session names; those inside the project are shown where there is room.
    `removed` are items that a person took out of the session.
    `gaps` and `degraded` say in words what is missing and what could not be searched.
    """

    items: tuple[PlannedItem, ...] = ()
    left_out: tuple[LeftOutItem, ...] = ()
    files: tuple[str, ...] = ()
    gaps: tuple[str, ...] = ()
    degraded: tuple[str, ...] = ()
    removed: tuple[Item, ...] = ()

    def entering(self, focus: Collection[str]) -> list[PlannedItem]:
        """Return those items that enter where these paths were put in focus, be there files or not yet."""
        return [one for one in self.items if one.include != "glob" or matches(one.item, focus)]


def plan_without_session(items: Iterable[Item]) -> ItemPlan:
    """Return the plan where no session chooses: what is always in, and what the focus calls for."""
    wanted = (item for item in items if item.include in {"always", "glob"})
    return ItemPlan(tuple(PlannedItem(item, item.include) for item in wanted))


def matches(item: Item, paths: Collection[str]) -> bool:
    """Whether one of these paths, relative to the root, matches a pattern of an item."""
    return any(glob.matches(path) for glob in map(compile_glob, item.globs) for path in paths)
