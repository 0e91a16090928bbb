"""Owns Rust's imports: which file of the project a path of modules means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from typing import NamedTuple

from .cargo import Crate, Crates
from .import_config import ImportConfig
from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import ancestors, join_path, within
from .tree import Import
from .use_trees import JOINT

DEPTH_MAX = 32
"""Modules of a path that are looked at."""


class _Place(NamedTuple):
    """Where the modules of a path are looked for: below a folder; `file` is the module that holds them.

    A guess may be wrong about that: then nothing but a module's own file says that it isn't.
    """

    folder: str
    file: str
    is_guess: bool = False


class RustImports:
    """Rust: modules below the roots of crates, crates of the project, files named by an attribute.

    Specifiers are those of `use_trees`. A path that goes on inside of a file, into an enum or an inline
    module, means that file; with `Import.name` only a module of that name is meant.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._crates = Crates(names, folders, config)

    def clear(self) -> None:
        """Forget everything that was read from Cargo.toml files."""
        self._crates.clear()

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return the path of the file that an import means, or None."""
        if imported.module.startswith("./"):
            path = join_path(importer.rpartition("/")[0], imported.module)
            return path if path in self._names else None
        for place, parts in self._starts(importer, imported.module):
            if imported.name:
                found = self._file(place, (*parts, imported.name))
                if found is not None:
                    return found
                continue
            for count in range(len(parts), 0, -1):
                found = self._file(place, parts[:count])
                if found is not None:
                    return found
            if place.file in self._names and not place.is_guess:
                return place.file
        return None

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return the file that an import means, if any."""
        found = self.resolve(importer, imported)
        return () if found is None else (found,)

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import that didn't resolve certainly meant a file: only what `mod` declares."""
        return imported.module.startswith("./") or (
            bool(imported.name) and imported.module.partition(JOINT)[0] == "self"
        )

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits, which may repeat."""
        if imported.module.startswith("./"):
            return [key_of(imported.module)]
        keys = [imported.name] if imported.name else []
        for place, parts in self._starts(importer, imported.module):
            keys += reversed(parts)
            if place.file:
                keys += (key_of(place.file), key_of(place.folder))
        keys += _parts(imported.module)[-1:]
        return keys

    def _starts(self, importer: str, module: str) -> Iterator[tuple[_Place, tuple[str, ...]]]:
        """Yield where a path may begin, best first, each with the modules that are left of it."""
        parts = _parts(module)
        if not parts or not all(part.isidentifier() for part in parts):
            return
        crate = self._crates.around(importer)
        first, rest = parts[0], parts[1:]
        if first == "crate":
            yield self._root(importer, crate), rest
        elif first in {"self", "super"}:
            place: _Place | None = self._own(importer, crate)
            ups = sum(1 for _ in _leading(parts, "super"))
            for _ in range(ups):
                place = self._parent(place, crate) if place is not None else None
            if place is not None:
                yield place, parts[ups or 1 :]
        else:
            other = self._crates.named(crate.renamed.get(first, first) if crate else first, importer)
            if other is not None:
                yield _Place(other.library.rpartition("/")[0], other.library), rest
            yield self._own(importer, crate)._replace(is_guess=True), parts
            if crate is not None and crate.is_old:
                yield self._root(importer, crate)._replace(is_guess=True), parts

    def _file(self, place: _Place, parts: tuple[str, ...]) -> str | None:
        base = within(place.folder, "/".join(parts))
        for path in (f"{base}.rs", f"{base}/mod.rs"):
            if path in self._names:
                return path
        return None

    def _own(self, importer: str, crate: Crate | None) -> _Place:
        """Return where the modules lie that a file declares."""
        folder, _, name = importer.rpartition("/")
        if name == "mod.rs" or self._is_root(importer, crate):
            return _Place(folder, importer)
        return _Place(importer.removesuffix(".rs"), importer)

    def _parent(self, place: _Place, crate: Crate | None) -> _Place | None:
        """Return the module that declares another's, or None for a root."""
        if self._is_root(place.file, crate) or not place.folder:
            return None
        folder = place.folder.rpartition("/")[0]
        for path in (f"{folder}.rs", f"{folder}/mod.rs"):
            if path in self._names:
                return _Place(folder, path)
        return _Place(folder, self._root_in(folder, crate))

    def _root(self, importer: str, crate: Crate | None) -> _Place:
        """Return the root of the crate that a file is compiled into."""
        if self._is_root(importer, crate):
            return _Place(importer.rpartition("/")[0], importer)
        for folder in ancestors(importer.rpartition("/")[0]):
            file = self._root_in(folder, crate)
            if file:
                return _Place(folder, file)
            if crate is not None and folder == crate.folder:
                break
        return (
            _Place(crate.library.rpartition("/")[0], crate.library) if crate is not None else _Place("", "")
        )

    def _root_in(self, folder: str, crate: Crate | None) -> str:
        """Return the root of a crate that lies in a folder, or an empty string."""
        if crate is not None:
            declared = [
                path for path in (crate.library, *sorted(crate.roots)) if path.rpartition("/")[0] == folder
            ]
            if declared and declared[0] in self._names:
                return declared[0]
        for name in _ROOT_NAMES:
            if within(folder, name) in self._names:
                return within(folder, name)
        return ""

    def _is_root(self, path: str, crate: Crate | None) -> bool:
        if crate is None:
            return path.rpartition("/")[2] in {"lib.rs", "main.rs"}
        if path == crate.library or path in crate.roots:
            return True
        inner = path[len(crate.folder) + 1 :] if crate.folder else path
        if _ROOT.fullmatch(inner) is None:
            return False
        folder = path.rpartition("/")[0]  # tests may be compiled into one, as modules of another file
        others = [within(folder, name) for name in _ROOT_NAMES]
        return not _SHARED.match(inner) or path in others or not any(other in self._names for other in others)


_ROOT = re.compile(r"src/(?:lib|main)\.rs|build\.rs|(?:src/bin|tests|examples|benches)/[^/]+(?:/main)?\.rs")
_ROOT_NAMES = ("lib.rs", "main.rs", "mod.rs")
_SHARED = re.compile(r"(?:tests|benches|examples)/[^/]+\Z")


def _parts(module: str) -> tuple[str, ...]:
    return tuple(module.split(JOINT))[:DEPTH_MAX]


def _leading(parts: tuple[str, ...], word: str) -> Iterator[str]:
    for part in parts:
        if part != word:
            return
        yield part
