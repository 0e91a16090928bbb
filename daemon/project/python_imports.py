"""Owns Python's imports: which package, module or stub of the project one means."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import ancestors, nearness, within
from .tree import Import

MAX_ROOTS = 32
"""Folders of one name from which on the name says nothing about which of them is meant."""


class PythonImports:
    """Python: packages, modules and stubs below the folders from which absolute imports can start."""

    def __init__(self, names: Collection[str], folders: ImportFolders) -> None:
        self._names = names
        self._folders = folders

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None."""
        found = self._module(importer, imported.module)
        if not imported.name:
            return found[1] if found is not None else None
        if not imported.name.isidentifier():
            return None
        if found is None:
            # A namespace package has no file of its own: only what lies in it can be imported.
            for _, base in self._candidates(importer, imported.module):
                path = self._file(within(base, imported.name))
                if path is not None:
                    return path
            return None
        folder, _, name = found[1].rpartition("/")
        return self._file(within(folder, imported.name)) if name.startswith("__init__.") else None

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import that didn't resolve certainly meant a file of this project."""
        first = imported.module.partition(".")[0]
        internal = False
        for root, base in self._candidates(importer, imported.module):
            # A namespace package has no file, and a compiled module only that of another language.
            if self._folders.exists(base) or any(base + ending in self._names for ending in _COMPILED):
                return False
            internal = internal or not first or self._is_package(f"{root}{first}")
        return internal

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits, which may repeat."""
        parts = [part for part in imported.module.split(".") if part]
        if imported.module.startswith("."):
            bases = [base for _, base in self._candidates(importer, imported.module)]
            keys = [key_of(base) for base in bases]
        else:
            keys = [parts[-1], parts[0]] if parts else []
        if imported.name:
            keys.insert(0, imported.name)
        found = self._module(importer, imported.module)
        if found is not None and found[0]:
            keys.append(found[0])
        return keys

    def _module(self, importer: str, module: str) -> tuple[str, str] | None:
        """Return the root and the path of the nearest file that a module can mean."""
        for root, base in self._candidates(importer, module):
            path = self._file(base)
            if path is not None:
                return root, path
        return None

    def _file(self, base: str) -> str | None:
        names = self._names
        for ending in _ENDINGS if base else _ROOT_ENDINGS:
            path = base + ending
            if path in names:
                return path
        return None

    def _is_package(self, folder: str) -> bool:
        return f"{folder}/__init__.py" in self._names or f"{folder}/__init__.pyi" in self._names

    def _candidates(self, importer: str, module: str) -> Iterator[tuple[str, str]]:
        """Yield root and candidate of each place where a module may lie, nearest to the importer first.

        A root is a folder with its trailing slash, "" for the project's and for relative imports.
        """
        path = module.lstrip(".")
        level = len(module) - len(path)
        tail = path.replace(".", "/")
        if "//" in tail or tail.endswith("/"):
            return
        folder = importer.rpartition("/")[0]
        if level:
            for _ in range(level - 1):
                if not folder:
                    return
                folder = folder.rpartition("/")[0]
            yield "", within(folder, tail) if tail else folder
            return
        if not tail:
            return
        for ancestor in ancestors(folder):
            if ancestor and self._is_package(ancestor):
                continue
            root = f"{ancestor}/" if ancestor else ""
            yield root, root + tail
            yield f"{root}src/", f"{root}src/{tail}"
            yield f"{root}lib/", f"{root}lib/{tail}"
        for root in self._far_roots(importer, tail.partition("/")[0]):
            yield root, root + tail

    def _far_roots(self, importer: str, first: str) -> list[str]:
        """Return the roots elsewhere in the project that hold a top-level package of a name, nearest first.

        A name that many folders have (`tests`, `migrations`) is a guess too many: then there are none. What
        tests, examples and vendored code hold is for themselves: they find it above them.
        """
        folders = self._folders.packages(first)
        if not folders or len(folders) > MAX_ROOTS:
            return []
        parents = [folder.rpartition("/")[0] for folder in folders]
        tops = [
            parent
            for parent in parents
            if parent and not self._is_package(parent) and _ASIDE.isdisjoint(parent.split("/"))
        ]
        return [f"{top}/" for top in sorted(tops, key=lambda top: nearness(top, importer))]


_ASIDE = frozenset(
    {
        "test",
        "tests",
        "testing",
        "fixtures",
        "testdata",
        "example",
        "examples",
        "docs",
        "vendor",
        "_vendor",
        "third_party",
    }
)
# A package goes before a module of the same name, as in the interpreter; stubs and Cython stand in for both.
_ENDINGS = ("/__init__.py", ".py", ".pyi", "/__init__.pyi", ".pyx")
_COMPILED = (".c", ".cc", ".cpp", ".rs", ".so", ".pyd", ".f90")
_ROOT_ENDINGS = ("__init__.py", "__init__.pyi")
