"""Owns the forms of what is no file in a context: decisions, the files that are worked on, the map."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from ..memory.recall import Chosen
from ..project.metadata import ProjectMetadata
from ..project.tree import Layout
from . import render
from .excerpt import fenced
from .scopes import HotNode
from .skeleton import draw_skeleton, printable
from .slices import Form

DECISION_CHARACTERS = 2_000
"""A decision or its rationale is cut here in a context; it is whole in the pool."""

ERROR_CHARACTERS = 200

METADATA_CHARACTERS_MIN = 160
"""What a project is called and is takes so much in its smallest form."""

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


def experience_form(chosen: Chosen, characters: int, words: Collection[str] = ()) -> Form:
    """Give a decision on one line as a note of who took it, with its reasons and files where there is room.

    Of a long one the sentences that are nearest to the `words` of the prompt.
    """
    experience = chosen.experience
    limit = min(characters, DECISION_CHARACTERS)
    agent = render.inline(experience.agent_id) or "agent"
    first = render.list_item(f"{agent}: {_quoted(experience.decision)}", limit, words)
    text = first.text.rstrip("\n") + _outcome(chosen) + "\n"
    compressed = first.compressed
    for label, value in (("why", experience.rationale), ("files", ", ".join(experience.files_touched))):
        line = f"  {label}: {_quoted(render.inline(value))}"
        if not value:
            continue
        if len(text) + len(line) + 1 <= characters and len(line) <= DECISION_CHARACTERS:
            text += line + "\n"
        else:
            compressed = True
    return Form(text, compressed)


def metadata_form(metadata: ProjectMetadata, characters: int) -> Form:
    """Say what a project is, a line for each thing, as many lines as fit; the first is always there."""
    lines = list(_metadata_lines(metadata))
    first = render.list_item(lines[0], max(characters, METADATA_CHARACTERS_MIN))
    text, shown = first.text, 1
    for line in lines[1:]:
        if len(text) + len(line) + 3 > characters:
            break
        text += f"- {line}\n"
        shown += 1
    return Form(text, compressed=first.compressed or shown < len(lines))


def hot_form(hot: Sequence[HotNode]) -> Form:
    """List the files that are worked on, each with the reason."""
    lines = [f"- `{printable(node.path)}` ({node.reason})" for node in hot]
    return Form("Active files:\n\n" + "\n".join(lines) + "\n\n")


def _metadata_lines(metadata: ProjectMetadata) -> Iterator[str]:
    about = f": {render.inline(metadata.description)}" if metadata.description else ""
    yield f"{render.inline(metadata.name)}{about}"
    languages = ", ".join(f"{name} {share:.0%}" for name, share in metadata.languages)
    if languages:
        yield f"languages: {languages}"
    for command in metadata.commands:
        yield f"{command.purpose}: `{render.inline(command.line).replace('`', chr(39))}`"
    if metadata.branch:
        yield f"branch: {render.inline(metadata.branch)}"
    if metadata.commits:
        yield f"last commits: {'; '.join(map(render.inline, metadata.commits))}"


def _outcome(chosen: Chosen) -> str:
    """Say what became of a decision, whether it may still hold, and how many others say the same."""
    experience, notes = chosen.experience, []
    outcome = experience.marks[-1].kind if experience.marks else experience.outcome
    if outcome == "failure":
        error = render.inline(experience.error)[:ERROR_CHARACTERS]
        notes.append(f"failed: {error}" if error else "failed")
    elif outcome == "reverted":
        notes.append("reverted")
    if chosen.staleness.reason:
        notes.append(f"may not hold any more: {render.inline(chosen.staleness.reason)}")
    if chosen.folded:
        notes.append(f"{chosen.folded} more like it")
    return f" ({'; '.join(notes)})" if notes else ""


def _quoted(text: str) -> str:
    """Return a note in which no mark-up speaks to its reader: `<system>` is shown with another bracket."""
    return re.sub(r"<(?=[/!?]?[A-Za-z|])", "\u2039", text)
