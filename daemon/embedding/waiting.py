"""Owns the contents of a project that wait to be embedded, and the order of their turn."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from itertools import chain

PREFERRED_MAX = 5_000
"""So many contents may go ahead of the others: those of some dozens of files, of the latest ones."""


class Waiting:
    """Contents by digest, each with a chunk that has it. Safe across threads.

    First come those that somebody prefers, then the others in the order in which they were put, with `later`
    ones behind all of these. A million take 140 MB, which is given back as they are embedded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[bytes, int] = {}
        self._later: dict[bytes, int] = {}
        self._preferred: dict[bytes, None] = {}

    def __len__(self) -> int:
        return len(self._places) + len(self._later)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._places or digest in self._later

    def put(self, digest: bytes, chunk_id: int, *, later: bool = False) -> None:
        """Have a content wait. One that waits already keeps its turn, with this chunk from now on."""
        with self._lock:
            if digest in self._places:
                self._places[digest] = chunk_id
            elif digest in self._later or later:
                self._later[digest] = chunk_id
            else:
                self._places[digest] = chunk_id

    def forget(self, digests: Iterable[bytes]) -> None:
        """Let contents wait no more; those that don't wait are passed over."""
        with self._lock:
            for digest in digests:
                self._places.pop(digest, None)
                self._later.pop(digest, None)
                self._preferred.pop(digest, None)

    def retain(self, digests: Collection[bytes]) -> None:
        """Forget all contents but these, which are in a set or a dictionary."""
        with self._lock:
            gone = [digest for digest in chain(self._places, self._later) if digest not in digests]
        self.forget(gone)

    def prefer(self, digests: Iterable[bytes]) -> None:
        """Put those of these contents that wait ahead of all others, in this order."""
        with self._lock:
            wanted = dict.fromkeys(one for one in digests if one in self._places or one in self._later)
            everyone = chain(wanted, (one for one in self._preferred if one not in wanted))
            self._preferred = dict.fromkeys(list(everyone)[:PREFERRED_MAX])

    def first(self, count: int) -> dict[bytes, int]:
        """Return the contents whose turn it is, at most `count`, each with its chunk; they go on waiting."""
        chosen: dict[bytes, int] = {}
        with self._lock:
            for digest in chain(self._preferred, self._places, self._later):
                if len(chosen) == count:
                    break
                place = self._places.get(digest)
                chosen[digest] = self._later[digest] if place is None else place
        return chosen
