"""Owns the parser: source bytes in, definitions and imports out; only it imports tree-sitter and grammars."""

from __future__ import annotations

import re
import time
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import NamedTuple

from tree_sitter import Language as Grammar
from tree_sitter import Node, Parser, Query, QueryCursor

from .languages import LANGUAGES
from .tree import Import, ParsedFile, Symbol

PARSER_VERSION: int = 1
"""Raised whenever the same bytes would give another result, so that stored files are parsed again."""

PARSE_SECONDS = 2.0
"""CPU time that one file's syntax tree may take. Ordinary code runs at 5 MB/s, so 1 MiB takes 0.2 s; sources
made to be ambiguous (`(a,(a,(a,…`) go on for longer and take up to 1.4 GB a MiB. The parser asks only
between its steps, so that the worst of them still took 5.6 s."""

WIDE_ERROR = 2_000
"""Children of an error node from which the tree isn't queried: a query's time grows with their square
(100,000 unclosed brackets took 8 s, 2,000 take 4 ms)."""

MAX_SIGNATURE = 400
"""Characters, from the contract of `Symbol`."""

MAX_DOC = 200
"""Characters of a symbol's doc line."""

MAX_NAME = 300
"""Characters of a qualified name; what is nested deeper is left out. The longest in Django 5.2 has 141."""


def parse_source(data: bytes, language: str) -> ParsedFile:
    """Return the definitions and imports of a source, which may be broken, hostile or not UTF-8.

    `language` is a name from the table of languages; without a grammar for it only the lines are counted.
    Lines end at line feeds only. Takes bounded time and raises nothing for any bytes. Thread-safe.
    """
    lines = data.count(b"\n") + (not data.endswith(b"\n") and data != b"")
    row = LANGUAGES.get(language)
    if row is None or not row.grammar or not data:
        return ParsedFile((), (), lines)
    source = _clean(data)
    toolbox = _toolbox(language)
    root = _root(toolbox.grammar, source)
    if root is None or _has_wide_error(root):
        return ParsedFile((), (), lines, broken=True)
    text = _Text(source)
    if language == "markdown":
        symbols = _sections(text, QueryCursor(toolbox.definitions).captures(root), lines)
        return ParsedFile(tuple(symbols), (), lines, broken=root.has_error)
    reader = _Reader(text, language, toolbox)
    reader.read(QueryCursor(toolbox.definitions).matches(root))
    calls_matter = any(word in source for word in row.call_words) and not _BUNDLE.search(source)
    if toolbox.calls is not None and calls_matter:
        reader.read_calls(QueryCursor(toolbox.calls).matches(root))
    return ParsedFile(tuple(reader.symbols()), tuple(reader.imports()), lines, broken=root.has_error)


# A file that a bundler wrote carries its modules along; its calls to require name none of the project.
_BUNDLE = re.compile(rb"function ?\(require, ?module, ?exports\)")

_Match = tuple[int, dict[str, list[Node]]]


@dataclass(frozen=True, slots=True)
class _Toolbox:
    """A language's grammar and our queries compiled for it; `kinds` and `names` are a pattern's, by index."""

    grammar: Grammar
    definitions: Query
    kinds: tuple[str, ...]
    names: tuple[str, ...]
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
        tuple(setting.get("kind") or "" for setting in settings),
        tuple(setting.get("name") or "" for setting in settings),
        Query(grammar, row.calls) if row.calls else None,
    )


def _clean(data: bytes) -> bytes:
    """Return the source as UTF-8 with the same lines: no mark, no NUL, no carriage return at a line's end.

    To the grammars a NUL is an error even in a comment. What isn't UTF-8 is read as Latin-1: it never fails.
    """
    data = data.removeprefix(b"\xef\xbb\xbf").replace(b"\r\n", b"\n").replace(b"\0", b" ")
    if data.isascii():
        return data
    try:
        data.decode()
    except UnicodeDecodeError:
        return data.decode("latin-1").encode()
    return data


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


class _Text:
    """A source with its line ends, so that offsets become lines and code becomes signatures."""

    def __init__(self, source: bytes) -> None:
        self.source = source
        self._ends = [match.start() for match in re.finditer(rb"\n", source)]

    def line(self, offset: int) -> int:
        """Return the line of a byte offset, counted from 1."""
        return bisect_left(self._ends, offset) + 1

    def last_line(self, start: int, end: int) -> int:
        """Return the line of the last character of a range that isn't a line end."""
        while end > start and self.source[end - 1] == 10:
            end -= 1
        return bisect_left(self._ends, end) + 1

    def line_start(self, offset: int) -> int:
        """Return the offset of the first byte of the line that an offset lies in."""
        return self.source.rfind(b"\n", 0, offset) + 1

    def slice(self, start: int, end: int) -> str:
        """Return a range as text; a character cut in two at its end is left out."""
        return self.source[start:end].decode("utf-8", "ignore")

    def signature(self, start: int, end: int) -> str:
        """Return a definition's head without its indentation, at most `MAX_SIGNATURE` characters."""
        head = self.slice(start, min(end, start + 4 * MAX_SIGNATURE + 4)).rstrip()
        if "\n" in head:
            indent = self.slice(self.line_start(start), min(start, self.line_start(start) + 200))
            indent = indent[: len(indent) - len(indent.lstrip())]
            head = "\n".join(line.removeprefix(indent).rstrip() for line in head.split("\n"))
        return head if len(head) <= MAX_SIGNATURE else head[: MAX_SIGNATURE - 1].rstrip() + "…"


@dataclass(slots=True)
class _Definition:
    """A definition as it stands in the source, before its name is qualified. All offsets are in bytes.

    It spans `start` to `end`, with decorators; its head `head` to `head_end`. `owner` qualifies the name of
    one that isn't written inside its owner.
    """

    start: int
    end: int
    head: int
    head_end: int
    name: str
    kind: str
    body: int
    owner: str = ""
    rank: int = 0


_BINDINGS = frozenset({"constant", "variable"})


class _Reader:
    """Gathers the definitions and imports of one code file from its query matches."""

    def __init__(self, text: _Text, language: str, toolbox: _Toolbox) -> None:
        self._text = text
        self._source = text.source
        self._language = language
        self._toolbox = toolbox
        self._definitions: dict[tuple[int, str], _Definition] = {}
        self._imports: dict[tuple[int, str, str], Import] = {}
        self._statements: set[int] = set()
        self._optional: list[tuple[int, int]] = []
        self._decorators: list[tuple[int, int]] = []

    def read(self, matches: Iterable[_Match]) -> None:
        """Take in the matches of the query for definitions."""
        imports = []
        for pattern, captures in matches:
            if "def" in captures:
                self._add_definition(pattern, captures)
            elif "module" in captures:
                imports.append(captures)
            elif "decorator" in captures:
                self._decorators.append(captures["decorator"][0].byte_range)
            elif "handler" in captures:
                self._add_handler(captures)
        self._decorators.sort()
        self._optional = _merged(self._optional)
        for captures in imports:
            self._add_import(captures)

    def read_calls(self, matches: Iterable[_Match]) -> None:
        """Take in the matches of the query for imports that are written as calls."""
        for _, captures in matches:
            start, end = captures["function"][0].byte_range
            if self._source[start:end] in _IMPORT_CALLS:
                self._add_import(captures)

    def imports(self) -> list[Import]:
        """Return the imports in source order."""
        return [imported for _, imported in sorted(self._imports.items())]

    def symbols(self) -> list[Symbol]:
        """Return the definitions in source order with their qualified, unique names."""
        names = _Names()
        found: list[Symbol] = []
        enclosing: list[_Enclosing] = []
        bound: set[str] = set()
        heads = _Heads(self._text, self._language, self._decorators)
        for definition in sorted(self._definitions.values(), key=lambda each: (each.start, -each.end)):
            while enclosing and enclosing[-1].end <= definition.start:
                enclosing.pop()
            # Names that are bound together (`a, b = …`) share their span, and none encloses the other.
            outer = next((each for each in reversed(enclosing) if each.start < definition.start), None)
            if definition.owner and outer is not None and self._language != "go":
                continue  # an assignment to something's member inside a function defines nothing for others
            prefix, depth = (outer.name, outer.depth + 1) if outer is not None else ("", 0)
            if definition.owner:
                prefix, depth = definition.owner, 1
            name = f"{prefix}.{definition.name}" if prefix else definition.name
            if not name or len(name) > MAX_NAME:
                continue
            if definition.kind in _BINDINGS:
                # Binding a variable again changes it; it isn't a second definition.
                if name in bound:
                    continue
                bound.add(name)
            name = names.unique(name)
            kind = definition.kind
            if kind == "function" and (definition.owner or (outer is not None and outer.kind == "class")):
                kind = "method"
            enclosing.append(_Enclosing(definition.start, definition.end, name, depth, kind))
            found.append(heads.symbol(definition, name, kind, depth))
        return found

    def _add_definition(self, pattern: int, captures: dict[str, list[Node]]) -> None:
        start, end = captures["def"][0].byte_range
        kind = self._toolbox.kinds[pattern]
        body = captures["body"][0].start_byte if "body" in captures else -1
        name, owner = self._toolbox.names[pattern], ""
        if "target" in captures:
            name, owner = _assigned(self._node_text(captures["target"][0]))
            if not name:
                return
            if name == "exports" and kind == "function":
                name = _own_name(self._source[start:body]) or "module.exports"
            elif name == "exports":
                name = "module.exports"
        elif not name:
            name = self._node_text(captures["name"][0]).strip("\"'")
        if name == "_" or not name:
            return
        if "receiver" in captures:
            owner = _receiver_type(self._node_text(captures["receiver"][0]))
        if kind == "constant" and "target" in captures and self._is_require(start, end):
            return
        if kind == "variable":
            kind, value_is_import = self._binding(name, start, end)
            if value_is_import:
                return
        known = self._definitions.get((start, name))
        if known is None or pattern < known.rank:
            head_end = body if body >= 0 else end
            self._definitions[start, name] = _Definition(
                start, end, start, head_end, name, kind, body, owner, pattern
            )

    def _binding(self, name: str, start: int, end: int) -> tuple[str, bool]:
        """Return whether a binding is a constant or a variable, and whether it only names an import."""
        if self._language == "python":
            return ("constant" if name.isupper() else "variable"), False
        if self._language == "go":
            return "variable", False
        line = self._source[max(self._text.line_start(start), start - 200) : start]
        kind = "constant" if line.rstrip().endswith(b"const") else "variable"
        return kind, self._is_require(start, end)

    def _is_require(self, start: int, end: int) -> bool:
        """Return whether what is assigned is another module, so that the name only passes it on."""
        value = self._source[start : min(end, start + 400)].partition(b"=")[2].lstrip()
        return value.startswith(b"require(")

    def _add_handler(self, captures: dict[str, list[Node]]) -> None:
        """Note a block whose failing imports the program itself expects."""
        start, end = captures["handler"][0].byte_range
        clause = self._source[start : min(end, start + 200)].partition(b":")[0]
        if re.search(rb"ImportError|ModuleNotFoundError|\bException\b|^except\s*$", clause):
            self._optional.append(captures["optional"][0].byte_range)

    def _add_import(self, captures: dict[str, list[Node]]) -> None:
        node = captures["module"][0]
        start = node.start_byte
        module = self._node_text(node)
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
        required = not is_dynamic and not _is_inside(self._optional, start)
        if start not in self._statements:
            self._statements.add(start)
            self._imports[start, module, ""] = Import(module, "", self._text.line(start), required)
        if "imported" in captures:
            imported = captures["imported"][0]
            name = self._node_text(imported)
            line = self._text.line(imported.start_byte)
            self._imports[imported.start_byte, module, name] = Import(module, name, line, required=False)

    def _node_text(self, node: Node) -> str:
        start, end = node.byte_range
        return self._source[start : min(end, start + 4 * MAX_NAME)].decode("utf-8", "ignore")


_IMPORT_CALLS = frozenset({b"require", b"import", b"import_module", b"importlib.import_module"})


class _Enclosing(NamedTuple):
    """A definition that others may stand in: its span in bytes, its unique name, its depth and kind."""

    start: int
    end: int
    name: str
    depth: int
    kind: str


class _Names:
    """Hands out names that are unique within a file: the second `login` is `login~2`."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._taken: set[str] = set()

    def unique(self, name: str) -> str:
        """Return the name, with the lowest free number behind it if it is taken."""
        candidate = name
        while candidate in self._taken:
            self._count[name] = self._count.get(name, 1) + 1
            candidate = f"{name}~{self._count[name]}"
        self._taken.add(candidate)
        return candidate


_TARGET = re.compile(r"(?:(?P<owner>[\w$]+)(?P<prototype>\.prototype)?\.)(?P<name>[\w$]+)")


def _assigned(target: str) -> tuple[str, str]:
    """Return the name and the owner that an assignment to a member defines, or two empty strings.

    `exports.x` and `module.exports.x` define `x`; `Foo.prototype.bar` and `Foo.bar` define `bar` of `Foo`;
    `this.x` defines `x` of whatever encloses it; `module.exports` alone is the name `exports`.
    """
    match = _TARGET.fullmatch(target.removeprefix("module.exports.").removeprefix("exports."))
    if target.startswith(("module.exports.", "exports.")):
        name = target.rpartition("exports.")[2]
        return (name, "") if re.fullmatch(r"[\w$]+", name) else ("", "")
    if match is None:
        return "", ""
    owner, name = match["owner"], match["name"]
    if owner == "module":
        return ("exports", "") if name == "exports" else ("", "")
    return (name, "") if owner == "this" else (name, owner)


def _own_name(head: bytes) -> str:
    """Return the name that a function expression gives itself, from its head: `function createApp(`."""
    match = re.search(rb"function\s*\*?\s*([\w$]+)\s*\($", head[:400].partition(b"(")[0] + b"(")
    return match[1].decode("ascii", "ignore") if match else ""


def _receiver_type(receiver: str) -> str:
    """Return the type of a Go receiver: `Stack` for `(s *Stack[T])`."""
    words = receiver.strip("()").partition("[")[0].replace("*", " ").split()
    return words[-1] if words else ""


# What may stand before a definition on its line and belongs to it: `export const` before `x = 1`.
_LEAD = re.compile(rb"(?<![\w$.])(?:(?:export|default|declare|const|let|var|type|async)[ \t]+)+\Z")
_SPACE = {
    "python": re.compile(rb"(?:\s|#[^\n]*)*"),
    "": re.compile(rb"(?:\s|//[^\n]*|/\*(?:[^*]|\*(?!/))*\*/)*"),
}


class _Heads:
    """Turns definitions into symbols: where they begin, what their head says, what is said about them."""

    def __init__(self, text: _Text, language: str, decorators: Sequence[tuple[int, int]]) -> None:
        self._text = text
        self._source = text.source
        self._language = language
        space = _SPACE.get(language, _SPACE[""])
        self._decorator_at: dict[int, int] = {}
        self._decorator_before: dict[int, int] = {}
        for start, end in decorators:
            gap = space.match(self._source, end, end + 2_000)
            following = gap.end() if gap else end
            self._decorator_at[start] = following
            self._decorator_before[following] = start

    def symbol(self, definition: _Definition, name: str, kind: str, depth: int) -> Symbol:
        """Return a definition's symbol under its qualified name."""
        start, head = self._begin(definition)
        if kind in _BINDINGS:
            line_end = self._source.find(b"\n", head, definition.end)
            head_end = definition.end if line_end < 0 else line_end
        else:
            head_end = self._head_end(definition)
        return Symbol(
            name,
            kind,
            self._text.line(start),
            self._text.last_line(start, definition.end),
            self._text.signature(head, head_end),
            self._doc(definition, start),
            depth,
        )

    def _begin(self, definition: _Definition) -> tuple[int, int]:
        """Return where a definition begins with its decorators and where its head begins."""
        head = definition.head
        while head in self._decorator_at:
            head = self._decorator_at[head]
        start = definition.start
        if self._language != "python":
            line = self._text.line_start(start)
            lead = _LEAD.search(self._source, max(line, start - 60), start)
            if lead is not None:
                head = lead.start() if head == definition.head else head
                start = lead.start()
        while start in self._decorator_before:
            start = self._decorator_before[start]
        return start, head

    def _head_end(self, definition: _Definition) -> int:
        """Return where a definition's head ends, before its body and what opens it."""
        start, end = definition.head, definition.head_end
        if definition.kind == "interface" and definition.body < 0:
            brace = self._source.find(b"{", start, end)
            return end if brace < 0 else brace
        if self._language == "python" and definition.body >= 0 and b"#" in self._source[start:end]:
            # A comment behind the colon, or above the first statement, is no part of the head.
            match = _PYTHON_TAIL.search(self._source, max(start, end - 4000), end)
            return match.start(1) if match else end
        return end

    def _doc(self, definition: _Definition, start: int) -> str:
        if self._language == "python":
            return _docstring(self._text, definition.body) if definition.body >= 0 else ""
        return _comment_above(self._text, start)


_PYTHON_TAIL = re.compile(rb":(\s*(?:#[^\n]*\n\s*)+)\Z")
_DOCSTRING = re.compile(rb"""(?:\s*#[^\n]*\n)*\s*[rRuU]?(\"\"\"|'''|"|')""")


def _docstring(text: _Text, body: int) -> str:
    """Return the first sentence of the docstring that a Python body begins with."""
    match = _DOCSTRING.match(text.source, body)
    if match is None:
        return ""
    end = text.source.find(match[1], match.end(), match.end() + 4000)
    if end < 0:
        end = min(match.end() + 4000, len(text.source))
    return _summary(text.slice(match.end(), end).split("\n"))


# Comments that speak to a tool and not to a reader.
_DIRECTIVE = re.compile(
    r"[a-z]+:\S|@ts-|eslint|prettier-|biome-|istanbul|c8 ignore|v8 ignore|#(?:region|endregion)|nolint"
    r"|tslint|jshint|@license|<reference|@__|#__|[-=*#~_/\s]+$"
)
_MAX_COMMENT = 8_192


def _comment_above(text: _Text, start: int) -> str:
    """Return the first sentence of the comment that stands directly above a definition."""
    source = text.source
    line = text.line_start(start)
    if source[line:start].strip():
        return ""
    comments: list[str] = []
    floor = max(0, line - _MAX_COMMENT)
    while line > floor:
        above = source.rfind(b"\n", 0, line - 1) + 1
        content = source[max(above, line - 400) : line].strip()
        if not content.startswith(b"//"):
            break
        comments.append(content.decode("utf-8", "ignore").lstrip("/!").removeprefix(" "))
        line = above
    comments = [each for each in reversed(comments) if not _DIRECTIVE.match(each.strip())]
    if comments:
        # A line that ends like a statement is code that was commented out.
        return "" if comments[0].rstrip().endswith((";", "{", "(", "}")) else _summary(comments)
    end = len(source[floor:line].rstrip(b" \t\n")) + floor
    opened = source.rfind(b"/*", floor, end) if source.endswith(b"*/", floor, end) else -1
    if opened < 0 or source[text.line_start(opened) : opened].strip():
        return ""
    # Older JSDoc leaves a line empty below it; an ordinary comment there speaks of something else.
    if source.count(b"\n", end, line) > (2 if source.startswith(b"/**", opened) else 1):
        return ""
    return _block_summary(text.slice(opened + 2, min(end - 2, opened + 4000)))


def _block_summary(comment: str) -> str:
    """Return the first sentence of a block comment's text, which may be JSDoc."""
    lines = [line.strip().lstrip("*!").strip() for line in comment.split("\n")]
    while lines and (not lines[0] or _DIRECTIVE.match(lines[0])):
        lines.pop(0)
    for number, line in enumerate(lines):
        if line.startswith("@"):
            tag, _, description = line.partition(" ")
            lines = [description, *lines[1:]] if number == 0 and tag == "@description" else lines[:number]
            break
    return _summary(lines)


_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?](?=\s+[^\sa-z])")


def _summary(lines: Sequence[str]) -> str:
    """Return the first sentence of the first paragraph of a text, at most `MAX_DOC` characters."""
    paragraph: list[str] = []
    for line in lines:
        content = line.strip()
        if content:
            paragraph.append(content)
        if (paragraph and (not content or content.endswith((".", "!", "?", ":")))) or len(paragraph) > 8:
            break
    summary = " ".join(" ".join(paragraph)[: 4 * MAX_DOC].split()).strip("/=-#~ ")
    sentence = _SENTENCE.search(summary)
    if sentence is not None:
        summary = summary[: sentence.end()]
    return summary if len(summary) <= MAX_DOC else summary[: MAX_DOC - 1].rstrip() + "…"


def _sections(text: _Text, captures: dict[str, list[Node]], lines: int) -> list[Symbol]:
    """Return a document's sections; headings inside quotations and lists belong to those."""
    quoted = _merged(node.byte_range for node in captures.get("quoted", ()))
    headings = [
        (start, *_heading(text.slice(start, end)))
        for start, end in sorted(node.byte_range for node in captures.get("heading", ()))
        if not _is_inside(quoted, start)
    ]
    names = _Names()
    open_sections: list[tuple[int, str]] = []
    ends = _section_ends([(text.line(start), level) for start, level, _ in headings], lines)
    found = []
    for (start, level, title), end in zip(headings, ends, strict=True):
        while open_sections and open_sections[-1][0] >= level:
            open_sections.pop()
        name = f"{open_sections[-1][1]}/{title}" if open_sections else title
        if not title or len(name) > MAX_NAME:
            continue
        name = names.unique(name)
        open_sections.append((level, name))
        first = text.line_start(start)
        line = text.slice(first, first + 4 * MAX_SIGNATURE).partition("\n")[0].strip()[:MAX_SIGNATURE]
        found.append(Symbol(name, "section", text.line(start), end, line, "", level - 1))
    return found


def _section_ends(headings: Sequence[tuple[int, int]], lines: int) -> list[int]:
    """Return each section's last line: the one before the next heading of the same or a higher level."""
    ends = [lines] * len(headings)
    waiting: list[int] = []
    for index, (line, level) in enumerate(headings):
        while waiting and headings[waiting[-1]][1] >= level:
            ends[waiting.pop()] = line - 1
        waiting.append(index)
    return ends


def _heading(written: str) -> tuple[int, str]:
    """Return a heading's level and its title as plain text."""
    rows = [row.strip() for row in written.strip().split("\n")]
    if rows[0].startswith("#"):
        level = len(rows[0]) - len(rows[0].lstrip("#"))
        title = re.sub(r"(?:^|\s)#+$", "", rows[0][level:].strip())
    else:
        level = 1 if rows[-1].startswith("=") else 2
        title = " ".join(rows[:-1])
    title = re.sub(r"!?\[([^\]\[]*)\]\([^)(]*\)", r"\1", title)
    title = re.sub(r"\s*\{#[^}]*\}$", "", title)
    title = re.sub(r"[`*]+|(?<!\w)_+|_+(?!\w)|<[^<>]*>", "", title)
    return level, " ".join(title.split())


def _merged(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return ranges without those that lie inside another, in order."""
    merged: list[tuple[int, int]] = []
    for start, end in sorted(ranges):
        if not merged or start >= merged[-1][1]:
            merged.append((start, end))
    return merged


def _is_inside(ranges: Sequence[tuple[int, int]], offset: int) -> bool:
    """Return whether an offset lies in one of the ranges, which are in order and apart."""
    index = bisect_left(ranges, (offset + 1, 0)) - 1
    return index >= 0 and ranges[index][0] <= offset < ranges[index][1]
