"""Owns the imports of Java, Kotlin and Scala: which files of the project a package or a class means."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import nearness, within
from .source_folders import SOURCES, is_test
from .tree import Import

NESTED_MAX = 3
"""Classes in classes that an import may lead into; the longest in practice are two."""

FILES_MAX = 2_000
"""Files of one package that count."""

_SOURCE_ROOTS = frozenset({"java", "kotlin", "scala", "src", "main", "test", "source", "sources", "common"})
_LANGUAGE_PACKAGES = frozenset({"java", "javax", "jdk", "sun", "kotlin", "kotlinx", "scala"})


class JavaImports:
    """Java, Kotlin and Scala: a package is a folder below a source root, of which there may be several.

    Kotlin leaves out of the folders what all packages of a root begin with; that is found for a class only.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, language: str) -> None:
        self._names = names
        self._folders = folders
        self._endings = SOURCES[language]
        self._is_java = language == "java"

    def clear(self) -> None:
        """Forget what was read from configuration files, of which there are none."""

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the file of a class, of a package the one named like it or else the first, or None."""
        found = self._class_file(importer, imported)
        if found is not None:
            return found
        if imported.name:
            return None  # a function, or a class in a file of another name: the names of files don't tell
        files = self._package_files(importer, imported.module)
        named = [path for path in files if key_of(path).lower() == imported.module.rpartition(".")[2].lower()]
        return next(iter(named or files), None)

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return the file of a class, else all files of the package that holds it, sorted."""
        found = self._class_file(importer, imported)
        return (
            (found,) if found is not None else tuple(sorted(self._package_files(importer, imported.module)))
        )

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import certainly meant a file: never, since a class may be generated."""
        return False

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits."""
        last = imported.module.rpartition(".")[2]
        keys = [imported.name] if imported.name else []
        if not imported.name or not imported.name[:1].isupper() or last[:1].isupper():
            keys.append(last)
        if last[:1].isupper():
            keys.append(imported.module.rpartition(".")[0].rpartition(".")[2])
        return [key for key in keys if key]

    def _class_file(self, importer: str, imported: Import) -> str | None:
        """Return the file of a class that an import names, leads into or takes a member of."""
        parts = imported.module.split(".")
        names = [imported.name] if imported.name else []
        for count in range(len(parts), max(len(parts) - NESTED_MAX, 0), -1):
            name = (parts[count:] + names)[:1]
            if name:
                found = self._named(importer, ".".join(parts[:count]), name[0])
                if found is not None:
                    return found
        return None

    def _named(self, importer: str, package: str, name: str) -> str | None:
        for folder in self._ordered(importer, self._package_folders(package) or self._shortened(package)):
            for ending in self._endings:
                path = within(folder, name) + ending
                if path in self._names:
                    return path
        return None

    def _package_files(self, importer: str, package: str) -> list[str]:
        """Return the files of a package, the nearest folder's first; a test's only for tests."""
        found: list[str] = []
        for folder in self._ordered(importer, self._package_folders(package)):
            if not is_test(folder) or is_test(importer):
                found += self._folders.sources.files(folder, self._endings)
        return found[:FILES_MAX]

    def _ordered(self, importer: str, folders: Collection[str]) -> list[str]:
        return (
            sorted(folders, key=lambda folder: nearness(folder, importer)) if len(folders) > 1 else [*folders]
        )

    def _package_folders(self, package: str) -> tuple[str, ...]:
        """Return the folders of a package below all source roots."""
        tail = package.replace(".", "/")
        sources = self._folders.sources
        return sources.remembered(("package", tail), lambda: _below_roots(sources.ending_with(tail), tail))

    def _shortened(self, package: str) -> tuple[str, ...]:
        """Return the folders of a package whose first parts the folders leave out."""
        return self._folders.sources.remembered(("short", package), lambda: self._without_prefix(package))

    def _without_prefix(self, package: str) -> Iterator[str]:
        parts = package.split(".")
        if self._is_java or parts[0] in _LANGUAGE_PACKAGES:
            return
        for start in range(1, len(parts)):
            tail = "/".join(parts[start:])
            for folder in self._folders.sources.ending_with(tail):
                root = folder[: -len(tail)].rstrip("/")
                is_root = root.rpartition("/")[2] in _SOURCE_ROOTS
                if is_root and not self._folders.exists(within(root, parts[0])):
                    yield folder


def _below_roots(folders: Collection[str], tail: str) -> Iterator[str]:
    """Yield the folders of a package that lie below a source root; of several the shortest roots count.

    `src/main/java/util` isn't the package `java.util`.
    """
    is_language = tail.partition("/")[0] in _LANGUAGE_PACKAGES
    roots = {folder: folder[: -len(tail)].rstrip("/") for folder in folders}
    known = [folder for folder, root in roots.items() if not root or root.rpartition("/")[2] in _SOURCE_ROOTS]
    for folder in known or folders:
        if not (is_language and roots[folder].rpartition("/")[2] in {"main", "test", "src"}):
            yield folder
