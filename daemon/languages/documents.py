"""Documents without a grammar: their sections by underlined or marked headings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from .shared.language import Language

MAX_TITLE = 120
"""Maximum characters of a line that can be a heading."""

Heading = tuple[int, int, str]
"""The index of the line at which a section begins, its rank from 1 (the highest), and its title."""


def headings(language: str, text: str) -> Iterator[Heading]:
    """Yield a document's headings in order.

    A heading is a line that is underlined, and perhaps overlined, by a repeated punctuation mark over at
    least its length; marks rank by their first use, as in reStructuredText. AsciiDoc has `== Title` and, in
    its older style, lines underlined over their length; MDX has `## Title`. Neither has any in its blocks.
    """
    lines = text.split("\n")
    if language == "mdx":
        yield from _marked(lines, _outside_fences(lines), _NUMBER_SIGNS)
    elif language == "asciidoc":
        outside = list(_outside_blocks(lines))
        yield from sorted([*_marked(lines, outside, _EQUALS_SIGNS), *_of_older_style(lines, outside)])
    else:
        yield from _underlined(lines)


def _marked(lines: Sequence[str], outside: Iterable[int], marks: str) -> list[Heading]:
    """Return the headings that begin with signs, by the indices of the lines that aren't in blocks."""
    found = ((index, re.fullmatch(marks, lines[index][:MAX_TITLE])) for index in outside)
    return [(index, len(match[1]), _plain(match[2])) for index, match in found if match is not None]


def _outside_fences(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indices of lines outside of fenced code, which a fence of the same mark ends that is no
    shorter and stands alone."""
    fence = ""
    for index, line in enumerate(lines):
        match = re.fullmatch(_FENCE, line)
        if fence:
            if match is not None and match[1].startswith(fence) and not match[2].strip():
                fence = ""
        elif match is not None and not (match[1][0] == "`" and "`" in match[2]):
            fence = match[1]
        else:
            yield index


def _outside_blocks(lines: Sequence[str]) -> Iterator[int]:
    """Yield the indices of lines of AsciiDoc outside of delimited blocks, of which some hold others."""
    blocks: list[str] = []
    for index, text in enumerate(lines):
        line = text.rstrip()
        if blocks and line == blocks[-1]:
            blocks.pop()
        elif (
            (not blocks or blocks[-1][0] in "=*_")
            and re.fullmatch(_DELIMITER, line)
            and (blocks or not _is_underline(lines, index))
        ):
            blocks.append(line)
        elif not blocks:
            yield index


def _is_underline(lines: Sequence[str], index: int) -> bool:
    """Whether a line of AsciiDoc underlines a title: the one line of its paragraph, as long but for one."""
    line, title = lines[index].rstrip(), lines[index - 1].rstrip() if index else ""
    return (
        line[:1] in _OLDER_RANKS
        and re.fullmatch(_UNDERLINE, line) is not None
        and title[:1].isalnum()
        and abs(len(title) - len(line)) <= 1
        and (index < 2 or not lines[index - 2].strip() or lines[index - 2].startswith("["))
    )


def _of_older_style(lines: Sequence[str], outside: Iterable[int]) -> Iterator[Heading]:
    """Yield the underlined titles of AsciiDoc."""
    for index in outside:
        if lines[index][:1] in _OLDER_RANKS and _is_underline(lines, index):
            yield index - 1, _OLDER_RANKS.index(lines[index][0]) + 1, _plain(lines[index - 1].strip())


def _underlined(lines: Sequence[str]) -> list[Heading]:
    """Return the headings of reStructuredText and plain text, which may have marked ones as well."""
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
_FENCE = r"[ \t]*(`{3,}|~{3,})(.*)"
_DELIMITER = r"([\-.=*_+/])\1{3,}|```"
_OLDER_RANKS = "=-~^+"
"""The marks that underline titles in AsciiDoc, from the highest."""
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
