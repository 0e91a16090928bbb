"""Owns putting imported files in the places where an instruction file names them (`@docs/style.md`)."""

from __future__ import annotations

import os
from collections.abc import Callable

from msgspec import Struct

from ..privacy.secret_files import is_secret_file
from .prose import ProseLine, prose_lines, trimmed
from .zone import MAX_FILE_BYTES, ReadFile, RefusedError, Zone, ZoneReader

MAX_IMPORT_DEPTH = 4
"""Imports within imports: Claude Code's own limit."""
MAX_IMPORTS = 2000
"""Imports that one importer looks up, whether it finds them or not."""


class Importer(Struct):
    """Expands the imports of many instruction files; `home` is what `~` stands for.

    `warn` is called with the name of a file and a message.
    """

    reader: ZoneReader
    home: str
    warn: Callable[[str, str], None]
    _looked_up: int = 0

    def expand(self, zone: Zone, text: str, path: str, real: str) -> tuple[list[ProseLine], frozenset[str]]:
        """Return the lines of an instruction file with its imports, each imported file once, and the real
        paths of all files that they come from.

        `path` is the file's path relative to the zone, to whose folder its imports are relative. An import
        that is alone on its line is replaced; one within a sentence is followed by its content. What isn't
        imported stays as it was written: what doesn't exist, lies outside the zone, leads back to itself or
        exceeds a limit.
        """
        expansion = _Expansion(self, zone, {real}, len(text))
        name, folder = zone.prefix + path, os.path.dirname(zone.absolute(path))
        lines = expansion.lines(prose_lines(text), name, folder, (real,))
        return lines, frozenset(expansion.inlined)

    def imported(self, zone: Zone, path: str) -> tuple[str, ReadFile] | None:
        """Read a file to import, with its real path; `None` for what is no file. Raises `RefusedError`."""
        self._looked_up += 1
        if self._looked_up > MAX_IMPORTS:
            raise RefusedError(f"is one of more than {MAX_IMPORTS} in all rules: import less")
        located = self.reader.locate(zone, path, free=False)
        if located is None or located.is_folder:
            return None
        if is_secret_file(os.path.relpath(located.path, zone.real)):
            raise RefusedError("holds secrets by its name: it is shown to nobody")
        read = self.reader.read(located)
        return None if read is None else (located.path, read)


class _Expansion(Struct):
    """One instruction file's expansion: the real paths it holds already, and their characters."""

    importer: Importer
    zone: Zone
    inlined: set[str]
    size: int

    def lines(
        self, lines: list[ProseLine], name: str, folder: str, chain: tuple[str, ...]
    ) -> list[ProseLine]:
        """Expand the lines of the file `name` in `folder`; `chain` are the real paths up to its own."""
        expanded: list[ProseLine] = []
        for line in lines:
            contents = [
                ProseLine(line.number, content)
                for target in line.imports
                if (content := self._content(target, name, folder, chain)) is not None
            ]
            if line.alone and contents:
                expanded += contents
            else:
                blank = ProseLine(line.number, "")
                expanded.append(line)
                expanded += [part for content in contents for part in (blank, content, blank)]
        return expanded

    def _content(self, target: str, name: str, folder: str, chain: tuple[str, ...]) -> str | None:
        """Return the text of an import, with its own imports; `None` if it stays as it was written."""
        try:
            imported = self.importer.imported(self.zone, _absolute(target, folder, self.importer.home))
            if imported is None:
                if target.endswith((".md", ".mdc")):
                    raise RefusedError("doesn't exist: mend the path")
                return None  # the name of a person, a decorator, a package
            real, read = imported
            if real in chain:
                raise RefusedError("is cyclic, it leads back to itself: remove it")
            if real in self.inlined:
                return None
            if len(chain) > MAX_IMPORT_DEPTH:
                raise RefusedError(f"is nested more than {MAX_IMPORT_DEPTH} deep: import it further up")
            if self.size + len(read.text) > MAX_FILE_BYTES:
                raise RefusedError(f"would make the text exceed {MAX_FILE_BYTES} bytes: import less")
        except RefusedError as refused:
            self.importer.warn(name, f"the import @{target} {refused}")
            return None
        self.inlined.add(real)
        self.size += len(read.text)
        lines = prose_lines(read.text)
        expanded = self.lines(lines, self.zone.name_of(real), os.path.dirname(real), (*chain, real))
        return trimmed(expanded)[1]


def _absolute(target: str, folder: str, home: str) -> str:
    if target == "~" or target.startswith("~/"):
        return home + target[1:]
    return os.path.join(folder, target)
