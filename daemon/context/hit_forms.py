"""Owns the forms of what was found for a prompt: its whole definitions, its file's outline, or its name."""

from __future__ import annotations

from collections.abc import Iterable

from ..retrieval.hits import Hit
from . import render
from .excerpt import Source
from .file_forms import AROUND_CHARACTERS, EXCERPT_CHARACTERS_MIN, defines, name_of
from .numbered_lines import numbered
from .shortened import is_document, left_out_note, shorten
from .slices import Form

NAMES_MAX = 3
"""A hit that is named only names so many of its definitions: there may be many such hits."""

GAP_LINES = 3
"""Parts with at most so many lines between them are shown as one."""


def found_symbols(hit: Hit) -> set[str]:
    """Return the definitions that a hit lies in or holds, as its file names them."""
    return {chunk.symbol for chunk in (hit.chunk, *hit.more) if chunk.symbol}


def reasons_of(hit: Hit) -> str:
    """Return in words why a hit was found."""
    words = {"lexical": "by its words", "vector": "by its meaning", "tree": "by name"}
    ranked = [f"{words[name]} (rank {rank})" for name, rank in sorted(hit.sources.items())]
    return ", ".join([*ranked, *hit.why]) or "by other parts of its file"


class HitForms:
    """A file that was found: its definitions that were found whole, and signatures around them.

    Of prose and data the parts nearest to the prompt; of code in a language that isn't parsed the lines that
    were found. Never more than `most` characters. `wanted` are further definitions that come first.
    """

    def __init__(
        self, hit: Hit, source: Source, words: Iterable[str], most: int, wanted: Iterable[str] = ()
    ) -> None:
        self._hit = hit
        self._source = source
        self._words = tuple(words)
        self._most = most
        self._wanted = {*wanted, *found_symbols(hit)}
        self._name = name_of(hit.path)
        whole = ""
        if len(source.text) <= most and source.text.strip():
            whole = render.code_block(f"{self._name} ({_count(source)})", source.text, source.tag)
        self._whole = whole if whole and len(whole) <= most else None
        self.full_characters = len(self._whole) if self._whole else most

    def __call__(self, characters: int) -> Form:
        """Give the fullest form within so many characters; the least is a line that names the place."""
        room = min(characters, self._most)
        if self._whole is not None and len(self._whole) <= room:
            return Form(self._whole)
        heading = f"{self._name} ({_count(self._source)})"
        room -= len(heading) + len(self._name) + AROUND_CHARACTERS
        if room < EXCERPT_CHARACTERS_MIN:
            place = " ".join(filter(None, (self._place(), defines(self._source.symbols, NAMES_MAX))))
            return Form(render.block(heading, f"{place}\n"), compressed=True)
        text, left_out = self._excerpt(room)
        note = left_out_note(left_out, f"expand {self._name} or a definition of it")
        return Form(render.code_block(heading, text, self._source.tag, note), compressed=True)

    def _excerpt(self, room: int) -> tuple[str, int]:
        if self._source.symbols or is_document(self._source):
            short = shorten(self._source, self._words, self._wanted, room)
            return short.text, short.left_out
        lines = self._source.lines
        width = len(str(len(lines)))
        parts: list[str] = []
        shown = 0
        for first, last in _merged(self._hit, len(lines)):
            part = []
            for one in numbered(lines[first - 1 : last], first, width):
                room -= len(one) + 1
                if room < 0:
                    break
                part.append(one)
            shown += len(part)
            if part:
                parts.append("\n".join(part))
            if room < 0:
                break
        return "\n⋮\n".join(parts), len(lines) - shown

    def _place(self) -> str:
        chunk = self._hit.chunk
        lines = f"lines {chunk.start_line}-{chunk.end_line}"
        return (
            f"Found for the prompt: `{render.inline(chunk.symbol)}`, {lines}."
            if chunk.symbol
            else (f"Found for the prompt: {lines}.")
        )


def _merged(hit: Hit, count: int) -> list[tuple[int, int]]:
    """Return the ranges of lines that were found, in order, neighbours as one."""
    merged: list[tuple[int, int]] = []
    for chunk in sorted((hit.chunk, *hit.more), key=lambda one: one.start_line):
        first, last = chunk.start_line, min(chunk.end_line, count)
        if merged and first <= merged[-1][1] + GAP_LINES + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        elif first <= last:
            merged.append((first, last))
    return merged


def _count(source: Source) -> str:
    return f"{source.line_count:,} line{'s' * (source.line_count != 1)}"
