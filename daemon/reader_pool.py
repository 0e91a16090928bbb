"""Owns the connections to a project's index that threads borrow, kept for the next."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator

from .index.store import Reader

READERS_MAX = 4
"""So many idle connections are kept: as many as builds run at a time."""


class ReaderPool:
    """Connections to an index, lent to one thread at a time and kept for the next."""

    def __init__(self, folder: str, make: Callable[[str], Reader] = Reader) -> None:
        self._folder = folder
        self._make = make
        self._lock = threading.Lock()
        self._idle: list[Reader] = []
        self._lives = 0
        self._closed = False

    @contextlib.contextmanager
    def borrow(self) -> Iterator[Reader]:
        """Lend a reader. Raises `DatabaseError` where there is no index yet, or a damaged one."""
        with self._lock:
            reader, lives = self._idle.pop() if self._idle else None, self._lives
        reader = reader or self._make(self._folder)
        try:
            yield reader
        except BaseException:
            reader.close()
            raise
        with self._lock:
            if len(self._idle) < READERS_MAX and lives == self._lives and not self._closed:
                self._idle.append(reader)
                return
        reader.close()

    def renew(self) -> None:
        """Close the idle readers now, the lent ones when they come back; later ones open the index anew."""
        with self._lock:
            self._lives += 1
            idle, self._idle = self._idle, []
        for reader in idle:
            reader.close()

    def close(self) -> None:
        """Close the idle readers now and the lent ones when they come back."""
        self._closed = True
        self.renew()
