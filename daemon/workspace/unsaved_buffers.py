"""The texts in editors that replace files until they are saved."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from ..project.tree import FileRecord

BUFFERS_MAX = 64
BUFFER_CHARACTERS = 2 * 1024 * 1024


class UnsavedBuffers:
    """Unsaved texts by relative path, the latest `BUFFERS_MAX`. On the event loop only."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.generation = 0
        """Incremented with each change of a text."""

    def frozen(self) -> Mapping[str, str]:
        """Return an immutable copy."""
        return MappingProxyType(dict(self._texts))

    def set(self, path: str, text: str | None) -> None:
        """Let an editor's text replace a file; with None the file itself counts again."""
        old = self._texts.pop(path, None)
        if text is not None:
            self._texts[path] = text
            if len(self._texts) > BUFFERS_MAX:
                del self._texts[next(iter(self._texts))]
        self.generation += old != text

    def drop_saved(self, written: Iterable[FileRecord], known: Mapping[str, FileRecord]) -> None:
        """Drop the texts of files that changed on the disk: the editor saved them, or the buffer is stale."""
        if not self._texts:
            return
        for record in written:
            former = known.get(record.path)
            if record.path in self._texts and former is not None and former.stamp != record.stamp:
                self.set(record.path, None)
