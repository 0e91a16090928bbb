"""Owns the search of items as the daemon has it: loaded at the first question, since what cuts words takes
longer to load than the daemon to start.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from .context.items import Item
from .item.item_keys import ItemKey
from .item.selection import Profiles
from .semantics import Semantics
from .work import Work

if TYPE_CHECKING:
    from .item.item_search import Found, ItemSearch


class ItemSearching:
    """Searches items by what the embedder says. On the event loop only."""

    def __init__(self, semantics: Semantics, work: Work) -> None:
        self._semantics = semantics
        self._work = work
        self._search: ItemSearch | None = None

    async def search(
        self,
        items: Sequence[Item],
        message: str,
        profiles: Profiles,
        *,
        within_s: float,
        history: Sequence[Mapping[str, object]] = (),
        barred: Mapping[ItemKey, Literal["removed", "denied"]] | None = None,
    ) -> Found:
        """Return those items that a message is about; see `ItemSearch.search`."""
        if self._search is None:
            loaded = await self._work.in_builder(partial(_load, self._semantics, self._work))
            # Another may have loaded it meanwhile, and remembered something already.
            self._search = self._search or loaded
        return await self._search.search(
            items, message, profiles, within_s=within_s, history=history, barred=barred
        )


def _load(semantics: Semantics, work: Work) -> ItemSearch:
    from .item.item_search import ItemSearch

    return ItemSearch(semantics, work.in_builder)
