"""Owns the parser: source bytes in, symbols and imports out; only it imports tree-sitter and grammars."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from functools import cache
from importlib import import_module

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor

from .definitions import DefinitionReader, Match, Pattern
from .import_statements import ImportReader
from .languages import LANGUAGES
from .markdown import sections
from .source_text import SourceText, Span, clean_source
from .symbols import symbols_of
from .tree import ParsedFile

PARSER_VERSION: int = 1
"""Raised whenever the same bytes would give another result, so that stored files are parsed again."""

PARSE_SECONDS = 2.0
"""CPU time that one file's syntax tree may take. Ordinary code runs at 5 MB/s, so 1 MiB takes 0.2 s; sources
made to be ambiguous (`(a,(a,(a,…`) go on for longer and take up to 1.4 GB a MiB. The parser asks only
between its steps, so that the worst of them still took 5.6 s."""

WIDE_ERROR = 2_000
"""Children of an error node from which the tree isn't queried: a query's time grows with their square
(100,000 unclosed brackets took 8 s, 2,000 take 4 ms)."""


def parse_source(data: bytes, language: str) -> ParsedFile:
    """Return the definitions and imports of a source, which may be broken, hostile or not UTF-8.

    `language` is a name from the table of languages; without a grammar for it only the lines are counted.
    Lines end at line feeds only. Takes bounded time and raises nothing for any bytes. Thread-safe.
    """
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    row = LANGUAGES.get(language)
    if row is None or not row.grammar or not data:
        return ParsedFile((), (), lines)
    source = clean_source(data)
    toolbox = _toolbox(language)
    root = _root(toolbox.grammar, source)
    if root is None or _has_wide_error(root):
        return ParsedFile((), (), lines, broken=True)
    text = SourceText(source)
    if language == "markdown":
        found = _ranges(toolbox.definitions, root)
        symbols = sections(text, found.get("heading", ()), found.get("quoted", ()), lines)
        return ParsedFile(tuple(symbols), (), lines, broken=root.has_error)
    definitions = DefinitionReader(text, language, toolbox.patterns)
    imports = ImportReader(text, language)
    matches = _matches(toolbox.definitions, root)
    definitions.read(matches)
    imports.read(matches)
    calls_matter = any(word in source for word in row.call_words) and not _BUNDLE.search(source)
    if toolbox.calls is not None and calls_matter:
        imports.read_calls(_matches(toolbox.calls, root))
    symbols = symbols_of(definitions.definitions(), text, language, definitions.decorators())
    return ParsedFile(tuple(symbols), tuple(imports.imports()), lines, broken=root.has_error)


# A file that a bundler wrote carries its modules along; its calls to require name none of the project.
_BUNDLE = re.compile(rb"function ?\(require, ?module, ?exports\)")


@dataclass(frozen=True, slots=True)
class _Toolbox:
    """A language's grammar and our queries compiled for it; `patterns` are those of `definitions`."""

    grammar: Grammar
    definitions: Query
    patterns: tuple[Pattern, ...]
    calls: Query | None


@cache
def _toolbox(language: str) -> _Toolbox:
    """Load a language's grammar and compile its queries, once a process."""
    row = LANGUAGES[language]
    module, _, function = row.grammar.partition(":")
    grammar = Grammar(getattr(import_module(module), function)())
    definitions = Query(grammar, row.definitions)
    settings = [definitions.pattern_settings(index) for index in range(definitions.pattern_count)]
    return _Toolbox(
        grammar,
        definitions,
        tuple(Pattern(setting.get("kind") or "", setting.get("name") or "") for setting in settings),
        Query(grammar, row.calls) if row.calls else None,
    )


def _matches(query: Query, root: Node) -> list[Match]:
    """Return a query's matches as ranges, so that nobody else needs to know what a tree is."""
    return [
        (pattern, {name: nodes[0].byte_range for name, nodes in captures.items()})
        for pattern, captures in QueryCursor(query).matches(root)
    ]


def _ranges(query: Query, root: Node) -> dict[str, list[Span]]:
    """Return all ranges that a query captures, by name."""
    captures = QueryCursor(query).captures(root)
    return {name: [node.byte_range for node in nodes] for name, nodes in captures.items()}


def _root(grammar: Grammar, source: bytes) -> Node | None:
    """Return the root of a source's syntax tree, or None when it takes too long."""
    deadline = time.thread_time() + PARSE_SECONDS

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + 65536]

    def is_late(_offset: int, _has_error: bool) -> bool:
        return time.thread_time() > deadline

    try:
        return Parser(grammar).parse(read, progress_callback=is_late).root_node
    except ValueError:  # "Parsing failed": the callback stopped it
        return None


def _has_wide_error(root: Node) -> bool:
    """Return whether a tree holds an error node too wide to be queried; looks only where errors are."""
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        if node.descendant_count < WIDE_ERROR:
            continue
        if node.is_error and node.child_count >= WIDE_ERROR:
            return True
        pending.extend(child for child in node.children if child.has_error)
    return False
