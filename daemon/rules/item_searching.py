"""Owns the search of items as the daemon has it: loaded at the first question, since what cuts words takes
longer to load than the daemon to start.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from ..core.errors import DeadlineExceeded
from ..core.work import Work
from ..embedding.semantics import Semantics
from .item_keys import ItemKey
from .items import Item
from .selection import Profiles

if TYPE_CHECKING:
    from .item_search import ItemMatches, ItemSearch


WARM_S = 60.0
"""Maximum seconds of embedding texts in the background; the rest waits for the first search."""


class ItemSearching:
    """Searches items by what the embedder says. On the event loop only."""

    def __init__(self, semantics: Semantics, work: Work) -> None:
        self._semantics = semantics
        self._work = work
        self._search: ItemSearch | None = None
        self._wanted: dict[str, tuple[Item, ...]] = {}
        """Items that are being embedded, by the root of their project."""
        self._warmed: set[str] = set()

    async def search(
        self,
        items: Sequence[Item],
        message: str,
        profiles: Profiles,
        *,
        within_s: float,
        history: Sequence[Mapping[str, object]] = (),
        barred: Mapping[ItemKey, Literal["removed", "denied"]] | None = None,
    ) -> ItemMatches:
        """Return those items that a message is about; see `ItemSearch.search`."""
        found = await self._loaded()
        return await found.search(items, message, profiles, within_s=within_s, history=history, barred=barred)

    def warm(self, root: str, items: Iterable[Item]) -> None:
        """Have the texts of a project's items of mode `agent` embedded in the background, so that its first
        prompt waits for neither the model nor them. Where both are there that takes some ms."""
        wanted = tuple(item for item in items if item.include == "agent")
        if not wanted or not self._semantics.enabled:
            return
        self._warmed.add(root)
        is_running = root in self._wanted
        self._wanted[root] = wanted
        if not is_running:
            self._work.start_unheard(self._warm(root), f"embed the items of {root}")

    def warm_again(self, root: str, items: Iterable[Item]) -> None:
        """Do the same after items changed, for a project that was made warm before: another has no prompts
        that it should be ready for."""
        if root in self._warmed:
            self.warm(root, items)

    async def _warm(self, root: str) -> None:
        """Embed what is wanted, and what was wanted meanwhile."""
        done: tuple[Item, ...] = ()
        try:
            while (items := self._wanted[root]) != done:
                search = await self._loaded()
                try:
                    left = await search.warm(items, WARM_S)
                except TimeoutError as error:
                    raise DeadlineExceeded("the embedding model didn't answer in time") from error
                if left:
                    raise DeadlineExceeded(f"{left:,} texts of items are not embedded yet")
                done = items
        finally:
            del self._wanted[root]

    async def _loaded(self) -> ItemSearch:
        if self._search is None:
            loaded = await self._work.in_builder(partial(_load, self._semantics, self._work))
            # Another may have loaded it meanwhile, and remembered something already.
            self._search = self._search or loaded
        return self._search


def _load(semantics: Semantics, work: Work) -> ItemSearch:
    from .item_search import ItemSearch

    return ItemSearch(semantics, work.in_builder)
