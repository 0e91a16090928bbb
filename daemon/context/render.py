"""Owns how slices read: the Markdown of each, the sections, and the other formats around them."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import groupby
from typing import Any

from ..compression.compress import MARK
from ..rules.items import Item
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
    ("Project Structure", ("hot", "skeleton")),
)
"""The sections in their order, each with the types of slices that stand in it."""

ITEM_TYPES: tuple[SliceType, ...] = ("rule", "reference")
"""Slices that are items, and in the format `messages` messages of their own."""

RULE_CHARACTERS_MIN = 120
"""A rule is cut to no less: its first two lines or so tell whether to read the file."""

SENTENCES_MIN = 120
"""With less room an item of a list is cut: there is none for a sentence beside the mark."""

NAME_CHARACTERS = 40
"""A longer name isn't said a second time."""


def render_markdown(chosen: Sequence[tuple[Slice, Form]]) -> str:
    """Put the chosen forms into their sections; a section without any is left out."""
    text = "".join(text for _, text in _parts(chosen))
    return text.rstrip("\n") + "\n"


def spans(chosen: Sequence[tuple[Slice, Form]], context: str) -> dict[str, tuple[int, int]]:
    """Return where each slice's text stands in the Markdown of all, by its id: the characters from the first
    number up to the second."""
    found, at = {}, 0
    for identifier, text in _parts(chosen):
        end = at + len(text)
        if identifier:
            found[identifier] = (at, min(end, len(context)))
        at = end
    return found


def frame_cost(counter: TokenCounter, format_: str, project: str, types: AbstractSet[SliceType]) -> Cost:
    """Return what a context costs beside its slices: its title and the headings of sections with slices of
    these types."""
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
    """Return what a slice costs in the JSON document, with its name, its escapes and the comma behind."""

    def measure(piece: Slice, form: Form) -> Cost:
        text = f"{json.dumps(_json_slice(piece, form), ensure_ascii=False)}, "
        return Cost(counter.count(text), len(text.encode("utf-8", "replace")))

    return measure


def block(heading: str, body: str, note: str = "") -> str:
    """Return a block of the focus: a heading, a body, and in italics what was left out."""
    noted = f"\n_{note}_\n" if note else ""
    return f"### {heading}\n\n{body}{noted}\n"


def code_block(heading: str, text: str, tag: str, note: str = "") -> str:
    """Return a block whose body is code or another text that must not be read as ours."""
    return block(heading, fenced(text, tag), note)


def code_frame(heading: str, fence: str, tag: str) -> tuple[str, str]:
    """Return what stands before and behind parts of a text that share a block."""
    return f"### {heading}\n\n{fence}{tag}\n", f"{fence}\n\n"


def rule_form(
    name: str, text: str, characters: int, *, is_file: bool = True, words: Iterable[str] = ()
) -> Form:
    """Render a rule in at most so many characters: what doesn't fit leaves the sentences out that are
    farthest from the `words` of the prompt. `is_file` if its name is a path."""
    heading = f"`{inline(name)}`"
    whole = code_block(heading, text, "markdown")
    if len(whole) <= characters:
        return Form(whole)
    most = text.count("\n") + 1
    around = len(whole) - len(text) + len(_rest_of(most, name, is_file=is_file)) + len("\n__\n\n")
    room = max(characters - around, RULE_CHARACTERS_MIN)
    short = shorten_text(text, "", words, room)
    rest = _rest_of(short.left_out_lines, name, is_file=is_file)
    cut = code_block(heading, short.text, "markdown", rest)
    if len(whole) <= len(cut):
        return Form(whole)
    return Form(cut, compressed=True, body=f"{short.text}\n{rest}")


def item_message(item: Item, form: Form) -> str:
    """Return a rule or a reference as the text of a message of its own, no longer than its form in a context:
    its name, an empty line, and what its form shows."""
    name = inline(item.name)
    text = form.body if form.compressed else item.text
    return f"{name}\n\n{text}" if text.strip() else name


def is_file(item: Item) -> bool:
    """Whether an item's name is the path of the file that it came from."""
    return item.source.endswith("/" + item.name.removeprefix("~/")) or item.source == item.name


def list_item(text: str, characters: int, words: Iterable[str] = ()) -> Form:
    """Render one item of a list on one line, of at most so many characters.

    A longer one keeps the sentences that are nearest to the `words` of the prompt, and is cut where even
    one has no room.
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
    """Return a text that can't end the line or the block it stands in: white space folded, fences split."""
    flat = "".join(c for c in text if c.isprintable() or c.isspace())
    flat = re.sub(r"\s+", " ", flat).strip()
    return re.sub(r"`{3,}", lambda run: " ".join("`" * len(run.group())), flat)


def slice_summary(piece: Slice, form: Form, tokens: int) -> dict[str, Any]:
    """Return a slice as the reply lists it.

    `tokens_before` are those that it would have taken whole: where it is compressed, by its characters and
    the tokens that those have which are shown.
    """
    summary: dict[str, Any] = {
        "id": sys.intern(piece.id),  # hundreds of kept contexts tell the same of the same files
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
    """Yield the texts that the Markdown is made of, each with the id of its slice, "" for what is of none."""
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
    """Return the note on what a rule leaves out. A long name stands in the heading above, and only there."""
    shown = inline(name)
    if is_file:
        return left_out_note(count, f"read {shown if len(shown) <= NAME_CHARACTERS else 'it'}")
    return left_out_note(count, f"of {shown}" if len(shown) <= NAME_CHARACTERS else "of this")
