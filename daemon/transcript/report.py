"""Owns what an agent said as sentences in their sections: Markdown goes in, no judgement comes out."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field
from itertools import pairwise

from ..core.lazy_dataclass import dataclass
from .headings import Section, heading_section, lead_in_section, split_label

MAX_TEXT = 40_000
"""Of a longer text the first and the last half of this many characters are read; reports have about 3,000."""
MAX_SENTENCES = 800
MAX_SENTENCE = 800
"""A longer sentence, in characters, is no decision but a dump."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it can be shown, and as rules read it.

    `form` is as long as `text`, in lower case, with what stands in backticks and quotation marks blanked, so
    that a quoted phrase counts for nothing and offsets agree. `place` counts the sentences of a block from 0.
    """

    text: str
    form: str
    section: Section = ""
    place: int = 0
    listed: bool = False
    """It stands in an item of a list."""
    nested: bool = False
    """It stands in an item below another item."""
    labelled: bool = False
    """Its section was named at the beginning of its own block: `Root cause: …`."""


def blocks_of(text: str) -> Iterator[list[Sentence]]:
    """Yield the sentences of each paragraph and each item of a list, in order.

    Left out are code blocks, quotations, tables but for those in a section of decisions, and headings.
    """
    number = 0
    for block in _blocks(_bounded(text).splitlines()):
        sentences = list(_sentences(block))
        number += len(sentences)
        if number > MAX_SENTENCES:
            return
        if sentences:
            yield sentences


@dataclass(frozen=True, slots=True)
class _Block:
    text: str
    section: Section
    listed: bool = False
    nested: bool = False


@dataclass(slots=True)
class _Lines:
    """Where a reader of lines is: its section, the section of the list that a line announced, its block."""

    section: Section = ""
    level: int = 0
    list_section: Section = ""
    title: str = ""
    """A heading within a section of decisions says what the block below it is about."""
    indent: int = 0
    """Of the first item of a list."""
    current: list[str] = field(default_factory=list)
    listed: bool = False
    nested: bool = False

    def block(self) -> Iterator[_Block]:
        """Yield the block that ends here, if there is one."""
        if not self.current:
            return
        text = " ".join(self.current)
        yield _Block(
            f"{self.title}: {text}" if self.title else text,
            self.list_section or self.section,
            self.listed or bool(self.title),
            self.nested,
        )
        if not self.listed:  # which may announce a list: `Some decisions on the way:`
            announces = text.rstrip().endswith((":", "\uff1a"))
            self.list_section = lead_in_section(text) if announces else ""
        self.current, self.title = [], ""

    def heading(self, text: str, level: int) -> None:
        """Go below a heading; one of no known meaning ends a section of its own level or deeper."""
        section = heading_section(text)
        is_below = not section and bool(self.section) and level > self.level
        if not is_below:
            self.section, self.level = section, level
        self.title = re.sub(r"^\W*\d+[.)]\s*", "", text) if is_below and self.section == "decision" else ""
        self.list_section, self.listed = "", False

    def item(self, text: str, indent: int) -> None:
        """Begin an item of a list."""
        if not self.listed:
            self.indent = indent
        self.current, self.listed, self.nested = [text], True, indent > self.indent + 1

    def line(self, line: str) -> None:
        """Go on with a paragraph or an item."""
        if self.listed and not self.current and not line.startswith("  "):
            self.listed = self.nested = False
            self.list_section = ""
        self.current.append(line.strip())


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    place = _Lines()
    fenced = False
    for line, following in pairwise((*lines, "", "")):
        fence = re.match(r"\s{0,12}(?:```|~~~)(?!.*```)", line)
        fenced = fenced != bool(fence)
        if fenced or fence:
            yield from place.block()
            continue
        item = re.match(_ITEM, line)
        heading, level = _heading(line)
        if item or heading or not line.strip() or re.match(_SKIPPED, line):
            yield from place.block()
        if heading:
            place.heading(heading, level)
        elif item:
            place.item(line[item.end() :], len(line) - len(line.lstrip()))
        elif cells := _row(line, following, place.section):
            yield _Block(cells, place.section, listed=True)
        elif line.strip() and not re.match(_SKIPPED, line):
            place.line(line)


def _heading(line: str) -> tuple[str, int]:
    """Return a heading's text and level; a line in bold is level 7, a short known one with a colon 8."""
    if match := re.match(r" {0,3}(#{1,6})\s+(\S.{0,200})", line):
        return match[2].strip("# *_:"), len(match[1])
    if match := re.match(r"\s{0,3}(?:\*\*|__)([^*_]{2,100}?)(?:\*\*|__)\s*[:\uff1a]?\s*$", line):
        return match[1].strip(" :\uff1a"), 7
    if match := re.match(r"([^\W\d_][^.:!?`]{2,50})\s?[:\uff1a]\s*$", line):
        return (match[1], 8) if heading_section(match[1]) else ("", 0)
    return "", 0


def _row(line: str, following: str, section: Section) -> str:
    """Return a row of a table in a section of decisions as a sentence: `cell: cell; cell`."""
    if section not in ("decision", "tried") or not re.match(r"\s*\|.*\|\s*$", line):
        return ""
    cells = [cell.strip() for cell in line.strip().strip("|").split("|")]
    is_head = re.fullmatch(r"[\s|:-]+", following) is not None and "-" in following
    if len(cells) < 2 or is_head or all(re.fullmatch(r"[:\- ]*", cell) for cell in cells):
        return ""
    return f"{cells[0]}: {'; '.join(cell for cell in cells[1:] if cell)}"


def _sentences(block: _Block) -> Iterator[Sentence]:
    text = plain(block.text)
    section, rest = split_label(text)
    labelled = bool(section)
    if labelled:
        text = rest
    form = blanked(text)
    for place, (start, end) in enumerate(_spans(form)):
        yield Sentence(
            text[start:end],
            form[start:end],
            section or block.section,
            place,
            block.listed,
            block.nested,
            labelled,
        )


def plain(text: str) -> str:
    """Return text on one line without marks of emphasis and addresses of links; backticks stay."""
    text = re.sub(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,600}\)", r"\1", text)
    text = re.sub(r"(?<!\w)(\*\*|__)(?=\S)([^*\n]{1,400}?)(?<=\S)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])", r"\1", text)
    text = text.replace("\u2019", "'")
    return " ".join(text.split())


def blanked(text: str) -> str:
    """Return the form of a text: lower case, quoted stretches blanked, exactly as long as the text."""
    form = "".join(one if len(one) == 1 else text[at] for at, one in enumerate(map(str.lower, text)))
    return re.sub(_QUOTED, lambda match: match[0][0] + "x" * (len(match[0]) - 2) + match[0][-1], form)


def _spans(form: str) -> Iterator[tuple[int, int]]:
    """Yield where each sentence starts and ends."""
    start = 0
    for match in re.finditer(_SENTENCE_END, form):
        if match[0][0] == "." and re.search(
            _ABBREVIATION, form[max(0, match.start() - 12) : match.start() + 1]
        ):
            continue
        yield start, start + len(form[start : match.end()].rstrip())
        start = match.end()
    if form[start:].strip():
        yield start, len(form)


def _bounded(text: str) -> str:
    if len(text) <= MAX_TEXT:
        return text
    return f"{text[: MAX_TEXT // 2]}\n\n{text[-MAX_TEXT // 2 :]}"


_ITEM = r"\s{0,12}(?:[-*+\u2022\u30fb]|\d{1,3}[.)\u3001])\s*(?=\S)(?<!\*)(?!\*\s|[-=]{2})(?:\[[ xX]\]\s+)?"
_SKIPPED = r"\s{0,12}(?:>|\||</?\w|(?:[-=_*] ?){3,}\s*$)"
_QUOTED = (
    r"`[^`\n]{1,400}`|\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u00ab[^\u00bb\n]{1,400}\u00bb"
    r"|\u201e[^\u201c\u201d\n]{1,400}[\u201c\u201d]|\u300c[^\u300d\n]{1,300}\u300d"
    r"|(?<!\w)'[^'\n]{2,200}'(?!\w)"
)
_SENTENCE_END = r"[.!?]+[\"')\]\u201d\u00bb]*\s+(?=\S)|[\u3002\uff01\uff1f]+[\u300d\u201d]?\s*"
_ABBREVIATION = (
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|fig|z\.\s?b|d\.\s?h|bzw|usw|u\.\s?a|ca|evtl"
    r"|ggf|p\.\s?ej"
    r"|par ex|\d{1,2}|[a-z])\.$"
)
