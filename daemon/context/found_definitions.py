"""Owns the choice of what was found for a prompt: definitions, each by what it is worth for its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt

from msgspec.structs import replace

from ..search.hits import FoundDefinition, Hit
from .build_state import BuildState
from .focus import FocusNode

DEFINITIONS_MAX = 60
"""Maximum number of definitions that compete for a context; 8,000 tokens hold about 50 of them."""

SHOWN_MIN = 0.008
"""What is needed with less probability isn't shown. In benchmarks/needed contexts of 8,000 tokens then show
.96 of what they show without a threshold, in .64 of the tokens."""

SHOWN_SHARE, SHARED_TOKENS = 0.15, 2_000
"""And so much less than the best one: beside a sure place what is barely probable is noise. In a context of
more than `SHARED_TOKENS` in proportion less, as who gives more tokens wants more places. In benchmarks/needed
.03 for all shows .02, .05, .07, .05 and .03 more of the edited lines at 500 to 8,000 tokens, of which it uses
a tenth to a third more."""

WANTED_SHARE = 0.5
"""In a file in focus what is at least so probable beside the best is shown first where not all fits."""

LINES_FREE = 15
"""Lines that each definition is counted as more: else what is trivial comes before what answers."""


Found = tuple[str, FoundDefinition]
"""What was found, behind the reasons in words."""


def found_definitions(state: BuildState, nodes: Sequence[FocusNode]) -> list[Found]:
    """Return what competes for the context, what is worth most for its length first; none lies in another.

    The best in a file in focus become wanted there.
    """
    inside = {node.path for node in nodes if node.role != "document" and not node.symbol}
    best: dict[tuple[str, int], Found] = {}
    in_focus: dict[str, list[FoundDefinition]] = {}
    for reasons, one in _found(state):
        if one.probability < SHOWN_MIN:
            continue
        if one.path in inside:
            if one.symbol is not None:
                in_focus.setdefault(one.path, []).append(one)
            continue
        known = best.get((one.path, one.first))
        if known is None or known[1].probability < one.probability:
            best[one.path, one.first] = reasons, one
    for path, held in in_focus.items():
        most = max(one.probability for one in held)
        names = {one.symbol.name for one in held if one.symbol and one.probability >= WANTED_SHARE * most}
        state.wanted.setdefault(path, names)
    outermost = _outermost(best.values(), _shown_whole(state, nodes))
    ordered = sorted(outermost, key=lambda pair: (-worth(pair[1]), pair[1].path, pair[1].first))
    share = SHOWN_SHARE * min(SHARED_TOKENS / max(state.request.context_tokens, 1), 1.0)
    whole = [one for _, one in ordered if one.symbol is None or one.last == one.symbol.end_line]
    # That a class is named says nothing of its members: its head raises no bar for them.
    least = share * max((one.probability for one in whole), default=0.0)
    return [pair for pair in ordered if pair[1].probability >= least][:DEFINITIONS_MAX]


def worth(one: FoundDefinition) -> float:
    """Return what a definition is worth: its probability for its length. In benchmarks/needed the square
    root of the lines shows .02 more of the edited lines than none, at 1,000 tokens and above."""
    return one.probability / sqrt(one.last - one.first + LINES_FREE)


def _found(state: BuildState) -> Iterator[Found]:
    for hit in state.gathered.hits:
        if hit.path not in state.rule_files:
            said = _reasons_of(hit)
            for one in hit.definitions:
                yield "; ".join(filter(None, (", ".join(one.reasons), said))), one


def _shown_whole(state: BuildState, nodes: Sequence[FocusNode]) -> Mapping[str, list[tuple[int, int]]]:
    """Return by path the lines of the definitions that are in focus."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for node in nodes:
        if node.role != "document" and node.symbol:
            for one in state.files.symbols(node.path):
                if one.name == node.symbol:
                    spans.setdefault(node.path, []).append((one.start_line, one.end_line))
    return spans


def _outermost(found: Iterable[Found], shown: Mapping[str, Sequence[tuple[int, int]]]) -> Iterator[Found]:
    """Yield what lies neither in what is shown whole nor in another that was found, which is as probable as
    what it holds."""
    outer: Found | None = None
    for reasons, one in sorted(found, key=lambda pair: (pair[1].path, pair[1].first, -pair[1].last)):
        if any(first <= one.first and one.last <= last for first, last in shown.get(one.path, ())):
            continue
        if outer is not None and outer[1].path == one.path and one.last <= outer[1].last:
            if one.probability > outer[1].probability:
                outer = reasons, replace(outer[1], probability=one.probability)
            continue
        if outer is not None:
            yield outer
        outer = reasons, one
    if outer is not None:
        yield outer


def _reasons_of(hit: Hit) -> str:
    """Return in words why a file was found."""
    words = {"lexical": "by its words", "vector": "by its meaning", "tree": "by name"}
    ranked = [f"{words[name]} (rank {rank})" for name, rank in sorted(hit.sources.items())]
    return ", ".join([*ranked, *hit.why]) or "by other parts of its file"
