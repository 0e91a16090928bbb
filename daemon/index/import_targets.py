"""Owns where the imports of a project's files lead: when a file is read, and again when names come or go."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence

from ..core.system import System
from ..languages.shared.imports import ImportResolver, keys_of_path
from ..languages.shared.records import Import
from ..project.tree import FileRecord
from .store import ImportRow, Store, StoredImport

RETRY_MAX = 2_000
"""When more names than this come or go, all imports are resolved again at once."""


class ImportTargets:
    """The imports of one project, on the indexer's working thread.

    `names` are the paths of its files, live. The files that configure imports are read below `root`, up to
    `max_bytes`. `resolver` is told of each name that came or went by whoever changes `names`.
    """

    def __init__(
        self, root: str, max_bytes: int, names: Collection[str], store: Store, system: System
    ) -> None:
        self._root = root
        self._max_bytes = max_bytes
        self._store = store
        self._system = system
        self.resolver = ImportResolver(names, self._read_config)

    def row(self, record: FileRecord, imported: Import) -> ImportRow:
        """Return what is written of an import of a file that was read."""
        target, missing = self._resolve(record.path, record.language, imported)
        keys = self.resolver.retry_keys(record.path, record.language, imported)
        return ImportRow(imported, target, missing, keys)

    def resolve_again(
        self, added: Sequence[str], removed: Sequence[str], upserted: Iterable[str]
    ) -> Collection[str]:
        """Resolve imports again that may lead elsewhere now, in the caller's transaction; returns the files
        of which any does."""
        updates = []
        importers: dict[str, None] = {}
        for one in self._candidates(added, removed, upserted):
            target, missing = self._resolve(one.importer, one.language, one.imported)
            if (target, missing) != (one.target, one.missing):
                updates.append((one.row, target, missing))
                importers[one.importer] = None
        self._store.update_imports(updates)
        return importers.keys()

    def _candidates(
        self, added: Sequence[str], removed: Sequence[str], upserted: Iterable[str]
    ) -> Sequence[StoredImport]:
        """Return the imports that may lead elsewhere now."""
        if any(map(self.resolver.is_config, (*upserted, *removed))):
            self.resolver.invalidate_config()
            candidates = self._store.all_imports()
            # They wait for files at other places now.
            self._store.put_keys((one.row, self._retry_keys(one)) for one in candidates)
            return candidates
        if len(added) + len(removed) > RETRY_MAX:
            return self._store.all_imports()
        keys = {key for path in (*added, *removed) for key in keys_of_path(path)}
        return self._store.imports_to_retry(sorted(keys), removed)

    def _resolve(self, importer: str, language: str, imported: Import) -> tuple[str, bool]:
        target = self.resolver.resolve(importer, language, imported)
        if target is not None:
            return ("" if target == importer else target), False  # a package that imports a name of its own
        return "", imported.required and self.resolver.is_internal(importer, language, imported)

    def _retry_keys(self, stored: StoredImport) -> tuple[str, ...]:
        return self.resolver.retry_keys(stored.importer, stored.language, stored.imported)

    def _read_config(self, path: str) -> bytes | None:
        try:
            return self._system.read(os.path.join(self._root, path), self._max_bytes)[0]
        except OSError:
            return None
