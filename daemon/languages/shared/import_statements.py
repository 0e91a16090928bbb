"""Import statements of a source: from query matches to unresolved imports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from .definitions import Captures, Match
from .language import Language
from .records import Import
from .source_text import SourceText, Span, is_inside, merged_spans

IMPORTS_MAX = 10_000
"""Maximum number of imports kept of a file where specifiers are paths and expressions; git's files have 129
at most."""


LEAD = 400
"""Maximum number of bytes before an import that are searched for a check that its file exists."""

WRITTEN_MAX = 400
"""Maximum number of bytes read of a specifier."""

ATTRIBUTES_MAX = 300
"""Maximum number of bytes before a module's name that are read for its attributes."""

INLINE_MAX = 32
"""Maximum nesting of inline modules."""


class ImportReader:
    """Collects the imports of one code file from its query matches."""

    def __init__(self, text: SourceText, language: Language) -> None:
        self._text = text
        self._source = text.source
        self._language = language
        self._found: dict[tuple[int, str, str], Import] = {}
        self._statements: set[int] = set()
        self._optional: list[Span] = []

    def read(self, matches: Iterable[Match]) -> None:
        """Read the matches of the query for definitions, some of which are imports."""
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
        """Read the matches of the query for imports written as calls."""
        names = self._language.import_calls
        for _, captures in matches:
            start, end = captures["function"]
            if self._source[start:end] in names:
                self._add(captures)

    def imports(self) -> list[Import]:
        """Return the imports in source order."""
        return [imported for _, imported in sorted(self._found.items())]

    def _add_handler(self, captures: Captures) -> None:
        """Record a block that handles failing imports."""
        start, end = captures["handler"]
        clause = self._source[start : min(end, start + 200)].partition(b":")[0]
        if re.search(rb"ImportError|ModuleNotFoundError|\bException\b|^except\s*$", clause):
            self._optional.append(captures["optional"])

    def _add(self, captures: Captures) -> None:
        if self._language.specifier is not None:
            self._add_written(captures)
            return
        start = captures["module"][0]
        module = self._text.name(captures["module"])
        is_bare = self._language.bare_modules
        if not is_bare or "function" in captures:
            module = module[1:-1] if module[:1] in {'"', "'", "`"} else ""
        elif not module.isidentifier():
            module = "".join(module.replace("\\", " ").split())
        # A specifier with an escape or a line end names no file that anyone has.
        if not module or len(module) > 1000 or "\\" in module or "\n" in module:
            return
        is_dynamic = is_bare and "function" in captures
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
        """Record an import whose specifier is a path or an expression."""
        start, end = captures["module"]
        called = self._text.name(captures["function"]) if "function" in captures else ""
        written = self._text.slice(start, end) if end - start <= WRITTEN_MAX else ""
        if "outer" in captures:
            written = f"{self._text.name(captures['outer'])}\\{written}"
        read = self._language.specifier
        lead = self._text.slice(max(0, start - LEAD), start)
        found = read(called, written.strip(), lead) if read is not None else None
        is_named = found is not None and found.module and "\n" not in found.module
        if found is not None and is_named and len(self._found) < IMPORTS_MAX:
            self._found[start, found.module, ""] = Import(
                found.module, "", self._text.line(start), found.required
            )

    def _add_module(self, start: int, end: int, is_used: bool, inside: tuple[str, ...]) -> None:
        """Record the names of an import, or a declared module."""
        written, line = self._text.slice(start, end), self._text.line(start)
        language = self._language
        if not is_used:
            if language.declared_module is not None:
                before = self._text.slice(max(0, start - ATTRIBUTES_MAX), start)
                use, required = language.declared_module(written, before, inside)
                name = use.imported if use.imported != "*" else ""
                self._found[start, use.module, name] = Import(use.module, name, line, required)
            return
        is_lower = language.lower_case_modules
        for use in language.clause(written, inside) if language.clause is not None else ():
            if is_lower or use.imported == "*":
                self._found.setdefault((start, use.module, ""), Import(use.module, "", line))
            if use.imported[0].islower() if is_lower else use.imported != "*":
                self._found[start, use.module, use.imported] = Import(
                    use.module, use.imported, line, required=False
                )


class UseBlock(NamedTuple):
    """The body of an inline module, in bytes."""

    start: int
    end: int
    name: str


def inside_of(offsets: Iterable[int], blocks: Iterable[UseBlock]) -> Iterator[tuple[int, tuple[str, ...]]]:
    """Yield offsets in order, each with the names of the inline modules around it, outermost first."""
    waiting = sorted(blocks, reverse=True)
    around: list[UseBlock] = []
    for offset in sorted(offsets):
        while waiting and waiting[-1].start <= offset:
            around.append(waiting.pop())
            while len(around) > 1 and around[-2].end < around[-1].end:
                del around[-2]
        while around and around[-1].end <= offset:
            around.pop()
        yield offset, tuple(block.name for block in around[-INLINE_MAX:])
