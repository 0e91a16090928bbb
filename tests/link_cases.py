"""A small project in memory whose sources say beside each line what its references should mean."""

from __future__ import annotations

import re
from collections.abc import Mapping

from foveal.daemon.project.imports import ImportResolver
from foveal.daemon.project.languages import language_of
from foveal.daemon.project.parse import parse_source
from foveal.daemon.project.tree import Import, ParsedFile
from foveal.daemon.structure.evaluator import ModuleFiles
from foveal.daemon.structure.interface import FileInterface, interface_of
from foveal.daemon.structure.linker import Linked, LinkedFile, link_file

_EXPECTED = re.compile(r"(?:#|//|/\*|--) ?=> (.*?)(?: \*/)?$", re.MULTILINE)


class World:
    """The files of a project, parsed and seen by the linker as the index shows them."""

    def __init__(self, files: Mapping[str, str]) -> None:
        self.files = {path: source.encode() for path, source in files.items()}
        self._resolver = ImportResolver(self.files.keys(), self.files.get)
        self._parsed: dict[str, tuple[str, ParsedFile]] = {}
        self._interfaces: dict[str, FileInterface] = {}
        for path, source in self.files.items():
            language = language_of(path)
            parsed = parse_source(source, language)
            self._parsed[path] = (language, parsed)
            self._interfaces[path] = interface_of(language, parsed.symbols, parsed.references)

    def interface(self, path: str) -> FileInterface | None:
        return self._interfaces.get(path)

    def module(self, importer: str, language: str, module: str, name: str = "") -> ModuleFiles:
        imported = Import(module, name, 1)
        paths = self._resolver.resolve_all(importer, language, imported)
        return ModuleFiles(paths, not paths and self._resolver.is_internal(importer, language, imported))

    def siblings(self, path: str) -> tuple[str, ...]:
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


def check(files: Mapping[str, str], *kinds: str) -> None:
    """Hold every line that says `=> target` against the links of that line, in order.

    A target is `path#name`, or the name alone within the file, `?` by name only, `external` for what lies
    outside; several are divided by commas. Only links of `kinds` count, by default calls.
    """
    world = World(files)
    expected, found = {}, {}
    for path, source in files.items():
        links = world.link(path).links
        for match in _EXPECTED.finditer(source):
            line = source.count("\n", 0, match.start()) + 1
            place = f"{path}:{line}: {source.splitlines()[line - 1].strip()}"
            expected[place] = match[1].strip()
            found[place] = ", ".join(
                _said(one, path) for one in links if one.line == line and one.kind in (kinds or ("call",))
            )
    assert expected, "no line says what it means"
    wrong = [
        f"{place}\n    but found: {found[place]}" for place in expected if found[place] != expected[place]
    ]
    assert not wrong, "\n".join(wrong)


def _said(one: Linked, path: str) -> str:
    if one.state == "resolved":
        inside = one.target_path == path and one.target_name
        return one.target_name if inside else f"{one.target_path}#{one.target_name}".rstrip("#")
    return "external" if one.state == "external" else "?"
