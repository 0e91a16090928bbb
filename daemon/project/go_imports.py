"""Owns Go's imports: which folder of the project's modules an import path means, and which of its files."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .import_config import MAX_PACKAGES, MAX_TARGETS, ImportConfig
from .import_folders import ImportFolders
from .relative_paths import join_path, nearness, within


def package_name(path: str) -> str:
    """Return the name that an import path binds unless its package says another: `yaml` of `x/go-yaml/v2`."""
    parts = path.rstrip("/").split("/")
    if len(parts) > 1 and re.fullmatch(r"v\d+", parts[-1]):
        parts.pop()
    name = re.sub(r"\.v\d+\Z", "", parts[-1])
    return re.sub(r"\W", "_", name.removeprefix("go-").removesuffix("-go").removesuffix(".go"))


class GoImports:
    """Go: an import path below a module's path is a folder of that module."""

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._modules: dict[str, list[str]] | None = None

    def clear(self) -> None:
        """Forget everything that was read from go.mod files."""
        self._modules = None

    def resolve(self, importer: str, path: str) -> str | None:
        """Return a package's file named like it, or else its first one that isn't a test, or None."""
        files = self.resolve_all(importer, path)
        if not files:
            return None
        folder = files[0].rpartition("/")[0]
        named = within(folder, f"{package_name(path)}.go")
        return named if named in files else files[0]

    def resolve_all(self, importer: str, path: str) -> tuple[str, ...]:
        """Return a package's files without its tests, sorted."""
        for folder in self.folders(importer, path):
            files = tuple(each for each in self._folders.go_files(folder) if not each.endswith("_test.go"))
            if files:
                return files
        return ()

    def is_internal(self, importer: str, path: str) -> bool:
        """Return whether a path that didn't resolve certainly meant a package of this project."""
        return any(True for _ in self.folders(importer, path))

    def folders(self, importer: str, path: str) -> Iterator[str]:
        """Yield the folders that an import path can mean, by the longest module path first."""
        modules = self._known_modules()
        prefix = path
        while prefix and modules:
            for module in sorted(modules.get(prefix, ()), key=lambda each: nearness(each, importer)):
                folder = join_path(module, path[len(prefix) + 1 :])
                if folder is not None:
                    yield folder
            prefix = prefix.rpartition("/")[0]

    def _known_modules(self) -> dict[str, list[str]]:
        if self._modules is None:
            self._modules = {}
            for folder in sorted(self._folders.holding("go.mod"))[:MAX_PACKAGES]:
                match = _GO_MODULE.search(self._config.text(within(folder, "go.mod")))
                namesakes = self._modules.setdefault(match[1].strip('"`'), []) if match is not None else None
                if namesakes is not None and len(namesakes) < MAX_TARGETS:
                    namesakes.append(folder)
        return self._modules


_GO_MODULE = re.compile(r"^[ \t]*module[ \t]+(?:\([ \t]*\n[ \t]*)?(\S+)", re.MULTILINE)
