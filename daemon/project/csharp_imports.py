"""Owns C#'s imports: which files of the project a namespace or a class means."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from .import_config import MAX_PACKAGES, MAX_TARGETS, ImportConfig
from .import_folders import ImportFolders
from .import_keys import key_of
from .relative_paths import nearness, within
from .source_folders import PROJECT, SOURCES, is_test
from .tree import Import

FILES_MAX = 2_000
"""Files of one namespace that count."""


class CsharpImports:
    """C#: a namespace is a folder below a project of its name (`Shop.Web/Api` for `Shop.Web.Api`).

    Nothing in the language asks for that, so that what isn't found says nothing.
    """

    def __init__(self, names: Collection[str], folders: ImportFolders, config: ImportConfig) -> None:
        self._names = names
        self._folders = folders
        self._config = config
        self._roots: dict[str, list[str]] | None = None

    def clear(self) -> None:
        """Forget everything that was read from projects' manifests."""
        self._roots = None
        self._folders.sources.forget()

    def resolve(self, importer: str, imported: Import) -> str | None:
        """Return a class's file, of a namespace the one named like it or else the first, or None."""
        files = self.resolve_all(importer, imported)
        if imported.name:
            return files[0] if len(files) == 1 else None
        last = imported.module.rpartition(".")[2]
        named = [path for path in files if key_of(path) == last]
        return next(iter(named or files), None)

    def resolve_all(self, importer: str, imported: Import) -> tuple[str, ...]:
        """Return the file of a class, else all files of the namespace, sorted."""
        outer, _, last = imported.module.rpartition(".")
        for namespace, name in ((imported.module, imported.name), (outer, last)):
            folders = self._ordered(importer, namespace)
            for folder in folders if name else ():
                path = within(folder, f"{name}.cs")
                if path in self._names:
                    return (path,)
        found = [
            path
            for folder in self._ordered(importer, imported.module)
            for path in self._folders.sources.files(folder, SOURCES["csharp"])
        ]
        return tuple(sorted(found[:FILES_MAX]))

    def is_internal(self, importer: str, imported: Import) -> bool:
        """Return whether an import certainly meant a file: never, since folders only follow a habit."""
        return False

    def keys(self, importer: str, imported: Import) -> list[str]:
        """Return the keys under which an import waits."""
        parts = imported.module.split(".")
        dotted = key_of(imported.module)  # a folder `Shop.Web` goes by what stands before the first dot
        return [key for key in (imported.name, parts[-1], dotted, *parts[-2:-1]) if key]

    def _ordered(self, importer: str, namespace: str) -> list[str]:
        if not namespace:
            return []
        sources = self._folders.sources
        folders = sources.remembered(
            ("namespace", namespace), lambda: dict.fromkeys(self._namespace_folders(namespace))
        )
        chosen = [folder for folder in folders if is_test(importer) or not is_test(folder)] or [*folders]
        return sorted(chosen, key=lambda folder: nearness(folder, importer))

    def _namespace_folders(self, namespace: str) -> Iterator[str]:
        """Yield the folders of a namespace: where its project's name and what is left of it lie in a row."""
        parts = namespace.split(".")
        roots = self._root_namespaces()
        for count in range(len(parts), 0, -1):
            for root in roots.get(".".join(parts[:count]), ()):
                folder = within(root, "/".join(parts[count:])).rstrip("/")
                if self._folders.sources.files(folder, SOURCES["csharp"]):
                    yield folder
        for count in range(len(parts), 0, -1):
            tail = "/".join([".".join(parts[:count]), *parts[count:]])
            found = self._folders.sources.ending_with(tail)
            if found:
                yield from found
                return

    def _root_namespaces(self) -> dict[str, list[str]]:
        """Return the folders of the projects by the namespace that their files' begin with."""
        if self._roots is None:
            self._roots = {}
            for path in sorted(self._folders.sources.projects)[:MAX_PACKAGES]:
                folder, _, name = path.rpartition("/")
                match = _ROOT.search(self._config.text(path))
                root = match[1] if match is not None else name.removesuffix(PROJECT)
                namesakes = self._roots.setdefault(root, [])
                if len(namesakes) < MAX_TARGETS:
                    namesakes.append(folder)
        return self._roots


_ROOT = re.compile(r"<RootNamespace>\s*([\w.]{1,200})\s*</RootNamespace>")
