"""Renders slices: the Markdown of each, the sections, and the other formats around them."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import cached_property
from itertools import groupby, pairwise
from typing import Any

from msgspec import Struct

from ..compression.records import MARK
from ..rules.records import Item, Owner
from .excerpt import fenced, left_out_note, shorten_text
from .selection import Cost, Form, Measure, Slice, SliceType
from .tokens import TokenCounter

TITLE = "# PROJECT CONTEXT\n\n"

SECTIONS: tuple[tuple[str, tuple[SliceType, ...]], ...] = (
    ("Project", ("project_meta",)),
    ("Rules", ("rule",)),
    ("Constraints", ("constraint",)),
    ("Recent Decisions", ("agent_history",)),
    ("References", ("reference",)),
    ("Focus Area", ("focus", "expansion", "session_set", "document", "compressed_segment", "dependency")),
    ("Likely Places", ("place",)),
    ("Project Structure", ("hot", "skeleton")),
)
"""The sections in order, each with the types of its slices."""

ITEM_TYPES: tuple[SliceType, ...] = ("rule", "reference")
"""Types of slices that are items, which are separate messages in the format `messages`."""

REFERENCE_CHARACTERS_MIN = 120
"""Minimum characters of a shortened reference: about two lines, enough to decide whether to read it."""

SENTENCES_MIN = 120
"""Minimum room for whole sentences in a list item; with less it is cut."""

NAME_CHARACTERS = 40
"""Maximum characters of a name that is repeated in the note below its text."""


def render_markdown(chosen: Sequence[tuple[Slice, Form]]) -> str:
    """Render the chosen forms as Markdown, in sections; empty sections are left out."""
    text = "".join(text for _, text in _parts(chosen))
    return text.rstrip("\n") + "\n"


def spans(chosen: Sequence[tuple[Slice, Form]], context: str) -> dict[str, tuple[int, int]]:
    """Return the start and end of each slice's text in the Markdown, in characters, by the slice's id."""
    found, at = {}, 0
    for identifier, text in _parts(chosen):
        end = at + len(text)
        if identifier:
            found[identifier] = (at, min(end, len(context)))
        at = end
    return found


def frame_cost(counter: TokenCounter, format_: str, project: str, types: AbstractSet[SliceType]) -> Cost:
    """Return the cost of the title and of the headings of sections with these types."""
    if format_ == "json":
        texts = [render_json(project, ())]
    else:
        titles = [title for title, members in SECTIONS if not types.isdisjoint(members)]
        texts = [TITLE, *(f"## {title}\n\n\n" for title in titles)]
    return Cost(sum(map(counter.count, texts)), sum(len(text.encode("utf-8", "replace")) for text in texts))


def render_json(project: str, chosen: Sequence[tuple[Slice, Form]]) -> str:
    """Return the slices as one JSON document, in the order of the sections."""
    slices = [
        _json_slice(candidate, form)
        for _, types in SECTIONS
        for candidate, form in sorted(
            (pair for pair in chosen if pair[0].type in types), key=lambda pair: pair[0].order
        )
    ]
    return json.dumps({"project": project, "slices": slices}, ensure_ascii=False)


def json_measure(counter: TokenCounter) -> Measure:
    """Return the measure for JSON, which counts a slice's fields, escapes and comma."""

    def measure(piece: Slice, form: Form) -> Cost:
        text = f"{json.dumps(_json_slice(piece, form), ensure_ascii=False)}, "
        return Cost(counter.count(text), len(text.encode("utf-8", "replace")))

    return measure


def block(heading: str, body: str, note: str = "") -> str:
    """Return a block with a heading, a body, and a note in italics."""
    noted = f"\n_{note}_\n" if note else ""
    return f"### {heading}\n\n{body}{noted}\n"


def code_block(heading: str, text: str, tag: str, note: str = "") -> str:
    """Return a block whose body is fenced, so that it can't be mistaken for the text around it."""
    return block(heading, fenced(text, tag), note)


def code_frame(heading: str, fence: str, tag: str) -> tuple[str, str]:
    """Return the texts before and after parts of a file that share a code block."""
    return f"### {heading}\n\n{fence}{tag}\n", f"{fence}\n\n"


class RuleForms:
    """The forms of a rule by their characters: whole, in whole sections, or as a line that points to it.

    Nothing is left out within a section, since half a rule may say the opposite. The sections with most of
    the `words` of the prompt come first. The heading says `whose` rule it is, see `whose`. `is_file` says
    that its name is a path. The text is divided once for all forms: growing asks for many."""

    def __init__(
        self,
        name: str,
        text: str,
        *,
        whose: str = "the project's",
        is_file: bool = True,
        words: Collection[str] = (),
    ) -> None:
        self._name, self._text, self._is_file, self._words = name, text, is_file, words
        self._heading = f"`{inline(name)}` ({whose})"
        self._lines = text.rstrip("\n").split("\n")
        self._whole = Form(code_block(self._heading, text, "markdown"))
        size = f"{len(self._lines):,} line{'s' * (len(self._lines) != 1)}"
        says = f"{size}, read it before you begin" if is_file else f"{size}, left out for want of room"
        self._pointer = Form(f"- {self._heading}: {says}\n\n", compressed=True, body=says)

    def form(self, characters: int) -> Form:
        """Return the form within a number of characters, the pointer if none fits."""
        if len(self._whole.text) <= max(characters, len(self._pointer.text)):
            return self._whole
        lines = self._lines
        longest_note = self._rest_of(len(lines))
        room = characters - len(self._whole.text) + len(self._text) - len(longest_note) - len("\n__\n\n")
        if room <= 0:
            return self._pointer
        shown: set[int] = set()
        for part, size in self._ranked:
            above = part.above - shown
            more = size + sum(len(lines[at]) + 1 for at in above)
            if part.first in shown:  # its heading is above a section shown before
                more -= len(lines[part.first]) + 1
            if more <= room:
                room -= more
                shown |= above
                shown.update(range(part.first, part.end))
        if not shown:
            return self._pointer
        taken = "\n".join(lines[at] for at in sorted(shown))
        rest = self._rest_of(len(lines) - len(shown))
        cut = code_block(self._heading, taken, "markdown", rest)
        return Form(cut, compressed=True, body=f"{taken}\n{rest}")

    @cached_property
    def _ranked(self) -> list[tuple[Section, int]]:
        """The sections with their characters, those with most of the words first."""
        lines = self._lines
        ranked = sorted(
            sections(self._text), key=lambda part: (-_matches(part, lines, self._words), part.first)
        )
        return [(part, sum(len(line) + 1 for line in lines[part.first : part.end])) for part in ranked]

    def _rest_of(self, count: int) -> str:
        return _rest_of(count, self._name, is_file=self._is_file)


class Section(Struct, frozen=True):
    """A section of a Markdown text: its lines from `first` to before `end`, counted from 0, up to the next
    heading, and the lines of the headings `above` it."""

    first: int
    end: int
    above: frozenset[int]


def sections(text: str) -> list[Section]:
    """Return the sections of a text that say something; what is above the first heading is one too."""
    lines = text.rstrip("\n").split("\n")
    heads: list[tuple[int, int]] = []
    fence = ""
    for at, line in enumerate(lines):
        mark = re.match(r" {0,3}(`{3,}|~{3,})(.*)", line)
        if mark and (not fence or (mark[1].startswith(fence) and not mark[2].strip())):
            fence = "" if fence else mark[1]
        elif not fence and (head := re.match(r"(#{1,6})\s", line)):
            heads.append((at, len(head[1])))
    found = []
    path: list[tuple[int, int]] = []
    for (at, level), (end, _) in pairwise([(0, 0), *heads, (len(lines), 0)]):
        path = [head for head in path if head[1] < level]
        if any(line.strip() for line in lines[at + (level > 0) : end]):
            found.append(Section(at, end, frozenset(head[0] for head in path)))
        if level:
            path.append((at, level))
    return found


def _matches(part: Section, lines: Sequence[str], words: Collection[str]) -> int:
    """Return the number of words that occur in a section."""
    body = " ".join(lines[part.first : part.end]).lower() if words else ""
    return sum(word in body for word in words)


def reference_form(
    name: str,
    text: str,
    characters: int,
    *,
    whose: str = "the project's",
    is_file: bool = True,
    words: Iterable[str] = (),
) -> Form:
    """Render a reference within a number of characters; a long one keeps what is nearest to the `words`.

    The heading says `whose` it is, see `whose`. `is_file` says that its name is a path."""
    heading = f"`{inline(name)}` ({whose})"
    whole = code_block(heading, text, "markdown")
    if len(whole) <= characters:
        return Form(whole)
    most = text.count("\n") + 1
    around = len(whole) - len(text) + len(_rest_of(most, name, is_file=is_file)) + len("\n__\n\n")
    room = max(characters - around, REFERENCE_CHARACTERS_MIN)
    short = shorten_text(text, "", words, room)
    rest = _rest_of(short.left_out_lines, name, is_file=is_file)
    cut = code_block(heading, short.text, "markdown", rest)
    if len(whole) <= len(cut):
        return Form(whole)
    return Form(cut, compressed=True, body=f"{short.text}\n{rest}")


def item_message(item: Item, form: Form) -> str:
    """Return a rule or reference as a separate message: its name, whose it is, and its shown text."""
    name = f"{inline(item.name)} ({whose(item)})"
    text = form.body if form.compressed else item.text
    return f"{name}\n\n{text}" if text.strip() else name


OWNERS: Mapping[Owner, str] = {
    "administrator": "the administrator's",
    "user": "the user's",
    "project": "the project's",
    "stored": "put with foveal",
}
"""Owners in a few words: the project's rules come from an author that the user may not know."""


def whose(item: Item) -> str:
    """Return whose item it is, with its file unless that is in its name: `the project's foveal.toml`."""
    words = OWNERS[item.owner]
    return words if item.owner == "stored" or is_file(item) else f"{words} {os.path.basename(item.source)}"


def is_file(item: Item) -> bool:
    """Whether an item's name is the path of its file."""
    return item.source.endswith("/" + item.name.removeprefix("~/")) or item.source == item.name


def list_item(text: str, characters: int, words: Iterable[str] = ()) -> Form:
    """Render a list item on one line, within a number of characters.

    A longer text keeps the sentences nearest to the `words` of the prompt, or is cut if not even one fits.
    """
    flat = inline(text)
    if len(flat) + 3 <= characters:
        return Form(f"- {flat}\n")
    room = characters - len(f"-  {MARK}\n")
    if room >= SENTENCES_MIN:
        short = inline(shorten_text(text, "", words, room).text)
        if short and len(short) <= room:
            return Form(f"- {short} {MARK}\n", compressed=True)
    return Form(f"- {flat[: max(characters - 4, 1)]}…\n", compressed=True)


def inline(text: str) -> str:
    """Return a text on one line, with white space collapsed and code fences broken up."""
    flat = "".join(c for c in text if c.isprintable() or c.isspace())
    flat = re.sub(r"\s+", " ", flat).strip()
    return re.sub(r"`{3,}", lambda run: " ".join("`" * len(run.group())), flat)


def slice_summary(piece: Slice, form: Form, tokens: int) -> dict[str, Any]:
    """Return a slice as the reply lists it.

    `tokens_before` are the tokens of the whole slice; for a compressed one they are extrapolated from the
    shown part.
    """
    summary: dict[str, Any] = {
        "id": sys.intern(piece.id),  # hundreds of cached contexts repeat the same texts
        "type": piece.type,
        "layer": piece.layer,
        "weight": piece.weight,
        "tokens": tokens,
        "tokens_before": tokens,
        "compressed": form.compressed,
        "source": sys.intern(piece.source),
    }
    if form.compressed:
        whole = max(piece.full_characters, piece.content_characters)
        summary["tokens_before"] = max(tokens, -(-whole * tokens // max(len(form.text), 1)))
    if piece.path:
        summary["path"] = sys.intern(piece.path)
    if piece.lines is not None:
        summary["start_line"], summary["end_line"] = piece.lines
    if piece.score is not None:
        summary["score"] = piece.score
    return summary


def _parts(chosen: Sequence[tuple[Slice, Form]]) -> Iterator[tuple[str, str]]:
    """Yield the pieces of the Markdown, each with the id of its slice, or "" outside of slices."""
    yield "", TITLE
    for title, types in SECTIONS:
        members = [pair for pair in chosen if pair[0].type in types]
        if members:
            members.sort(key=lambda pair: pair[0].order)
            yield "", f"## {title}\n\n"
            for frame, framed in groupby(members, key=lambda pair: pair[0].frame):
                before, behind = frame or ("", "")
                yield "", before
                yield from ((item.id, form.text) for item, form in framed)
                yield "", behind
            if members[-1][0].frame is None and not members[-1][1].text.endswith("\n\n"):
                yield "", "\n"


def _json_slice(piece: Slice, form: Form) -> dict[str, Any]:
    text = form.text.strip("\n")
    return {"id": piece.id, "type": piece.type, "layer": piece.layer, "path": piece.path, "text": text}


def _rest_of(count: int, name: str, *, is_file: bool) -> str:
    """Return the note about omitted lines of an item. A long name is only in the heading above."""
    shown = inline(name)
    if is_file:
        return left_out_note(count, f"read {shown if len(shown) <= NAME_CHARACTERS else 'it'}")
    return left_out_note(count, f"of {shown}" if len(shown) <= NAME_CHARACTERS else "of this")
