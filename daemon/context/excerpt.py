"""A file's text shortened to a number of characters, in a code fence, or as an outline of its definitions."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from ..compression.records import MARK, Compress, Compressed
from ..compression.service import compress, kind_of
from ..languages.shared.records import Symbol
from ..project.service import count_lines, split_lines

WANTED_WEIGHT = 2.0
"""Weight of the name of a requested definition; a word of the prompt has the weight 1."""

HASH_COMMENTS = frozenset(
    {"python", "ruby", "bash", "yaml", "toml", "makefile", "dockerfile", "perl", "r", "elixir", "cmake"}
)
"""Languages whose comments begin with `#`; in all others they begin with `//`."""


def shorten(source: FileSource, words: Iterable[str], wanted: Collection[str], characters: int) -> Compressed:
    """Show the parts of a file that matter most for the prompt, within a number of characters.

    `words` are the words of the prompt, and `wanted` names definitions that the request asks for. Only
    documents may be shortened by a model; parsed code never is.
    """
    weights = dict.fromkeys(sorted(words), 1.0)
    weights |= dict.fromkeys(sorted(name.rpartition(".")[2] for name in wanted), WANTED_WEIGHT)
    shorter = compress if source.symbols and not is_document(source) else source.compress
    lines = [(one.start_line, one.end_line) for one in source.symbols if one.name in wanted]
    return shorter(source.text, source.path, weights, characters, lines)


def shorten_definition(
    source: FileSource, symbol: Symbol, words: Iterable[str], characters: int, last: int = 0
) -> Compressed:
    """Show the most relevant lines of one definition, with their line numbers in the file.

    With `last` only the lines up to that one are shown, such as the head of a class.
    """
    before = symbol.start_line - 1
    lines = source.lines[before : min(last or symbol.end_line, symbol.end_line)]
    # Blank lines replace what is above the definition, so that its lines keep their numbers.
    text = "\n" * before + "\n".join(lines)
    room = min(characters, len(text) - 1)  # a text that fits would be returned without line numbers
    found = compress(text, source.path, sorted(words), room)
    shown = found.text.split("\n")
    if before and shown and shown[0].lstrip().startswith("…"):
        shown = shown[1:]
    return replace(found, text="\n".join(shown))


def shorten_text(text: str, path: str, words: Iterable[str], characters: int) -> Compressed:
    """Show the parts of a text nearest to the words of the prompt. Without `path` the text is prose."""
    return compress(text, path or "text.md", sorted(words), characters)


def is_document(source: FileSource) -> bool:
    """Whether a file is prose, data or a log, and not code."""
    return kind_of(source.path, source.text) != "code"


def left_out_note(count: int, what: str) -> str:
    """Return the note that counts omitted lines; `what` says how to get them."""
    return f"{MARK} {count:,} line{'s' * (count != 1)} left out: {what}"


class FileSource(Struct, frozen=True, dict=True):
    """A file's content with its definitions (empty if unknown)."""

    path: str
    text: str
    tag: str
    """The language tag of its code fence."""
    symbols: tuple[Symbol, ...] = ()
    compress: Compress = compress
    """The function that shortens it if it is a document."""

    @cached_property
    def lines(self) -> list[str]:
        """The lines without line ends."""
        return split_lines(self.text)

    @cached_property
    def line_count(self) -> int:
        """The number of lines."""
        return count_lines(self.text)

    def part(self, first: int, last: int) -> list[str]:
        """Return the lines from `first` to `last`, counted from 1 and inclusive."""
        return self.lines[first - 1 : last]

    @cached_property
    def fence(self) -> str:
        """A code fence longer than any run of backticks in the text."""
        return fence_of(self.text)


def fenced(text: str, tag: str) -> str:
    """Put a text into a code fence longer than any run of backticks in it."""
    fence = fence_of(text)
    return f"{fence}{tag}\n{text}{'' if text.endswith(chr(10)) or not text else chr(10)}{fence}\n"


def fence_of(text: str) -> str:
    """Return a code fence longer than any run of backticks in a text."""
    runs = (
        re.findall(r"`{3,}", text) if "```" in text else ()
    )  # the check is ten times faster than the search
    return "`" * (max(map(len, runs), default=2) + 1)


def outline(symbols: Sequence[Symbol], tag: str, *, docs: bool, depth: int = 99) -> str:
    """List definitions down to a depth: a line each, with its line number and signature.

    With `docs` the first line of the documentation follows as a comment in the language `tag`.
    """
    chosen = [symbol for symbol in symbols if symbol.depth <= depth]
    width = len(str(max((symbol.start_line for symbol in chosen), default=1)))
    lines: list[str] = []
    for symbol in chosen:
        indent = "" if symbol.kind == "section" else "    " * symbol.depth
        lines.append(f"{symbol.start_line:>{width}}  {indent}{on_one_line(symbol.signature)}")
        if docs and symbol.doc:
            mark = "#" if tag in HASH_COMMENTS else "//"
            lines.append(f"{' ' * width}  {indent}    {mark} {symbol.doc}")
    return "\n".join(lines)


def on_one_line(signature: str) -> str:
    """Return a signature with its lines joined, unless a comment in it would swallow the rest."""
    if "\n" not in signature or "#" in signature or "//" in signature:
        return signature
    joined = " ".join(line.strip() for line in signature.split("\n"))
    return re.sub(r",? (?=[)\]}])", "", re.sub(r"(?<=[(\[]) ", "", joined))
