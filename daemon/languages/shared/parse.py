"""The parser: turns a source's bytes into symbols, imports and references. Only it imports tree-sitter."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Iterable, Sequence
from functools import cache, partial
from importlib import import_module
from itertools import zip_longest

from msgspec import Struct
from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor, TreeCursor

from .definitions import DefinitionReader, Match, PatternSettings
from .grammar_bundle import BUNDLE, GrammarMissing, load_grammar
from .language import LANGUAGES, Language
from .markup import component_name, read_markup, with_markup
from .records import NOTHING, ParsedFile, References, SplitPoint
from .reference_reader import ImportReader, ReferenceReader, Settings
from .source_text import SourceText, Span, clean_source
from .symbols import block_sections, sections, symbols_of

log = logging.getLogger(__name__)

PARSER_VERSION: int = 11
"""Increment this when the same bytes would give another result; stored files are then parsed again."""


PARSE_SECONDS = 2.0
"""Maximum CPU seconds for a file's syntax tree, with the search for code that its grammar can't parse.
Ordinary code parses at 5 MB/s, so 1 MiB takes 0.2 s;
deliberately ambiguous sources (`(a,(a,(a,…`) take longer and up to 1.4 GB for each MiB. The parser checks
only between its steps, so that the worst of them still took 5.6 s."""


LEAST_RATE = 50_000
"""Minimum bytes parsed in a CPU second, checked after `PATIENCE`: the slowest grammar, Swift's, parses 2
MB/s, and deliberately ambiguous sources fall below 5 KB/s. Slow parses are stopped early, because a stopped
parse may not release its memory (230 MB for Lua after two seconds)."""


PATIENCE = 0.25
"""CPU seconds after which the rate is checked."""


MAX_DEPTH = 500
"""Maximum depth in the syntax tree at which a definition may begin. In real code few are below 100; a query
without this limit takes quadratic time (13 s for Ruby's 50,000 nested calls)."""


PACKED_BYTES = 20_000


PACKED_LINE = 300
"""Average bytes of a line above which a source counts as minified: its one-letter names mean something else
in each function. Hand-written sources of svelte, Django, zod and fzf have at most 130."""


WIDE_ERROR = 2_000
"""Maximum children of an error node in a tree that is queried: query time grows with their square (100,000
unclosed brackets took 8 s, 2,000 take 4 ms)."""


def parse_source(data: bytes, language: str, path: str = "") -> ParsedFile:
    """Return the definitions and imports of a source, which may be broken, hostile or not UTF-8.

    `language` is a name from the table of languages; without a grammar only the lines are counted. A
    component is named after its `path`, and is none without one. Only line feeds end lines. Takes bounded
    time and raises nothing for any bytes. Thread-safe.
    """
    source = clean_source(data)
    lines = source.count(b"\n") + (not source.endswith(b"\n") and source != b"")
    row = LANGUAGES.get(language)
    if row is not None and row.blocks is not None:
        return ParsedFile(tuple(block_sections(source.decode("utf-8", "replace"), row, lines)), (), lines)
    if row is None or not row.grammar or not source:
        return ParsedFile((), (), lines)
    text = SourceText(source)
    if not row.markup:
        row = LANGUAGES.get(row.other_language(source), row) if row.other_language is not None else row
        return _parsed_code(source, text, row, lines)
    markup = read_markup(source, frontmatter=row.markup == "frontmatter")
    parsed = _parsed_code(markup.script, text, LANGUAGES.get(markup.dialect, row), lines)
    return with_markup(parsed, markup, text, component_name(path) if row.component else "")


def _parsed_code(source: bytes, text: SourceText, row: Language, lines: int) -> ParsedFile:
    """Parse the code of a file; `text` is the file as it is quoted, which may have more than its code."""
    toolbox = _toolbox(row.grammar, row.definitions, row.facts, row.calls, row.references)
    if toolbox is None:
        return ParsedFile((), (), lines)
    root = _tree(toolbox.grammar, source, row) if not is_tangled(source, row.stalling) else None
    if root is None or _has_wide_error(root):
        return ParsedFile((), (), lines, broken=True)
    if row.heading is not None:
        found = _ranges(toolbox.definitions, root)
        symbols = sections(text, found.get("heading", ()), found.get("quoted", ()), lines, row.heading)
        return ParsedFile(tuple(symbols), (), lines, broken=root.has_error)
    definitions = DefinitionReader(text, row.definition_rules, toolbox.patterns)
    imports = ImportReader(text, row)
    is_packed = len(source) >= PACKED_BYTES and len(source) >= lines * PACKED_LINE
    matched = _matches(toolbox.definitions if is_packed else toolbox.all_matches, root)
    # Both are in one query, so that the tree is visited once for them.
    matches = [match for match in matched if match[0] < len(toolbox.patterns)]
    facts = [match for match in matched if match[0] >= len(toolbox.patterns)]
    definitions.read(matches)
    imports.read(matches)
    calls_matter = any(word in source for word in row.call_words) and not _BUNDLE.search(source)
    if toolbox.calls is not None and calls_matter:
        imports.read_calls(_matches(toolbox.calls, root))
    symbols = symbols_of(definitions.definitions(), text, row, definitions.decorators())
    points = split_points(root.walk(), source)
    references = NOTHING
    if not is_packed:
        reader = ReferenceReader(text, row, symbols, definitions.names)
        references = _references(toolbox, root, reader, facts)
    return ParsedFile(tuple(symbols), tuple(imports.imports()), lines, root.has_error, points, references)


def _references(toolbox: _Toolbox, root: Node, reader: ReferenceReader, facts: Iterable[Match]) -> References:
    """Return a source's references, with facts about names from these matches."""
    if toolbox.references is not None:
        reader.read(_ranges(toolbox.references, root))
    reader.read_facts(facts, toolbox.settings)
    return reader.found()


# A file written by a bundler contains its own modules, so its calls of `require` name no file of the project.
_BUNDLE = re.compile(rb"function ?\(require, ?module, ?exports\)")


class _Toolbox(Struct, frozen=True):
    """A language's grammar and its compiled queries.

    The patterns of `all_matches` are those of `definitions`, followed by those for facts. `patterns` has the
    settings of the patterns in `definitions`, `settings` those of all patterns.
    """

    grammar: Grammar
    definitions: Query
    patterns: tuple[PatternSettings, ...]
    calls: Query | None
    references: Query | None
    all_matches: Query
    settings: tuple[Settings, ...]


@cache
def _toolbox(source: str, definitions: str, facts: str, calls: str, references: str) -> _Toolbox | None:
    """Load a language's grammar and compile its queries, once in a process; languages may share them. Return
    None if the grammar can't be loaded."""
    module, _, function = source.partition(":")
    try:
        pointer = load_grammar(function) if module == BUNDLE else getattr(import_module(module), function)()
    except GrammarMissing as error:
        log.warning("%s; its files are read without definitions", error)
        return None
    grammar = Grammar(pointer)
    defining = Query(grammar, expanded(definitions))
    all_matches = Query(grammar, expanded(f"{definitions}\n{facts}")) if facts else defining
    settings = tuple(all_matches.pattern_settings(index) for index in range(all_matches.pattern_count))
    return _Toolbox(
        grammar,
        defining,
        tuple(PatternSettings.of(setting) for setting in settings[: defining.pattern_count]),
        Query(grammar, calls) if calls else None,
        Query(grammar, expanded(references)) if references else None,
        all_matches,
        settings,
    )


def expanded(query: str) -> str:
    """Return a query with a pattern for each alternative of `(a|b …)`, which tree-sitter doesn't know.

    The alternatives of a pattern stand for each other in order: `((a|b) @def (#set! kind "x|y"))`.
    """
    return "\n".join(each for pattern in _PATTERN_START.split(query) for each in _alternatives(pattern))


def _alternatives(pattern: str) -> list[str]:
    choices = [re.split(r"\|\s*", found[0]) for found in _CHOICES.finditer(pattern)]
    chosen = zip(*choices, strict=True) if choices else [()]
    texts = _CHOICES.split(pattern)
    return ["".join(map("".join, zip_longest(texts, each, fillvalue=""))) for each in chosen]


_PATTERN_START = re.compile(r"\n(?=[(\[])")
_CHOICES = re.compile(r"\w+(?:\|\s*\w+)+")


def _matches(query: Query, root: Node) -> list[Match]:
    """Return a query's matches as ranges, so that no other file depends on tree-sitter's trees."""
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(MAX_DEPTH)
    return [
        (pattern, {name: nodes[0].byte_range for name, nodes in captures.items()})
        for pattern, captures in cursor.matches(root)
    ]


def _ranges(query: Query, root: Node) -> dict[str, list[Span]]:
    """Return all ranges that a query captures, by name."""
    cursor = QueryCursor(query)
    cursor.set_max_start_depth(MAX_DEPTH)
    captures = cursor.captures(root)
    return {name: [node.byte_range for node in nodes] for name, nodes in captures.items()}


def _tree(grammar: Grammar, source: bytes, row: Language) -> Node | None:
    """Return the root of the syntax tree of a source without the code that its grammar can't parse; None if
    parsing takes too long."""
    begun = time.thread_time()
    source = readable(source, row.gaps)
    root = _root(grammar, source, begun)
    if row.readable_parts is None or root is None or not root.has_error:
        return root

    def is_readable(part: bytes) -> bool:
        if time.thread_time() - begun > PARSE_SECONDS:
            return True
        alone = _root(grammar, part, begun)
        return alone is not None and not alone.has_error

    return _root(grammar, row.readable_parts(source, is_readable), begun) or root


def _root(grammar: Grammar, source: bytes, begun: float) -> Node | None:
    """Return the root of a source's syntax tree, or None if parsing takes too long since work on its file
    began."""
    started = time.thread_time()

    def read(offset: int, _point: object) -> bytes:
        return source[offset : offset + 65536]

    def is_late(offset: int, _has_error: bool) -> bool:
        now = time.thread_time()
        spent = now - started
        return now - begun > PARSE_SECONDS or (spent > PATIENCE and offset < spent * LEAST_RATE)

    try:
        return Parser(grammar).parse(read, progress_callback=is_late).root_node
    except ValueError:  # "Parsing failed": the callback stopped it
        return None


def _has_wide_error(root: Node) -> bool:
    """Return whether a tree holds an error node too wide for queries; visits only subtrees with errors."""
    pending = [root] if root.has_error else []
    while pending:
        node = pending.pop()
        if node.descendant_count < WIDE_ERROR:
            continue
        if node.is_error and node.child_count >= WIDE_ERROR:
            return True
        pending.extend(child for child in node.children if child.has_error)
    return False


def readable(source: bytes, gaps: Iterable[tuple[re.Pattern[bytes], bytes]]) -> bytes:
    """Return a source with the code that its grammar can't parse overwritten.

    Its length and lines stay the same, so that ranges of the result are ranges of the source, from which
    names and heads must be quoted.
    """
    for pattern, filler in gaps:
        source = pattern.sub(partial(_over, filler), source)
    return source


def is_tangled(source: bytes, opening: Sequence[bytes]) -> bool:
    """Return whether parsing a source would take minutes or gigabytes; no hand-written source does.

    A parser defers undecided alternatives until the source ends, at a cost that grows with their square:
    24,000 unclosed generics (`a<a<a<…`) took Java's parser 6 s, 50,000 more than 2 GB, between two checks of
    the clock. `MAX_OPEN` of them take 0.2 s.
    """
    if all(source.count(each) <= MAX_OPEN for each in opening):
        return False
    for piece in _STATEMENT_END.split(source):
        if len(piece) > MAX_OPEN and any(_open(piece, each) > MAX_OPEN for each in opening):
            return True
    return False


MAX_OPEN = 2_000
"""Maximum unclosed brackets of a statement, or signs of another language in it. Long data in a statement of
its own closes its brackets."""


_STATEMENT_END = re.compile(rb"[;{}]")


def _open(piece: bytes, sign: bytes) -> int:
    """Return the number of unclosed brackets, ignoring shifts; of another sign, its count."""
    if sign == b"<":
        return piece.count(b"<") - 2 * piece.count(b"<<") - piece.count(b">")
    return piece.count(sign) - (piece.count(b"]") if sign == b"[" else 0)


def _over(filler: bytes, match: re.Match[bytes]) -> bytes:
    """Return the match with its first group overwritten, by each character or by a text of its length."""
    whole, start = match[0], match.start()
    first, last = match.start(1) - start, match.end(1) - start
    inner = filler if len(filler) == last - first else _NOT_LINE_END.sub(filler, whole[first:last])
    return whole[:first] + inner + whole[last:]


_NOT_LINE_END = re.compile(rb"[^\n]")


LARGE_BYTES = 1_400
"""Maximum bytes of a node that isn't split. A little less than a chunk, since blank lines and brackets around
a node count there too; bytes, not characters, which would need decoding."""


SPLIT_DEPTH = 48
"""Maximum depth at which nodes are split. In Django 5.2's Python large nodes reach depth 20; deliberately
nested sources have a million levels."""


SPLIT_STEPS = 50_000
"""Maximum nodes visited in a file, 0.07 s. No Python file of Django 5.2 needs more than 3,100; an array
literal of a megabyte has a million elements."""


def split_points(cursor: TreeCursor, source: bytes) -> tuple[SplitPoint, ...]:
    """Return the first lines of the parts of the root, and of every node too large for a chunk.

    A part is the first node on its line; `depth` counts the nodes around it. Comments, decorators and
    attributes belong to the node right below, and no point separates them; `/**` comments of the older style
    may be followed by one empty line. The lines ascend. `source` is the source of the tree.
    """
    points: list[SplitPoint] = []
    depth = 0
    busy = attached = -1
    part_start = 0
    entered = cursor.goto_first_child()
    for _ in range(SPLIT_STEPS):
        if entered:
            depth += 1
        elif not cursor.goto_next_sibling():
            # All children of the node were seen.
            depth -= 1
            if depth <= 0 or not cursor.goto_parent():
                break
            continue
        node = cursor.node
        if node is None:
            break
        row = node.start_point[0]
        is_first_of_line = row > busy
        if is_first_of_line:
            busy = row
            if row > attached:
                part_start = node.start_byte
                if node.is_named:
                    points.append(SplitPoint(row + 1, depth))
        # The size counts from the start of the part: a body must fit into a chunk with its head and comment.
        is_large = node.end_byte - part_start > LARGE_BYTES
        entered = is_large and depth < SPLIT_DEPTH and cursor.goto_first_child()
        if not entered:
            end_row, end_column = node.end_point
            # Some nodes, such as a directive of the C preprocessor, span their line's end.
            busy = max(busy, end_row - (end_column == 0))
            if is_first_of_line and ("comment" in node.type or node.type in _ATTACHED):
                attached = busy + 1 + source.startswith(b"/**", node.start_byte)
    return tuple(points)


_ATTACHED = frozenset(
    {"decorator", "attribute", "attribute_item", "attribute_list", "annotation", "access_specifier"}
)
"""Kinds of nodes that belong to the node on the next line, as comments do."""
