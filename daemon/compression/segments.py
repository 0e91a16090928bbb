"""Owns segments: what was worked out of large texts, kept for the next prompt about them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from threading import Lock

from ..core.lazy_dataclass import dataclass
from .document import Document

KEPT_FROM = 20_000
"""A shorter text is taken apart in about a millisecond, in characters; remembering it would gain nothing."""

KEPT_CHARACTERS = 1_500_000
"""So many characters of text are kept at most; with what was worked out of it each takes about ten bytes,
15 MB together."""


@dataclass(frozen=True, slots=True)
class SegmentStatistics:
    """How often a text was known already, and what is kept."""

    hits: int
    misses: int
    documents: int
    characters: int


class Segments:
    """Documents by the digest of their text, the least recently used one forgotten first. Thread-safe."""

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._kept: OrderedDict[bytes, Document] = OrderedDict()
        self._characters = 0
        self._hits = self._misses = 0
        self._lock = Lock()

    def document(self, text: str) -> Document:
        """Return the document of a text; of a large one the same as before."""
        if len(text) < KEPT_FROM:
            return Document(text)
        digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        with self._lock:
            known = self._kept.get(digest)
            if known is not None:
                self._kept.move_to_end(digest)
                self._hits += 1
                return known
            self._misses += 1
            document = self._kept[digest] = Document(text)
            self._characters += document.characters
            while self._characters > self._most and len(self._kept) > 1:
                _, forgotten = self._kept.popitem(last=False)
                self._characters -= forgotten.characters
            return document

    def statistics(self) -> SegmentStatistics:
        """Return the counts so far."""
        with self._lock:
            return SegmentStatistics(self._hits, self._misses, len(self._kept), self._characters)


SEGMENTS = Segments()
"""Those of this process: what is in them follows from the texts alone, so that all may share them."""
