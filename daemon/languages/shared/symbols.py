"""Symbols: unique names of definitions, their first lines, heads and documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import NamedTuple

from .definitions import BINDINGS, ParsedDefinition
from .language import DefinitionRules, Language
from .records import Symbol
from .source_text import MAX_NAME, MAX_SIGNATURE, SourceText, Span, is_inside, merged_spans


def symbols_of(
    definitions: Iterable[ParsedDefinition], text: SourceText, language: Language, decorators: Sequence[Span]
) -> list[Symbol]:
    """Return the symbols of definitions in source order, with their qualified, unique names."""
    names = UniqueNames()
    found: list[Symbol] = []
    bound: set[str] = set()
    heads = _Heads(text, language, decorators)
    placed = _placed(definitions, language.definition_rules)
    certain = {each.name for each in placed if each.kind not in _ANNOUNCED}
    prefixes: list[str] = []
    for each in placed:
        name = each.name
        if each.outer >= 0 and prefixes[each.outer] != placed[each.outer].name:
            name = prefixes[each.outer] + name.removeprefix(placed[each.outer].name)
        prefixes.append(name)
        if len(name) > MAX_NAME or each.kind == "scope" or (each.kind in _ANNOUNCED and each.name in certain):
            continue
        if each.kind in _REBOUND:
            # Binding a variable again changes it; it isn't a second definition.
            if name in bound:
                continue
            bound.add(name)
        unique = names.unique(name)
        if each.kind not in _HOLDERS:
            prefixes[-1] = unique
        kind = _ANNOUNCED.get(each.kind, each.kind)
        found.append(heads.symbol(each.definition, unique, kind, each.depth))
    return found


def sections(
    text: SourceText,
    headings: Iterable[Span],
    quoted: Iterable[Span],
    lines: int,
    heading: Callable[[str], tuple[int, str]],
) -> list[Symbol]:
    """Return a document's sections; headings inside quotations and lists don't begin a section."""
    inner = merged_spans(quoted)
    outline = [
        (start, *heading(text.slice(start, end)))
        for start, end in sorted(headings)
        if not is_inside(inner, start)
    ]
    names = UniqueNames()
    open_sections: list[tuple[int, str]] = []
    ends = section_ends([(text.line(start), level) for start, level, _ in outline], lines)
    found = []
    for (start, level, title), end in zip(outline, ends, strict=True):
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


def block_sections(text: str, row: Language, lines: int) -> Iterable[Symbol]:
    """Yield the blocks of a file without a grammar as sections; `lines` is the number of its lines."""
    assert row.blocks is not None
    named = list(row.blocks(row.name, text))
    written = text.split("\n")
    names = UniqueNames()
    around: list[tuple[int, str]] = []
    ends = section_ends([(first + 1, level) for first, level, _ in named], lines)
    for (first, level, name), end in zip(named, ends, strict=True):
        while around and around[-1][0] >= level:
            around.pop()
        full = f"{around[-1][1]}/{name}" if around else name
        if len(full) <= MAX_NAME:
            full = names.unique(full)
            last = next((at for at in range(end, first + 1, -1) if written[at - 1].strip()), first + 1)
            head = written[first].strip()[:MAX_SIGNATURE]
            # A heading may begin with a label or a line above its title.
            yield Symbol(full, "section", first + 1, last, head if name in head else name, "", len(around))
            around.append((level, full))


def section_ends(headings: Sequence[tuple[int, int]], lines: int) -> list[int]:
    """Return each section's last line: the one before the next heading of the same or a higher level."""
    ends = [lines] * len(headings)
    waiting: list[int] = []
    for index, (line, level) in enumerate(headings):
        while waiting and headings[waiting[-1]][1] >= level:
            ends[waiting.pop()] = line - 1
        waiting.append(index)
    return ends


_HOLDERS = frozenset(
    {"class", "struct", "union", "interface", "trait", "protocol", "enum", "record", "object", "scope"}
    | {"module", "namespace"}
)
"""Kinds whose members are qualified by the plain name, even if the file opens the name several times: the
parts of a C# class, a Scala object beside its class. Members of a second function are qualified by
`load~2`."""


_TYPES = _HOLDERS - {"module", "namespace"}
"""Kinds in which a function is a method."""


_ANNOUNCED = {"prototype": "prototype", "extern": "variable", "forward": "type"}
"""Kinds of declarations that a definition of the same name in the file replaces, and the kinds as which they
are shown."""


_REBOUND = BINDINGS | {"macro"}


class _Placed(NamedTuple):
    """A definition with the index of the one around it (or -1), its qualified name, kind and depth."""

    definition: ParsedDefinition
    outer: int
    name: str
    kind: str
    depth: int


def _placed(definitions: Iterable[ParsedDefinition], rules: DefinitionRules) -> list[_Placed]:
    """Return the definitions, given in source order, with their enclosing definitions."""
    placed: list[_Placed] = []
    enclosing: list[int] = []
    for definition in definitions:
        while enclosing and placed[enclosing[-1]].definition.end <= definition.start:
            enclosing.pop()
        # Names bound together (`a, b = …`) share their span, and neither encloses the other.
        around = (index for index in reversed(enclosing) if placed[index].definition.start < definition.start)
        found = _place(definition, next(around, -1), placed, rules)
        if found is None:
            continue
        if rules.values_enclose or found.kind in _TYPES or found.kind in ("function", "method"):
            enclosing.append(len(placed))
        placed.append(found)
    return placed


def _place(
    definition: ParsedDefinition, index: int, placed: Sequence[_Placed], rules: DefinitionRules
) -> _Placed | None:
    """Return a definition with its place, None if it isn't visible to other files."""
    outer = placed[index] if index >= 0 else None
    owner, kind = definition.owner, definition.kind
    if outer is not None:
        if owner and rules.members_at_top:
            return None  # an assignment to something's member inside a function
        if kind in _LOCAL and outer.kind in ("function", "method"):
            return None
        if owner and not rules.keeps_inner_owners:
            owner = ""
        if kind == "macro" and not rules.values_enclose:
            outer, index = None, -1
    depth = outer.depth + 1 if outer is not None else int(bool(owner) and kind not in _HOLDERS)
    if owner and rules.owners_stand_alone:
        outer, index, depth = None, -1, max(depth, 1)
    if kind == "function" and rules.has_methods and (owner or (outer is not None and outer.kind in _TYPES)):
        kind = "method"
    name = ".".join(part for part in (outer.name if outer else "", owner, definition.name) if part)
    if not definition.name or len(name) > MAX_NAME:
        return None
    return _Placed(definition, index, name, kind, depth)


_LOCAL = BINDINGS | {"prototype", "extern"}


class UniqueNames:
    """Makes names unique within a file: the second `login` is `login~2`."""

    def __init__(self) -> None:
        self._count: dict[str, int] = {}
        self._taken: set[str] = set()

    def unique(self, name: str) -> str:
        """Return the name, with the lowest free number appended if it is taken."""
        candidate = name
        while candidate in self._taken:
            self._count[name] = self._count.get(name, 1) + 1
            candidate = f"{name}~{self._count[name]}"
        self._taken.add(candidate)
        return candidate


# Text before a definition on its line that belongs to it: `export const` before `x = 1`.
_LEAD = re.compile(rb"(?<![\w$.])(?:(?:export|default|declare|const|let|var|type|async)[ \t]+)+\Z")


_ARGUMENTS = re.compile(rb"\([^()]*(?:\([^()]*\)[^()]*)*\)")


@cache
def _space(comment: str) -> re.Pattern[bytes]:
    """Return the pattern of the space and comments between a decorator and what it decorates."""
    block = r"|/\*(?:[^*]|\*(?!/))*\*/" if comment == "//" else ""
    return re.compile(rf"(?:\s|{re.escape(comment)}[^\n]*{block})*".encode())


class _Heads:
    """Turns definitions into symbols with first line, head and documentation."""

    def __init__(self, text: SourceText, language: Language, decorators: Sequence[Span]) -> None:
        self._text = text
        self._source = text.source
        self._rules = language.definition_rules
        self._comment = language.comment
        space = _space(self._comment)
        self._block = language.block_comment or _BLOCKS.get(self._comment)
        self._decorator_at: dict[int, int] = {}
        self._decorator_before: dict[int, int] = {}
        for start, end in decorators:
            arguments = _ARGUMENTS.match(self._source, end, end + 2_000)
            end = arguments.end() if arguments else end  # noqa: PLW2901 - those that were hidden from a grammar
            gap = space.match(self._source, end, end + 2_000)
            following = gap.end() if gap else end
            self._decorator_at[start] = following
            self._decorator_before[following] = start

    def symbol(self, definition: ParsedDefinition, name: str, kind: str, depth: int) -> Symbol:
        """Return a definition's symbol under its qualified name."""
        start, head = self._begin(definition)
        if kind in BINDINGS:
            line_end = self._source.find(b"\n", head, definition.end)
            head_end = definition.end if line_end < 0 else line_end
        else:
            head_end = self._head_end(definition)
        signature = self._text.signature(head, head_end)
        if signature in _NAMELESS:
            signature = f"{signature} {{ … }} {definition.name}"
        return Symbol(
            name,
            kind,
            self._text.line(start),
            self._text.last_line(start, definition.end),
            signature,
            self._doc(definition, start),
            depth,
        )

    def _begin(self, definition: ParsedDefinition) -> tuple[int, int]:
        """Return the beginning of a definition with its decorators, and of its head."""
        head = definition.head
        while head in self._decorator_at:
            head = self._decorator_at[head]
        start = definition.start
        if self._rules.leading_words:
            line = self._text.line_start(start)
            lead = _LEAD.search(self._source, max(line, start - 60), start)
            if lead is not None:
                head = lead.start() if head == definition.head else head
                start = lead.start()
        while start in self._decorator_before:
            start = self._decorator_before[start]
        return start, head

    def _head_end(self, definition: ParsedDefinition) -> int:
        """Return the end of a definition's head, before the body and its opening bracket."""
        start, end = definition.head, definition.head_end
        if definition.body >= 0:
            return self._rules.head_end(self._source, start, end)
        if definition.kind == "interface":
            brace = self._source.find(b"{", start, end)
            return end if brace < 0 else brace
        return end

    def _doc(self, definition: ParsedDefinition, start: int) -> str:
        if self._rules.docstrings:
            return docstring(self._text, definition.body) if definition.body >= 0 else ""
        written = self._rules.doc_text(self._source, start)
        if written is not None:
            return summary(written.split("\n"))
        above = comment_above(self._text, start, self._comment, self._block)
        if not above and definition.head > start:
            above = comment_above(self._text, definition.head, self._comment, self._block)
        return above


_NAMELESS = frozenset({"typedef struct", "typedef union", "typedef enum"})


MAX_DOC = 200
"""Maximum characters of a symbol's doc line."""


def docstring(text: SourceText, body: int) -> str:
    """Return the first sentence of the docstring at the beginning of a Python body."""
    match = _DOCSTRING.match(text.source, body)
    if match is None:
        return ""
    end = text.source.find(match[1], match.end(), match.end() + 4000)
    if end < 0:
        end = min(match.end() + 4000, len(text.source))
    return summary(text.slice(match.end(), end).split("\n"))


def comment_above(text: SourceText, start: int, mark: str, block: tuple[str, str] | None = None) -> str:
    """Return the first sentence of the comment directly above a definition.

    `mark` begins a line comment in its language: `//`, `#` or `--`. `block` are the signs around a block.
    """
    source = text.source
    line = text.line_start(start)
    if source[line:start].strip():
        return ""
    comments: list[str] = []
    floor = max(0, line - _MAX_COMMENT)
    marker = mark.encode()
    opening, closing = (each.encode() for each in block) if block is not None else (b"\n", b"\n")
    while line > floor:
        above = source.rfind(b"\n", 0, line - 1) + 1
        content = source[max(above, line - 400) : line].strip()
        if not content.startswith(marker) or content.startswith((b"#!", b"//!<", opening)):
            break
        if content.endswith(closing):
            break
        comments.append(content.decode("utf-8", "ignore").lstrip(_MARKS.get(mark, mark)).removeprefix(" "))
        line = above
    comments = [each for each in reversed(comments) if not _DIRECTIVE.match(each.strip())]
    if comments:
        # A line that ends like a statement is code that was commented out.
        return "" if comments[0].rstrip().endswith((";", "{", "(", "}")) else _line_summary(comments)
    if block is None:
        return ""
    end = len(source[floor:line].rstrip(b" \t\n")) + floor
    inner = end - len(closing)
    opened = source.rfind(opening, floor, inner) if source.endswith(closing, floor, end) else -1
    if opened < 0 or source[text.line_start(opened) : opened].strip():
        return ""
    # Older JSDoc may be followed by an empty line; an ordinary comment there belongs to other code.
    if source.count(b"\n", end, line) > (2 if source.startswith(b"/**", opened) else 1):
        return ""
    return _block_summary(text.slice(opened + len(opening), min(inner, opened + 4000)))


_MARKS = {"//": "/!", "#": "#'", "--": "-|", "!": "!<>"}
_BLOCKS = {"//": ("/*", "*/")}
_DOCSTRING = re.compile(rb"""(?:\s*#[^\n]*\n)*\s*[rRuU]?(\"\"\"|'''|"|')""")
# Comments for tools, not for readers.
_DIRECTIVE = re.compile(
    r"[a-z]+:\S|@ts-|eslint|prettier-|biome-|istanbul|c8 ignore|v8 ignore|#(?:region|endregion)|nolint"
    r"|tslint|jshint|@license|<reference|@__|#__|[-=*#~_/\s]+$"
    r"|NOLINT|clang-(?:format|tidy)|noinspection|shellcheck |swiftlint:|rubocop:|frozen_string_literal"
    r"|-\*-|MARK:|%%"
)
_MAX_COMMENT = 8_192


def _line_summary(comments: list[str]) -> str:
    """Return the first sentence of line comments, without tagged parts."""
    lines = [_BRIEF.sub("", each) for each in comments]
    tagged = next((number for number, line in enumerate(lines) if line.startswith("@")), len(lines))
    return summary(_without_markup(lines[:tagged]))


# Doxygen's tag for the first sentence.
_BRIEF = re.compile(r"^\s*[@\\]brief\s+")
_MARKUP = re.compile(
    r"</(?:[a-z]+)>"
    r"|(?<![`\w])<(?:see|seealso|paramref|typeparamref)\s+\w+=\"(?:[A-Z]:)?(?P<refers>[^\"<>]*)\"\s*/?>"
    r"|(?<![`\w])</?(?:summary|remarks|inheritdoc|para|p|pre|code|c|b|i|em|strong|tt|ul|li|br)\b[^<>]*>"
    r"|\{@(?:code|link|linkplain|literal|value)\s+(?P<shows>[^{}]*)\}"
)


def _without_markup(lines: Sequence[str]) -> list[str]:
    """Return lines without the tags of JavaDoc and C# documentation; the closing tag ends the summary."""
    kept: list[str] = []
    for line in lines:
        before, ended, _ = line.partition("</summary>")
        plain = _MARKUP.sub(lambda found: found["refers"] or found["shows"] or "", before)
        # A line of only a tag doesn't count as empty, since an empty line ends the paragraph.
        if plain.strip() or not before.strip():
            kept.append(plain)
        if ended:
            break
    return kept


def _block_summary(comment: str) -> str:
    """Return the first sentence of a block comment's text, which may be JSDoc."""
    lines = [_BRIEF.sub("", line.strip().lstrip("*!-").strip()) for line in comment.split("\n")]
    while lines and (not lines[0] or _DIRECTIVE.match(lines[0])):
        lines.pop(0)
    for number, line in enumerate(lines):
        if line.startswith("@"):
            tag, _, description = line.partition(" ")
            lines = [description, *lines[1:]] if number == 0 and tag == "@description" else lines[:number]
            break
    return summary(_without_markup(lines))


_SENTENCE = re.compile(r"(?<!e\.g)(?<!i\.e)(?<!etc)(?<!vs)[.!?](?=\s+[^\sa-z])")


def summary(lines: Sequence[str]) -> str:
    """Return the first sentence of the first paragraph of a text, at most `MAX_DOC` characters."""
    paragraph: list[str] = []
    for line in lines:
        content = line.strip()
        if content:
            paragraph.append(content)
        if (paragraph and (not content or content.endswith((".", "!", "?", ":")))) or len(paragraph) > 8:
            break
    summary = " ".join(" ".join(paragraph)[: 4 * MAX_DOC].split()).strip("/=-#~| ")
    sentence = _SENTENCE.search(summary)
    if sentence is not None:
        summary = summary[: sentence.end()]
    return summary if len(summary) <= MAX_DOC else summary[: MAX_DOC - 1].rstrip() + "…"
