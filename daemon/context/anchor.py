"""Slices around the focus: project description, rules, references, constraints, decisions and the map."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache, partial

from msgspec.structs import replace

from ..memory.records import Chosen
from ..privacy.policy import Policy
from ..project.records import LatestCommit, ProjectMetadata
from ..project.service import Layout
from ..rules.records import PlannedItem
from ..workspace.records import HotNode
from . import render
from .build_state import BuildState
from .excerpt import fenced
from .selection import Form, GrowForm, Slice
from .skeleton import draw_skeleton, printable

LEAST_CHARACTERS = 200
"""Characters of the smallest form of a constraint or a decision."""

UNLIMITED = 1 << 40
"""A number of characters above that of any form."""

DECISIONS_SHARE = 0.1
"""Maximum share of a context's tokens that all decisions together take."""

FOUND_ITEM_VALUE = 0.75
"""Share of its weight that an item found by search always has; the rest is multiplied by its score."""


def item_slices(state: BuildState, items: Sequence[PlannedItem]) -> Iterator[Slice]:
    """Yield rules and references; tools aren't part of the text."""
    for position, planned in enumerate(items):
        item = planned.item
        if item.type == "tool":
            continue
        is_rule, is_file = item.type == "rule", render.is_file(item)
        name, whose = printable(item.name), render.whose(item)
        if is_rule:
            rule = render.RuleForms(name, item.text, whose=whose, is_file=is_file, words=state.words)
            grow: GrowForm = rule.form
        else:
            grow = partial(
                render.reference_form, name, item.text, whose=whose, is_file=is_file, words=state.words
            )
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
            source=f"{item.name}:{item.line}, {planned.include}, {whose}",
            score=planned.score,
            required=planned.score is None,
        )


def visible_metadata(state: BuildState) -> ProjectMetadata | None:
    """Return the project's metadata without what hidden manifests say, without sentences that name hidden
    files, and without commits that changed hidden files only."""
    metadata = state.gathered.metadata
    if metadata is None:
        return None
    policy, root = state.snapshot.policy, state.snapshot.tree.root
    shown = policy.visible(metadata.manifests, lambda manifest: manifest.file)
    if len(shown) < len(metadata.manifests):
        metadata = metadata.described_by(shown, root)
    return replace(
        metadata,
        description=policy.mask("".join(policy.sentences([metadata.description], root))),
        commands=tuple(
            replace(command, line=policy.mask(command.line))
            for command in metadata.commands
            if not policy.names_denied(command.line, root)
        ),
        commits=tuple(
            replace(commit, line=policy.mask(commit.line))
            for commit in metadata.commits
            if not policy.names_denied(commit.line, root) and not _is_hidden(commit, policy)
        ),
    )


def _is_hidden(commit: LatestCommit, policy: Policy) -> bool:
    """Whether a commit changed only files that a limited agent may not see, or may have done so."""
    if not policy.deny_paths or commit.paths == ():
        return False
    return commit.paths is None or all(map(policy.hides, commit.paths))


def metadata_slices(state: BuildState) -> Iterator[Slice]:
    """Yield the project's description, if known."""
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
    """Yield the constraints of ancestor scopes and of the caller, each once."""
    policy, root = state.snapshot.policy, state.snapshot.tree.root
    own, others = [*state.scope.constraints], [*state.gathered.constraints_above]
    if state.request.agent_name not in {"", state.scope.agent_name}:
        own, others = [], [*others, *own]
    # Constraints of other agents may name files that this agent may not see, or tell of them.
    named = {text for text in others if policy.names_denied(text, root)}
    if state.gathered.is_foreign:
        named.update(state.scope.constraints)
    if named:
        state.gaps.append(
            f"{len(named):,} constraints may tell what is hidden from this agent and are left out"
        )
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
    """Yield the decisions relevant to the prompt, to the focus and to neighbouring files.

    Each decision gets room for its first sentences. The first decision gets as much of the remaining room as
    it needs, then the next.
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
    """Return the form of a decision, limited to `most` characters."""
    return experience_form(chosen, min(characters, most), words)


def _item_weight(state: BuildState, planned: PlannedItem) -> float:
    """Return the weight of an item, which partly depends on the score if a search found it."""
    weight = state.weights.rule if planned.item.type == "rule" else state.weights.reference
    if planned.score is None:
        return weight
    return round(weight * (FOUND_ITEM_VALUE + (1 - FOUND_ITEM_VALUE) * min(max(planned.score, 0), 1)), 4)


DECISION_CHARACTERS = 2_000
"""Maximum characters of a decision, and of its rationale, in a context."""

ERROR_CHARACTERS = 200
"""Maximum characters of the error in a failed decision."""

METADATA_CHARACTERS_MIN = 160
"""Characters of the smallest form of the project's name and description."""

SKELETON_CHARACTERS = 16_000
"""Maximum characters of the map, 4,000 tokens: nobody reads a larger one."""

FENCE_CHARACTERS = 40
"""Characters reserved for the fence around the map."""

MAP_CHARACTERS_MIN = 40
"""Minimum characters for the map, enough for the line of the root."""


class SkeletonForms:
    """The forms of the project's map. `hidden` paths are left out, folders of `near` paths unfold first."""

    def __init__(self, layout: Layout, hidden: Collection[str], near: Collection[str], most: int) -> None:
        self.full_characters = min(most, SKELETON_CHARACTERS)
        # The last rounds of a selection request the same size again; drawing takes a tenth of a build's time.
        self._draw = lru_cache(maxsize=1)(partial(draw_skeleton, layout, hidden, near))

    def __call__(self, characters: int) -> Form:
        """Draw the map within a number of characters; the smallest form is the line of the root."""
        room = max(min(characters, self.full_characters) - FENCE_CHARACTERS, MAP_CHARACTERS_MIN)
        drawn, folded = self._draw(room)
        return Form(fenced(drawn, "text"), compressed=folded)


def experience_form(chosen: Chosen, characters: int, words: Collection[str] = ()) -> Form:
    """Return a decision as a list item with its agent, and its rationale and files if there is room.

    A long decision keeps the sentences nearest to the `words` of the prompt.
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
    """Return the project's description, as many lines as fit, at least one."""
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
    """Return the list of files being worked on, each with the reason."""
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
        yield f"last commits: {'; '.join(render.inline(commit.line) for commit in metadata.commits)}"


def _outcome(chosen: Chosen) -> str:
    """Return the outcome of a decision, why it may be outdated, and the number of similar ones."""
    experience, notes = chosen.experience, []
    if experience.outcome == "failure":
        error = render.inline(experience.error)[:ERROR_CHARACTERS]
        notes.append(f"failed: {error}" if error else "failed")
    elif experience.outcome == "reverted":
        notes.append("reverted")
    if chosen.staleness:
        notes.append(f"may not hold any more: {render.inline(chosen.staleness)}")
    if chosen.folded:
        notes.append(f"{chosen.folded} more like it")
    return f" ({'; '.join(notes)})" if notes else ""


def _quoted(text: str) -> str:
    """Return a text without markup that a model could obey: `<system>` gets another bracket."""
    return re.sub(r"<(?=[/!?]?[A-Za-z|])", "\u2039", text)
