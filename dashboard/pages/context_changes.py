"""Owns what changed between two contexts: by slice, and by line; knows no page."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from .slice_rows import SliceRow, slice_rows

Change = Literal["new", "gone", "grown", "shrunk", "rewritten"]

ORDER: Final[Mapping[Change, str]] = {
    "new": "came in",
    "gone": "is gone",
    "grown": "shows more",
    "shrunk": "shows less",
    "rewritten": "says something else",
}
"""The changes in the order in which they are told, in words."""

LINES_MAX: Final = 20_000
"""Two texts of so many lines each take a second or two to compare; longer ones are not compared by line."""

SHOWN_MAX: Final = 1_500
SHOWN_CHARACTERS: Final = 80_000
"""So many lines of what changed are shown, of so many characters together."""

WIDTH_MAX: Final = 400
"""A longer line is cut: minified code would be all of the page."""

AROUND: Final = 3
"""Lines around a change that are shown too."""


@dataclass(frozen=True, slots=True)
class SliceChange:
    """How a slice changed. `row` is the later one, of what is gone the earlier one; tokens are 0 where it
    wasn't in."""

    change: Change
    row: SliceRow
    tokens_before: int
    tokens: int

    @property
    def words(self) -> str:
        """The change in words."""
        return ORDER[self.change]


@dataclass(frozen=True, slots=True)
class Line:
    """A line of what changed: `kind` is `added`, `gone`, `same` or `where`."""

    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class LineChanges:
    """What changed by line. `left_out` counts lines that found no room; `problem` says why nothing could be
    compared, else it is empty."""

    lines: tuple[Line, ...] = ()
    added: int = 0
    gone: int = 0
    left_out: int = 0
    problem: str = ""


def slice_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[list[SliceChange], int]:
    """Return how slices changed from one context to another, and how many did not."""
    old = {row.id: row for row in slice_rows(before["slices"])}
    new = {row.id: row for row in slice_rows(after["slices"])}
    changes = [SliceChange("new", row, 0, row.tokens) for row in new.values() if row.id not in old]
    changes += [SliceChange("gone", row, row.tokens, 0) for row in old.values() if row.id not in new]
    for row in new.values():
        former = old.get(row.id)
        if former is None:
            continue
        change = _change(former, row, before, after)
        if change:
            changes.append(SliceChange(change, row, former.tokens, row.tokens))
    changes.sort(key=lambda one: (list(ORDER).index(one.change), -abs(one.tokens - one.tokens_before)))
    kept = sum(row.id in old for row in new.values())
    return changes, kept - sum(one.change not in ("new", "gone") for one in changes)


def line_changes(before: str, after: str) -> LineChanges:
    """Return what changed between two texts. Takes up to seconds: never on the event loop."""
    old, new = before.splitlines(), after.splitlines()
    if max(len(old), len(new)) > LINES_MAX:
        return LineChanges(problem=f"the texts have more than {LINES_MAX:,} lines; compare them as files")
    lines = list(_lines(old, new))
    added = sum(line.kind == "added" for line in lines)
    gone = sum(line.kind == "gone" for line in lines)
    shown = _shown(lines)
    return LineChanges(tuple(lines[:shown]), added, gone, len(lines) - shown)


def _change(
    former: SliceRow, row: SliceRow, before: Mapping[str, Any], after: Mapping[str, Any]
) -> Change | None:
    if row.tokens != former.tokens:
        return "grown" if row.tokens > former.tokens else "shrunk"
    texts = [
        context["context"][one.span[0] : one.span[1]].rstrip("\n")
        for one, context in ((former, before), (row, after))
        if one.span and context.get("context")
    ]
    return "rewritten" if len(texts) == 2 and texts[0] != texts[1] else None


def _lines(old: Sequence[str], new: Sequence[str]) -> Iterator[Line]:
    matcher = difflib.SequenceMatcher(None, old, new)
    for group in matcher.get_grouped_opcodes(AROUND):
        yield Line("where", f"line {group[0][3] + 1:,}")
        for tag, start, end, new_start, new_end in group:
            if tag == "equal":
                yield from (Line("same", _cut(text)) for text in old[start:end])
                continue
            yield from (Line("gone", _cut(text)) for text in old[start:end])
            yield from (Line("added", _cut(text)) for text in new[new_start:new_end])


def _shown(lines: Sequence[Line]) -> int:
    """Return how many of the lines are shown."""
    room = SHOWN_CHARACTERS
    for count, line in enumerate(lines[:SHOWN_MAX]):
        room -= len(line.text)
        if room < 0:
            return count
    return min(len(lines), SHOWN_MAX)


def _cut(text: str) -> str:
    return text if len(text) <= WIDTH_MAX else f"{text[: WIDTH_MAX - 1]}…"
