"""Divides a file's text into chunks, the units that are searched, ranked and embedded. Reads no file."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from msgspec import Struct

from ..languages.shared.language import LANGUAGES
from ..languages.shared.records import ParsedFile, SplitPoint, Symbol
from ..languages.shared.source_text import clean_source
from ..languages.shared.symbols import block_sections
from ..project.records import TextKind
from ..project.service import kind_of_text
from .divider import MAX_CHARACTERS, Divider, Range

CHUNKER_VERSION = 2
"""Increment this when the same file would give other chunks, so that stored files are divided again."""

MAX_NAMES = 16
"""Maximum number of definition names stored with a chunk."""

LINE_PIECES = {"prose": 64, "code": 2, "data": 1, "generated": 1}
"""Maximum number of chunks for a line longer than `MAX_CHARACTERS`, by kind of text; the rest of the line is
left out. In a document such a line is a paragraph, in code an embedded table or image."""


class Chunk(Struct, frozen=True):
    """A range of lines of a file that is found, ranked and embedded as one unit.

    Line numbers start at 1, both ends are inclusive, and blank lines at either end are left out. `symbol` is
    the qualified name of the definition or section that the chunk is or belongs to, or "". `kind` is the kind
    of that symbol, or `code`, `text` or `data`. `names` are the definitions that enclose the chunk, outermost
    first, then those inside it, at most `MAX_NAMES`. `text` is the chunk's lines as in the file, decoded as
    UTF-8 and without the last line end; at most `MAX_CHARACTERS` characters, so a longer line gives only a
    piece. `digest` is the BLAKE2b-128 of names and text. It leaves out the path, so that moved and copied
    text is recognised. `embed` says whether an embedding of the chunk is worth its cost.
    """

    start_line: int
    end_line: int
    symbol: str
    kind: str
    names: tuple[str, ...]
    text: str
    digest: bytes
    embed: bool


def chunk_source(path: str, source: bytes, parsed: ParsedFile, language: str) -> tuple[Chunk, ...]:
    """Divide a file into chunks in the order of their lines.

    `path` only serves to tell the kind of file; `parsed` is the result of `parse_source` for the same bytes.
    Every line that isn't blank belongs to one chunk, except lines longer than a chunk (see `LINE_PIECES`) and
    the ends of files of which only the beginning is kept (see `kind_of_text`). Equal files give equal chunks.
    Takes time linear in the size, and raises nothing for any bytes.
    """
    text = clean_source(source).decode()
    kind = kind_of_text(path, language, text)
    if kind.keep:
        text = _beginning(text, (kind.keep + 1) * MAX_CHARACTERS)
    lines = text.split("\n")
    symbols: Sequence[Symbol] = parsed.symbols
    if kind.kind == "prose" and not language:
        symbols = tuple(block_sections(text, LANGUAGES["text"], len(lines) - (not lines[-1])))
    ranges = Divider(lines, kind.kind, symbols, _points(parsed, symbols, kind)).divide()
    labels = _Labels(symbols, _PLAIN_KINDS[kind.kind])
    return tuple(_chunks(lines, ranges, labels, kind))


_PLAIN_KINDS = {"code": "code", "prose": "text", "data": "data", "generated": "data"}


def _beginning(text: str, characters: int) -> str:
    """Return the whole lines that fit into `characters`, or the beginning of a longer first line."""
    if len(text) <= characters:
        return text
    return text[: text.rfind("\n", 0, characters) + 1 or characters]


def _points(parsed: ParsedFile, symbols: Sequence[Symbol], kind: TextKind) -> Sequence[SplitPoint]:
    """Return the points at which the structure of a file allows a cut."""
    if kind.kind == "code":
        return parsed.split_points
    if kind.kind == "prose":
        return [SplitPoint(symbol.start_line, symbol.depth) for symbol in symbols]
    return ()


class _Labels:
    """Tells symbol, kind and names of ranges of lines, which must be asked for in order."""

    def __init__(self, symbols: Sequence[Symbol], plain: str) -> None:
        self._symbols = symbols
        self._plain = plain
        self._next = 0
        self._around: list[Symbol] = []

    def of(self, first: int, last: int) -> tuple[str, str, tuple[str, ...]]:
        """Return symbol, kind and names of a range."""
        self._advance(first)
        around = [symbol for symbol in self._around if symbol.end_line >= first]
        held: list[Symbol] = []
        for index in range(self._next, len(self._symbols)):
            symbol = self._symbols[index]
            if symbol.start_line > last or len(held) == MAX_NAMES:
                break
            held.append(symbol)
        subject = _subject(around, held)
        names = dict.fromkeys(symbol.name for symbol in (*around[:MAX_NAMES], *held))
        kind = subject.kind if subject is not None else self._plain
        return subject.name if subject is not None else "", kind, tuple(names)[:MAX_NAMES]

    def _advance(self, line: int) -> None:
        """Add the definitions that begin before a line, and drop those that have ended."""
        while self._next < len(self._symbols) and self._symbols[self._next].start_line < line:
            symbol = self._symbols[self._next]
            self._around = [each for each in self._around if each.end_line >= symbol.start_line]
            self._around.append(symbol)
            self._next += 1


def _subject(around: Sequence[Symbol], held: Sequence[Symbol]) -> Symbol | None:
    """Return the definition of a range: the definition inside it, else the definition around it."""
    if held and all(symbol.end_line <= held[0].end_line for symbol in held[1:]):
        return held[0]
    return around[-1] if around else None


def _chunks(
    lines: Sequence[str], ranges: Iterable[Range], labels: _Labels, kind: TextKind
) -> Iterator[Chunk]:
    """Yield the chunks of ranges without blank lines at their ends, as many as the kind of text allows."""
    texts = _texts(lines, ranges, LINE_PIECES[kind.kind])
    for count, (first, last, text) in enumerate(islice(texts, kind.keep or None)):
        symbol, symbol_kind, names = labels.of(first, last)
        embed = (kind.embed < 0 or count < kind.embed) and is_worth_embedding(text, names)
        yield Chunk(first, last, symbol, symbol_kind, names, text, _digest(names, text), embed)


def _texts(lines: Sequence[str], ranges: Iterable[Range], pieces: int) -> Iterator[tuple[int, int, str]]:
    """Yield (first, last, text) of ranges without blank lines at their ends; a line that is too long gives at
    most `pieces` texts."""
    for start, end in ranges:
        first, last = start, end
        while first <= last and not lines[first - 1].strip():
            first += 1
        while last > first and not lines[last - 1].strip():
            last -= 1
        if first > last:
            continue
        text = "\n".join(lines[first - 1 : last])
        if len(text) <= MAX_CHARACTERS:
            yield first, last, text
        else:
            for piece in _pieces(text, pieces):
                yield first, last, piece


def _pieces(line: str, count: int) -> Iterator[str]:
    """Yield the beginning of a long line in at most `count` pieces, cut after spaces or commas if
    possible."""
    start = 0
    while start < len(line) and count:
        end = start + MAX_CHARACTERS
        if end < len(line):
            floor = start + MAX_CHARACTERS * 3 // 4
            end = max(line.rfind(" ", floor, end), line.rfind(",", floor, end)) + 1 or end
        piece = line[start:end].strip()
        if piece:
            yield piece
        start = end
        count -= 1


def _digest(names: Sequence[str], text: str) -> bytes:
    return hashlib.blake2b("\n".join((*names, "", text)).encode(), digest_size=16).digest()


HEADER_NAMES = 160
"""Maximum characters of the names in a header. The default model reads 128 tokens, about 500 characters, and
a header longer than a third of them would leave too little for the text."""

HEADER_PATH = 120
"""Maximum characters of the path in a header. A longer path is cut at a slash, and its end is kept."""

WORTH_CHARACTERS = 40
"""Minimum letters and digits of a text without a definition that is embedded. The vector of a shorter text,
such as a single import or a closing bracket with a word, would be near to anything."""


def header(path: str, names: Sequence[str]) -> str:
    """Return the first line of the embedded text: `path :: Session.login, logout`.

    A name that encloses the next is left out, and a beginning that two neighbours share appears once.
    """
    if len(path) > HEADER_PATH:
        tail = path[-HEADER_PATH:]
        path = tail.partition("/")[2] or tail
    shown = ", ".join(_short_names(names))
    if len(shown) > HEADER_NAMES:
        # The innermost title of a section is the most specific, so the end is kept.
        shown = shown[-HEADER_NAMES:] if "/" in names[0] else shown[:HEADER_NAMES]
    return f"{path} :: {shown}" if shown else path


def embedded_text(path: str, names: Sequence[str], text: str) -> str:
    """Return the text to embed for a chunk: its header, then its text as the model should see it.

    License comments at the beginning are left out. So are rows of dashes and similar marks, because the
    model's tokenizer makes one token of each character. Documentation stays, because its wording resembles
    that of questions.
    """
    return f"{header(path, names)}\n{_ORNAMENT.sub('', _without_license(text))}"


def is_worth_embedding(text: str, names: Sequence[str]) -> bool:
    """Whether an embedding can distinguish a text from others: it has a definition, or enough words
    besides a license."""
    if len(text) >= _CERTAIN and text[0] not in _COMMENT_STARTS:
        return True
    readable = _ORNAMENT.sub("", _without_license(text)[:_CERTAIN])
    return len(_SILENT.sub("", readable)) >= WORTH_CHARACTERS or bool(names and readable)


def _without_license(text: str) -> str:
    """Return a text without the comment at its beginning if that comment is a license."""
    if text[:1] in _COMMENT_STARTS:
        comment = _LEADING_COMMENT.match(text)
        if comment is not None and _LICENSE.search(comment[0]):
            return text[comment.end() :].lstrip("\n")
    return text


def _short_names(names: Sequence[str]) -> list[str]:
    """Return names for a header: without names that enclose the next, and without beginnings shared with the
    name before."""
    short: list[str] = []
    shared = ""
    for index, name in enumerate(names):
        following = names[index + 1] if index + 1 < len(names) else ""
        if following.startswith((f"{name}.", f"{name}/")):
            continue
        outer, dot, own = name.rpartition(".")
        short.append(own if dot and outer == shared and "/" not in name else name)
        shared = outer
    return short


_CERTAIN = 6 * WORTH_CHARACTERS
"""Number of characters from which a text is assumed to have `WORTH_CHARACTERS` letters and digits."""

# Phrases that occur in licenses and not in code about licenses.
_LICENSE = re.compile(
    r"copyright\W{0,8}(?:c\b|\d{4})|©|\blicen[cs]ed under\b|SPDX-License|\ball rights reserved\b"
    r"|\bpermission is hereby granted\b|\bsee (?:the )?LICEN[CS]E\b|\b(?:public|apache|mit|bsd) licen[cs]e\b"
    r"|@license\b",
    re.IGNORECASE,
)
_COMMENT_STARTS = frozenset("#/<-;%")
_LEADING_COMMENT = re.compile(
    r"(?:<\?php\s*)?(?:/\*(?:[^*]|\*(?!/))*\*/|<!--(?:[^-]|-(?!->))*-->|(?:[ \t]*(?://|#(?!include|define|if"
    r"|pragma)|--|;|%)[^\n]*(?:\n|\Z))+)"
)
_ORNAMENT = re.compile(r"([-=*#~_/+.^<>!])\1{3,}")
_SILENT = re.compile(r"[\W_]+")
