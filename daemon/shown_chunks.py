"""Owns the texts of chunks that answers showed lately, by what the chunks say."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock

KEPT_CHARACTERS = 2_000_000
"""So many are kept in all, some 1,500 chunks. Of 3,000 questions about 1,020 names of Django 57 % of the hits
find their text with 2 million as with 8."""

CHUNK_CHARACTERS = 200
"""What a text counts more than its characters: its digest, and its places in memory."""


class ShownChunks:
    """Texts by digest, those shown last, as they are and as they are masked. Thread-safe.

    To unpack a text means to unpack its whole file, and to look it through for secrets takes as long again.
    What is kept can't become wrong: a chunk that says something else has another digest. Whether a chunk is
    still there is for the index to say.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._size = 0
        self._texts: OrderedDict[tuple[bytes, bool], str] = OrderedDict()
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def size(self) -> int:
        """What is kept, in characters."""
        return self._size

    def get(self, digest: bytes, *, masked: bool) -> str | None:
        """Return the text of a chunk, without its secrets or with them; None if it isn't kept so."""
        with self._lock:
            text = self._texts.get((digest, masked))
            if text is not None:
                self._texts.move_to_end((digest, masked))
            return text

    def keep(self, texts: Mapping[bytes, str], *, masked: bool) -> None:
        """Keep texts by digest; the ones that were shown longest ago go."""
        with self._lock:
            for digest, text in texts.items():
                if (digest, masked) not in self._texts:
                    self._size += len(text) + CHUNK_CHARACTERS
                self._texts[digest, masked] = text
            while self._size > self._most:
                self._size -= len(self._texts.popitem(last=False)[1]) + CHUNK_CHARACTERS


SHOWN = ShownChunks()
"""Those of this process: what is in it follows from the digests alone, so that all projects may share it."""
