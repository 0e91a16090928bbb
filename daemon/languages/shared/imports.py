"""Import resolution: the file of the project that an import means. It reads no source and never leaves the
root.

Imports are looked up among the paths of the project's files. Only configuration files are read; they are
untrusted: resolving ends and raises nothing for any content. A candidate is a path without its extension
(`src/auth` for `src/auth.ts` or `src/auth/index.ts`), relative to the root, "" being the root itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from .import_folders import ImportConfig, ImportFolders, SourceFolders
from .language import LANGUAGES, ImportLookup, key_of
from .records import Import


class ImportResolver:
    """Resolves the imports of one project against its live set of names.

    `names` is the live collection of the relative POSIX paths of the project's files; the caller must report
    each of its changes through `added` or `removed`. `read` returns the bytes of a file by its relative path,
    or None. After a file for which `is_config` is true was changed, added or removed, call
    `invalidate_config` and resolve all imports again. Not thread-safe.
    """

    def __init__(self, names: Collection[str], read: Callable[[str], bytes | None]) -> None:
        self._names = names
        self._folders = ImportFolders(
            names, _CONFIG_FILES, _FOUND_BY_ENDING, SourceFolders(_PACKAGE_SOURCES, _CONFIG_ENDINGS)
        )
        self._config = ImportConfig(read)
        lookups = {
            row.imports: row.imports(names, self._folders, self._config)
            for row in LANGUAGES.values()
            if row.imports
        }
        self._none = ImportLookup(names, self._folders, self._config)
        self._lookups = tuple(lookups.values())
        self._by_language = {name: lookups[row.imports] for name, row in LANGUAGES.items() if row.imports}

    def resolve(self, importer: str, language: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None.

        A package is represented by its `__init__` or index file, and a Go package by the file with its name,
        else by its first file that isn't a test. The result may be the importer itself.
        """
        return self._of(language).resolve(importer, imported)

    def resolve_all(self, importer: str, language: str, imported: Import) -> tuple[str, ...]:
        """Return all files that an import means, sorted: a Go package's files except tests, else at most one
        file."""
        return self._of(language).resolve_all(importer, imported)

    def is_internal(self, importer: str, language: str, imported: Import) -> bool:
        """Return whether an unresolved import certainly means a file of this project."""
        return imported.required and self._of(language).is_internal(importer, imported)

    def published(self, language: str, imported: Import) -> tuple[str, ...]:
        """Return the files that an import in another project means, none unless it names a package of this
        one."""
        return self._of(language).published(imported)

    def retry_keys(self, importer: str, language: str, imported: Import) -> tuple[str, ...]:
        """Return the keys under which an import waits for files that would change its resolution.

        Resolve it again when a file appears for which `keys_of_path` returns one of these keys.
        """
        return tuple(dict.fromkeys(self._of(language).keys(importer, imported)))

    def keys_below(self, paths: Iterable[str]) -> set[str]:
        """Return the keys of what lies beside the `__init__` files among added and removed files: absolute
        imports start at a folder only while it is no package."""
        folders = {path.rpartition("/")[0] for path in paths if _is_package_file(path)}
        found: set[str] = set()
        for path in self._names if folders else ():
            folder, _, name = path.rpartition("/")
            if folder in folders:
                found.add(key_of(name))
            elif _is_package_file(path) and folder.rpartition("/")[0] in folders:
                found.add(key_of(folder))
        return found

    def is_config(self, path: str) -> bool:
        """Return whether a file's content affects the resolution of imports."""
        if path.rpartition("/")[2] in _CONFIG_FILES or path.endswith(_CONFIG_ENDINGS):
            return True
        return any(lookup.is_config(path) for lookup in self._lookups)

    def invalidate_config(self) -> None:
        """Drop the contents of all configuration files; they are read again when needed."""
        self._config.clear()
        for lookup in self._lookups:
            lookup.clear()

    def added(self, path: str) -> None:
        """Record that a path was added to the names."""
        self._folders.change(path, 1)

    def removed(self, path: str) -> None:
        """Record that a path was removed from the names."""
        self._folders.change(path, -1)

    def _of(self, language: str) -> ImportLookup:
        return self._by_language.get(language, self._none)


def _is_package_file(path: str) -> bool:
    return path.endswith(("__init__.py", "__init__.pyi"))


def keys_of_path(path: str) -> tuple[str, ...]:
    """Return the keys of a file: imports waiting under one of them may mean it (see `retry_keys`)."""
    folder, _, name = path.rpartition("/")
    if name.endswith(".go"):
        return (key_of(folder),)
    stem = key_of(name)
    if name.endswith(".swift"):
        return (stem, *map(key_of, folder.split("/")))  # a module is everything below its folder
    if f"/{path}".endswith(_PACKAGE_FILES):
        return (stem, key_of(folder))
    if stem == "__init__":
        # A folder that becomes a package is no longer one from which absolute imports start.
        return (key_of(folder), stem, f"{folder}/")
    return (stem, key_of(folder)) if stem == "index" or name == "init.lua" else (stem,)


_CONFIG_FILES = frozenset(name for row in LANGUAGES.values() for name in row.config_files)
_CONFIG_ENDINGS = tuple(ending for row in LANGUAGES.values() for ending in row.config_endings)
_FOUND_BY_ENDING = tuple(ending for row in LANGUAGES.values() for ending in row.found_by_ending)
_PACKAGE_SOURCES = tuple({ending: None for row in LANGUAGES.values() for ending in row.package_sources})
_PACKAGE_FILES = tuple(ending for row in LANGUAGES.values() for ending in row.package_files)
