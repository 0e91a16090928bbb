"""Owns Lua's requires: which file of the project one means."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import ancestors, within


class LuaImports:
    """Lua: a module `a.b` is `a/b.lua` or `a/b/init.lua` below a folder that is searched: any may be."""

    def __init__(self, names: Collection[str], folders: ImportFolders) -> None:
        self._names = names
        self._folders = folders

    def resolve(self, importer: str, module: str) -> str | None:
        """Return the path of the file that a require means, or None."""
        path = _path(module)
        for base in _bases(importer, path) if path else ():
            for ending in _ENDINGS:
                if base + ending in self._names:
                    return base + ending
        return self._elsewhere(importer, path) if path else None

    def is_internal(self, importer: str, module: str) -> bool:
        """Return False: the same name may be that of an installed or a compiled module."""
        return False

    def keys(self, importer: str, module: str) -> list[str]:
        """Return the keys under which a require waits."""
        path = _path(module)
        return [key_of(path)] if path else []

    def _elsewhere(self, importer: str, path: str) -> str | None:
        """Return the nearest file below any folder; a name alone must lie where modules are searched."""
        roots = ("",) if "/" in path else tuple(f"{root}/" for root in _ROOTS if root)
        for root in roots:
            for ending in _ENDINGS:
                found = self._folders.nearest(f"{root}{path}{ending}", importer)
                if found is not None:
                    return found
        return None


_ENDINGS = (".lua", "/init.lua")
_ROOTS = ("", "lua", "src", "lib")


def _bases(importer: str, path: str) -> Iterator[str]:
    for ancestor in ancestors(importer.rpartition("/")[0]):
        for root in _ROOTS:
            yield within(within(ancestor, root) if root else ancestor, path)


def _path(module: str) -> str:
    """Return a module as a path, an empty string for what can't be one."""
    path = module.replace(".", "/")
    return "" if "//" in path or path.startswith("/") or path.endswith("/") else path
