"""Owns what is searched of an item: its text, and the chunks of that; knows no query and no score."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from .items import Item

CHUNK_CHARACTERS = 500
"""A chunk is no longer: about 110 tokens of English, where the bundled model reads 128."""

MAX_CHUNKS = 64
"""Of one text: 32,000 characters, about what the longest instruction files have. What comes later isn't
searched."""


def item_text(item: Item) -> str:
    """Return what is searched of an item: `name: description`, an empty line, and its text.

    Of a tool it is name and description alone: its text is a schema, which says little in words.
    """
    head = f"{item.name}: {item.description}" if item.description else item.name
    return head if item.type == "tool" or not item.text.strip() else f"{head}\n\n{item.text}"


def chunks(text: str) -> tuple[str, ...]:
    """Cut a text into chunks of at most `CHUNK_CHARACTERS` characters; none for one without a visible sign.

    Paragraphs stay whole and share a chunk as far as there is room; one that is too long is cut after
    sentences and lines, and a sentence that is too long at a space, or where it must be. At most `MAX_CHUNKS`
    are returned. Takes time linear in what they hold.
    """
    # Cut before all else, as a hostile text may have any size; each chunk leaves out some spaces.
    paragraphs = _PARAGRAPHS.split(text[: 2 * MAX_CHUNKS * CHUNK_CHARACTERS].strip())
    return tuple(_packed(_pieces(paragraphs)))[:MAX_CHUNKS]


_PARAGRAPHS = re.compile(r"\n[^\S\n]*\n\s*")
_SENTENCES = re.compile(r"(?<=[.!?])[^\S\n]+|(?<=[。！？])|\n")  # noqa: RUF001 - the full stops of East Asia


def _pieces(paragraphs: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield what stays together, each with what joins it to the piece before it."""
    for paragraph in paragraphs:
        joint = "\n\n"
        if len(paragraph) <= CHUNK_CHARACTERS:
            yield joint, paragraph
            continue
        for sentence in _sentences(paragraph):
            for part in _cut(sentence):
                yield joint, part
                joint = ""


def _sentences(paragraph: str) -> Iterator[str]:
    """Yield sentences and lines with the white space behind them."""
    start = 0
    for match in _SENTENCES.finditer(paragraph):
        yield paragraph[start : match.end()]
        start = match.end()
    yield paragraph[start:]


def _cut(sentence: str) -> Iterator[str]:
    start = 0
    while len(sentence) - start > CHUNK_CHARACTERS:
        # In the first half there is a space only where what follows is no prose.
        space = sentence.rfind(" ", start + CHUNK_CHARACTERS // 2, start + CHUNK_CHARACTERS)
        end = start + CHUNK_CHARACTERS if space < 0 else space + 1
        yield sentence[start:end]
        start = end
    yield sentence[start:]


def _packed(pieces: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Fill chunks with pieces in their order."""
    chunk = ""
    for joint, piece in pieces:
        joined = f"{chunk}{joint}{piece}" if chunk else piece
        if len(joined.rstrip()) <= CHUNK_CHARACTERS:
            chunk = joined
            continue
        if chunk.strip():
            yield chunk.strip()
        chunk = piece
    if chunk.strip():
        yield chunk.strip()
