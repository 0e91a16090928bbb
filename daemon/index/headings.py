"""Owns headings of documents that no grammar reads: reStructuredText, AsciiDoc, MDX, plain text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..project.source_text import MAX_NAME
from ..project.tree import Symbol

MAX_TITLE = 120
"""Characters of a line that can be a heading."""

Heading = tuple[int, int, str]
"""The index of the line that a section begins at, its rank from 1, and its title."""


def find_sections(lines: Sequence[str], language: str) -> list[Symbol]:
    """Return a document's sections in order, named by their titles: `Guide/Install`.

    A heading is a line with a row of one punctuation mark below it that is no shorter, perhaps one above;
    marks rank by their first use, as in reStructuredText. `== Title` is one in AsciiDoc, `## Title` in MDX,
    where code in fences is passed over. Names are not unique, unlike those of `parse_source`.
    """
    found = _marked(lines) if language == "mdx" else _underlined(lines)
    return _sections(found, len(lines))


def _marked(lines: Sequence[str]) -> list[Heading]:
    """Return the headings that begin with number signs."""
    found: list[Heading] = []
    fenced = False
    for index, line in enumerate(lines):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            match = _NUMBER_SIGNS.fullmatch(line[:MAX_TITLE])
            if match is not None:
                found.append((index, len(match[1]), _plain(match[2])))
    return found


def _underlined(lines: Sequence[str]) -> list[Heading]:
    """Return the headings of reStructuredText, and those of AsciiDoc."""
    ranks: dict[tuple[str, bool], int] = {}
    found: list[Heading] = []
    for index, line in enumerate(lines):
        if line.startswith("="):
            match = _EQUALS_SIGNS.fullmatch(line[:MAX_TITLE])
            if match is not None:
                found.append((index, len(match[1]), match[2].strip()))
                continue
        if not index or not line or line[0].isalnum() or not _UNDERLINE.fullmatch(line):
            continue
        title = lines[index - 1].strip()
        if not title or len(title) > min(MAX_TITLE, len(line.rstrip())) or _UNDERLINE.fullmatch(title):
            continue
        above = lines[index - 2] if index > 1 else ""
        over = above[:1] == line[0] and _UNDERLINE.fullmatch(above) is not None
        if not over and (lines[index - 1][0].isspace() or above.strip()):
            continue  # part of a table, or the last line of a paragraph
        rank = ranks.setdefault((line[0], over), len(ranks) + 1)
        found.append((_with_labels(lines, index - 1 - over), rank, _plain(title)))
    return found


def _with_labels(lines: Sequence[str], index: int) -> int:
    """Return where a section begins with the labels above its heading: `.. _install:`."""
    start = index
    while index and (not lines[index - 1].strip() or lines[index - 1].startswith(".. _")):
        index -= 1
        if lines[index]:
            start = index
    return start


def _plain(title: str) -> str:
    """Return a title without its markup: of a role its text."""
    return _ROLE.sub(r"\1", title).replace("`", "").strip() or title


def _sections(found: Sequence[Heading], count: int) -> list[Symbol]:
    """Return sections that each reach to the next of the same rank or a higher one."""
    ends = [count] * len(found)
    waiting: list[int] = []
    for index, (line, rank, _) in enumerate(found):
        while waiting and found[waiting[-1]][1] >= rank:
            ends[waiting.pop()] = line
        waiting.append(index)
    open_sections: list[tuple[int, str]] = []
    sections = []
    for (line, rank, title), end in zip(found, ends, strict=True):
        while open_sections and open_sections[-1][0] >= rank:
            open_sections.pop()
        outer = open_sections[-1][1] if open_sections else ""
        name = f"{outer}/{title}" if outer else title
        if len(name) > MAX_NAME:
            name = title
        open_sections.append((rank, name))
        sections.append(
            Symbol(name, "section", line + 1, max(end, line + 1), title, "", len(open_sections) - 1)
        )
    return sections


_UNDERLINE = re.compile(r"([=\-~^\"'`#*+.:_])\1{2,}[ \t]*")
_EQUALS_SIGNS = re.compile(r"(={1,6})[ \t]+([^\s=].*)")
_NUMBER_SIGNS = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_ROLE = re.compile(r":[\w:+-]{1,40}:`([^`<]*)(?:<[^`]*)?`")
