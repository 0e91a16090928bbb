"""Owns the slices of what was found for a prompt: definitions, each by what it is worth for its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from math import sqrt

from ..project.tree import Symbol
from ..retrieval.hits import FoundDefinition, Hit
from . import render
from .build_state import BuildState, content_key
from .file_forms import DefinitionForms, name_of
from .focus import FocusNode
from .slices import Slice

DEFINITIONS_MAX = 60
"""Maximum number of definitions that compete for a context; 8,000 tokens hold about 50 of them."""

SHOWN_MIN = 0.008
"""What is needed with less probability isn't shown. In benchmarks/needed contexts of 8,000 tokens then show
.96 of what they show without a threshold, in .64 of the tokens."""

SHOWN_SHARE = 0.03
"""Beside the best one: where a place is sure, what is barely probable is noise. On 106 tasks of five
repositories it costs .01 to .03 of the edited lines and saves 7, 15 and 16 % of the tokens at 1,000, 4,000
and 8,000."""

LONG_CHARACTERS = 4_000
"""A definition of more characters (1,000 tokens, some 100 lines) enters by the lines that matter most, and
grows where there is room: else one would take the place of five."""

ANSWERED = {"resolved": 0.5, "name": 0.2, "": 0.3}
"""Probability of the first place that the graph answers: by a link, by its name alone, or of a place that the
prompt names."""

ANSWER_DECAY = 0.93
"""And of each one behind it, beside the one before: ten answers are seldom all needed."""

NAMED = 0.9
"""Probability of a definition that the prompt names outright."""

WANTED_SHARE = 0.5
"""In a file in focus what is at least so probable beside the best is shown first where not all fits."""

LINES_FREE = 3
"""Lines that a definition of one line is counted as more: what stands around it takes as much."""


def reasons_of(hit: Hit) -> str:
    """Return in words why a file was found."""
    words = {"lexical": "by its words", "vector": "by its meaning", "tree": "by name"}
    ranked = [f"{words[name]} (rank {rank})" for name, rank in sorted(hit.sources.items())]
    return ", ".join([*ranked, *hit.why]) or "by other parts of its file"


def found_definitions(state: BuildState, nodes: Sequence[FocusNode]) -> list[tuple[str, FoundDefinition]]:
    """Return what competes for the context, each with its reasons, what is worth most for its length first.

    The best in a file in focus become wanted there, unless the prompt names some in it.
    """
    inside = {node.path for node in nodes if node.role != "document" and not node.symbol}
    asked_for = {node.node_id for node in nodes if node.role != "document"}
    best: dict[tuple[str, int], tuple[str, FoundDefinition]] = {}
    in_focus: dict[str, list[FoundDefinition]] = {}

    def add(reasons: str, one: FoundDefinition) -> None:
        known = best.get((one.path, one.first))
        if known is None or known[1].probability < one.probability:
            best[one.path, one.first] = reasons, one

    for place, hit in enumerate(state.gathered.hits):
        if hit.path in state.rule_files:
            continue
        for one in hit.definitions or _answered(hit, place):
            if one.probability < SHOWN_MIN or _node_id(one) in asked_for:
                continue
            if one.path not in inside:
                add(reasons_of(hit), one)
            elif one.symbol is not None:
                in_focus.setdefault(one.path, []).append(one)
    for path, held in in_focus.items():
        most = max(one.probability for one in held)
        names = {one.symbol.name for one in held if one.symbol and one.probability >= WANTED_SHARE * most}
        state.wanted.setdefault(path, names)
    for node in nodes:
        if node.role == "document" and node.symbol:
            for symbol in state.files.symbols(node.path):
                if symbol.name == node.symbol:
                    add(
                        node.source,
                        FoundDefinition(node.path, symbol, symbol.start_line, symbol.end_line, NAMED),
                    )
    ordered = sorted(best.values(), key=lambda pair: (-_worth(pair[1]), pair[1].path, pair[1].first))
    least = SHOWN_SHARE * max((one.probability for _, one in ordered), default=0.0)
    return [pair for pair in ordered if pair[1].probability >= least][:DEFINITIONS_MAX]


def without_found(
    state: BuildState, nodes: Sequence[FocusNode], found: Iterable[tuple[str, FoundDefinition]]
) -> list[FocusNode]:
    """Return the nodes but for what the prompt names of which the definitions compete by themselves."""
    paths = {one.path for _, one in found}
    return [
        node
        for node in nodes
        if node.role != "document" or node.path not in paths or state.files.unsaved(node.path)
    ]


def hit_slices(
    state: BuildState, nodes: Sequence[FocusNode], found: Sequence[tuple[str, FoundDefinition]]
) -> Iterator[Slice]:
    """Yield a slice for each definition that can be read and lies in no copy of a file in focus."""
    inside = {content_key(state.files.note(node.path)) for node in nodes if found and not node.symbol}
    files: dict[str, int] = {}
    most = 0.0
    for reasons, one in found:
        content = state.files.note(one.path)
        if content.problem:
            state.gaps.append(f"{one.path} was found for the prompt but is not shown: {content.problem}")
            continue
        if content_key(content) in inside:
            state.left_out.add(one.path)
            continue
        symbol = _as_shown(one, state.files.symbols(one.path))
        if (one.symbol is not None and symbol is None) or state.files.unsaved(one.path):
            continue  # the file changed: it is read again, and what it is now may be found
        most = most or _worth(one)
        source = state.source(one.path, content)
        forms = DefinitionForms(source, symbol, one.first, one.last, state.words, in_frame=True)
        name = f"#{one.symbol.name}" if one.symbol is not None else f":{one.first}"
        place = files.setdefault(one.path, len(files))
        yield Slice(
            id=f"document:{one.path}{name}",
            type="document",
            layer="focus",
            weight=round(state.weights.document * sqrt(_worth(one) / most), 4),
            order=(3, 10_000 + place, one.first),
            smallest=forms(LONG_CHARACTERS),
            grow=forms,
            full_characters=forms.full_characters,
            path=one.path,
            source=f"found for the prompt, probability {one.probability}: {reasons}",
            score=one.probability,
            lines=(one.first, one.last),
            content=content_key(content, (one.first, one.last)),
            competes=True,
            frame=render.code_frame(name_of(one.path), source.text, source.tag),
        )


def _as_shown(one: FoundDefinition, symbols: Iterable[Symbol]) -> Symbol | None:
    """Return a definition as its file has it now, without secrets; None where it isn't there any more."""
    if one.symbol is None:
        return None
    wanted = (one.symbol.name, one.symbol.start_line, one.symbol.end_line)
    return next((each for each in symbols if (each.name, each.start_line, each.end_line) == wanted), None)


def _answered(hit: Hit, place: int) -> Sequence[FoundDefinition]:
    """Return what the graph or a place answered, as a definition that competes with what words find."""
    if not hit.certainty and place:
        return ()  # found by words, in a file too far back to look at its definitions
    start = ANSWERED.get(hit.certainty, 0.0)
    first, last = hit.chunk.start_line, hit.chunk.end_line
    if hit.node is not None:
        first, last = hit.node.start_line, hit.node.end_line
    return (FoundDefinition(hit.path, hit.node, first, last, round(start * ANSWER_DECAY**place, 4)),)


def _node_id(one: FoundDefinition) -> str:
    return f"{one.path}#{one.symbol.name}" if one.symbol is not None else one.path


def _worth(one: FoundDefinition) -> float:
    """Return what a definition is worth: its probability for its length. In benchmarks/needed the square
    root of the lines shows .02 more of the edited lines than none, at 1,000 tokens and above."""
    return one.probability / sqrt(one.last - one.first + LINES_FREE)
