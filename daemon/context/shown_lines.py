"""Owns which lines of a file a form shows, and the form without those that a conversation holds."""

from __future__ import annotations

import re
from array import array
from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from ..compression.compress import MARK
from .slices import Form, Slice

NOTES = ("\u2026", "\u22ee", MARK)
"""What rows begin with that say something of the lines around them."""

NOTE_SHARE = 2
"""Lines are left out where they have so many times the characters of the note that takes their place."""

_NUMBERED = re.compile(r" *(\d+)(?:  (.*))?")
_TELLING = re.compile(r"\w")


def line_hash(line: str) -> int:
    """Return a number by which lines are told apart while the daemon runs, never 0."""
    return hash(line) or 1


class ShownLines:
    """The lines of its file that a slice shows in a form; `source` are all lines of the file.

    A row counts only if it is the line that it says to be: behind its number, or in its place below the first
    line of the slice where rows have no numbers. The rows of a form that is no code show none.
    """

    def __init__(self, one: Slice, form: Form, source: Sequence[str]) -> None:
        self._form = form
        self._source = source
        self._rows = form.text.split("\n")
        self._body = _body(self._rows, in_frame=one.frame is not None)
        self._numbers = self._numbered() or self._in_place(one.lines[0] if one.lines else 1)

    def runs(self) -> Iterator[tuple[int, array[int]]]:
        """Yield the number of the first and the hashes of all lines of each run of shown lines."""
        for rows in self._runs(sorted(self._numbers)):
            numbers = [self._numbers[row] for row in rows]
            yield numbers[0], array("q", (line_hash(self._source[number - 1]) for number in numbers))

    def without(self, held: Sequence[int]) -> Form | None:
        """Return the form without runs of lines that are held, None where it shows nothing else.

        `held` are the hashes of the lines that are held, by their numbers from 0.
        """
        known = [row for row in sorted(self._numbers) if self._holds(held, self._numbers[row])]
        if not known:
            return self._form
        inside = frozenset(known)
        if not any(row not in inside and self._is_telling(row) for row in self._body):
            return None
        notes: dict[int, str] = {}
        gone: set[int] = set()
        for rows in self._runs(known):
            note = f"\u22ee {lines_named(self._numbers[rows[0]], self._numbers[rows[-1]])}: shown before"
            if sum(len(self._rows[row]) + 1 for row in rows) > NOTE_SHARE * len(note):
                notes[rows[0]] = note
                gone.update(rows)
        if not gone:
            return self._form
        kept = (
            notes.get(row, text) for row, text in enumerate(self._rows) if row in notes or row not in gone
        )
        return replace(self._form, text="\n".join(kept), compressed=True)

    def _holds(self, held: Sequence[int], number: int) -> bool:
        return number < len(held) and held[number] == line_hash(self._source[number - 1])

    def _is_telling(self, row: int) -> bool:
        text = self._rows[row].strip()
        numbered = _NUMBERED.fullmatch(text)
        shown = text if numbered is None or row not in self._numbers else numbered[2] or ""
        return not text.startswith(NOTES) and _TELLING.search(shown) is not None

    def _runs(self, rows: Sequence[int]) -> Iterator[list[int]]:
        """Yield rows in runs that follow each other here and in the file."""
        run: list[int] = []
        for row in rows:
            if run and not (row == run[-1] + 1 and self._numbers[row] == self._numbers[run[-1]] + 1):
                yield run
                run = []
            run.append(row)
        if run:
            yield run

    def _numbered(self) -> Mapping[int, int]:
        """Return the rows that are lines behind their numbers."""
        found = {}
        for row in self._body:
            match = _NUMBERED.fullmatch(self._rows[row])
            number = int(match[1]) if match and len(match[1]) < 10 else 0
            if match and 0 < number <= len(self._source) and (match[2] or "") == self._source[number - 1]:
                found[row] = number
        return found

    def _in_place(self, first: int) -> Mapping[int, int]:
        """Return the rows that are the lines from the first one on."""
        found = {}
        for number, row in enumerate(self._body, first):
            if number > len(self._source) or self._rows[row].rstrip("\r") != self._source[number - 1]:
                break
            found[row] = number
        return found


def lines_named(first: int, last: int) -> str:
    """Return a range of lines in words."""
    return f"line {first}" if first == last else f"lines {first}-{last}"


def _body(rows: Sequence[str], *, in_frame: bool) -> range:
    """Return the rows between what stands around them: a line with the place, or a heading and a fence."""
    if in_frame:
        return range(1, len(rows) - 1)
    fences = [row for row, text in enumerate(rows) if text.startswith("```")]
    return range(fences[0] + 1, fences[-1]) if len(fences) > 1 else range(0)
