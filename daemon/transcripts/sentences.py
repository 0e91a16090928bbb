"""An agent's words as sentences in their sections: parses Markdown, judges nothing.

A heading or a label gives the meaning of the sentences below it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, get_args

from msgspec import Struct

from .cues import Cues, cues_for, languages

Voice = Literal["report", "narration", "summary", "user"]
"""The speaker: the agent at the end of a turn, during it, in a compaction's summary, or the user."""
Section = Literal["", "advice", "decision", "cause", "why", "fault", "tried"]
"""`decision`: each item is a decision; `cause`: of a fault; `why`: reasons; `tried`: abandoned attempts;
`fault`: the former state; `advice`: not done, or done long ago: nothing counts."""
MAX_TEXT = 40_000
"""Maximum characters of a text, its head and tail; reports have about 3,000."""
MAX_SENTENCES = 800


class Sentence(Struct, frozen=True):
    """A sentence as shown (`text`) and as matched by cues (`form`).

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

    def meets(self, *cues: str) -> bool:
        """Whether it holds any of some cues of its language."""
        return any(self.cues.meets(cue, self.form) for cue in cues)

    @property
    def asks(self) -> bool:
        """Whether it is a question."""
        return self.form.rstrip(" )\"'*_").endswith(("?", "\uff1f"))


def blocks_of(text: str) -> Iterator[list[Sentence]]:
    """Yield the sentences of each paragraph and list item, in order.

    Code blocks, quotations, tables and headings are left out.
    """
    number, cues = 0, cues_for(text)
    if len(text) > MAX_TEXT:
        text = f"{text[: MAX_TEXT // 2]}\n\n{text[-MAX_TEXT // 2 :]}"
    section: Section = ""
    lines: list[str] = []
    listed = fenced = False
    for line in (*text.splitlines(), ""):
        fence = re.match(r"\s{0,12}(?:```|~~~)(?!.*```)", line)
        fenced = fenced != bool(fence)
        item = None if fenced or fence else re.match(_ITEM, line)
        heading = "" if fenced or fence else _heading(line)
        is_text = not (fenced or fence or heading) and bool(line.strip()) and not re.match(_SKIPPED, line)
        if (item or not is_text) and lines:
            sentences = _sentences(" ".join(lines), cues, section, listed=listed)
            number += len(sentences)
            if number > MAX_SENTENCES:
                return
            yield sentences
            lines = []
        if heading:
            section, listed = heading_section(heading), False
        elif item:
            lines, listed = [line[item.end() :]], True
        elif is_text:
            listed = listed and (bool(lines) or line.startswith("  "))
            lines.append(line.strip())


def _sentences(block: str, cues: Cues, section: Section, *, listed: bool) -> list[Sentence]:
    """Return the sentences of a block; a label without a known meaning is their subject."""
    text = plain(block)
    label = re.match(_LABEL, text)
    labelled = heading_section(label[1]) if label else ""
    if label and labelled:
        text = text[label.end()].upper() + text[label.end() + 1 :]
    form = blanked(text)
    return [
        Sentence(text[start:end], form[start:end], cues, labelled or section, place, listed)
        for place, (start, end) in enumerate(_spans(form))
    ]


def _heading(line: str) -> str:
    """Return the text of a heading, or of a line in bold."""
    if match := re.match(r" {0,3}#{1,6}\s+(\S.{0,200})", line):
        return match[1].strip("# *_:")
    match = re.match(r"\s{0,3}(?:\*\*|__)([^*_]{2,100}?)(?:\*\*|__)\s*[:\uff1a]?\s*$", line)
    return match[1].strip(" :\uff1a") if match else ""


def heading_section(heading: str) -> Section:
    """Return the section of a heading."""
    bare = re.sub(r"^[\W\d]+|\W+$", "", heading.lower())
    found: list[Section] = [
        section
        for section in get_args(Section)
        if section and languages()["english"].pattern(f"heading_{section}").fullmatch(bare)
    ]
    return found[0] if found else ""


def plain(text: str) -> str:
    """Return text on one line without marks of emphasis and addresses of links; backticks stay."""
    text = re.sub(r"!?\[([^\[\]\n]{0,300})\]\([^()\n]{0,600}\)", r"\1", text)
    text = re.sub(r"(?<!\w)(\*\*|__)(?=\S)([^*\n]{1,400}?)(?<=\S)\1", r"\2", text)
    text = re.sub(r"(?<![\w*])\*(?=[^\s*])([^*\n]{1,300}?)(?<=[^\s*])\*(?![\w*])", r"\1", text)
    return " ".join(text.replace("\u2019", "'").split())


def blanked(text: str) -> str:
    """Return the form of a text: lower case, quoted parts blanked, exactly as long as the text."""
    form = "".join(lower if len(lower) == 1 else text[at] for at, lower in enumerate(map(str.lower, text)))
    return re.sub(_QUOTED, lambda match: match[0][0] + "x" * (len(match[0]) - 2) + match[0][-1], form)


def _spans(form: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end of each sentence."""
    start = 0
    for match in re.finditer(_SENTENCE_END, form):
        before = form[max(0, match.start() - 12) : match.start() + 1]
        if match[0][0] == "." and re.search(_ABBREVIATION, before):
            continue
        yield start, start + len(form[start : match.end()].rstrip())
        start = match.end()
    if form[start:].strip():
        yield start, len(form)


_ITEM = r"\s{0,12}(?:[-*+\u2022\u30fb]|\d{1,3}[.)\u3001])\s*(?=\S)(?<!\*)(?!\*\s|[-=]{2})(?:\[[ xX]\]\s+)?"
_LABEL = r"([^\W\d_][^:\uff1a.!?\n`]{1,50}?)(?:\s?[:\uff1a\u2014]\s*| [\u2013-] )(?=\S)"
_SKIPPED = r"\s{0,12}(?:>|\||</?\w|(?:[-=_*] ?){3,}\s*$)"
_QUOTED = (
    r"`[^`\n]{1,400}`|\"[^\"\n]{1,400}\"|\u201c[^\u201d\n]{1,400}\u201d|\u00ab[^\u00bb\n]{1,400}\u00bb"
    r"|\u201e[^\u201c\u201d\n]{1,400}[\u201c\u201d]|\u300c[^\u300d\n]{1,300}\u300d"
    r"|(?<!\w)'[^'\n]{2,200}'(?!\w)"
)
_SENTENCE_END = r"[.!?]+[\"')\]\u201d\u00bb]*\s+(?=\S)|[\u3002\uff01\uff1f]+[\u300d\u201d]?\s*"
_ABBREVIATION = (
    r"(?:^|[\s(])(?:e\.g|i\.e|etc|vs|cf|approx|incl|resp|no|fig|z\.\s?b|d\.\s?h|bzw|usw|u\.\s?a|ca|evtl"
    r"|ggf|p\.\s?ej|par ex|\d{1,2}|[a-z])\.$"
)
