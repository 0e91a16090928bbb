"""Owns import resolution: which file of the project an import means; reads no source, never leaves the root.

Everything is looked up among the project's names; only configuration files are ever read, and those are
untrusted: whatever they hold, resolving ends and raises nothing. A candidate is a path without its extension
(`src/auth` for `src/auth.ts` or `src/auth/index.ts`), relative to the root, "" being the root itself.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Protocol

from .bash_imports import BashImports
from .c_imports import CImports
from .csharp_imports import CsharpImports
from .go_imports import GoImports
from .import_config import CONFIG_NAMES, ImportConfig
from .import_folders import ImportFolders
from .import_keys import key_of
from .java_imports import JavaImports
from .languages import SCRIPT_LANGUAGES
from .lua_imports import LuaImports
from .package_json import Packages
from .php_imports import PhpImports
from .python_imports import PythonImports
from .ruby_imports import RubyImports
from .rust_imports import RustImports
from .script_imports import ScriptImports
from .source_folders import PROJECT
from .swift_imports import SwiftImports
from .tree import Import
from .tsconfig import AliasFiles


class PathImports(Protocol):
    """The imports of a language whose specifiers mean at most one file each."""

    def resolve(self, importer: str, module: str) -> str | None:
        """Return the path of the file that a specifier means, or None."""

    def is_internal(self, importer: str, module: str) -> bool:
        """Return whether a specifier that didn't resolve certainly meant a file of this project."""

    def keys(self, importer: str, module: str) -> list[str]:
        """Return the keys under which a specifier waits, which may repeat."""


class NameImports(Protocol):
    """The imports of a language in which a name that is taken may decide which file is meant."""

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None."""

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return all files that an import may mean, sorted."""

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import that didn't resolve certainly meant a file of this project."""

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits, which may repeat."""

    def clear(self) -> None:
        """Forget everything that was read from configuration files."""


class ImportResolver:
    """Resolves the imports of one project against its live set of names.

    `names` are the relative POSIX paths of the project's files; the caller goes on changing that collection
    and tells each change through `added` and `removed`. `read` returns the bytes of a file by its relative
    path, or None. After a file for which `is_config` holds was changed, added or removed, call
    `invalidate_config` and resolve all imports again. Not thread-safe.
    """

    def __init__(self, names: Collection[str], read: Callable[[str], bytes | None]) -> None:
        self._folders = ImportFolders(names)
        self._config = ImportConfig(read)
        self._packages = Packages(names, self._folders, self._config)
        self._aliases = AliasFiles(names, self._folders, self._config, self._packages)
        self._python = PythonImports(names, self._folders)
        self._script = ScriptImports(names, self._packages, self._aliases)
        self._go = GoImports(names, self._folders, self._config)
        self._php = PhpImports(names, self._folders, self._config)
        c = CImports(names, self._folders)
        self._by_path: dict[str, PathImports] = {
            "bash": BashImports(names, self._folders),
            "c": c,
            "cpp": c,
            "lua": LuaImports(names, self._folders),
            "php": self._php,
            "ruby": RubyImports(names, self._folders),
        }
        self._by_name: dict[str, NameImports] = {
            "csharp": CsharpImports(names, self._folders, self._config),
            "java": JavaImports(names, self._folders, "java"),
            "kotlin": JavaImports(names, self._folders, "kotlin"),
            "rust": RustImports(names, self._folders, self._config),
            "scala": JavaImports(names, self._folders, "scala"),
            "swift": SwiftImports(names, self._folders, self._config),
        }

    def resolve(self, importer: str, language: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None.

        A package's `__init__` or index file stands for the package; for a Go package it is the file named
        like it, or else the first one that isn't a test. May be the importer itself.
        """
        if language == "python":
            return self._python.resolve(importer, imported)
        if language in SCRIPT_LANGUAGES:
            return self._script.resolve(importer, language, imported.module)
        if language == "go":
            return self._go.resolve(importer, imported.module)
        if language in self._by_path:
            return self._by_path[language].resolve(importer, imported.module)
        if language in self._by_name:
            return self._by_name[language].resolve(importer, imported)
        return None

    def resolve_all(self, importer: str, language: str, imported: Import) -> tuple[str, ...]:
        """Return all files that an import means, sorted: a Go package's without tests, else at most one."""
        if language == "go":
            return self._go.resolve_all(importer, imported.module)
        if language in self._by_name:
            return self._by_name[language].resolve_all(importer, imported)
        path = self.resolve(importer, language, imported)
        return () if path is None else (path,)

    def is_internal(self, importer: str, language: str, imported: Import) -> bool:
        """Return whether an import that didn't resolve certainly meant a file of this project."""
        if not imported.required:
            return False
        if language == "python":
            return self._python.is_internal(importer, imported)
        if language in SCRIPT_LANGUAGES:
            return self._script.is_internal(importer, imported.module)
        if language in self._by_path:
            return self._by_path[language].is_internal(importer, imported.module)
        if language in self._by_name:
            return self._by_name[language].is_internal(importer, imported)
        return language == "go" and self._go.is_internal(importer, imported.module)

    def retry_keys(self, importer: str, language: str, imported: Import) -> tuple[str, ...]:
        """Return the keys under which an import waits for files that would change what it means.

        It is to be resolved again when a file appears that `keys_of_path` gives one of these.
        """
        if language == "python":
            keys = self._python.keys(importer, imported)
        elif language in SCRIPT_LANGUAGES:
            keys = [key_of(base) for base in self._script.candidates(importer, language, imported.module)]
        elif language == "go":
            keys = [key_of(folder) for folder in self._go.folders(importer, imported.module)]
        elif language in self._by_path:
            keys = self._by_path[language].keys(importer, imported.module)
        elif language in self._by_name:
            keys = self._by_name[language].keys(importer, imported)
        else:
            keys = []
        return tuple(dict.fromkeys(keys))

    def is_config(self, path: str) -> bool:
        """Return whether a file's content decides what imports mean."""
        if path.rpartition("/")[2] in CONFIG_NAMES or path.endswith(PROJECT):
            return True
        # A tsconfig may extend a file of any name, so that all of them have to be known first.
        return path.endswith(".json") and self._is_asked(path)

    def invalidate_config(self) -> None:
        """Forget everything that was read from configuration files; they are read again when needed."""
        self._config.clear()
        self._packages.clear()
        self._aliases.clear()
        self._go.clear()
        self._php.clear()
        for each in self._by_name.values():
            each.clear()

    def added(self, path: str) -> None:
        """Take note of a path that was added to the names."""
        self._folders.change(path, 1)

    def removed(self, path: str) -> None:
        """Take note of a path that was removed from the names."""
        self._folders.change(path, -1)

    def _is_asked(self, path: str) -> bool:
        self._aliases.read_all()
        return path in self._config.asked
