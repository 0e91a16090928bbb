"""A cache that is bounded by the size of its values and evicts the least recently used."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from threading import Lock
from typing import Generic, TypeVar

K = TypeVar("K", bound=Hashable)
V = TypeVar("V")


class SizedCache(Generic[K, V]):
    """Values by key, up to a total size in any unit. Thread-safe."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._size = 0
        self._kept: OrderedDict[K, tuple[V, int]] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        """The total size of all values."""
        return self._size

    def get(self, key: K) -> V | None:
        """Return a value and mark it as used, None if it isn't cached."""
        with self._lock:
            kept = self._kept.get(key)
            if kept is None:
                return None
            self._kept.move_to_end(key)
            return kept[0]

    def put(self, key: K, value: V, size: int) -> None:
        """Put a value, replacing the former one. A value above the total size isn't cached."""
        with self._lock:
            self._forget(key)
            self._kept[key] = (value, size)
            self._size += size
            while self._size > self._most:
                self._forget(next(iter(self._kept)))

    def discard(self, key: K) -> None:
        """Forget a value, if it is there."""
        with self._lock:
            self._forget(key)

    def clear(self) -> None:
        """Forget everything."""
        with self._lock:
            self._kept.clear()
            self._size = 0

    def _forget(self, key: K) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._size -= kept[1]
