"""Documents without a grammar: their sections by underlined or marked headings."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .shared.language import Language

MAX_TITLE = 120
"""Maximum characters of a line that can be a heading."""

Heading = tuple[int, int, str]
"""The index of the line at which a section begins, its rank from 1 (the highest), and its title."""


def headings(language: str, text: str) -> Iterator[Heading]:
    """Yield a document's headings in order.

    A heading is a line that is underlined, and perhaps overlined, by a repeated punctuation mark over at
    least its length; marks rank by their first use, as in reStructuredText. AsciiDoc also has `== Title`,
    and MDX `## Title`, outside of fenced code.
    """
    lines = text.split("\n")
    yield from _marked(lines) if language == "mdx" else _underlined(lines)


def _marked(lines: Sequence[str]) -> list[Heading]:
    """Return the headings that begin with number signs."""
    found: list[Heading] = []
    fenced = False
    for index, line in enumerate(lines):
        if line.startswith(("```", "~~~")):
            fenced = not fenced
        elif line.startswith("#") and not fenced:
            match = re.fullmatch(_NUMBER_SIGNS, line[:MAX_TITLE])
            if match is not None:
                found.append((index, len(match[1]), _plain(match[2])))
    return found


def _underlined(lines: Sequence[str]) -> list[Heading]:
    """Return the headings of reStructuredText, and those of AsciiDoc."""
    ranks: dict[tuple[str, bool], int] = {}
    found: list[Heading] = []
    for index, line in enumerate(lines):
        if line.startswith("="):
            match = re.fullmatch(_EQUALS_SIGNS, line[:MAX_TITLE])
            if match is not None:
                found.append((index, len(match[1]), match[2].strip()))
                continue
        if not index or not line or line[0].isalnum() or not re.fullmatch(_UNDERLINE, line):
            continue
        title = lines[index - 1].strip()
        if not title or len(title) > min(MAX_TITLE, len(line.rstrip())) or re.fullmatch(_UNDERLINE, title):
            continue
        above = lines[index - 2] if index > 1 else ""
        over = above[:1] == line[0] and re.fullmatch(_UNDERLINE, above) is not None
        if not over and (lines[index - 1][0].isspace() or above.strip()):
            continue  # part of a table, or the last line of a paragraph
        rank = ranks.setdefault((line[0], over), len(ranks) + 1)
        found.append((_with_labels(lines, index - 1 - over), rank, _plain(title)))
    return found


def _with_labels(lines: Sequence[str], index: int) -> int:
    """Return the index at which a section begins, including labels above its heading: `.. _install:`."""
    start = index
    while index and (not lines[index - 1].strip() or lines[index - 1].startswith(".. _")):
        index -= 1
        if lines[index]:
            start = index
    return start


def _plain(title: str) -> str:
    """Return a title without its markup; a reStructuredText role is replaced by its text."""
    return re.sub(_ROLE, r"\1", title).replace("`", "").strip() or title


_UNDERLINE = r"([=\-~^\"'`#*+.:_])\1{2,}[ \t]*"
_EQUALS_SIGNS = r"(={1,6})[ \t]+([^\s=].*)"
_NUMBER_SIGNS = r"(#{1,6})[ \t]+(\S.*)"
_ROLE = r":[\w:+-]{1,40}:`([^`<]*)(?:<[^`]*)?`"

LANGUAGES = (
    Language("asciidoc", "asciidoc", (".adoc", ".asciidoc"), blocks=headings),
    Language("mdx", "mdx", (".mdx",), blocks=headings),
    Language("restructuredtext", "rst", (".rst",), blocks=headings),
    Language(
        "text",
        "text",
        (".txt", ".text"),
        ("LICENSE", "AUTHORS", "NOTICE", "COPYING", "README"),
        blocks=headings,
    ),
)
