"""Owns imports as they stand in a source: query matches in, unresolved imports out; sees no tree."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .definitions import Captures, Match
from .source_text import SourceText, Span, is_inside, merged_spans
from .tree import Import


class ImportReader:
    """Gathers the imports of one code file from its query matches."""

    def __init__(self, text: SourceText, language: str) -> None:
        self._text = text
        self._source = text.source
        self._language = language
        self._found: dict[tuple[int, str, str], Import] = {}
        self._statements: set[int] = set()
        self._optional: list[Span] = []

    def read(self, matches: Iterable[Match]) -> None:
        """Take in the matches of the query for definitions, of which some are imports."""
        imports = []
        for _, captures in matches:
            if "module" in captures:
                imports.append(captures)
            elif "handler" in captures:
                self._add_handler(captures)
        self._optional = merged_spans(self._optional)
        for captures in imports:
            self._add(captures)

    def read_calls(self, matches: Iterable[Match]) -> None:
        """Take in the matches of the query for imports that are written as calls."""
        for _, captures in matches:
            start, end = captures["function"]
            if self._source[start:end] in _IMPORT_CALLS:
                self._add(captures)

    def imports(self) -> list[Import]:
        """Return the imports in source order."""
        return [imported for _, imported in sorted(self._found.items())]

    def _add_handler(self, captures: Captures) -> None:
        """Note a block whose failing imports the program itself expects."""
        start, end = captures["handler"]
        clause = self._source[start : min(end, start + 200)].partition(b":")[0]
        if re.search(rb"ImportError|ModuleNotFoundError|\bException\b|^except\s*$", clause):
            self._optional.append(captures["optional"])

    def _add(self, captures: Captures) -> None:
        start = captures["module"][0]
        module = self._text.name(captures["module"])
        if self._language != "python" or "function" in captures:
            module = module[1:-1] if module[:1] in {'"', "'", "`"} else ""
        elif not module.isidentifier():
            module = "".join(module.replace("\\", " ").split())
        # A specifier with an escape or a line end names no file that anyone has.
        if not module or len(module) > 1000 or "\\" in module or "\n" in module:
            return
        is_dynamic = self._language == "python" and "function" in captures
        if is_dynamic and module.startswith("."):
            return  # relative to a package that is another argument
        required = not is_dynamic and not is_inside(self._optional, start)
        if start not in self._statements:
            self._statements.add(start)
            self._found[start, module, ""] = Import(module, "", self._text.line(start), required)
        if "imported" in captures:
            imported = captures["imported"]
            name = self._text.name(imported)
            line = self._text.line(imported[0])
            self._found[imported[0], module, name] = Import(module, name, line, required=False)


_IMPORT_CALLS = frozenset({b"require", b"import", b"import_module", b"importlib.import_module"})
