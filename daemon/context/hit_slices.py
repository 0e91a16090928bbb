"""Owns the slices of what was found for a prompt: definitions, members of a class, what they need."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import sqrt

from ..graph.code_graph import CLASSES
from ..graph.needed_by import Needed, Role, needed_by
from ..languages.shared.records import Symbol
from ..languages.shared.table import language_of
from ..project.path_roles import role_of
from ..search.query import FoundDefinition
from . import render
from .build_state import BuildState, content_key
from .content import Content
from .excerpt import outline
from .file_forms import DefinitionForms, FileForms, name_of
from .focus import FocusNode
from .found_definitions import LINES_FREE, Found, worth
from .slices import Form, Slice, fixed

LONG_CHARACTERS = 4_000
"""A definition of more characters (1,000 tokens, some 100 lines) enters by the lines that matter most, and
grows where there is room: else one would take the place of five."""

NEEDED_OF_MAX = 5
"""Number of definitions, the first ones, that are shown with what they need to be understood."""

NEEDED_TOKENS_MIN = 1_000
"""A smaller context has room for definitions only."""

NEEDED_SHARES: Mapping[Role, float] = {"value": 0.1, "call": 0.05}
"""What a constant that a definition names is worth beside it, and the head of what it calls: in
benchmarks/needed they show twice as many of the definitions that a commit reads."""

OPENED_LINES = 30
"""What the first definitions call is shown whole where room is left, if it has fewer lines."""

MARKS = ("@", "#[", "[")
"""What lines begin with that annotate a definition."""

MEMBERS_PROBABILITY_MIN = 0.5
"""The members of a class are listed that is so probably what is meant."""

BARE_LINES = 4
"""Where fewer lines of it stand above the first one."""

MEMBERS_MAX = 40
"""And at most so many of them."""


def hit_slices(state: BuildState, nodes: Sequence[FocusNode], found: Sequence[Found]) -> Iterator[Slice]:
    """Yield a slice for each definition that can be read and lies in no copy of a file in focus; of an
    unsaved buffer, of which nobody knows where its definitions lie, for the file."""
    inside = {content_key(state.files.note(node.path)) for node in nodes if found and not node.symbol}
    places = {path: place for place, path in enumerate(dict.fromkeys(one.path for _, one in found))}
    unsaved: set[str] = set()
    most = 0.0
    for reasons, one in found:
        content = state.files.note(one.path)
        symbol = _as_shown(one, state.files.symbols(one.path))
        is_unsaved = state.files.unsaved(one.path)
        problem = content.problem
        if not problem and not is_unsaved and one.symbol is not None and symbol is None:
            problem = "it changed since it was indexed"
        if problem:
            gap = f"{one.path} was found for the prompt but is not shown: {problem}"
            if gap not in state.gaps:
                state.gaps.append(gap)
            continue
        if content_key(content) in inside:
            state.left_out.add(one.path)
            continue
        if one.path in unsaved:
            continue
        most = most or worth(one)
        weight = round(state.weights.document * sqrt(worth(one) / most), 4)
        if is_unsaved:
            unsaved.add(one.path)
            yield _unsaved(state, content, reasons, one, found, weight, places[one.path])
            continue
        source = state.source(one.path, content)
        frame = render.code_frame(name_of(one.path), source.fence, source.tag)
        forms = DefinitionForms(source, symbol, one.first, one.last, state.words, in_frame=True)
        name = f"#{one.symbol.name}" if one.symbol is not None else f":{one.first}"
        yield Slice(
            id=f"document:{one.path}{name}",
            type="document",
            layer="focus",
            weight=weight,
            order=(3, 10_000 + places[one.path], one.first),
            smallest=forms(LONG_CHARACTERS),
            grow=forms,
            full_characters=forms.full_characters,
            path=one.path,
            source=_source(reasons, one),
            score=one.probability,
            lines=(one.first, one.last),
            content=content_key(content, (one.first, one.last)),
            competes=True,
            frame=frame,
        )
        if symbol is not None and _is_bare_class(state, one, symbol):
            form, grow, characters = fixed(_members(source.symbols, symbol, source.tag))
            yield Slice(
                id=f"members:{one.path}#{symbol.name}",
                type="document",
                layer="focus",
                weight=weight,
                order=(3, 10_000 + places[one.path], one.first, 1),
                smallest=form,
                grow=grow,
                full_characters=characters,
                path=one.path,
                source=f"members of {name_of(one.path, symbol.name)}, which is probably meant",
                score=one.probability,
                lines=(one.last + 1, symbol.end_line),
                competes=True,
                frame=frame,
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
    most = worth(found[0][1])
    places = {path: place for place, path in enumerate(dict.fromkeys(one.path for _, one in found))}
    for _, one in found[:NEEDED_OF_MAX]:
        if one.symbol is None or role_of(one.path, language_of(one.path)) == "test":
            continue  # a test is an example: what it calls is seldom what is asked about
        if state.files.unsaved(one.path) or not state.files.indexed(one.path):
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
            first, last = _without_marks(source.lines, needed)
            head = DefinitionForms(source, symbol, first, last, in_frame=True)
            body = head
            if symbol.end_line - symbol.start_line < OPENED_LINES:
                body = DefinitionForms(source, symbol, first, symbol.end_line, in_frame=True)
            probability = one.probability * NEEDED_SHARES[needed.role]
            value = probability / sqrt(needed.last - needed.first + LINES_FREE)
            yield Slice(
                id=f"needed:{needed.path}#{symbol.name}",
                type="dependency",
                layer="focus",
                weight=round(state.weights.document * sqrt(value / most), 4),
                order=(3, 10_000 + places.setdefault(needed.path, len(places)), needed.first),
                smallest=head(head.full_characters),
                grow=body,
                full_characters=body.full_characters,
                path=needed.path,
                source=f"needed to understand {name_of(one.path, one.symbol.name)}, which {says} it",
                lines=(first, last),
                competes=True,
                frame=render.code_frame(name_of(needed.path), source.fence, source.tag),
                beside=f"document:{one.path}#{one.symbol.name}",
            )


def _without_marks(lines: Sequence[str], needed: Needed) -> tuple[int, int]:
    """Return the lines to show of what is needed without annotations above it, which say nothing."""
    skipped = 0
    while needed.first + skipped < needed.symbol.end_line and lines[
        needed.first + skipped - 1
    ].lstrip().startswith(MARKS):
        skipped += 1
    return needed.first + skipped, min(needed.last + skipped, needed.symbol.end_line)


def _source(reasons: str, one: FoundDefinition) -> str:
    return f"found for the prompt, probability {one.probability}: {reasons}"


def _unsaved(
    state: BuildState,
    content: Content,
    reasons: str,
    one: FoundDefinition,
    found: Iterable[Found],
    weight: float,
    place: int,
) -> Slice:
    names = [each.symbol.name for _, each in found if each.path == one.path and each.symbol is not None]
    node = FocusNode(one.path, "", "document", reasons)
    source = state.source(one.path, content)
    forms = FileForms(node, source, state.words, names, cut=content.cut, unsaved=True)
    return Slice(
        id=f"document:{one.path}",
        type="document",
        layer="focus",
        weight=weight,
        order=(3, 10_000 + place, 0),
        smallest=forms(LONG_CHARACTERS),
        grow=forms,
        full_characters=forms.full_characters,
        path=one.path,
        source=_source(reasons, one),
        score=one.probability,
        content=content_key(content),
        competes=True,
    )


def _is_bare_class(state: BuildState, one: FoundDefinition, symbol: Symbol) -> bool:
    """Whether it is a class that is probably meant, of which the lines that are shown say hardly more than
    the name."""
    return (
        symbol.kind in CLASSES
        and one.probability >= MEMBERS_PROBABILITY_MIN
        and one.last < symbol.end_line
        and one.last - one.first < BARE_LINES
        and state.request.context_tokens >= NEEDED_TOKENS_MIN
    )


def _members(symbols: Iterable[Symbol], around: Symbol, tag: str) -> Form:
    """Return the form that lists what a class holds, by signature."""
    members = [
        one
        for one in symbols
        if around.start_line < one.start_line <= around.end_line and one.depth == around.depth + 1
    ]
    left_out = len(members) - MEMBERS_MAX
    more = f"⋮ {left_out:,} more\n" if left_out > 0 else ""
    listed = outline(members[:MEMBERS_MAX], tag, docs=False)
    return Form(f"⋮ members of {around.name}\n{listed}\n{more}", compressed=left_out > 0)


def _as_shown(one: FoundDefinition, symbols: Iterable[Symbol]) -> Symbol | None:
    """Return a definition as its file has it now, without secrets; None where it isn't there any more."""
    if one.symbol is None:
        return None
    wanted = (one.symbol.name, one.symbol.start_line, one.symbol.end_line)
    return next((each for each in symbols if (each.name, each.start_line, each.end_line) == wanted), None)
