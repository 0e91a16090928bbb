"""The judgement of a rendered text: which lines of which files it shows, whoever wrote it.

It knows nothing of how a context was made: the same rules read ours, whole files and aider's map.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from foveal.daemon.languages.shared.records import Symbol

_HEADING = re.compile(r"#{2,6} .*?`([^`]+)`(?: \(lines (\d+)-)?")
_PART = re.compile(r"⋮ line (\d+)")
_FENCE = re.compile(r"`{3,}")
_NUMBERED = re.compile(r" *(\d+)(?:  (.*))?")
_MARKS = "│█⋮…"
"""What aider puts before a line, and what stands for lines that are left out."""

HEAD_LINES = 20
"""Lines below a definition's beginning within which its signature, which was joined to one line, may end."""

CUT = 90
"""A row of so many characters may be the beginning of a line: aider's map cuts them after 100."""


@dataclass(frozen=True, slots=True)
class File:
    """A file of the project as the judge needs it: lines without their ends, definitions."""

    lines: Sequence[str]
    symbols: Sequence[Symbol]


def judge(text: str, files: Mapping[str, File], paths: Collection[str]) -> dict[str, set[int]]:
    """Return the numbers of the lines of `files` that a text shows, from 1, by path; a file that isn't
    mentioned by a heading is absent.

    A heading is a Markdown heading with a path as its first code span, also `path#definition`, or a row that
    is a path or a path and a colon, as in aider's map. `paths` are all of the project.
    """
    found: dict[str, set[int]] = {}
    for path, first, rows in _blocks(text, paths):
        if path not in files:
            continue
        shown = found.setdefault(path, set())
        for start, part in _parts(rows, first):
            shown |= shown_lines(part, files[path].lines, start)
    return found


def shown_lines(rows: Sequence[str], lines: Sequence[str], first: int = 1) -> set[int]:
    """Return the numbers of the lines of a file that rows of a text show; lines without words don't count.

    Rows that read as the lines from `first` on, which their heading says, are those. Rows with numbers are
    held against the line of that number. Where there are none the rows are taken in the order of the file:
    each is the next line below the last one that reads the same.
    """
    plain = [_plain(line) for line in lines]
    if rows and [_plain(row) for row in rows] == plain[first - 1 : first - 1 + len(rows)]:
        return {n for n in range(first, first + len(rows)) if says_something(plain[n - 1])}
    numbers = {n for row in rows if (n := _numbered_line(row, plain))}
    if not numbers:
        numbers = set(_in_order(rows, plain))
    return {n for n in numbers if says_something(plain[n - 1])}


def _blocks(text: str, paths: Collection[str]) -> Iterator[tuple[str, int, list[str]]]:
    """Yield the path of each block, the first line that its heading gives (else 1), and its rows of code."""
    path, first = "", 1
    rows: list[str] = []
    fence = ""
    for row in text.split("\n"):
        marker = _FENCE.match(row)
        if fence:
            if marker and row.strip() == fence:
                fence = ""
            else:
                rows.append(row)
            continue
        heading = _heading(row, paths)
        if heading is not None:
            if path:
                yield path, first, rows
            (path, first), rows = heading, []
        elif marker:
            fence = marker[0]
        elif row and row[0] in _MARKS:
            rows.append(row)
    if path:
        yield path, first, rows


def _parts(rows: Sequence[str], first: int) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows that follow each other in the file, each with the line where they begin."""
    start, part = first, []  # type: int, list[str]
    for row in rows:
        if mark := _PART.match(row):
            yield start, part
            start, part = int(mark[1]), []
        else:
            part.append(row)
    yield start, part


def _heading(row: str, paths: Collection[str]) -> tuple[str, int] | None:
    """Return the path that a row is a heading of, "" for another heading, and the first line that it gives
    (else 1); None for any other row."""
    if row.startswith("#"):
        match = _HEADING.match(row)
        named, first = (match[1], int(match[2] or 1)) if match else ("", 1)
        return next((one for one in (named, named.partition("#")[0]) if one in paths), ""), first
    return next(((one, 1) for one in (row, row.removesuffix(":")) if one in paths), None)


def _plain(row: str) -> str:
    return " ".join(row.lstrip(_MARKS).split())


def says_something(plain: str) -> bool:
    """Whether a line has a word: brackets and rules of dashes by themselves say nothing."""
    return re.search(r"\w{2}", plain) is not None


def _numbered_line(row: str, plain: Sequence[str]) -> int:
    """Return the line that a numbered row shows, 0 if its text isn't there.

    A signature may lack what opens the body, may be joined to one line, and has the number of the first
    decorator above it.
    """
    match = _NUMBERED.fullmatch(row)
    if match is None:
        return 0
    said = _plain(match[2] or "").removesuffix("…").rstrip()
    first = int(match[1])
    if not said:
        return 0
    for number in range(first, min(first + HEAD_LINES, len(plain)) + 1):
        there = plain[number - 1]
        if (
            number
            and there
            and (there.startswith(said) or (said.startswith(there) and says_something(there)))
        ):
            return number
    return 0


def _in_order(rows: Sequence[str], plain: Sequence[str]) -> Iterator[int]:
    places: dict[str, list[int]] = {}
    for number, line in enumerate(plain, 1):
        places.setdefault(line, []).append(number)
    last = 0
    for row in rows:
        said = _plain(row)
        if not said:
            continue
        known = places.get(said, [])
        if not known and len(row) >= CUT:
            known = [n for n, line in enumerate(plain, 1) if line.startswith(said)]
        position = bisect_right(known, last)
        if position < len(known):
            last = known[position]
            yield last
