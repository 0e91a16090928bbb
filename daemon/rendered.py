"""Owns the rendered contexts that are kept: for an unchanged scope an answer is a look-up and some stats."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Sequence

from .context.assembly import Built
from .context.content import Shown
from .lazy_dataclass import dataclass

ENTRIES_PER_SCOPE = 8
"""A scope is asked for with few combinations of prompt, budget and format at a time."""


@dataclass(frozen=True, slots=True)
class Entry:
    """A context with what it was built from: the scope's revision and the project's validity."""

    revision: int
    validity: tuple[object, ...]
    built: Built


class RenderedContexts:
    """Contexts by scope and request key, the least recently used of a scope first. On the event loop only."""

    def __init__(self) -> None:
        self._scopes: dict[str, OrderedDict[bytes, Entry]] = {}
        self.hits = 0
        self.misses = 0

    def find(
        self,
        scope_id: str,
        key: bytes,
        revision: int,
        validity: tuple[object, ...],
        hold: Callable[[Sequence[Shown]], bool],
    ) -> Built | None:
        """Return a context that still holds; `hold` says whether the files that it shows are as they were."""
        entries = self._scopes.get(scope_id)
        entry = None if entries is None else entries.get(key)
        if (
            entry is not None
            and entry.revision == revision
            and entry.validity == validity
            and hold(entry.built.shown)
        ):
            self.hits += 1
            self._scopes[scope_id].move_to_end(key)
            return entry.built
        self.misses += 1
        return None

    def put(self, scope_id: str, key: bytes, entry: Entry) -> int:
        """Keep a context; returns the bytes that are kept for the scope now.

        What was built for an earlier revision of the scope can't be asked for again and is dropped.
        """
        entries = self._scopes.setdefault(scope_id, OrderedDict())
        for old in [old for old, kept in entries.items() if kept.revision < entry.revision]:
            del entries[old]
        entries[key] = entry
        entries.move_to_end(key)
        while len(entries) > ENTRIES_PER_SCOPE:
            entries.popitem(last=False)
        return sum(kept.built.memory_bytes for kept in entries.values())

    def drop(self, scope_id: str) -> None:
        """Forget a scope's contexts."""
        self._scopes.pop(scope_id, None)
