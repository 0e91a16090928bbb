"""Owns compression: the fullest useful form of a text within so many characters, for what a prompt asks.

Deterministic: the same text, words, room and symbols give the same form. Nothing here reads a file or waits.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Protocol

from ..core.lazy_dataclass import dataclass
from ..project.tree import Symbol
from .code import compress_code
from .cutting import cut, is_packed
from .data import compress_data
from .document import Document
from .folded import Folded, count_of
from .logs import compress_log
from .prompt_terms import Term, Words, terms_of
from .prose import compress_prose
from .segments import SEGMENTS
from .text_kinds import Kind, kind_of

MARK = "[COMPRESSED]"
"""What stands with a text that was made shorter, so that nobody takes it for the whole."""

FORM_MIN = 80
"""With less room a text is cut after its first line: no form of it would say more."""


@dataclass(frozen=True, slots=True)
class Compressed:
    """A text made shorter.

    Lines that stand under a number are whole and keep the number that they have in the text.
    `left_out_lines` counts the lines that aren't blank and aren't whole in it. `kind` is the way it was made:
    `cut` where no other was of use.
    """

    text: str
    left_out_lines: int
    kind: Kind
    model: str = ""
    """The model that made it, where one did."""


class Compress(Protocol):
    """Makes a text shorter, as `compress` does."""

    def __call__(
        self,
        text: str,
        path: str,
        words: Words,
        characters: int,
        symbols: Sequence[Symbol] = (),
        wanted: Collection[str] = (),
    ) -> Compressed:
        """Return the fullest useful form of a text within so many characters."""
        ...


def compress(
    text: str,
    path: str,
    words: Words,
    characters: int,
    symbols: Sequence[Symbol] = (),
    wanted: Collection[str] = (),
) -> Compressed:
    """Return the fullest useful form of a text within so many characters; never longer, whatever the input.

    `path` tells the kind of text, with the text itself; `words` are what the prompt asks about, by weight;
    `symbols` its definitions, if it was parsed: for code without them its indentation has to do; `wanted` the
    names of those that are known to matter, such as the ones that a search found. A text that fits comes back
    as it is. With no room at all the text is empty; with less than `FORM_MIN` characters it is the first
    line, cut where it must be.
    """
    kind = kind_of(path, text, bool(symbols))
    if len(text) <= characters:
        return Compressed(text, 0, kind)
    document = SEGMENTS.document(text)
    if characters < FORM_MIN:
        return _compressed(cut(document, (), characters), "cut")
    terms = terms_of(words)
    folded = _folded(document, kind, symbols, terms, characters, path, wanted)
    if folded is None or not folded.text or len(folded.text) > characters:
        return _compressed(cut(document, terms, characters), "cut")
    return _compressed(folded, kind)


def note(compressed: Compressed, node_id: str) -> str:
    """Return the line that goes with a compressed text: its mark, what is missing, and how to get it.

    A text that is whole needs none: the note is empty. `node_id` is shown as it is given.
    """
    if not compressed.left_out_lines:
        return ""
    return f"{MARK} {count_of(compressed.left_out_lines)} left out: expand {node_id}"


def _compressed(folded: Folded, kind: Kind) -> Compressed:
    return Compressed(folded.text, folded.left_out_lines, kind)


def _folded(
    document: Document,
    kind: Kind,
    symbols: Sequence[Symbol],
    terms: Sequence[Term],
    characters: int,
    path: str,
    wanted: Collection[str],
) -> Folded | None:
    """Return the form of a text that its kind has, or None where it has none."""
    if kind == "prose":
        return compress_prose(document, terms, characters)
    if is_packed(document, characters):
        return None
    if kind == "data":
        return compress_data(document, path, terms, characters)
    if kind == "log":
        return compress_log(document, terms, characters)
    return compress_code(document, symbols, terms, characters, wanted=wanted)
