"""Owns the divisions of files that are kept for the next prompt about them."""

from __future__ import annotations

from collections import OrderedDict
from threading import Lock

from ..project.tree import Symbol
from .division import Division

KEPT_CHARACTERS = 8_000_000
"""So many characters of text the files have together whose divisions are kept, each of which takes about 2.5
bytes with the definitions that it holds: 20 MB. In 3,000 files of Django these are three of four characters
that new prompts come upon: it is the large files that are found again and again."""


class Divisions:
    """Divisions by the digest of their file, the least recently used ones forgotten first. Thread-safe.

    What is kept can't become wrong: a content that changed has another digest, and definitions that the index
    read anew are compared.
    """

    def __init__(self, most: int = KEPT_CHARACTERS) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[bytes, str], Division] = OrderedDict()
        self._characters = 0
        self._lock = Lock()

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def characters(self) -> int:
        """How long the files are together whose divisions are kept."""
        return self._characters

    def of(self, text: str, tag: str, symbols: tuple[Symbol, ...], digest: bytes | None) -> Division:
        """Return the division of a text; with a digest, which tells the text, the same as before."""
        if digest is None:
            return Division(text, tag, symbols)
        key = (digest, tag)
        with self._lock:
            known = self._kept.get(key)
            if known is not None:
                self._kept.move_to_end(key)
        if known is not None and known.characters == len(text) and known.symbols == symbols:
            return known
        made = Division(text, tag, symbols)
        with self._lock:
            self._put(key, made)
        return made

    def _put(self, key: tuple[bytes, str], made: Division) -> None:
        if before := self._kept.pop(key, None):
            self._characters -= before.characters
        if made.characters > self._most:
            return
        self._kept[key] = made
        self._characters += made.characters
        while self._characters > self._most:
            _, forgotten = self._kept.popitem(last=False)
            self._characters -= forgotten.characters


DIVISIONS = Divisions()
"""Those of this process: what is in them follows from the files alone, so all projects may share them."""
