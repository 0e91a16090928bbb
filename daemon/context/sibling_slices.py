"""Sibling places of sure definitions, in a line each: parallel definitions, and the sites of a variant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from ..graph.service import CodeGraph, parallels
from ..index.records import LexicalDamaged
from ..index.service import document_terms
from ..privacy.secret_gate import SecretGate
from ..search.records import FoundDefinition
from . import render
from .build_state import BuildState
from .hit_slices import SURE_MIN, WHOLE_MIN, ReasonedDefinition, as_shown
from .likely_places import place_line
from .selection import Form, Slice, fixed

SIBLINGS_OF_MAX = 3
"""Number of the first sure definitions whose siblings are looked for."""

READ_CHARACTERS = 2_000
"""Characters of a prompt in which the wish for something new is looked for."""

LINES_MAX = 8
"""Maximum lines of parallel definitions in a context, and of sites of a variant."""

SITES_MAX, CHUNKS_READ = 20, 60
"""Maximum number of sites of a variant, as a more common text tells nothing, and of the chunks that are read
to find them, at .15 ms each."""

WEIGHT, NEW_WEIGHT = 0.02, 0.9
"""Weight of a sibling place, relative to the best definition, and the same for a prompt that asks for
something new. Else all that is found and what it uses come before: of 18 parallel definitions in 87 contexts
of benchmarks/needed commits edited none."""

PARALLEL = "Parallel definitions"


class Sibling(NamedTuple):
    """A sibling place: its lines from 1, both inclusive, its name, the line of code that is shown, the
    heading that it stands under, and the definition that it is a sibling of."""

    path: str
    first: int
    last: int
    name: str
    line: str
    heading: str
    of: FoundDefinition


def sibling_slices(
    state: BuildState,
    definitions: Sequence[ReasonedDefinition],
    likely: Sequence[ReasonedDefinition],
    gate: SecretGate,
) -> Iterator[Slice]:
    """Yield a slice for each sibling place of the first sure definitions that isn't found itself.

    `gate` masks the secrets that it knows before a line is cut.
    """
    if state.reader is None or state.gathered.quick:
        return
    least = SURE_MIN if state.request.news else WHOLE_MIN
    sure = [match for _, match in definitions if match.symbol is not None and match.probability >= least]
    sure = [
        match
        for match in sure[:SIBLINGS_OF_MAX]
        if match.path in state.snapshot.tree.files  # not in a linked project
        and state.files.indexed(match.path)
        and not state.files.unsaved(match.path)
    ]
    spans: dict[str, list[tuple[int, int]]] = {}
    graph = CodeGraph(state.snapshot.tree, state.reader)
    is_new = _NEW.search(state.request.prompt[:READ_CHARACTERS]) is not None
    weight = NEW_WEIGHT if is_new else WEIGHT
    for _, match in (*definitions, *likely):
        # For something new, what only larger contexts show is named all the same.
        if not is_new or match.probability >= state.sure:
            spans.setdefault(match.path, []).append((match.first, match.last))
    sites = _sites(state, sure, graph, spans) if is_new else ()
    for place, each in enumerate((*_parallel(state, sure, graph, spans), *sites)):
        where = f"{each.first}-{each.last}" if each.last > each.first else f"{each.first}"
        of = each.of.symbol.name if each.of.symbol is not None else ""
        yield Slice(
            f"sibling:{each.path}:{where}",
            "dependency",
            "focus",
            round(weight * state.weights.document, 4),
            (3, 1_000_000, place),
            *fixed(Form(place_line(each.path, where, each.name, gate.of_code(each.line)))),
            path=each.path,
            source=f"a sibling of {each.of.path}#{of}",
            lines=(each.first, each.first),  # its body may be another slice
            competes=True,
            frame=(f"### {gate.of_code(each.heading)}\n\n```\n", "```\n\n"),
            beside=f"document:{each.of.path}#{of}",
        )


def _parallel(
    state: BuildState,
    sure: Sequence[FoundDefinition],
    graph: CodeGraph,
    spans: Mapping[str, Sequence[tuple[int, int]]],
) -> Iterator[Sibling]:
    """Yield the definitions parallel to sure ones, at most `LINES_MAX`, in files where no earlier one has
    some: three methods of a class have them in the same classes."""
    seen: set[tuple[str, int]] = set()
    for match in sure:
        before = {path for path, _ in seen}
        for each in parallels(match.path, match.symbol, graph) if match.symbol is not None else ():
            symbol, path = each.symbol, each.path
            found = FoundDefinition(path, symbol, symbol.start_line, symbol.end_line, 0)
            at = (path, symbol.start_line)
            if len(seen) == LINES_MAX:
                return
            if (
                path in before
                or not _may_show(state, path)
                or _lies_in(symbol.start_line, spans.get(path, ()))
            ):
                continue
            if as_shown(found, state.files.symbols(path)) is not None:
                seen.add(at)
                yield Sibling(path, *at[1:], symbol.end_line, symbol.name, "", PARALLEL, match)


def _sites(
    state: BuildState,
    sure: Sequence[FoundDefinition],
    graph: CodeGraph,
    spans: Mapping[str, Sequence[tuple[int, int]]],
) -> Iterator[Sibling]:
    """Yield the other lines of sources with a text that a sure definition compares something with, for a
    prompt that asks for something new.

    Of several texts those that the prompt names come first; the first one with few sites is taken.
    """
    for match, text in _variants(state, sure):
        lines = [item for item in _lines_with(state, text) if not graph.place(item[0])]
        lines.sort(key=lambda item: (item[0] != match.path, item))
        elsewhere = [item for item in lines if not _lies_in(item[1], spans.get(item[0], ()))]
        if len(lines) > SITES_MAX or not any(path != match.path for path, _, _ in elsewhere):
            continue
        heading = f"Where {render.inline(text)!r} stands"
        for path, number, line in elsewhere[:LINES_MAX]:
            yield Sibling(path, number, number, "", line, heading, match)
        return


def _variants(state: BuildState, sure: Sequence[FoundDefinition]) -> list[tuple[FoundDefinition, str]]:
    """Return the texts that definitions compare something with, those in the words of the prompt first."""
    said = set(document_terms(state.request.prompt))
    found: dict[str, FoundDefinition] = {}
    for match in sure:
        source = state.source(match.path, state.files.note(match.path))
        for compared in _COMPARED.finditer("\n".join(source.part(match.first, match.last))):
            found.setdefault(compared["text"], match)
    return sorted(
        ((match, text) for text, match in found.items()),
        key=lambda pair: not said.issuperset(document_terms(pair[1]) or ("",)),
    )[:VARIANTS_MAX]


def _lines_with(state: BuildState, text: str) -> Iterator[tuple[str, int, str]]:
    """Yield the path, number and text of each line that has a quoted text."""
    terms = dict.fromkeys(document_terms(text), 1.0)
    try:
        hits = state.snapshot.lexical.current().search(terms, CHUNKS_READ)
    except (LexicalDamaged, OSError):
        return
    if state.reader is None:
        return
    end = "[\"'`]" if text[-1].isalnum() else ""
    quoted = re.compile(f"[\"'`]{re.escape(text)}{end}")
    chunks = state.reader.chunks.places(hit.chunk_id for hit in hits)
    texts = state.reader.chunks.texts_of(chunks.values())
    for path in dict.fromkeys(chunks[number].path for number, held in texts.items() if quoted.search(held)):
        if _may_show(state, path):
            lines = state.source(path, state.files.note(path)).lines
            yield from ((path, number, line) for number, line in enumerate(lines, 1) if quoted.search(line))


def _may_show(state: BuildState, path: str) -> bool:
    """Whether a place in a file may be named: it is no rule file, not hidden, and as the index has it."""
    if path in state.rule_files or state.files.note(path).problem:
        return False
    return state.files.indexed(path) and not state.files.unsaved(path)


def _lies_in(line: int, spans: Sequence[tuple[int, int]]) -> bool:
    return any(first <= line <= last for first, last in spans)


VARIANTS_MAX = 6
"""Maximum number of texts whose sites are looked for until one has some."""

_NEW = re.compile(r"(?i)\b(?:add(?:ing)?|support|new|another|introduce|implement|extend|register)\b")
_COMPARED = re.compile(
    r"""(?:[=!]=\s*|\bcase\s+|\bwhen\s+|\b(?:starts_?with|ends_?with|HasPrefix|HasSuffix|equals|has)\((?:[^"'`()]*,)?\s*)"""
    r"""(?P<quote>["'`])(?P<text>[^"'`\s\\]{3,40})(?P=quote)""",
    re.IGNORECASE,
)
