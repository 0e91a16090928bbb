"""Owns the slices of what was found for a prompt and isn't in focus."""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from ..retrieval.hits import Hit
from .build_state import BuildState, content_key
from .focus import FocusNode
from .focus_slices import NAMED_VALUE
from .hit_forms import HitForms, found_symbols, reasons_of
from .hit_share import hit_characters, hit_values, hits_wanted
from .shortened import LARGE_CHARACTERS, is_document
from .slices import Slice


def shown_hits(
    state: BuildState, nodes: Sequence[FocusNode], imported: Container[str]
) -> list[tuple[Hit, float]]:
    """Return the hits that a context of this size is given, with what each is worth.

    What was found and is imported by the focus, or holds a definition that the prompt names, is among them
    whatever the size, so that with a larger one it doesn't change its place.
    """
    hits = _fresh_hits(state, nodes)
    wanted = hits_wanted(state.request.context_tokens, state.snapshot.config.context.hits_max)
    named = {node.path for node in nodes if _is_named(node)}
    shown = []
    for position, (hit, value) in enumerate(zip(hits, hit_values(hits), strict=True)):
        if hit.path in named:
            shown.append((hit, max(value, NAMED_VALUE)))
        elif position < wanted or hit.path in imported:
            shown.append((hit, value))
    return shown


def without_hits(
    state: BuildState, nodes: Sequence[FocusNode], hits: Sequence[tuple[Hit, float]]
) -> list[FocusNode]:
    """Return the nodes but for definitions that the prompt names in a file that was found: it shows them."""
    found = {hit.path for hit, _ in hits}
    kept = []
    for node in nodes:
        if _is_named(node) and node.path in found:
            state.wanted.setdefault(node.path, set()).add(node.symbol)
        else:
            kept.append(node)
    return kept


def hit_slices(state: BuildState, hits: Sequence[tuple[Hit, float]]) -> Iterator[Slice]:
    """Yield a slice for each hit that can be read."""
    tokens = state.request.context_tokens
    for position, (hit, value) in enumerate(hits):
        content = state.files.note(hit.path)
        if content.problem:
            state.gaps.append(f"{hit.path} was found for the prompt but is not shown: {content.problem}")
            continue
        source = state.source(hit.path, content)
        wanted = state.wanted.get(hit.path, ())
        forms = HitForms(hit, source, state.words, hit_characters(position, tokens, len(hits)), wanted)
        segments = len(content.text) > LARGE_CHARACTERS and is_document(source)
        weight = state.weights.compressed_segment if segments else state.weights.document
        yield Slice(
            id=f"document:{hit.node_id}",
            type="compressed_segment" if segments else "document",
            layer="focus",
            weight=round(weight * value, 4),
            order=(3, len(state.scope.focus_paths) + len(state.scope.expanded) + position),
            smallest=forms(0),
            grow=forms,
            full_characters=forms.full_characters,
            path=hit.path,
            source=f"found for the prompt: {reasons_of(hit)}",
            score=hit.score,
            content=content_key(content),
            content_characters=len(content.text),
        )


def _fresh_hits(state: BuildState, nodes: Sequence[FocusNode]) -> list[Hit]:
    """Return what was found for the prompt and isn't in focus; what is shows its found parts first."""
    inside = {node.path for node in nodes if not _is_named(node)}
    for hit in state.gathered.hits:
        if hit.path in inside:
            state.wanted.setdefault(hit.path, set()).update(found_symbols(hit))
    return [hit for hit in state.gathered.hits if hit.path not in inside and hit.path not in state.rule_files]


def _is_named(node: FocusNode) -> bool:
    """Whether a node is a definition that the prompt names, and nothing that the caller asked for."""
    return bool(node.symbol) and node.role == "document"
