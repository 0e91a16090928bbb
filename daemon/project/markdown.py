"""Owns the sections of Markdown documents: headings in, symbols out; sees no tree."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from .source_text import MAX_NAME, MAX_SIGNATURE, SourceText, Span, is_inside, merged_spans
from .symbols import UniqueNames
from .tree import Symbol


def sections(text: SourceText, headings: Iterable[Span], quoted: Iterable[Span], lines: int) -> list[Symbol]:
    """Return a document's sections; headings inside quotations and lists belong to those."""
    inner = merged_spans(quoted)
    outline = [
        (start, *_heading(text.slice(start, end)))
        for start, end in sorted(headings)
        if not is_inside(inner, start)
    ]
    names = UniqueNames()
    open_sections: list[tuple[int, str]] = []
    ends = _section_ends([(text.line(start), level) for start, level, _ in outline], lines)
    found = []
    for (start, level, title), end in zip(outline, ends, strict=True):
        while open_sections and open_sections[-1][0] >= level:
            open_sections.pop()
        name = f"{open_sections[-1][1]}/{title}" if open_sections else title
        if not title or len(name) > MAX_NAME:
            continue
        name = names.unique(name)
        open_sections.append((level, name))
        first = text.line_start(start)
        line = text.slice(first, first + 4 * MAX_SIGNATURE).partition("\n")[0].strip()[:MAX_SIGNATURE]
        found.append(Symbol(name, "section", text.line(start), end, line, "", level - 1))
    return found


def _section_ends(headings: Sequence[tuple[int, int]], lines: int) -> list[int]:
    """Return each section's last line: the one before the next heading of the same or a higher level."""
    ends = [lines] * len(headings)
    waiting: list[int] = []
    for index, (line, level) in enumerate(headings):
        while waiting and headings[waiting[-1]][1] >= level:
            ends[waiting.pop()] = line - 1
        waiting.append(index)
    return ends


def _heading(written: str) -> tuple[int, str]:
    """Return a heading's level and its title as plain text."""
    rows = [row.strip() for row in written.strip().split("\n")]
    if rows[0].startswith("#"):
        level = len(rows[0]) - len(rows[0].lstrip("#"))
        title = re.sub(r"(?:^|\s)#+$", "", rows[0][level:].strip())
    else:
        level = 1 if rows[-1].startswith("=") else 2
        title = " ".join(rows[:-1])
    title = re.sub(r"!?\[([^\]\[]*)\]\([^)(]*\)", r"\1", title)
    title = re.sub(r"\s*\{#[^}]*\}$", "", title)
    title = re.sub(r"[`*]+|(?<!\w)_+|_+(?!\w)|<[^<>]*>", "", title)
    return level, " ".join(title.split())
