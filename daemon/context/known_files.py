"""The files of one build: their content with the definitions and imports that the index has for them."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from ..graph.records import Needed
from ..graph.service import needed_by
from ..index.records import KEPT_SYMBOLS, MASKED_SYMBOLS
from ..index.service import Reader, masked_symbols
from ..languages.shared.language import LANGUAGES, language_of
from ..languages.shared.records import Symbol
from ..project.records import Content, FileRecord, ResolvedImport, Shown
from ..project.service import ContentReader
from ..workspace.records import ProjectSnapshot


class KnownFiles:
    """The files that one build reads, with their definitions and imports from the index. Blocks.

    Paths that lead into one of the projects `linked` are answered by its files. `stale` are the files whose
    content is newer than the index. `shown` has, by relative path, the state of each file read with `note`.
    `lasting` is False if something could not be read. Such a context can't be cached, because no stamp would
    show that it is outdated.
    """

    def __init__(
        self, snapshot: ProjectSnapshot, reader: Reader | None, linked: Mapping[str, KnownFiles] | None = None
    ) -> None:
        self._linked = linked or {}
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
        self.lasting: bool = reader is not None and all(files.lasting for files in self._linked.values())

    def read(self, path: str) -> Content:
        """Return the content of a file by its relative path."""
        files, inside, _ = self.owner_of(path)
        return files._contents.read(inside)

    def owner_of(self, path: str) -> tuple[KnownFiles, str, str]:
        """Return the files of the project that has a path, the path from its root, and what precedes it."""
        for prefix, files in self._linked.items() if path.startswith("../") else ():
            if path.startswith(f"{prefix}/"):
                return files, path[len(prefix) + 1 :], f"{prefix}/"
        return self, path, ""

    def needed_by(self, path: str, symbol: Symbol) -> Iterator[Needed]:
        """Yield what a definition uses; nothing without an index."""
        files, inside, before = self.owner_of(path)
        if files._reader is not None:
            for needed in needed_by(files._reader, inside, symbol):
                yield needed._replace(path=before + needed.path)

    @property
    def all_stale(self) -> tuple[str, ...]:
        """The files, also of linked projects, whose content is newer than the index."""
        linked = (f"{prefix}/{path}" for prefix, files in self._linked.items() for path in files.stale)
        return (*self.stale, *linked)

    def note(self, path: str) -> Content:
        """Return the content of a file that the context depends on, and remember its state in `shown`."""
        content = self.read(path)
        if content.shown is not None:
            self.shown[path] = content.shown
        elif content.problem and not self._policy.hides(
            path
        ):  # a hidden file stays hidden whatever its content
            self.lasting = False
        return content

    def unsaved(self, path: str) -> bool:
        """Whether an editor's unsaved buffer replaces the file."""
        files, inside, _ = self.owner_of(path)
        return files._contents.unsaved(inside)

    def symbols(self, path: str) -> tuple[Symbol, ...]:
        """Return the definitions in a file's current content; none if the index hasn't read that content."""
        files, inside, _ = self.owner_of(path)
        return files._symbols(inside)

    def _symbols(self, path: str) -> tuple[Symbol, ...]:
        record = self._record(path)
        if self._reader is None or record is None:
            return ()
        content, read = self.read(path), self._reader.symbols
        if not content.masked:
            return KEPT_SYMBOLS.of(record, read)
        return MASKED_SYMBOLS.of(record, lambda path: masked_symbols(read(path), content.text))

    def imports(self, path: str) -> tuple[ResolvedImport, ...]:
        """Return the imports of a file; for an unsaved buffer those of the file on disk."""
        files, inside, before = self.owner_of(path)
        if files._reader is None or not (self.unsaved(path) or self.indexed(path)):
            return ()
        found = files._reader.imports(inside)
        return tuple(_placed(each, before) for each in found) if before else found

    def importers(self, path: str) -> tuple[str, ...]:
        """Return the paths of the files that import a file, according to the index."""
        return () if self._reader is None else tuple(importer for importer, _ in self._reader.importers(path))

    def has_definitions(self, path: str) -> bool:
        """Whether the index has definitions of a file, even if the file has changed since."""
        return self._reader is not None and bool(self._reader.symbols(path))

    def indexed(self, path: str) -> bool:
        """Whether the index has read the current content of a file."""
        files, inside, _ = self.owner_of(path)
        return files._record(inside) is not None

    def is_as_scanned(self, path: str) -> bool:
        """Whether a file's content is the one in the tree, without anything that was masked."""
        files, inside, _ = self.owner_of(path)
        shown, scanned = self.read(path).shown, files._tree.files.get(inside)
        same = shown is not None and scanned is not None and scanned.digest == shown.digest
        return same and not self.read(path).masked

    def _record(self, path: str) -> FileRecord | None:
        """Return the index's record of a file; None if the content changed since, and the file is stale."""
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
        """Whether a file without definitions and imports has nothing that an importer could use.

        That holds for empty files and for code that the index has read, but not for data and style sheets.
        """
        content = self.read(path)
        if content.problem:
            return False
        if not content.text.strip():
            return True
        language = LANGUAGES.get(language_of(path))
        is_code = language is not None and bool(language.grammar) and language.name != "markdown"
        return is_code and self.indexed(path) and not self.unsaved(path)


def _placed(found: ResolvedImport, before: str) -> ResolvedImport:
    return replace(found, target=before + found.target) if found.target else found
