"""Owns the slice: a candidate for the context, with the forms, short to full, that it can take."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Layer = Literal["anchor", "focus", "horizon"]
LAYERS: tuple[Layer, ...] = ("anchor", "focus", "horizon")

SliceType = Literal[
    "rule",
    "constraint",
    "agent_history",
    "reference",
    "focus",
    "expansion",
    "document",
    "dependency",
    "hot",
    "skeleton",
]

CHARACTERS_PER_TOKEN = 4
"""An estimate that needs no vocabulary: ceil(characters * 0.25), the rule of thumb of the model vendors for
English text. Code runs a little denser (3.2 to 3.8 characters a token with GPT-4's vocabulary)."""


def count_tokens(text: str) -> int:
    """Estimate the tokens of a text: ceil(characters / 4)."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Form:
    """One way to show a slice: its text as rendered, and whether something of it was left out.

    `tokens` and `bytes` are measured from the text once, since the budget compares them many times.
    """

    text: str
    compressed: bool = False
    tokens: int = field(init=False)
    bytes: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "tokens", count_tokens(self.text))
        object.__setattr__(self, "bytes", len(self.text.encode("utf-8", "replace")))


GrowForm = Callable[[int], Form]
"""Give the fullest form whose text has at most so many characters; may be larger if none is that small."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A candidate for the context.

    `id` is unique within a context. `smallest` is the form that enters first; `grow` gives a fuller one for
    a number of characters, up to `full_characters`. `order` places it within its section; `weight` (0..1)
    decides who comes first when the budget is short. `source` says where it came from, for the record.
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
