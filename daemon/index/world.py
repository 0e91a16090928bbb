"""The linker's view of a project: interfaces from the store, files by imports and by folders."""

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
from ..project.tree import FileRecord
from .fact_table import FactsDamaged, FactTable

log = logging.getLogger(__name__)

INTERFACES_BYTES: Final = 6 * 1024 * 1024
"""Interfaces that are kept, by their size in the store; in memory they take 4.5 times as much, 27 MB. All of
Django's take 4.5 MB. What lies in one folder is linked in a row and asks for the same files."""

MODULES_MAX: Final = 20_000
"""Answers to imports that are kept, about 6 MB: those of some thousands of files."""

YOUNG_OBJECTS: Final = 20_000
"""Objects that a process which links makes before garbage is looked for, 2 MB of them. Facts, interfaces and
links have no circles, so nothing is found; looked for after each 700, as Python does, it took a fifth of
linking."""

_BY_FOLDER: Final = frozenset(name for name, row in LANGUAGES.items() if row.same_in_folder)
"""Languages whose imports mean the same in all files of a folder."""


class StoredWorld:
    """The linker's `World`, on the indexer's working thread. `records` are the project's files, live.

    The caller reports each change. `missed` gathers the places (see `missing_key`) under which the imports
    that led nowhere wait for files, `damaged` the files whose facts can't be used; the caller empties both.
    """

    def __init__(self, facts: FactTable, resolver: ImportResolver, records: Mapping[str, FileRecord]) -> None:
        self._facts = facts
        self._resolver = resolver
        self._records = records
        # In a tuple, since a file may have no interface.
        self._interfaces = SizedCache[str, tuple[FileInterface | None]](INTERFACES_BYTES)
        self._modules = SizedCache[tuple[str, str, str, str], tuple[ModuleFiles, tuple[str, ...]]](
            MODULES_MAX
        )
        self._folders: dict[str, set[str]] | None = None
        self._siblings: dict[tuple[str, str], tuple[str, ...]] = {}
        self.missed: set[str] = set()
        self.damaged: set[str] = set()

    def interface(self, path: str) -> FileInterface | None:
        """Return what a file shows to others, or None if it isn't known."""
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
        """Return the files that an import means: a module, or a name of it that is a file of its own."""
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
        """Return the files of the same language family in the same folder, sorted, itself included."""
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
        """Forget what a file showed, and which language it was in."""
        self._siblings.clear()
        self._interfaces.discard(path)

    def name_added(self, path: str) -> None:
        """Take note of a new file."""
        self._interfaces.discard(path)
        self._modules.clear()
        self._siblings.clear()
        if self._folders is not None:
            self._folders.setdefault(path.rpartition("/")[0], set()).add(path)

    def name_removed(self, path: str) -> None:
        """Take note of a file that is gone."""
        self._interfaces.discard(path)
        self._modules.clear()
        self._siblings.clear()
        if self._folders is not None:
            self._folders.get(path.rpartition("/")[0], set()).discard(path)

    def imports_changed(self) -> None:
        """Forget where imports lead, since the rules of that changed."""
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
            # The module is there and has no such file; nearly always the name is none.
            keys: tuple[str, ...] = (name,)
        else:
            keys = self._resolver.retry_keys(importer, language, imported)
        return ModuleFiles((), internal), tuple(map(missing_key, keys))

    def _family(self, path: str) -> str:
        record = self._records.get(path)
        return family_of("" if record is None else record.language)


def missing_key(key: str) -> str:
    """Return the place under which links wait that rest on an import which led nowhere; it is no path."""
    return f"//{key}"


_ENTRY_BYTES: Final = 200
"""What a path takes whose interface is empty."""
