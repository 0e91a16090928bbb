"""Owns what is known of contents and secrets: which hold none, and what others are with theirs masked."""

from __future__ import annotations

from threading import Lock

from ..core.sized_cache import SizedCache

CONTENTS_MAX = 20_000
"""So many are remembered, about 150 bytes each; all are forgotten when there are more."""

Key = tuple[bytes, int]
"""The digest of a file's content, and how many bytes of it are shown at most."""


class CleanContents:
    """Contents that were looked through and had nothing to mask. Thread-safe.

    To look a file of 100 KB through takes a millisecond or two, to know it again nothing; and it can't become
    wrong, since a content that changed has another digest.
    """

    def __init__(self, most: int = CONTENTS_MAX) -> None:
        self._most = most
        self._known: set[Key] = set()
        self._lock = Lock()

    def __contains__(self, key: Key | None) -> bool:
        return key in self._known

    def __len__(self) -> int:
        return len(self._known)

    def add(self, key: Key) -> None:
        """Remember a content as clean."""
        with self._lock:
            if len(self._known) >= self._most:
                self._known.clear()
            self._known.add(key)


MASKED_CHARACTERS = 4_000_000
"""Characters of masked texts that are kept. In a project with passwords in its tests they are read with every
other prompt, and masking them again took an eighth of its time."""

MASKED = SizedCache[Key, str](MASKED_CHARACTERS)
"""Texts of this process in which secrets are masked, by the contents that they are of."""

CLEAN = CleanContents()
"""Those of this process: what is in it follows from the contents alone, so that all projects may share it."""
