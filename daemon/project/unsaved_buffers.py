"""The unsaved texts of files that are open in editors."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

from .tree import FileRecord

BUFFERS_MAX = 64
BUFFER_CHARACTERS = 2 * 1024 * 1024


class UnsavedBuffers:
    """Unsaved texts by relative path, the latest `BUFFERS_MAX`. On the event loop only."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}
        self.generation = 0
        """Changes with each change of a text."""

    def frozen(self) -> Mapping[str, str]:
        """Return a copy that nobody changes."""
        return MappingProxyType(dict(self._texts))

    def set(self, path: str, text: str | None) -> None:
        """Put an editor's text in the place of a file, or with None the file itself again."""
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
