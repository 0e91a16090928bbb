"""A small project in memory, parsed and seen by the linker as the index shows it."""

from __future__ import annotations

from collections.abc import Mapping

from foveal.daemon.languages.shared.imports import ImportResolver
from foveal.daemon.languages.shared.interface import FileInterface, interface_of
from foveal.daemon.languages.shared.language import language_of
from foveal.daemon.languages.shared.link_rules import ModuleFiles
from foveal.daemon.languages.shared.parse import parse_source
from foveal.daemon.languages.shared.records import Import, ParsedFile
from foveal.daemon.linking.records import LinkedFile
from foveal.daemon.linking.service import link_file


class SourceWorld:
    """The linker's `LinkerView` over sources by their paths."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = {path: source.encode() for path, source in files.items()}
        self._resolver = ImportResolver(self.files.keys(), self.files.get)
        self._parsed: dict[str, tuple[str, ParsedFile]] = {}
        self._interfaces: dict[str, FileInterface] = {}
        for path, source in self.files.items():
            language = language_of(path)
            parsed = parse_source(source, language, path)
            self._parsed[path] = (language, parsed)
            self._interfaces[path] = interface_of(language, parsed.symbols, parsed.references)

    def interface(self, path: str) -> FileInterface | None:
        """Return what a file shows to others, or None if it isn't known."""
        return self._interfaces.get(path)

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        """Return the files that an import means."""
        imported = Import(module, name, 1)
        paths = self._resolver.resolve_all(importer, language, imported)
        return ModuleFiles(paths, not paths and self._resolver.is_internal(importer, language, imported))

    def siblings(self, path: str) -> tuple[str, ...]:
        """Return the files of the same language in the same folder, sorted, the file itself included."""
        folder, language = path.rpartition("/")[0], self._parsed[path][0]
        return tuple(
            sorted(
                each
                for each, (its, _) in self._parsed.items()
                if each.rpartition("/")[0] == folder and its == language
            )
        )

    def link(self, path: str) -> LinkedFile:
        """Link one file."""
        language, parsed = self._parsed[path]
        return link_file(path, language, parsed.symbols, parsed.references, self)
