"""Owns the slices of what was found for a prompt: definitions, each by what it is worth for its length."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt

from ..project.tree import Symbol
from ..retrieval.code_graph import CLASSES
from ..retrieval.hits import FoundDefinition, Hit
from ..retrieval.needed_by import Role, needed_by
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

SHOWN_SHARE, SHARED_TOKENS = 0.15, 2_000
"""And so much less than the best one: beside a sure place what is barely probable is noise. In a context of
more than `SHARED_TOKENS` in proportion less, as who gives more tokens wants more places. In benchmarks/needed
.03 for all shows .02, .05, .07, .05 and .03 more of the edited lines at 500 to 8,000 tokens, of which it uses
a tenth to a third more."""

LONG_CHARACTERS = 4_000
"""A definition of more characters (1,000 tokens, some 100 lines) enters by the lines that matter most, and
grows where there is room: else one would take the place of five."""

NAMED = 0.9
"""Probability of a definition that the prompt names outright."""

WANTED_SHARE = 0.5
"""In a file in focus what is at least so probable beside the best is shown first where not all fits."""

NEEDED_OF_MAX = 5
"""Of so many of the definitions found, the first ones, what they need to be understood is shown too."""

NEEDED_TOKENS_MIN = 1_000
"""A smaller context has room for definitions only."""

NEEDED_SHARES: Mapping[Role, float] = {"value": 0.1, "call": 0.05}
"""What a constant that a definition names is worth beside it, and the head of what it calls: in
benchmarks/needed they show twice as many of the definitions that a commit reads."""

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

    for hit in state.gathered.hits:
        if hit.path in state.rule_files:
            continue
        for one in hit.definitions:
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
    share = SHOWN_SHARE * min(SHARED_TOKENS / max(state.request.context_tokens, 1), 1.0)
    least = share * max((one.probability for _, one in ordered), default=0.0)
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
    files = {path: place for place, path in enumerate(dict.fromkeys(one.path for _, one in found))}
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
            changed = (
                "has unsaved changes" if state.files.unsaved(one.path) else "changed since it was indexed"
            )
            gap = f"{one.path} was found for the prompt but is not shown: it {changed}"
            if gap not in state.gaps:
                state.gaps.append(gap)
            continue
        most = most or _worth(one)
        source = state.source(one.path, content)
        forms = DefinitionForms(source, symbol, one.first, one.last, state.words, in_frame=True)
        name = f"#{one.symbol.name}" if one.symbol is not None else f":{one.first}"
        yield Slice(
            id=f"document:{one.path}{name}",
            type="document",
            layer="focus",
            weight=round(state.weights.document * sqrt(_worth(one) / most), 4),
            order=(3, 10_000 + files[one.path], one.first),
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


def needed_slices(
    state: BuildState, nodes: Sequence[FocusNode], found: Sequence[tuple[str, FoundDefinition]]
) -> Iterator[Slice]:
    """Yield a slice for what the first definitions need: values of constants, heads of what they call.

    What is in focus or competes by itself needs none.
    """
    if state.reader is None or not found or state.request.context_tokens < NEEDED_TOKENS_MIN:
        return
    shown = {(one.path, one.first) for _, one in found}
    inside = {node.path for node in nodes if not node.symbol}
    most = _worth(found[0][1])
    files = {path: place for place, path in enumerate(dict.fromkeys(one.path for _, one in found))}
    for _, one in found[:NEEDED_OF_MAX]:
        if one.symbol is None or state.files.unsaved(one.path) or not state.files.indexed(one.path):
            continue
        for needed in needed_by(state.reader, one.path, one.symbol):
            if needed.role == "within" or (needed.role == "call" and needed.symbol.kind in CLASSES):
                continue
            if needed.path in inside or (needed.path, needed.first) in shown:
                continue
            part = FoundDefinition(needed.path, needed.symbol, needed.first, needed.last, 0)
            symbol = _as_shown(part, state.files.symbols(needed.path))
            if symbol is None or state.files.unsaved(needed.path):
                continue
            shown.add((needed.path, needed.first))
            says = "names" if needed.role == "value" else "calls"
            source = state.source(needed.path, state.files.note(needed.path))
            forms = DefinitionForms(source, symbol, needed.first, needed.last, in_frame=True)
            probability = one.probability * NEEDED_SHARES[needed.role]
            worth = probability / sqrt(needed.last - needed.first + LINES_FREE)
            yield Slice(
                id=f"needed:{needed.path}#{symbol.name}",
                type="dependency",
                layer="focus",
                weight=round(state.weights.document * sqrt(worth / most), 4),
                order=(3, 10_000 + files.setdefault(needed.path, len(files)), needed.first),
                smallest=forms(forms.full_characters),
                grow=forms,
                full_characters=forms.full_characters,
                path=needed.path,
                source=f"needed to understand {name_of(one.path, one.symbol.name)}, which {says} it",
                lines=(needed.first, needed.last),
                competes=True,
                frame=render.code_frame(name_of(needed.path), source.text, source.tag),
            )


def _as_shown(one: FoundDefinition, symbols: Iterable[Symbol]) -> Symbol | None:
    """Return a definition as its file has it now, without secrets; None where it isn't there any more."""
    if one.symbol is None:
        return None
    wanted = (one.symbol.name, one.symbol.start_line, one.symbol.end_line)
    return next((each for each in symbols if (each.name, each.start_line, each.end_line) == wanted), None)


def _node_id(one: FoundDefinition) -> str:
    return f"{one.path}#{one.symbol.name}" if one.symbol is not None else one.path


def _worth(one: FoundDefinition) -> float:
    """Return what a definition is worth: its probability for its length. In benchmarks/needed the square
    root of the lines shows .02 more of the edited lines than none, at 1,000 tokens and above."""
    return one.probability / sqrt(one.last - one.first + LINES_FREE)
