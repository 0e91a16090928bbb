"""Owns texts that are shown shortened: code by its definitions, others by what is near the prompt."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from msgspec import Struct
from msgspec.structs import replace

from ..compression.compress import MARK, Compressed, compress, kind_of
from ..project.tree import Symbol
from .excerpt import FileSource, excerpt

WANTED_WEIGHT = 2.0
"""What the name of a definition that is asked for weighs, beside a word of the prompt."""

LARGE_CHARACTERS = 20_000
"""Of a document that is longer only segments are shown, whatever the budget: nobody reads all of it."""


class Shortened(Struct, frozen=True):
    """A text within its room, and how many lines that aren't blank it leaves out."""

    text: str
    left_out: int


def shorten(source: FileSource, words: Iterable[str], wanted: Collection[str], characters: int) -> Shortened:
    """Show as much of a file as fits into so many characters.

    Code by its definitions, whole ones and signatures (see `excerpt`), of which `wanted` come first; all
    other text by the parts that are nearest to the `words` of the prompt.
    """
    if source.symbols and not is_document(source):
        return Shortened(*excerpt(source, tuple(words), wanted, characters))
    weights = dict.fromkeys(sorted(words), 1.0)
    weights |= dict.fromkeys(sorted(name.rpartition(".")[2] for name in wanted), WANTED_WEIGHT)
    found = source.compress(source.text, source.path, weights, characters, source.symbols)
    return Shortened(found.text, found.left_out_lines)


def shorten_definition(
    source: FileSource, symbol: Symbol, words: Iterable[str], characters: int, last: int = 0
) -> Shortened:
    """Show the lines of one definition that matter most, with the numbers that they have in their file.

    Of one that ends behind the line `last` only what stands up to there: the head of a class.
    """
    head = (replace(symbol, end_line=last),) if last and last < symbol.end_line else ()
    symbol = head[0] if head else symbol
    before = symbol.start_line - 1
    lines = source.lines[before : symbol.end_line]
    # Blank lines in its place, so that the lines keep their numbers.
    text = "\n" * before + "\n".join(lines)
    inside = (*head, *(one for one in source.symbols if _holds(symbol, one)))
    room = min(characters, len(text) - 1)  # a text that fits would come back without its numbers
    found = compress(text, source.path, sorted(words), room, inside)
    shown = found.text.split("\n")
    if before and shown and shown[0].lstrip().startswith("…"):
        shown = shown[1:]
    return Shortened("\n".join(shown), found.left_out_lines)


def shorten_text(text: str, path: str, words: Iterable[str], characters: int) -> Compressed:
    """Show the parts of a text that are nearest to the words of the prompt; prose unless `path` says else."""
    return compress(text, path or "text.md", sorted(words), characters)


def is_document(source: FileSource) -> bool:
    """Whether a file is read for what it says: prose, data or a log, and no code."""
    return kind_of(source.path, source.text, bool(source.symbols)) != "code"


def _holds(outer: Symbol, inner: Symbol) -> bool:
    return outer.start_line <= inner.start_line <= inner.end_line <= outer.end_line


def left_out_note(count: int, what: str) -> str:
    """Return the note on what a text leaves out; `what` says how to get it."""
    return f"{MARK} {count:,} line{'s' * (count != 1)} left out: {what}"
