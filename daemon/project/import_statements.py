"""Owns imports as they stand in a source: query matches in, unresolved imports out; sees no tree."""

from __future__ import annotations

import re
from collections.abc import Iterable

from .definitions import Captures, Match
from .import_clauses import brought_in
from .import_specifiers import CALLS, LEAD, WRITTEN_LANGUAGES, WRITTEN_MAX, specifier_of
from .source_text import SourceText, Span, is_inside, merged_spans
from .tree import Import
from .use_trees import ATTRIBUTES_MAX, UseBlock, declared_module, inside_of

IMPORTS_MAX = 10_000
"""Imports of one file that are kept where specifiers are paths and expressions; 129 are the most in git's."""


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
        modules: dict[int, tuple[int, bool]] = {}
        blocks: list[UseBlock] = []
        for _, captures in matches:
            if "module" in captures:
                imports.append(captures)
            elif "handler" in captures:
                self._add_handler(captures)
            elif "tree" in captures or "declared" in captures:
                span = captures.get("tree") or captures["declared"]
                modules[span[0]] = (span[1], "tree" in captures)
            elif "block" in captures:
                blocks.append(UseBlock(*captures["block"], self._text.name(captures["inline"])))
        for start, inside in inside_of(modules, blocks):
            self._add_module(start, *modules[start], inside)
        self._optional = merged_spans(self._optional)
        for captures in imports:
            self._add(captures)

    def read_calls(self, matches: Iterable[Match]) -> None:
        """Take in the matches of the query for imports that are written as calls."""
        names = CALLS.get(self._language, _IMPORT_CALLS)
        for _, captures in matches:
            start, end = captures["function"]
            if self._source[start:end] in names:
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
        if self._language in WRITTEN_LANGUAGES:
            self._add_written(captures)
            return
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

    def _add_written(self, captures: Captures) -> None:
        """Note an import whose specifier is a path or an expression."""
        start, end = captures["module"]
        called = self._text.name(captures["function"]) if "function" in captures else ""
        written = self._text.slice(start, end) if end - start <= WRITTEN_MAX else ""
        if "outer" in captures:
            written = f"{self._text.name(captures['outer'])}\\{written}"
        found = specifier_of(self._language, called, written, self._text.slice(max(0, start - LEAD), start))
        is_named = found is not None and found.module and "\n" not in found.module
        if found is not None and is_named and len(self._found) < IMPORTS_MAX:
            self._found[start, found.module, ""] = Import(
                found.module, "", self._text.line(start), found.required
            )

    def _add_module(self, start: int, end: int, is_used: bool, inside: tuple[str, ...]) -> None:
        """Note what an import brings in, or a `mod` of Rust, in which a capital begins no module."""
        written, line = self._text.slice(start, end), self._text.line(start)
        if not is_used:
            before = self._text.slice(max(0, start - ATTRIBUTES_MAX), start)
            use, required = declared_module(written, before, inside)
            name = use.imported if use.imported != "*" else ""
            self._found[start, use.module, name] = Import(use.module, name, line, required)
            return
        is_rust = self._language == "rust"
        for use in brought_in(self._language, written, inside):
            if is_rust or use.imported == "*":
                self._found.setdefault((start, use.module, ""), Import(use.module, "", line))
            if use.imported[0].islower() if is_rust else use.imported != "*":
                self._found[start, use.module, use.imported] = Import(
                    use.module, use.imported, line, required=False
                )


_IMPORT_CALLS = frozenset({b"require", b"import", b"import_module", b"importlib.import_module"})
