"""The queue of contents that wait to be embedded: preferred ones first, tests and documents last."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable
from itertools import chain, islice

PREFERRED_MAX = 5_000
"""Maximum number of preferred contents, those of some dozens of files; the latest are kept."""


class EmbedQueue:
    """The contents that wait to be embedded, by digest, each with a chunk that has it. Safe across threads.

    Preferred contents come first, then the others in the order in which they were added, then those added
    with `later`. A million contents take 140 MB, which is freed as they are embedded.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._places: dict[bytes, int] = {}
        self._later: dict[bytes, int] = {}
        self._preferred: dict[bytes, None] = {}
        self._asked: set[bytes] = set()

    def __len__(self) -> int:
        return len(self._places) + len(self._later)

    def __contains__(self, digest: bytes) -> bool:
        return digest in self._places or digest in self._later

    def put(self, digest: bytes, chunk_id: int, *, later: bool = False) -> None:
        """Add a content. A content that already waits keeps its position and gets this chunk."""
        with self._lock:
            is_later = digest in self._later or (later and digest not in self._places)
            (self._later if is_later else self._places)[digest] = chunk_id

    def forget(self, digests: Iterable[bytes]) -> None:
        """Remove contents; contents that don't wait are ignored."""
        with self._lock:
            for digest in digests:
                self._places.pop(digest, None)
                self._later.pop(digest, None)
                self._preferred.pop(digest, None)
                self._asked.discard(digest)

    def retain(self, digests: Collection[bytes]) -> None:
        """Remove all contents except these, given as a set or a dictionary."""
        with self._lock:
            gone = [digest for digest in chain(self._places, self._later) if digest not in digests]
        self.forget(gone)

    def prefer(self, digests: Iterable[bytes]) -> None:
        """Move these contents, if they wait, ahead of all others, in this order."""
        with self._lock:
            wanted = dict.fromkeys(d for d in digests if d in self._places or d in self._later)
            everyone = chain(wanted, (digest for digest in self._preferred if digest not in wanted))
            self._preferred = dict.fromkeys(list(everyone)[:PREFERRED_MAX])

    @property
    def asked(self) -> int:
        """The number of waiting contents that were requested from a shared store."""
        return len(self._asked)

    def note_asked(self, digests: Iterable[bytes]) -> None:
        """Record that these contents, if they wait, were requested from a shared store."""
        with self._lock:
            self._asked.update(d for d in digests if d in self._places or d in self._later)

    def unasked(self, count: int) -> list[bytes]:
        """Return the next contents that weren't requested from a shared store, at most `count`."""
        with self._lock:
            # A preferred content occurs in two of these, so duplicates are removed.
            turns = chain(self._preferred, self._places, self._later)
            asked = (digest for digest in turns if digest not in self._asked)
            return list(dict.fromkeys(islice(asked, count)))

    def first(self, count: int) -> dict[bytes, int]:
        """Return the next contents, at most `count`, each with its chunk; they stay in the queue."""
        chosen: dict[bytes, int] = {}
        with self._lock:
            for digest in chain(self._preferred, self._places, self._later):
                if len(chosen) == count:
                    break
                place = self._places.get(digest)
                chosen[digest] = self._later[digest] if place is None else place
        return chosen
