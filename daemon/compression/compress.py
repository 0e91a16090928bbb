"""Compression: shortens a text to a number of characters and keeps what matters for a prompt.

Deterministic: equal arguments give equal results. Nothing here reads files or waits.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from msgspec import Struct

from ..core.sized_cache import SizedCache
from .document import Document, LineRange, TextKind, kind_of
from .scoring import LineSelection, RatedLines
from .words import Term, Words, lower_of, places_of, terms_of

MARK = "[COMPRESSED]"
"""The mark beside a shortened text, so that nobody takes it for the whole."""

FORM_MIN = 80
"""Minimum characters for a selection of lines; with less room the text is cut."""

PIECE = 160
"""Characters shown around a match in a long line, about two lines of a terminal."""

PIECES_MAX = 50
"""Maximum number of such pieces of one text."""

LONG_LINE = 1_000
"""Characters above which a line counts as generated."""

KEPT_CHARACTERS = 1_500_000
"""Maximum characters of texts whose rated lines are cached, about ten bytes each: while a context is
selected, each file in focus is shortened three times for the same prompt."""


class Compressed(Struct, frozen=True):
    """A shortened text.

    Numbered lines are whole and have their number in the original text. `left_out_lines` counts the non-blank
    lines that aren't shown whole.
    """

    text: str
    left_out_lines: int
    model: str = ""
    """The name of the model that shortened it, or ""."""


class Compress(Protocol):
    """The type of functions like `compress`."""

    def __call__(
        self, text: str, path: str, words: Words, characters: int, wanted: Sequence[LineRange] = ()
    ) -> Compressed:
        """Return a text shortened to a number of characters."""
        ...


def compress(
    text: str, path: str, words: Words, characters: int, wanted: Sequence[LineRange] = ()
) -> Compressed:
    """Return a text shortened to at most a number of characters; a text that fits is returned unchanged.

    - `path`: tells the kind of the text, together with the text itself.
    - `words`: the words of the prompt with their weights.
    - `wanted`: lines that are known to matter, such as those of search hits.

    With less than `FORM_MIN` characters the result is the beginning of the text.
    """
    if len(text) <= characters:
        return Compressed(text, 0)
    kind, terms = kind_of(path, text), terms_of(words)
    if characters >= FORM_MIN:
        rated = _rated(text, kind, terms, tuple(wanted))
        if not is_packed(rated.document, characters):
            made = rendered(rated.document, rated.select(characters))
            if made.text:
                return made
    return cut(Document(text, kind), terms, characters)


_RATED = SizedCache[tuple[object, ...], RatedLines](KEPT_CHARACTERS)


def _rated(text: str, kind: TextKind, terms: tuple[Term, ...], wanted: tuple[LineRange, ...]) -> RatedLines:
    key = (text, kind, terms, wanted)
    rated = _RATED.get(key)
    if rated is None:
        rated = RatedLines(Document(text, kind), terms, wanted)
        _RATED.put(key, rated, len(text))
    return rated


def rendered(document: Document, selection: LineSelection) -> Compressed:
    """Return the selected lines with marks for omitted ones; "" if none is selected.

    Lines have their numbers, but for prose, whose long lines are divided at the ends of sentences."""
    rows: list[str] = []
    hidden, done = 0, -1
    for part, line in enumerate(document.filled):
        if not selection.shown[part]:
            hidden += 1
            continue
        if hidden:
            rows.append(document.gap(hidden))
        elif document.kind == "prose" and rows and line > done + 1:
            rows.append("")
        rows.append(document.shown(line))
        hidden, done = 0, line
    if hidden:
        rows.append(document.gap(hidden))
    left_out = {
        document.numbers[line]
        for part, line in enumerate(document.filled)
        if not selection.shown[part] or document.is_clipped(line)
    }
    return Compressed("\n".join(rows) if done >= 0 else "", len(left_out))


def cut(document: Document, terms: Sequence[Term], characters: int) -> Compressed:
    """Return the first lines that fit, or pieces of the text if not even one fits.

    Pieces are the beginning of the text and the surroundings of matches, joined by `…`.
    """
    first = LineSelection(document, characters)
    for part in range(len(document.filled)):
        if not first.add((part,)):
            break
    made = rendered(document, first)
    if made.text or characters <= 0 or not document.filled:
        return made
    return Compressed(_pieces(document.text, terms, characters), made.left_out_lines)


def is_packed(document: Document, characters: int) -> bool:
    """Whether most of a text is in lines that are too long to be shown whole."""
    most = max(LONG_LINE, characters // 3)
    return 2 * sum(length for length in map(len, document.lines) if length > most) > len(document.text)


def _pieces(text: str, terms: Sequence[Term], characters: int) -> str:
    """Return pieces of the text around matches of the terms, within a number of characters."""
    start = len(text) - len(text.lstrip())
    if characters < PIECE:
        return text[start : start + characters - 1].replace("\n", " ") + "…"
    count = min(PIECES_MAX, max(1, characters // PIECE) - 1)
    # The rarest terms first: common ones say nothing about a packed file.
    lower = lower_of(text)
    places = sorted((places_of(term, text, lower) for term in terms), key=lambda found: (len(found), found))
    chosen: list[int] = []
    for found in places:
        for place in found[:count]:
            if len(chosen) < count and all(abs(place - other) >= PIECE for other in (start, *chosen)):
                chosen.append(place)
    before = PIECE // 4
    pieces = [text[start : start + (characters - len(chosen) * PIECE - 3)]]
    end = start + len(pieces[0])
    for place in sorted(chosen):
        first = max(place - before, end)
        last = min(max(place - before, 0) + PIECE - 3, len(text))
        if first < last:
            pieces.append(text[first:last])
            end = last
    joined = " … ".join(piece.replace("\n", " ") for piece in pieces)
    return joined[: characters - 1] + "…" if len(joined) >= characters or end < len(text) else joined
