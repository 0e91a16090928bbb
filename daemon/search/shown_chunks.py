"""Owns the texts of chunks that answers showed lately, by what the chunks say."""

from __future__ import annotations

from collections.abc import Mapping

from ..core.sized_cache import SizedCache

KEPT_CHARACTERS = 2_000_000
"""Maximum characters kept, some 1,500 chunks. Of 3,000 questions about 1,020 names of Django 57 % of the hits
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
        self._texts = SizedCache[tuple[bytes, bool], str](most)

    def __len__(self) -> int:
        return len(self._texts)

    @property
    def size(self) -> int:
        """What is kept, in characters."""
        return self._texts.size

    def get(self, digest: bytes, *, masked: bool) -> str | None:
        """Return the text of a chunk, without its secrets or with them; None if it isn't kept so."""
        return self._texts.get((digest, masked))

    def keep(self, texts: Mapping[bytes, str], *, masked: bool) -> None:
        """Keep texts by digest; the ones that were shown longest ago go."""
        for digest, text in texts.items():
            self._texts.put((digest, masked), text, len(text) + CHUNK_CHARACTERS)


SHOWN = ShownChunks()
"""Those of this process: what is in it follows from the digests alone, so that all projects may share it."""
