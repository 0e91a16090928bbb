"""The linker's view of a project: the files' interfaces, import targets and folders."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from ..core.sized_cache import SizedCache
from ..languages.shared.imports import ImportResolver
from ..languages.shared.interface import FileInterface
from ..languages.shared.language import LANGUAGES, family_of
from ..languages.shared.link_rules import ModuleFiles
from ..languages.shared.records import Import
from ..project.records import FileRecord
from .fact_table import FactsDamaged, FactTable

log = logging.getLogger(__name__)

INTERFACES_BYTES: Final = 6 * 1024 * 1024
"""Maximum bytes of cached interfaces, in stored form; in memory they take 4.5 times as much, 27 MB. Django's
take 4.5 MB. Files of one folder are linked one after the other and use the same interfaces."""

MODULES_MAX: Final = 20_000
"""Maximum number of cached import targets, about 6 MB, enough for some thousand files."""

YOUNG_OBJECTS: Final = 20_000
"""Number of new objects, about 2 MB, after which a linking process collects garbage. Facts, interfaces and
links have no reference cycles, so a collection finds nothing; with Python's default of 700 objects,
collections took a fifth of linking."""

_BY_FOLDER: Final = frozenset(name for name, row in LANGUAGES.items() if row.same_in_folder)
"""Languages in which an import has the same target in all files of a folder."""


class StoredLinkerView:
    """The linker's `LinkerView`, on the indexer's working thread. `records` is the live map of the project's
    files.

    The caller must report each change. `missed` collects the keys (see `missing_key`) under which unresolved
    imports wait for files, and `damaged` the files whose facts can't be used; the caller empties both.
    """

    def __init__(self, facts: FactTable, resolver: ImportResolver, records: Mapping[str, FileRecord]) -> None:
        self._facts = facts
        self._resolver = resolver
        self._records = records
        # Interfaces are in tuples, to cache None for a file without one.
        self._interfaces = SizedCache[str, tuple[FileInterface | None]](INTERFACES_BYTES)
        self._modules = SizedCache[tuple[str, str, str, str], tuple[ModuleFiles, tuple[str, ...]]](
            MODULES_MAX
        )
        self._folders: dict[str, set[str]] | None = None
        self._siblings: dict[tuple[str, str], tuple[str, ...]] = {}
        self.missed: set[str] = set()
        self.damaged: set[str] = set()

    def interface(self, path: str) -> FileInterface | None:
        """Return a file's interface, or None if it isn't known."""
        found = self._interfaces.get(path)
        if found is not None:
            return found[0]
        try:
            interface, size = self._facts.interface(path)
        except FactsDamaged as error:
            log.warning("files are linked without %s until it is read again: %s", path, error)
            self.damaged.add(path)
            interface, size = None, 0
        self._interfaces.put(path, (interface,), size + _ENTRY_BYTES)
        return interface

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        """Return the files that an import means: a module, or a name of the module that is itself a file."""
        place = importer.rpartition("/")[0] if language in _BY_FOLDER else importer
        key = (place, language, module, name)
        found = self._modules.get(key)
        if found is None:
            found = self._resolve(importer, language, module, name)
            self._modules.put(key, found, 1)
        files, keys = found
        self.missed.update(keys)
        return files

    def siblings(self, path: str) -> tuple[str, ...]:
        """Return the files of the same language family in a file's folder, sorted, with the file itself."""
        if self._folders is None:
            self._folders = {}
            for each in self._records:
                self._folders.setdefault(each.rpartition("/")[0], set()).add(each)
        key = folder, family = path.rpartition("/")[0], self._family(path)
        found = self._siblings.get(key)
        if found is None:
            beside = self._folders.get(folder, ())
            found = tuple(sorted(each for each in beside if self._family(each) == family))
            self._siblings[key] = found
        return found

    def content_changed(self, path: str) -> None:
        """Drop the cached interface and language of a file."""
        self._siblings.clear()
        self._interfaces.discard(path)

    def name_added(self, path: str) -> None:
        """Record that a file was added."""
        self._interfaces.discard(path)
        self._modules.clear()
        self._siblings.clear()
        if self._folders is not None:
            self._folders.setdefault(path.rpartition("/")[0], set()).add(path)

    def name_removed(self, path: str) -> None:
        """Record that a file was removed."""
        self._interfaces.discard(path)
        self._modules.clear()
        self._siblings.clear()
        if self._folders is not None:
            self._folders.get(path.rpartition("/")[0], set()).discard(path)

    def imports_changed(self) -> None:
        """Drop all cached import targets, because the rules of resolution changed."""
        self._modules.clear()

    def _resolve(
        self, importer: str, language: str, module: str, name: str
    ) -> tuple[ModuleFiles, tuple[str, ...]]:
        imported = Import(module, name, 0)
        paths = self._resolver.resolve_all(importer, language, imported)
        if paths:
            return ModuleFiles(paths, internal=True), ()
        internal = self._resolver.is_internal(importer, language, imported)
        if name and self._resolver.resolve_all(importer, language, Import(module, "", 0)):
            # The module exists but has no file of this name; nearly always the name isn't a file.
            keys: tuple[str, ...] = (name,)
        else:
            keys = self._resolver.retry_keys(importer, language, imported)
        return ModuleFiles((), internal), tuple(map(missing_key, keys))

    def _family(self, path: str) -> str:
        record = self._records.get(path)
        return family_of("" if record is None else record.language)


def missing_key(key: str) -> str:
    """Return the dependency of links that failed at an unresolved import: a key that is no path."""
    return f"//{key}"


_ENTRY_BYTES: Final = 200
"""Overhead in bytes that is counted for each cached interface."""
