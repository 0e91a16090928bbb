"""Owns the forms of what is no file in a context: decisions, the files that are worked on, the map."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..experience.experience import Experience
from ..project.tree import Layout
from . import render
from .excerpt import fenced
from .scopes import HotNode
from .skeleton import draw_skeleton, printable
from .slices import Form

DECISION_CHARACTERS = 2_000
"""A decision or its rationale is cut here in a context; it is whole in the pool."""

ERROR_CHARACTERS = 200

SKELETON_CHARACTERS = 16_000
"""A map larger than 4,000 tokens isn't read any more, however large the budget."""

FENCE_CHARACTERS = 40
"""More than a fence takes around the map."""

MAP_CHARACTERS_MIN = 40
"""The map is given no less: the line of the root, with its number of files, needs fewer."""


class SkeletonForms:
    """The map of a project, in at most so many characters. `hidden` is left out, `near` unfolds first."""

    def __init__(self, layout: Layout, hidden: Collection[str], near: Collection[str], most: int) -> None:
        self._layout = layout
        self._hidden = hidden
        self._near = near
        self.full_characters = min(most, SKELETON_CHARACTERS)

    def __call__(self, characters: int) -> Form:
        """Draw the map folded until it fits; the least is the line of the root."""
        room = max(min(characters, self.full_characters) - FENCE_CHARACTERS, MAP_CHARACTERS_MIN)
        drawn, folded = draw_skeleton(self._layout, self._hidden, self._near, room)
        return Form(fenced(drawn, "text"), compressed=folded)


def experience_form(experience: Experience, characters: int) -> Form:
    """Give a decision on one line, with its reasons and files below where there is room."""
    limit = min(characters, DECISION_CHARACTERS)
    agent = render.inline(experience.agent_id) or "agent"
    first = render.list_item(f"{agent}: {experience.decision}", limit)
    text = first.text.rstrip("\n") + _outcome(experience) + "\n"
    compressed = first.compressed
    for label, value in (("why", experience.rationale), ("files", ", ".join(experience.files_touched))):
        line = f"  {label}: {render.inline(value)}"
        if not value:
            continue
        if len(text) + len(line) + 1 <= characters and len(line) <= DECISION_CHARACTERS:
            text += line + "\n"
        else:
            compressed = True
    return Form(text, compressed)


def hot_form(hot: Sequence[HotNode]) -> Form:
    """List the files that are worked on, each with the reason."""
    lines = [f"- `{printable(node.path)}` ({node.reason})" for node in hot]
    return Form("Active files:\n\n" + "\n".join(lines) + "\n\n")


def _outcome(experience: Experience) -> str:
    if experience.outcome == "failure":
        error = render.inline(experience.error)[:ERROR_CHARACTERS]
        return f" (failed: {error})" if error else " (failed)"
    return " (reverted)" if experience.outcome == "reverted" else ""
