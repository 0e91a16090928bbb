"""Owns the divisions of files that are kept for the next prompt about them."""

from __future__ import annotations

from ..core.sized_cache import SizedCache
from ..languages.shared.records import Symbol
from .division import Division

KEPT_CHARACTERS = 8_000_000
"""Maximum characters of all files together whose divisions are kept, each of which takes about 2.5
bytes with the definitions that it holds: 20 MB. In 3,000 files of Django these are three of four characters
that new prompts come upon: it is the large files that are found again and again."""


class Divisions:
    """Divisions by the digest of their file, the least recently used ones forgotten first. Thread-safe.

    What is kept can't become wrong: a content that changed has another digest, and definitions that the index
    read anew are compared.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._kept = SizedCache[bytes, tuple[str, Division]](most)

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def characters(self) -> int:
        """How long the files are together whose divisions are kept."""
        return self._kept.size

    def of(self, text: str, tag: str, symbols: tuple[Symbol, ...], digest: bytes | None) -> Division:
        """Return the division of a text; with a digest, which tells the text, the same as before."""
        if digest is None:
            return Division(text, tag, symbols)
        kept_tag, known = self._kept.get(digest) or ("", None)
        asked = (tag, len(text), symbols)
        if known is not None and (kept_tag, known.characters, known.symbols) == asked:
            return known
        made = Division(text, tag, symbols)
        if made.characters > self._most:
            self._kept.discard(digest)
        else:
            self._kept.put(digest, (tag, made), made.characters)
        return made

    def forget(self, digest: bytes) -> None:
        """Forget the division of a content that a file had until now: mostly no other one has it."""
        self._kept.discard(digest)


DIVISIONS = Divisions()
"""Those of this process: what is in them follows from the files alone, so all projects may share them."""
