"""The anchor of a context: the project, rules, constraints, decisions and the map, in the forms they take."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import partial

from msgspec.structs import replace

from ..memory.recall import Chosen
from ..project.metadata import ProjectMetadata
from ..project.tree import Layout
from ..rules.items import PlannedItem
from . import render
from .build_state import BuildState
from .excerpt import fenced
from .scopes import HotNode
from .selection import Form, Slice
from .skeleton import draw_skeleton, printable

LEAST_CHARACTERS = 200
"""A constraint or a decision enters with so many characters at first."""

UNLIMITED = 1 << 40
"""More characters than any form has."""

DECISIONS_SHARE = 0.1
"""Maximum share of a context's tokens that all decisions together take."""

FOUND_ITEM_VALUE = 0.75
"""What an item is worth at least that a search found; its score decides on the rest."""


def item_slices(state: BuildState, items: Sequence[PlannedItem]) -> Iterator[Slice]:
    """Yield rules, and references, which stand before the focus; tools are no text of a context."""
    for position, planned in enumerate(items):
        item = planned.item
        if item.type == "tool":
            continue
        is_rule, is_file = item.type == "rule", render.is_file(item)
        grow = partial(render.rule_form, printable(item.name), item.text, is_file=is_file, words=state.words)
        yield Slice(
            id=planned.slice_id,
            type="rule" if is_rule else "reference",
            layer="anchor" if is_rule else "focus",
            weight=_item_weight(state, planned),
            order=(0, item.priority_level, position),
            smallest=grow(0),
            grow=grow,
            full_characters=len(grow(UNLIMITED).text),
            path=item.name if is_file else "",
            source=f"{item.name}:{item.line}, {planned.include}",
            score=planned.score,
            required=planned.score is None,
        )


def visible_metadata(state: BuildState) -> ProjectMetadata | None:
    """Return what a project says of itself without what names hidden files: commits do, and commands may."""
    metadata = state.gathered.metadata
    if metadata is None:
        return None
    policy, root = state.snapshot.policy, state.snapshot.tree.root
    return replace(
        metadata,
        description=policy.mask("".join(policy.sentences([metadata.description], root))),
        commands=tuple(
            replace(command, line=policy.mask(command.line))
            for command in metadata.commands
            if not policy.names_denied(command.line, root)
        ),
        commits=tuple(map(policy.mask, policy.sentences(metadata.commits, root))),
    )


def metadata_slices(state: BuildState) -> Iterator[Slice]:
    """Yield what the project says of itself, where that is known."""
    metadata = visible_metadata(state)
    if metadata is None:
        return
    grow = partial(metadata_form, metadata)
    yield Slice(
        id="project_meta",
        type="project_meta",
        layer="anchor",
        weight=state.weights.project_meta,
        order=(0,),
        smallest=grow(0),
        grow=grow,
        full_characters=len(grow(UNLIMITED).text),
        source="manifests and git",
    )


def constraint_slices(state: BuildState) -> Iterator[Slice]:
    """Yield the constraints of the scopes above and of the caller, each once."""
    policy, root = state.snapshot.policy, state.snapshot.tree.root
    own, others = [*state.scope.constraints], [*state.gathered.constraints_above]
    if state.request.agent_name not in {"", state.scope.agent_name}:
        own, others = [], [*others, *own]
    # Those of other agents may name what this one may not see; its own are no news to it.
    named = {text for text in others if policy.names_denied(text, root)}
    if named:
        state.gaps.append(f"{len(named):,} constraints name what is hidden from this agent and are left out")
    unique = dict.fromkeys(text for text in (*others, *own) if text not in named)
    for position, text in enumerate(unique):
        grow = partial(render.list_item, policy.mask(text), words=state.words)
        yield Slice(
            id=f"constraint:{position}",
            type="constraint",
            layer="anchor",
            weight=state.weights.constraint,
            order=(1, position),
            smallest=grow(LEAST_CHARACTERS),
            grow=grow,
            full_characters=len(grow(UNLIMITED).text),
            source="an ancestor scope" if text in state.gathered.constraints_above else "the caller",
            required=True,
        )


def experience_slices(state: BuildState, focus: set[str], neighbours: set[str]) -> Iterator[Slice]:
    """Yield the decisions that matter to the prompt, these files and those around them.

    Each has room for its first sentences; what is left is the first one's as far as it needs it, and so on.
    """
    limit = state.snapshot.config.context.experiences_max
    chosen = state.snapshot.relevant_experiences(
        focus, neighbours, set(state.words), limit, state.gathered.meaning
    )
    room = state.counter.characters(int(state.request.context_tokens * DECISIONS_SHARE))
    chosen = chosen[: room // LEAST_CHARACTERS]
    room -= len(chosen) * LEAST_CHARACTERS
    for position, candidate in enumerate(chosen):
        experience = candidate.experience
        grow = partial(_decision, candidate, LEAST_CHARACTERS + room, state.words)
        room -= max(len(grow(UNLIMITED).text) - LEAST_CHARACTERS, 0)
        yield Slice(
            id=f"experience:{experience.id}",
            type="agent_history",
            layer="anchor",
            weight=state.weights.agent_history,
            order=(2, position),
            smallest=grow(LEAST_CHARACTERS),
            grow=grow,
            full_characters=len(grow(UNLIMITED).text),
            source=f"{experience.agent_id}, {experience.timestamp}: {'; '.join(candidate.reasons)}",
            score=candidate.score,
        )


def _decision(chosen: Chosen, most: int, words: Collection[str], characters: int) -> Form:
    """Return a decision in at most as many characters as it may have."""
    return experience_form(chosen, min(characters, most), words)


def _item_weight(state: BuildState, planned: PlannedItem) -> float:
    """Return what an item weighs; of one that a search found its score decides on a part."""
    weight = state.weights.rule if planned.item.type == "rule" else state.weights.reference
    if planned.score is None:
        return weight
    return round(weight * (FOUND_ITEM_VALUE + (1 - FOUND_ITEM_VALUE) * min(max(planned.score, 0), 1)), 4)


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
