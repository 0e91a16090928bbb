"""Owns Ruby's requires: which file of the project one means."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import ancestors, is_relative, join_path, within


class RubyImports:
    """Ruby: a path relative to the file, or to a folder on the load path, which every `lib` may be.

    A specifier that begins with `./` or `../` is one of `require_relative`, or of a `require` that is run in
    the root.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders) -> None:
        self._names = names
        self._folders = folders

    def resolve(self, importer: str, module: str) -> str | None:
        """Return the path of the file that a require means, or None."""
        path = _path(module)
        for base in self._bases(importer, module) if path else ():
            if base in self._names:
                return base
        if not path or is_relative(module):
            return None
        found = self._folders.nearest(f"lib/{path}", importer)
        return (
            found if found is not None or "/" not in path else self._folders.nearest(f"app/{path}", importer)
        )

    def is_internal(self, importer: str, module: str) -> bool:
        """Return whether a require that didn't resolve certainly meant a file of this project."""
        if not is_relative(module) or module.endswith(_COMPILED):
            return False
        base = join_path(importer.rpartition("/")[0], module)
        # An extension is built from sources of another language.
        return base is not None and not any(base + ending in self._names for ending in _SOURCES)

    def keys(self, importer: str, module: str) -> list[str]:
        """Return the keys under which a require waits."""
        path = _path(module)
        return [key_of(path)] if path else []

    def _bases(self, importer: str, module: str) -> Iterator[str]:
        """Yield the paths that a require means for certain if they exist, best first."""
        path = _path(module)
        folder = importer.rpartition("/")[0]
        if is_relative(module):
            for start in (folder, ""):
                base = join_path(start, path)
                if base is not None:
                    yield base
            return
        for ancestor in ancestors(folder):
            if ancestor.rpartition("/")[2] in _LOADED:
                yield within(ancestor, path)
            for each in _LOADED:
                yield within(within(ancestor, each), path)


_LOADED = ("lib", "spec", "test", "features")
"""Folders on the load path of a gem and of its tests."""

_COMPILED = (".so", ".bundle", ".dll")
_SOURCES = (".c", ".rs", ".y", ".ry", ".rl", ".so")


def _path(module: str) -> str:
    """Return a require's path with its ending, an empty string for what names no source."""
    if not module or module.startswith(("/", "~")) or module.endswith((*_COMPILED, "/")):
        return ""
    return module if module.endswith((".rb", ".rake")) else f"{module}.rb"
