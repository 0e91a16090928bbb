"""An agent's words as sentences in their sections: parses Markdown, judges nothing.

A heading or a label gives the meaning of the sentences below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Literal

from msgspec import Struct, field

from .cues import Cues, cues_for

Voice = Literal["report", "narration", "summary", "user"]
"""The speaker: the agent at the end of a turn, during it, in a compaction's summary, or the user."""
MAX_TEXT = 40_000
"""Maximum characters of a text, its head and tail; reports have about 3,000."""
MAX_SENTENCES = 800
MAX_SENTENCE = 800
"""Maximum characters of a sentence; a longer one is a dump."""


class Sentence(Struct, frozen=True):
    """A sentence as shown (`text`) and as matched by rules (`form`).

    `form` is as long as `text`, in lower case, with quoted text and text in backticks blanked, so that quoted
    phrases don't match and offsets agree. `place` counts the sentences of a block from 0.
    """

    text: str
    form: str
    cues: Cues
    section: Section = ""
    place: int = 0
    listed: bool = False
    """Whether it is in a list item."""
    nested: bool = False
    """Whether it is in a nested list item."""
    labelled: bool = False
    """Whether its own block begins with its section's label: `Root cause: …`."""


class SentenceInBlock(Struct, frozen=True):
    """The current sentence, by its place in its block."""

    block: Sequence[Sentence]
    at: int
    voice: Voice

    @property
    def sentence(self) -> Sentence:
        """The sentence itself."""
        return self.block[self.at]

    @property
    def cues(self) -> Cues:
        """The cues of its language."""
        return self.sentence.cues

    @property
    def before(self) -> Sentence | None:
        """The previous sentence."""
        return self.block[self.at - 1] if self.at else None

    @property
    def after(self) -> Sentence | None:
        """The next sentence."""
        return self.block[self.at + 1] if self.at + 1 < len(self.block) else None

    @property
    def is_reported(self) -> bool:
        """Whether it was written after the work was done, not during it."""
        return self.voice != "narration"


def blocks_of(text: str) -> Iterator[list[Sentence]]:
    """Yield the sentences of each paragraph and list item, in order.

    Code blocks, quotations, tables and headings are left out.
    """
    number, cues = 0, cues_for(text)
    for block in _blocks(_bounded(text).splitlines()):
        sentences = list(_sentences(block, cues))
        number += len(sentences)
        if number > MAX_SENTENCES:
            return
        if sentences:
            yield sentences


class _Block(Struct, frozen=True):
    text: str
    section: Section
    listed: bool = False
    nested: bool = False


class _LineState(Struct):
    """The state of line parsing: the section and the block."""

    section: Section = ""
    level: int = 0
    title: str = ""
    """A heading within a section of decisions, the subject of the block below it."""
    indent: int = 0
    """Indentation of the first item of a list."""
    current: list[str] = field(default_factory=list)
    listed: bool = False
    nested: bool = False

    def block(self) -> Iterator[_Block]:
        """Yield the block that ends here, if any."""
        if not self.current:
            return
        text = " ".join(self.current)
        yield _Block(
            f"{self.title}: {text}" if self.title else text,
            self.section,
            self.listed or bool(self.title),
            self.nested,
        )
        self.current, self.title = [], ""

    def heading(self, text: str, level: int) -> None:
        """Enter a heading; one without a known meaning ends a section of its own level or deeper."""
        section = heading_section(text)
        is_below = not section and bool(self.section) and level > self.level
        if not is_below:
            self.section, self.level = section, level
        self.title = re.sub(r"^\W*\d+[.)]\s*", "", text) if is_below and self.section == "decision" else ""
        self.listed = False

    def item(self, text: str, indent: int) -> None:
        """Begin an item of a list."""
        if not self.listed:
            self.indent = indent
        self.current, self.listed, self.nested = [text], True, indent > self.indent + 1

    def line(self, line: str) -> None:
        """Continue a paragraph or an item."""
        if self.listed and not self.current and not line.startswith("  "):
            self.listed = self.nested = False
        self.current.append(line.strip())


def _blocks(lines: Sequence[str]) -> Iterator[_Block]:
    place = _LineState()
    fenced = False
    for line in (*lines, ""):
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


def _sentences(block: _Block, cues: Cues) -> Iterator[Sentence]:
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
            cues,
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
    """Return the form of a text: lower case, quoted parts blanked, exactly as long as the text."""
    form = "".join(lower if len(lower) == 1 else text[at] for at, lower in enumerate(map(str.lower, text)))
    return re.sub(_QUOTED, lambda match: match[0][0] + "x" * (len(match[0]) - 2) + match[0][-1], form)


def _spans(form: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence."""
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


Section = Literal["", "decision", "cause", "why", "tried", "fault", "advice"]
"""`decision`: each item is a decision; `cause`: of a fault; `why`: reasons; `tried`: abandoned attempts;
`fault`: the former state, in which only a cause counts; `advice`: not done, or done long ago: nothing
counts."""


def heading_section(heading: str) -> Section:
    """Return the section of a heading."""
    bare = re.sub(r"^[\W\d]+|\W+$", "", heading.lower())
    for section, pattern in _patterns():
        if pattern.fullmatch(bare):
            return section
    return ""


def split_label(text: str) -> tuple[Section, str]:
    """Return the section of a label at the beginning of a text, and the text after it.

    A label without a known meaning stays: it is the subject of the sentence.
    """
    match = re.match(r"([^\W\d_][^:\uff1a.!?\n`]{1,50}?)(?:\s?[:\uff1a\u2014]\s*| [\u2013-] )(?=\S)", text)
    section = heading_section(match[1]) if match else ""
    if match and section:
        rest = text[match.end() :]
        return section, rest[0].upper() + rest[1:]
    return "", text


@cache
def _patterns() -> tuple[tuple[Section, re.Pattern[str]], ...]:
    return tuple((section, re.compile(pattern)) for section, pattern in _SECTIONS)


_SECTIONS: tuple[tuple[Section, str], ...] = (
    (
        "advice",
        (
            r"(?:recommended |suggested |possible |optional |remaining |open |future |further "
            r"|next )*(?:next steps?|follow-?ups?|recommendations?|suggestions?|todos?|to-?do list"
            r"|open (?:questions?|points?|decisions?)|questions?(?: for you)?|future (?:work|ideas?"
            r"|options?|improvements?)|improvements|options?|plan|proposal|proposed (?:changes|plan"
            r"|solution|approach|design|decisions?)|remaining(?: work)?|what(?:'s| is) (?:next|left)"
            r"|(?:how to )?(?:usage|use|run|test|verify|try it)|background|overview|context"
            r"|how it works|current (?:state|behaviou?r|design|implementation|architecture)"
            r"|existing (?:code|design|behaviou?r|decisions?|architecture)|what the code does"
            r"|architecture|decisions? (?:needed|for you|to make|pending|required)|pending decisions?"
            r"|(?:earlier|previous|documented|past) decisions?|open issues|if you .{1,60}|nice to have"
            r"|not done|out of scope|steps?|questions to answer|ideas?|possible causes?|hypothes[ei]s"
            r"|suspects?|user(?:'s)? requests?|pending tasks|all user messages|current work"
            r"|optional next step)"
        ),
    ),
    (
        "decision",
        (
            r"(?:the |my |our |some |main |key |major |important |notable |technical |design "
            r"|implementation |architecture |architectural |engineering |final )*(?:decisions?|choices?"
            r"|trade-?offs?|design notes?|judge?ment calls?)(?: (?:made|taken|and (?:rationale|reasons?"
            r"|reasoning|trade-?offs?|why)|i made|we made|log|notes?|considered|along the way"
            r"|worth (?:knowing|noting|flagging)|& rationale))*|decided|chosen(?: approach| solution"
            r"| option)?|(?:what|things) (?:i|we) (?:decided|chose)"
        ),
    ),
    (
        "cause",
        (
            r"(?:the )?(?:root |actual |real |underlying )?cause(?: (?:of .{2,40}|analysis))?"
            r"|root causes?|what (?:was|went|is) wrong|what (?:was )?happen(?:ed|ing)|why (?:it|this"
            r"|that|the .{2,40}?) (?:happened|happens|failed|fails|broke|breaks|crashed|crashes|hung"
            r"|hangs|leaked|flaked|was .{2,20})|(?:the )?reason for the (?:failure|bug|crash|hang|leak"
            r"|error|problem|regression)"
        ),
    ),
    (
        "why",
        (
            r"(?:the )?(?:rationale|reasons?|reasoning|why|motivation|justification|why (?:this|not|it"
            r"|i|we|the) .{2,50}|why so|because)|justification"
        ),
    ),
    (
        "fault",
        (
            r"(?:the )?(?:problems?|issues?|bugs?|symptoms?|findings|(?:issues|problems|bugs) (?:found"
            r"|identified)|what (?:i|we) found|observations?|analysis|investigation|before"
            r"|what was broken|diagnosis)"
        ),
    ),
    (
        "tried",
        (
            r"(?:what (?:i|we) tried|(?:also )?tried(?: and (?:rejected|abandoned|dropped|discarded"
            r"|failed))?|what (?:didn't|did not) work|dead ends?|(?:failed|abandoned|rejected"
            r"|discarded) (?:attempts?|approach(?:es)?|ideas?|alternatives?|options?)|(?:alternatives?"
            r"|options?|approaches) (?:considered|rejected|tried|ruled out)(?: and rejected)?"
            r"|(?:rejected|discarded|abandoned|ruled out|not chosen|dropped)|considered and rejected"
            r"|alternatives?|things that (?:didn't|did not) work)"
        ),
    ),
)
