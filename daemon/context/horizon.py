"""Owns the horizon of a context: the files that are worked on, and the map of all others."""

from __future__ import annotations

from collections.abc import Iterator

from .build_state import BuildState
from .forms import SkeletonForms, hot_form
from .slices import Slice, fixed

SKELETON_SHARE = 0.25
"""The map takes at most this much of the budget, even where nothing else wants it."""


PROMPTED_SHARE = 0.06
"""Where a prompt says what is wanted, the map only shows where that lies."""

PROMPTED_TOKENS_MIN = 4_000
"""Smaller contexts for a prompt have no horizon: less than 240 tokens of a map name a few folders."""


def horizon_slices(state: BuildState, focus: set[str], dependencies: set[str]) -> Iterator[Slice]:
    """Yield what is hot, and the map, each if there is anything to show."""
    prompted = bool(state.request.prompt.strip())
    if prompted and state.request.context_tokens < PROMPTED_TOKENS_MIN:
        return
    files, layout = state.snapshot.tree.files, state.snapshot.tree.layout
    hot = [node for node in state.scope.hot if node.path in files and node.path not in focus]
    if hot:
        yield Slice("hot", "hot", "horizon", state.weights.hot, (5, 0), *fixed(hot_form(hot)))
    if layout.folders[""].total <= sum(path in files for path in focus):
        return  # nothing beside the focus
    most = PROMPTED_SHARE if prompted else SKELETON_SHARE
    share = int(state.counter.characters(state.request.context_tokens) * most)
    forms = SkeletonForms(layout, focus, focus | dependencies, share)
    weight, full = state.weights.skeleton, forms.full_characters
    yield Slice("skeleton", "skeleton", "horizon", weight, (5, 1), forms(0), forms, full)
