"""Builds a context: from the gathered sources of a request to the rendered text and its record.

It only reads files and the index. It runs in a thread, never on the event loop.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec import to_builtins
from msgspec.structs import replace

from ..compression.records import Wanted
from ..compression.service import LaterCompressor
from ..core.storage import DatabaseError
from ..index.service import Reader
from ..privacy.secret_gate import OPEN, SecretGate, gate_of
from ..privacy.secret_values import MASK
from ..project.records import ProjectMetadata
from ..rules.records import LeftOutItem, PlannedItem
from ..workspace.service import read_together
from .anchor import (
    SkeletonForms,
    constraint_slices,
    experience_slices,
    hot_form,
    item_slices,
    metadata_slices,
    visible_metadata,
)
from .build_state import NO_READERS, BuildState, GatheredSources, begin
from .built import Built
from .dependency_slices import (
    IMPORTER_VALUE,
    IMPORTERS_PLACE,
    SIBLING_VALUE,
    SIBLINGS_PLACE,
    dependencies,
    importers,
    outline_slices,
    siblings,
)
from .focus_nodes import focus_nodes, focus_slices, paths_called_for
from .hit_slices import divide, found_definitions, hit_slices, needed_slices, worth
from .likely_places import place_slices
from .misses import limit_of, near_misses
from .prompts import PromptTemplates, PromptValues
from .reply import fit, reply_of, sent_of, without_held
from .selection import Form, GrowForm, Selection, Slice, SliceType, decided, fixed
from .sent_content import STANDING, ConversationContent, SentSlice, Unsent, held_of, holds_whole
from .sibling_slices import sibling_slices


def build(gathered: GatheredSources) -> Built:
    """Build a context. Nothing in a project's files makes it raise; missing parts are listed in `gaps`."""
    if gathered.quick:
        return _built(gathered, None)

    def read(readers: Mapping[str, Reader], unread: Mapping[str, str]) -> Built:
        said = (_unread(prefix, why) for prefix, why in unread.items())
        known = replace(gathered, degraded=(*gathered.degraded, *said))
        return _built(replace(known, hits=()) if "" in unread else known, readers.get(""), readers)

    try:
        return read_together({"": gathered.snapshot, **gathered.linked}, read)
    except DatabaseError as error:  # damage found during a read
        return read({}, {"": str(error)})


def _unread(prefix: str, why: str) -> str:
    if prefix:
        return f"{prefix}: the index can't be read ({why})"
    return f"the index can't be read ({why}): no definitions and no imports are known"


def _built(
    gathered: GatheredSources, reader: Reader | None, readers: Mapping[str, Reader] = NO_READERS
) -> Built:
    """Gather the slices, fit them into the budget, render."""
    state = begin(gathered, reader, readers)
    nodes = focus_nodes(state)
    asked_for = {node.path for node in nodes}
    imported = dependencies(state, nodes)
    found = found_definitions(state, nodes)
    definitions, likely = divide(state, found)
    focus = {node.path for node in nodes} | {match.path for _, match in definitions}
    importing = importers(state, nodes, focus | set(imported))
    beside = siblings(state, nodes, focus | {*imported, *importing})
    near = {*imported, *importing}
    state.gaps.extend([*state.snapshot.rules.warnings, *state.plan.gaps])
    items = state.plan.entering(paths_called_for(state, nodes))
    gate, most = _gate(state), max((worth(match) for _, match in found), default=1.0)
    slices = [
        *metadata_slices(state),
        *item_slices(state, items),
        *constraint_slices(state),
        *experience_slices(state, asked_for, near | (focus - asked_for)),
        *focus_slices(state, nodes),
        *hit_slices(state, nodes, definitions),
        *needed_slices(state, nodes, definitions),
        *sibling_slices(state, definitions, likely, gate),
        *place_slices(state, likely, most, gate),
        *outline_slices(state, imported, "imported by"),
        *outline_slices(state, importing, "imports", IMPORTER_VALUE, IMPORTERS_PLACE),
        *outline_slices(state, beside, "beside", SIBLING_VALUE, SIBLINGS_PLACE),
        *horizon_slices(state, {node.path for node in nodes} | state.passed_over, near | focus),
    ]
    # A definition that a shown one uses and that was found itself, but only for larger contexts, stays there.
    used = {
        (piece.path, piece.lines and piece.lines[0]) for piece in slices if piece.id.startswith("needed:")
    }
    slices = [
        piece
        for piece in slices
        if piece.type != "document" or not piece.lines or (piece.path, piece.lines[0]) not in used
    ]
    slices = decided(list(sealed(slices, gate)))
    if state.request.news:
        slices = list(news_in(slices, gathered.resident))
    project = os.path.basename(state.snapshot.tree.root)
    whole, context = fit(slices, state.request, project, state.counter)
    selection, unsent = whole, Unsent(whole.chosen)
    if gathered.resident is not None:
        selection, context, unsent = without_held(
            whole, gathered.resident, state.request, project, state.counter
        )
    if state.request.news and not has_news(selection.chosen, unsent.held):
        # If the conversation already holds everything, it needs no hint where to look.
        context = "" if selection.chosen or gathered.need is None else gathered.need.hint
        selection = whole = replace(selection, chosen=(), costs={})
        unsent = Unsent(())
    built = _record(state, items, selection, context, unsent, whole, gate)
    tools = [item for item in items if item.item.type == "tool" and item not in built.items]
    misses = near_misses(state, selection, tools, built.reply)
    return replace(
        built,
        memory_bytes=built.memory_bytes + 600 * len(misses),
        near=tuple(map(gate.of_record, to_builtins(misses))),
    )


def _record(
    state: BuildState,
    planned: Sequence[PlannedItem],
    selection: Selection,
    context: str,
    unsent: Unsent,
    whole: Selection,
    gate: SecretGate,
) -> Built:
    """Make the reply and the record of a selection; `whole` is the selection before content that the
    conversation holds was removed. All their texts pass the gate; those of the slices have, and a prompt goes
    back to its sender unchanged."""
    request = state.request
    fitting = {candidate.id for candidate, _ in selection.chosen} | _fitting_tools(state, planned)
    items = tuple(item for item in planned if item.slice_id in fitting)
    # Items chosen by a person or by their mode are named even without room for them; found ones aren't.
    named = [(item, item.slice_id in fitting) for item in planned]
    named = [(item, fits) for item, fits in named if fits or item.score is None]
    missed = (item for item in planned if item.score is not None and item.slice_id not in fitting)
    sent = None
    if request.format in {"prompts", "messages"} or (request.prompt and state.scope.session_id):
        prompts = partial(_prompts, state)
        sent = sent_of(prompts, request, selection.chosen, context, items, unsent.named)
    reply = reply_of(
        state.scope.id,
        request,
        selection,
        context,
        named,
        state.gaps,
        tuple(dict.fromkeys(state.degraded)),
        sent,
        state.counter,
    )
    if masked := context.count(MASK):
        reply["masked"] = masked
    # A duplicate of a shown file must be checked too: it may change and then be shown.
    copies = {
        dropped_slice.slice.path for dropped_slice in selection.dropped if dropped_slice.reason == "duplicate"
    }
    named_paths = {candidate.path for candidate, _ in selection.chosen} | copies | state.left_out
    shown = tuple(shown for path, shown in sorted(state.files.shown.items()) if path in named_paths)
    memory = 3 * len(context) + 400 * len(selection.chosen) + 300 * len(shown) + 200 * len(items)
    return Built(
        gate.of_record(reply, but=("context", "system_prompt", "user_prompt")),
        shown,
        state.files.all_stale,
        memory + (sent.characters if sent else 0),
        state.files.lasting,
        items,
        (
            *state.plan.left_out,
            *(LeftOutItem(missed_item.item, missed_item.score or 0.0, "budget") for missed_item in missed),
        ),
        sent,
        bool(state.gathered.unfinished),
        *_figures(selection, reply, whole, unsent),
        _compressible(state, selection),
        limit=limit_of(request, selection, reply, late=bool(state.gathered.unfinished)),
    )


def _gate(state: BuildState) -> SecretGate:
    """Return the gate that knows the secrets in what the caller wrote."""
    if not state.snapshot.policy.mask_values:
        return OPEN
    request = state.request
    said = (request.prompt, *(message.content for message in request.history))
    return gate_of((*said, *state.scope.constraints, *state.gathered.constraints_above))


def sealed(slices: Iterable[Slice], gate: SecretGate) -> Iterator[Slice]:
    """Yield the slices with each secret that the gate knows masked in their texts."""
    if not gate.knows_any:
        yield from slices
        return

    def grown(grow: GrowForm, characters: int) -> Form:
        return shown(grow(characters))

    def shown(form: Form) -> Form:
        return replace(form, text=gate.of_code(form.text), body=gate.of_code(form.body))

    for piece in slices:
        yield replace(piece, smallest=shown(piece.smallest), grow=partial(grown, piece.grow))


def _compressible(state: BuildState, selection: Selection) -> tuple[Wanted, ...]:
    """Return the shortened documents that the compression model hasn't shortened yet."""
    later = state.gathered.compress
    if not isinstance(later, LaterCompressor):
        return ()
    shortened = {candidate.path for candidate, form in selection.chosen if form.compressed}
    return tuple(document for document in later.wanted if document.path in shortened)


def _prompts(state: BuildState, context: str) -> tuple[str, str]:
    """Return the system prompt (with the context) and the user prompt; broken templates are in `degraded`."""
    metadata = visible_metadata(state) or ProjectMetadata(os.path.basename(state.snapshot.tree.root))
    request = state.request
    values = PromptValues(metadata, context, request.prompt, request.task_type, request.agent_name)
    made = PromptTemplates(state.gathered.templates, state.snapshot.system).render(values)
    state.degraded = (*state.degraded, *made.problems)
    return made.system, made.user


def _figures(
    selection: Selection, reply: Mapping[str, Any], whole: Selection, unsent: Unsent
) -> tuple[tuple[tuple[str, SentSlice], ...], int, int, dict[str, int]]:
    """Return the newly held slices, and tokens: saved, before compression, and by type of slice."""
    costs = {identifier: cost.tokens for identifier, cost in selection.costs.items()}
    by_type: dict[str, int] = {}
    for item in reply["slices"]:
        by_type[item["type"]] = by_type.get(item["type"], 0) + item["tokens"]
    return (
        tuple(
            held_of(candidate, form, costs[candidate.id])
            for candidate, form in whole.chosen
            if candidate.id not in unsent.held
        ),
        sum(max(whole.costs[piece.id].tokens - costs[piece.id], 0) for piece, _ in whole.chosen),
        sum(item["tokens_before"] for item in reply["slices"]),
        by_type,
    )


def _fitting_tools(state: BuildState, planned: Sequence[PlannedItem]) -> set[str]:
    """Return the ids of the tools whose descriptions together take no more than `max_bytes`."""
    tools = [item for item in planned if item.item.type == "tool"]
    room, fitting = state.request.max_bytes, set()
    for tool in tools:
        size = len(tool.item.description.encode("utf-8", "replace"))
        size += len(tool.item.text.encode("utf-8", "replace"))
        if size <= room:
            fitting.add(tool.slice_id)
            room -= size
    if len(fitting) < len(tools):
        state.gaps.append(
            f"{len(tools) - len(fitting):,} of {len(tools):,} tools are left out: their descriptions take"
            " more than max_bytes"
        )
    return fitting


BEGINNING: frozenset[SliceType] = frozenset({"project_meta", "hot", "skeleton"})
"""Types of slices sent at the start of a conversation, and never as news for a later prompt."""

BESIDE: frozenset[SliceType] = frozenset({"agent_history", "dependency"})
"""Types of slices that are sent only together with other news."""


def news_in(slices: Iterable[Slice], resident: ConversationContent | None) -> Iterator[Slice]:
    """Yield the slices that may be sent as news for a prompt."""
    for piece in slices:
        if piece.type in BEGINNING:
            continue
        if resident is None or piece.type not in STANDING or not holds_whole(resident, piece):
            yield piece


def has_news(chosen: Sequence[tuple[Slice, Form]], held: Collection[str]) -> bool:
    """Whether any chosen slice is worth sending; `held` are the ids of slices that aren't new."""
    return any(candidate.id not in held and candidate.type not in BESIDE for candidate, _ in chosen)


SKELETON_SHARE, SKELETON_TOKENS = 0.25, 500
"""Maximum share of the budget for the map of the project, and its maximum tokens: of maps of 2,200 tokens in
48 tasks of benchmarks/worth agents used next to nothing, and they were a quarter of all that they read."""


PROMPTED_SHARE = 0.06
"""The same share in a context with a prompt, where the map only shows the folders around found files."""

PROMPTED_TOKENS_MIN = 3_000
"""Minimum tokens of a context with a prompt and a map, what the default leaves without the part for the
reply: 180 tokens of a map name only a few folders."""


LAST_TIER = 1_000
"""The tier of the map in a context with a prompt: after all that was found."""


def horizon_slices(state: BuildState, focus: set[str], dependencies: set[str]) -> Iterator[Slice]:
    """Yield the list of files being worked on and the map of the project, if they show anything."""
    prompted = bool(state.request.prompt.strip())
    if prompted and state.request.context_tokens < PROMPTED_TOKENS_MIN:
        return
    files, layout = state.snapshot.tree.files, state.snapshot.tree.layout
    hot = [node for node in state.scope.hot if node.path in files and node.path not in focus]
    if hot:
        form = fixed(hot_form(hot))
        yield Slice(
            "hot", "hot", "horizon", state.weights.hot, (5, 0), *form, competes=prompted, tier=LAST_TIER
        )
    if layout.folders[""].total <= sum(path in files for path in focus):
        return  # all files are in focus
    most = PROMPTED_SHARE if prompted else SKELETON_SHARE
    tokens = min(state.request.context_tokens * most, SKELETON_TOKENS)
    share = int(state.counter.characters(1_000) * tokens / 1_000)
    forms = SkeletonForms(layout, focus, focus | dependencies, share)
    weight, full = state.weights.skeleton, forms.full_characters
    yield Slice("skeleton", "skeleton", "horizon", weight, (5, 1), forms(0), forms, full, competes=prompted)
