"""Owns the prose of an instruction file: its lines without block comments, and the imports they name.

Never touches the disk: what an import leads to is its reader's affair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from msgspec import Struct

_FENCE = re.compile(r"[\s>]*(?:(?:[-*+]|\d{1,9}[.)])[ \t]+)*(`{3,}(?=[^`]*$)|~{3,})")
_COMMENT = re.compile(r" {0,3}<!--")
_BACKTICKS = re.compile(r"`+")
_IMPORT = re.compile(r"(?<!\S)@((?:[^\s\\`]|\\ )+)")
_PUNCTUATION = ".,;:!?)]}\"'*_>"
"""What may follow a path in a sentence, and hardly ever ends a file's name."""


class ProseLine(Struct, frozen=True):
    """A line of prose. `number` is its line in the text it came from, from 1.

    `imports` are the paths after an `@` that stands at the start of a word and not in code, with escaped
    spaces undone, and without a `#fragment` or the punctuation of the sentence. `alone` says that the line
    is nothing but one import. `code` says that it belongs to a fenced block.
    """

    number: int
    text: str
    imports: tuple[str, ...] = ()
    alone: bool = False
    code: bool = False


def prose_lines(text: str) -> list[ProseLine]:
    """Read a text's lines: block comments (`<!-- … -->` at the start of a line) left out, imports found.

    A comment that isn't closed is plain text. Code spans may cross lines within a paragraph.
    """
    lines: list[ProseLine] = []
    paragraph: list[ProseLine] = []
    for line in _uncommented(text):
        if line.code or not line.text.strip():
            lines += _with_imports(paragraph)
            lines.append(line)
            paragraph = []
        else:
            paragraph.append(line)
    return lines + list(_with_imports(paragraph))


def trimmed(lines: Iterable[ProseLine]) -> tuple[int, str]:
    """Join lines without the blank ones at both ends; also return the number of the first one, or 1."""
    kept = list(lines)
    while kept and not kept[-1].text.strip():
        kept.pop()
    start = next((index for index, line in enumerate(kept) if line.text.strip()), 0)
    return (kept[start].number if kept else 1), "\n".join(line.text for line in kept[start:])


def _uncommented(text: str) -> Iterator[ProseLine]:
    """Yield the lines outside block comments; those of fenced blocks, with their fences, marked as code."""
    texts = text.split("\n")
    last_end = max((number for number, line in enumerate(texts, 1) if "-->" in line), default=0)
    fence = ""
    commented = False
    for number, line in enumerate(texts, 1):
        if fence:
            yield ProseLine(number, line, code=True)
            if line.strip(" \t>").startswith(fence) and not line.strip(" \t>" + fence[0]):
                fence = ""
            continue
        start, commented = _after_comments(line, commented, closed_later=number < last_end)
        if commented or (start and not line[start:].strip()):
            continue
        if opening := _FENCE.match(line, start):
            fence = opening[1]
        yield ProseLine(number, line[start:], code=bool(fence))


def _after_comments(line: str, commented: bool, *, closed_later: bool) -> tuple[int, bool]:
    """Return where a line goes on after its comments, and whether it ends within one."""
    position = 0
    while True:
        search = position
        if not commented:
            opening = _COMMENT.match(line, position)
            if opening is None:
                return position, False
            search = opening.end()
        end = line.find("-->", search)
        if end == -1:
            return position, commented or closed_later
        position, commented = end + 3, False


def _with_imports(paragraph: list[ProseLine]) -> Iterator[ProseLine]:
    if not any("@" in line.text for line in paragraph):
        yield from paragraph
        return
    masked = _without_spans("".join(f"{line.text}\n" for line in paragraph))
    for line, visible in zip(paragraph, masked.split("\n")[:-1], strict=True):
        matches = list(_IMPORT.finditer(visible))
        imports = tuple(target for match in matches if (target := _target(match[1])))
        alone = len(matches) == 1 and matches[0][0] == line.text.strip()
        yield ProseLine(line.number, line.text, imports, alone)


def _target(word: str) -> str:
    return word.partition("#")[0].rstrip(_PUNCTUATION).replace("\\ ", " ")


def _without_spans(paragraph: str) -> str:
    """Replace what stands in code spans by backticks, one for each character except line ends.

    A span ends at the next run of as many backticks as began it; a run without such a partner is text.
    """
    runs = list(_BACKTICKS.finditer(paragraph))
    partners: dict[int, int] = {}
    following: dict[int, int] = {}
    for index in range(len(runs) - 1, -1, -1):
        length = len(runs[index][0])
        if length in following:
            partners[index] = following[length]
        following[length] = index
    parts: list[str] = []
    end = index = 0
    while index < len(runs):
        partner = partners.get(index)
        if partner is not None:
            start = runs[index].start()
            span_end = runs[partner].end()
            parts += (paragraph[end:start], re.sub(r"[^\n]", "`", paragraph[start:span_end]))
            end, index = span_end, partner
        index += 1
    return "".join([*parts, paragraph[end:]])
