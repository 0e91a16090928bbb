"""The cache of rendered contexts: a repeated request costs a look-up and a stat of each shown file."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from ..core.system import System, is_stamp_of
from ..project.content import Shown, digest_of
from .built import Built

ENTRIES_PER_SCOPE = 8
"""Maximum number of cached contexts of one scope."""

BYTES_MAX = 16 << 20
"""Maximum estimated bytes of all cached contexts: some 200, most of which are never requested again."""


class RenderedEntry(Struct, frozen=True):
    """A cached context with the scope's revision and the validity key that it was built from."""

    revision: int
    validity: tuple[object, ...]
    built: Built


def all_hold(shown: Iterable[Shown], system: System) -> bool:
    """Whether all shown files are unchanged. One plain loop, since each cached reply waits for it."""
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
    """An LRU cache of contexts by scope and request key. On the event loop only."""

    def __init__(self, max_bytes: int = BYTES_MAX) -> None:
        self._max_bytes = max_bytes
        self._scopes: OrderedDict[str, OrderedDict[bytes, RenderedEntry]] = OrderedDict()
        self.bytes = 0
        """The estimated bytes of all cached contexts."""
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
        """Return a valid cached context; `hold` tells whether the files that it shows are unchanged."""
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
        """Cache a context and drop those of earlier revisions of its scope, which are obsolete.

        Above the limit the contexts of the least recently used scopes are dropped."""
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
        """Drop all contexts of a scope."""
        for entry in self._scopes.pop(scope_id, {}).values():
            self.bytes -= entry.built.memory_bytes

    def _drop_oldest(self) -> None:
        scope_id, entries = next(iter(self._scopes.items()))
        self.bytes -= entries.popitem(last=False)[1].built.memory_bytes
        if not entries:
            del self._scopes[scope_id]
