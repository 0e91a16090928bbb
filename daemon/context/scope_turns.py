"""The latest turns of a scope: what it was given, and what changed from one turn to the next."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Literal

from msgspec import Struct

from ..core.errors import StateError
from ..sessions.records import Access, ContextFilter, ContextRow, StoredContext
from ..sessions.service import Deliveries
from .delivered import past_context

CHANGES_MAX = 40
"""Maximum changed slices told of a turn, those with the most tokens first."""

Change = Literal["new", "gone", "grown", "shrunk"]


class TurnChange(Struct, frozen=True):
    """How a slice changed from the turn before: `tokens` now and `tokens_before`, 0 where it is missing."""

    id: str
    type: str
    path: str
    change: Change
    tokens: int
    tokens_before: int


class ScopeTurn(Struct, frozen=True):
    """A turn of a scope with its changes; `kept` counts the slices that stayed as they were.

    `news` says that only what the conversation didn't hold was sent, so that what is gone wasn't sent again.
    A turn is compared with the one before of the same kind; without one it has no changes.
    """

    row: ContextRow
    news: bool
    changes: tuple[TurnChange, ...] = ()
    left_out: int = 0
    kept: int = 0


async def turns_of(
    deliveries: Deliveries, scope_id: str, most: int, may_see: Callable[[Access], Awaitable[bool]]
) -> tuple[list[ScopeTurn], list[str]]:
    """Return the latest turns of a scope that the caller may see, the latest first, without those whose
    record is damaged, and what is wrong with these. Raises `StateError` if none can be read."""
    chosen = ContextFilter(scope_id=scope_id, given=True)
    rows = await deliveries.contexts(chosen, most + 1, "", may_see)
    stored, problems = list[StoredContext](), list[str]()
    for row in rows:
        try:
            found = await deliveries.context(row.id)
        except StateError as error:
            problems.append(str(error))
        else:
            stored += [] if found is None else [found]
    news = [past_context(turn).request.news for turn in stored]
    turns = []
    for at, turn in enumerate(stored[:most]):
        # What is sent of a whole context and what is sent as news can't be compared.
        earlier = zip(stored[at + 1 :], news[at + 1 :], strict=True)
        before = next((other for other, kind in earlier if kind == news[at]), None)
        turns.append(_turn(turn, news[at], before))
    return turns, problems


def _turn(stored: StoredContext, news: bool, before: StoredContext | None) -> ScopeTurn:
    if before is None:
        return ScopeTurn(stored.row, news)
    changes = changes_between(before.reply, stored.reply)
    kept = len(stored.reply["slices"]) - sum(change.change != "gone" for change in changes)
    shown = tuple(changes[:CHANGES_MAX])
    return ScopeTurn(stored.row, news, shown, len(changes) - len(shown), kept)


def changes_between(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[TurnChange]:
    """Return how slices changed from one context to another, the largest differences first."""
    old = {part["id"]: part for part in before["slices"]}
    new = {part["id"]: part for part in after["slices"]}
    changes = []
    for name in {**new, **old}:
        part = new.get(name) or old[name]
        was, now = (found[name]["tokens"] if name in found else 0 for found in (old, new))
        change: Change = (
            "new" if name not in old else "gone" if name not in new else "grown" if now > was else "shrunk"
        )
        if was != now or change in {"new", "gone"}:
            changes.append(TurnChange(name, part["type"], part.get("path", ""), change, now, was))
    changes.sort(key=lambda change: (-abs(change.tokens - change.tokens_before), change.id))
    return changes
