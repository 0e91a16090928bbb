"""Owns the rendered contexts that are kept: for an unchanged scope an answer is a look-up and some stats."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from ..core.system import System, is_stamp_of
from .assembly import Built
from .content import Shown, digest_of

ENTRIES_PER_SCOPE = 8
"""A scope is asked for with few combinations of prompt, budget and format at a time."""

BYTES_MAX = 16 << 20
"""Maximum of all contexts together, in bytes as they are counted: those of some 200 prompts. Most are never
asked for again: bounded by `scopes.max_memory_bytes` alone, they grew by 15 MB with each 1,000 requests."""


class RenderedEntry(Struct, frozen=True):
    """A context with what it was built from: the scope's revision and the project's validity."""

    revision: int
    validity: tuple[object, ...]
    built: Built


def all_hold(shown: Iterable[Shown], system: System) -> bool:
    """Whether files still have the content that was shown; one loop, since each hot answer waits for it."""
    try:
        for shown_file in shown:
            if not is_stamp_of(shown_file.stamp, system.stat(shown_file.path)):
                return False
            if (
                shown_file.racy
                and digest_of(system.read(shown_file.path, shown_file.length)[0]) != shown_file.digest
            ):
                return False
    except OSError:
        return False
    return True


class RenderedContexts:
    """Contexts by scope and request key, the least recently used scope first, and of it the least recently
    used context. On the event loop only."""

    def __init__(self, max_bytes: int = BYTES_MAX) -> None:
        self._max_bytes = max_bytes
        self._scopes: OrderedDict[str, OrderedDict[bytes, RenderedEntry]] = OrderedDict()
        self.bytes = 0
        """What all of them are counted with."""
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
            entries is not None
            and entry is not None
            and entry.revision == revision
            and entry.validity == validity
            and hold(entry.built.shown)
        ):
            self.hits += 1
            entries.move_to_end(key)
            self._scopes.move_to_end(scope_id)
            return entry.built
        self.misses += 1
        return None

    def put(self, scope_id: str, key: bytes, entry: RenderedEntry) -> None:
        """Keep a context. What was built for an earlier revision of its scope can't be asked for again and
        is dropped; above the limits the contexts of the least recently used scopes go."""
        entries = self._scopes.setdefault(scope_id, OrderedDict())
        self._scopes.move_to_end(scope_id)
        for old in [old for old, kept in entries.items() if old == key or kept.revision < entry.revision]:
            self.bytes -= entries.pop(old).built.memory_bytes
        entries[key] = entry
        self.bytes += entry.built.memory_bytes
        if len(entries) > ENTRIES_PER_SCOPE:
            self.bytes -= entries.popitem(last=False)[1].built.memory_bytes
        while self.bytes > self._max_bytes:
            self._drop_oldest()

    def drop(self, scope_id: str) -> None:
        """Forget a scope's contexts."""
        for entry in self._scopes.pop(scope_id, {}).values():
            self.bytes -= entry.built.memory_bytes

    def _drop_oldest(self) -> None:
        scope_id, entries = next(iter(self._scopes.items()))
        self.bytes -= entries.popitem(last=False)[1].built.memory_bytes
        if not entries:
            del self._scopes[scope_id]
