"""Owns what one build knows of files: their content, and of the index what was read from that content."""

from __future__ import annotations

import os

from ..index.store import Reader
from ..languages.shared.records import Symbol
from ..languages.shared.table import LANGUAGES, language_of
from ..project.snapshot import ProjectSnapshot
from ..project.tree import FileRecord, ResolvedImport
from .content import Content, ContentReader, Shown
from .kept_symbols import KEPT_SYMBOLS, MASKED_SYMBOLS
from .masked_symbols import masked_symbols


class KnownFiles:
    """The files of one build, with what the record of the context says about them. Blocks: it reads.

    `stale` are the files whose content is newer than the index. `shown` proves by relative path what was
    noted with `note`. `lasting` says that this proof is all: nothing was met that can't be read for now.
    """

    def __init__(self, snapshot: ProjectSnapshot, reader: Reader | None) -> None:
        self._tree = snapshot.tree
        self._policy = snapshot.policy
        self._reader = reader
        self._contents = ContentReader(
            snapshot.tree.root,
            snapshot.system,
            snapshot.config.scan.max_file_bytes,
            snapshot.overlays,
            snapshot.policy,
            snapshot.config.context.outside_folders,
        )
        self.stale: dict[str, None] = {}
        self.shown: dict[str, Shown] = {}
        self.lasting = reader is not None

    def read(self, path: str) -> Content:
        """Return the content of a file by its relative path."""
        return self._contents.read(path)

    def note(self, path: str) -> Content:
        """Return the content of a file of which the answer will tell something, if only that it is empty."""
        content = self.read(path)
        if content.shown is not None:
            self.shown[path] = content.shown
        elif content.problem and not self._policy.hides(path):  # which holds as long as its name
            self.lasting = False
        return content

    def unsaved(self, path: str) -> bool:
        """Whether an editor's unsaved buffer stands in for the file."""
        return self._contents.unsaved(path)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return the definitions of a file as it is on the disk; none if they aren't known."""
        record = self._record(path)
        if self._reader is None or record is None:
            return ()
        content, read = self.read(path), self._reader.symbols
        if not content.masked:
            return KEPT_SYMBOLS.of(record, read)
        return MASKED_SYMBOLS.of(record, lambda path: masked_symbols(read(path), content.text))

    def imports(self, path: str) -> tuple[ResolvedImport, ...]:
        """Return the imports of a file; of one that is edited those that it had when it was saved."""
        if self._reader is None or not (self.unsaved(path) or self.indexed(path)):
            return ()
        return self._reader.imports(path)

    def importers(self, path: str) -> tuple[str, ...]:
        """Return the files that import a file, as far as the index knows, by path."""
        return () if self._reader is None else tuple(one for one, _ in self._reader.importers(path))

    def has_definitions(self, path: str) -> bool:
        """Whether the index knows definitions of a file, be they of its present content or not."""
        return self._reader is not None and bool(self._reader.symbols(path))

    def indexed(self, path: str) -> bool:
        """Whether what the index knows of a file was read from the very content that is on the disk."""
        return self._record(path) is not None

    def _record(self, path: str) -> FileRecord | None:
        """Return what the index knows of a file if it was read from the very content that is on the disk."""
        content = self.read(path)
        if self._reader is None or content.shown is None or path in self.stale or os.path.isabs(path):
            return None
        record = self._reader.record(path)
        if record is not None and record.skipped:
            return None
        if record is None or not record.digest or record.digest != content.shown.digest:
            if path in self._tree.files or content.text:
                self.stale[path] = None
            return None
        return record

    def is_bare(self, path: str) -> bool:
        """Whether a file without definitions and imports certainly has nothing that an importer could use.

        An empty one has not, and code has not if the index read it; data and style sheets may well have.
        """
        content = self.read(path)
        if content.problem:
            return False
        if not content.text.strip():
            return True
        language = LANGUAGES.get(language_of(path))
        is_code = language is not None and bool(language.grammar) and language.name != "markdown"
        return is_code and self.indexed(path) and not self.unsaved(path)
