"""Owns Swift's imports: which files of the project a module means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .import_config import MAX_PACKAGES, MAX_TARGETS, ImportConfig
from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import join_path, nearness, within
from .source_folders import SOURCES
from .tree import Import

FILES_MAX = 2_000
"""Files of one module that count."""

MANIFEST = "Package.swift"


class SwiftImports:
    """Swift: a module is a target of a Package.swift, with all files below its folder.

    Without a manifest it is a folder of its name that holds sources, as Xcode's projects have them.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._targets: dict[str, list[str]] | None = None

    def clear(self) -> None:
        """Forget everything that was read from manifests."""
        self._targets = None

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return a module's file named like what is imported or like it, or else its first one, or None."""
        files = self.resolve_all(importer, imported)
        for name in (imported.name, imported.module):
            for path in files:
                if name and path.rpartition("/")[2] == f"{name}.swift":
                    return path
        return files[0] if files else None

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return a module's files, sorted."""
        folders = sorted(self._module_folders(imported.module), key=lambda each: nearness(each, importer))
        return next((files for files in map(self._files, folders) if files), ())

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import certainly meant a file: never, since a target may hold other languages."""
        return False

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits: a module's files may be named anything."""
        found = self.resolve(importer, imported)
        return [
            imported.module,
            *([imported.name] if imported.name else []),
            *([key_of(found)] if found else []),
        ]

    def _files(self, folder: str) -> tuple[str, ...]:
        """Return the files below a folder, sorted."""
        sources = self._folders.sources
        below = sources.remembered(("module", folder), lambda: sources.below(folder))
        found = [path for each in below for path in sources.files(each, SOURCES["swift"])]
        return tuple(sorted(found[:FILES_MAX]))

    def _module_folders(self, module: str) -> Collection[str]:
        targets = self._known_targets()
        if module in targets:
            return targets[module]
        return self._folders.sources.ending_with(module) if module and not targets else ()

    def _known_targets(self) -> dict[str, list[str]]:
        if self._targets is None:
            self._targets = {}
            for folder in sorted(self._folders.holding(MANIFEST))[:MAX_PACKAGES]:
                for name, target in self._read(folder):
                    namesakes = self._targets.setdefault(name, [])
                    if len(namesakes) < MAX_TARGETS:
                        namesakes.append(target)
        return self._targets

    def _read(self, folder: str) -> Iterator[tuple[str, str]]:
        """Yield the names of a manifest's targets, each with a folder that may be its own."""
        text = self._config.text(within(folder, MANIFEST))
        starts = list(_TARGET.finditer(text))
        for place, match in enumerate(starts[:MAX_PACKAGES]):
            end = starts[place + 1].start() if place + 1 < len(starts) else len(text)
            path = _PATH.search(text, match.end(), min(end, match.end() + _TARGET_MAX))
            candidates = [path[1]] if path is not None else [f"{parent}/{match[1]}" for parent in _PARENTS]
            for candidate in candidates:
                target = join_path(folder, candidate)
                if target is not None and self._folders.exists(target):
                    yield match[1], target
                    break


_TARGET = re.compile(
    r"\.(?:target|testTarget|executableTarget|macro|plugin|systemLibrary)\s*\(\s*name\s*:\s*\"([\w-]{1,100})\""
)
_PATH = re.compile(r"\bpath\s*:\s*\"([^\"\n]{1,300})\"")
_TARGET_MAX = 4_000
_PARENTS = ("Sources", "Source", "src", "srcs", "Tests", "Plugins")
