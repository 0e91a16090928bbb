"""Owns the slice: a candidate for the context, with the forms, short to full, that it can take."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

from msgspec import Struct

Layer = Literal["anchor", "focus", "horizon"]
LAYERS: tuple[Layer, ...] = ("anchor", "focus", "horizon")

SliceType = Literal[
    "project_meta",
    "rule",
    "constraint",
    "agent_history",
    "reference",
    "focus",
    "expansion",
    "session_set",
    "document",
    "compressed_segment",
    "dependency",
    "hot",
    "skeleton",
]


class Form(Struct, frozen=True):
    """One way to show a slice: its text as rendered, and whether something of it was left out.

    `body` is what a compressed item shows of its text, without what stands around it; else it is empty.
    """

    text: str
    compressed: bool = False
    body: str = ""


GrowForm = Callable[[int], Form]
"""Give the fullest form whose text has at most so many characters; may be larger if none is that small."""


class Slice(Struct, frozen=True):
    """A candidate for the context.

    `id` is unique within a context. `smallest` is the form that enters first, of at most 100 tokens; `grow`
    gives a fuller one for a number of characters, up to `full_characters`. `order` places it within its
    section; `weight` (0..1) decides who comes first when the budget is short, after what is `required`.

    For the record `source` says where it came from, `score` how near it is to the prompt, `path` and `lines`
    (from 1, both inclusive, None for the whole file) what it shows, and `content_characters` how much there
    is of it where that is more than `full_characters`. Of slices with one `content` (any key of what they
    show, "" for none), or with one path and lines, one enters. What `competes` was found: it enters in a form
    of any size, by its weight, where what was asked for leaves room. Slices that follow each other and have
    one `frame`, the texts before and behind, stand in it together. With `beside` it enters only where the
    slice of that id did.
    """

    id: str
    type: SliceType
    layer: Layer
    weight: float
    order: tuple[int | str, ...]
    smallest: Form
    grow: GrowForm
    full_characters: int
    path: str = ""
    source: str = ""
    score: float | None = None
    required: bool = False
    lines: tuple[int, int] | None = None
    content: str = ""
    content_characters: int = 0
    competes: bool = False
    frame: tuple[str, str] | None = None
    beside: str = ""


def fixed(form: Form) -> tuple[Form, GrowForm, int]:
    """Return the three fields of a slice that has one form only."""
    return form, lambda _: form, len(form.text)


def cut_lines(text: str, characters: int) -> tuple[str, int]:
    """Cut a text after a whole line, at most so many characters; returns it and the lines left out.

    A first line that is too long by itself is cut inside, since an empty text would say nothing; it counts
    as left out.
    """
    limit = max(characters, 0)
    if len(text) <= limit:
        return text, 0
    following = text.rfind("\n", 0, limit + 1) + 1  # where the first line that is left out begins
    kept = text[: min(following, limit)] if following else text[:limit]
    return kept, text.count("\n", following) + (not text.endswith("\n"))
