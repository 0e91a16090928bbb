"""The definitions at the lines that a question names: in stack traces, by failed tests, and after paths.

Line numbers may be those of another version, so the function that a frame names comes before its line.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from msgspec.structs import replace

from ..index.service import Reader
from ..languages.shared.language import language_of
from ..languages.shared.qualified_names import base_name
from ..languages.shared.records import Symbol
from ..project.service import Tree, best_suffix, role_of
from .candidates import Candidates, FramedFile, GatheredCandidates, definitions_of, framed_files
from .definitions import FUNCTIONS, WHOLE_LINES
from .patterns import compiled
from .query import FAILED_TEST, IN_TRACE, FoundDefinition
from .question import Question
from .stack_trace import Frame

PLACES_MAX: Final = 6
"""Maximum number of frames and of failed tests whose definitions are found, the first ones; outer frames
are where the program begins."""

FRAME_PROBABILITY, TEST_PROBABILITY, DECAY = 0.85, 0.6, 0.75
"""Probability of the definition that holds the innermost frame of the project, the same of the first failed
test, and the factor between one place and the next. No benchmark has enough traces to fit them: the first is
just below that of a quoted text that occurs once, the last frames count as much as a well-matching name."""

SUSPECTED_MAX, SUSPECTED_PROBABILITY = 2, 0.25
"""Number of files edited last that a pasted failure may come from, and the least probability of the best
definition of the first one: below the places that the failure names, above what only shares its words."""

UNKNOWN_FUNCTION: Final = 0.5
"""Factor for the certainty of a frame that names a function which its file doesn't define: the function may
have no name there, or the line be that of another version."""

LINES_AROUND: Final = 15
"""Number of lines shown above and below a frame that lies in no function or in a longer one."""


def named_lines(question: Question, tree: Tree, reader: Reader) -> list[FoundDefinition]:
    """Return the definitions that hold the frames of a question's stack traces, the innermost first, then
    those at the lines that it gives with a path, and the failed tests, with their probabilities."""
    found: dict[tuple[str, int], FoundDefinition] = {}
    tests = list(islice(_tests(question, reader), PLACES_MAX))
    failed = {(path, symbol.start_line) for path, symbol, _ in tests}
    frames = question.frames
    framed = {frame.path for frame in frames}
    written = [
        Frame(mention.path, mention.line, "", False)
        for mention in question.paths
        if mention.line and mention.path not in framed
    ]
    for of in framed_files((*frames, *written), tree):
        place = _at(of, reader.symbols(of.path))
        if place is None or (place.path, place.first) in found:
            continue
        beside = (place.path, place.first) not in failed and any(path == of.path for path, _ in failed)
        if beside and not of.frame.function:  # the line of a failed test, as another version has it
            place = replace(place, probability=UNKNOWN_FUNCTION * place.probability)
        probability = round(place.probability * FRAME_PROBABILITY * DECAY ** len(found), 4)
        reason = IN_TRACE if of.frame.path in framed else "named in the prompt"
        found[place.path, place.first] = replace(place, probability=probability, reasons=(reason,))
        if len(found) >= PLACES_MAX:
            break
    for number, (path, symbol, alike) in enumerate(tests):
        probability = round(TEST_PROBABILITY * DECAY**number / alike, 4)
        first, last = symbol.start_line, symbol.end_line
        found.setdefault(
            (path, first), FoundDefinition(path, symbol, first, last, probability, (FAILED_TEST,))
        )
    return list(found.values())


def with_named_lines(
    found: Sequence[FoundDefinition], places: Sequence[FoundDefinition]
) -> list[FoundDefinition]:
    """Return found definitions with those at named lines, each in place of those that share lines with
    it."""
    kept = list(found)
    for place in reversed(places):  # the most probable last, so that no other replaces it
        sharing = [
            one
            for one in kept
            if one.path == place.path and one.first <= place.last and place.first <= one.last
        ]
        most = max((one.probability for one in sharing), default=0.0)
        kept = [one for one in kept if one not in sharing]
        kept.append(replace(place, probability=max(most, place.probability)))
    return kept


def without_named_lines(candidates: Candidates, places: Sequence[FoundDefinition]) -> Candidates:
    """Return candidates of which no chunk counts as named because one of these places lies in it: the other
    definitions in such a chunk aren't named."""
    if not places:
        return candidates
    spans = [(place.path, place.first, place.last) for place in places]

    def holds_named(number: int) -> bool:
        chunk = candidates.chunks[number]
        return any(
            chunk.path == path and chunk.start_line <= last and first <= chunk.end_line
            for path, first, last in spans
        )

    return replace(candidates, tree=[pair for pair in candidates.tree if not holds_named(pair[0])])


def suspected_files(gathered: GatheredCandidates) -> list[str]:
    """Return the source files edited last, which a pasted failure may come from although it names others."""
    question, holding = gathered.question, {place.path for place in gathered.named_lines}
    if not question.frames and not question.failed_tests:
        return []
    suspected = [
        path
        for path in gathered.recent
        if path not in holding and role_of(path, language_of(path)) == "source"
    ]
    return suspected[:SUSPECTED_MAX]


def with_suspected(found: Sequence[FoundDefinition], suspected: Sequence[str]) -> list[FoundDefinition]:
    """Return found definitions, the best one of each suspected file at least as probable as a suspect."""
    raised = list(found)
    for place, path in enumerate(suspected):
        best = max((one for one in raised if one.path == path), key=lambda one: one.probability, default=None)
        least = round(SUSPECTED_PROBABILITY * DECAY**place, 4)
        if best is not None and best.probability < least:
            reasons = ("edited just before", *best.reasons)
            raised[raised.index(best)] = replace(best, probability=least, reasons=reasons)
    return raised


def _at(of: FramedFile, symbols: Sequence[Symbol]) -> FoundDefinition | None:
    """Return the definition that a frame names or whose lines hold it, with the lines to show and the
    certainty that it is meant. A frame that isn't surely of the project must name a function of the file."""
    line, name = of.frame.line, compiled(_SEPARATOR).split(of.frame.function)[-1]
    code = [symbol for symbol in symbols if symbol.kind != "section"]
    holding = [symbol for symbol in code if symbol.start_line <= line <= symbol.end_line]
    named = [symbol for symbol in code if name and base_name(symbol.name) == name]
    if not named and not (of.is_sure and line):
        return None
    inside = [symbol for symbol in holding if symbol in named]
    if named and not inside:  # the line is that of another version
        nearest = min(named, key=lambda one: (abs(one.start_line - line), one.start_line))
        last = min(nearest.end_line, nearest.start_line + WHOLE_LINES)
        return FoundDefinition(of.path, nearest, nearest.start_line, last, of.certainty)
    certainty = of.certainty * (UNKNOWN_FUNCTION if name and not named else 1.0)
    functions = inside or [symbol for symbol in holding if symbol.kind in FUNCTIONS]
    whole = [symbol for symbol in functions if symbol.end_line - symbol.start_line < WHOLE_LINES]
    if whole:
        outermost = min(whole, key=lambda one: (one.start_line, -one.end_line))
        return FoundDefinition(of.path, outermost, outermost.start_line, outermost.end_line, certainty)
    first = max((symbol.start_line for symbol in holding), default=1)
    last = min((symbol.end_line for symbol in holding), default=line + LINES_AROUND)
    first, last = max(first, line - LINES_AROUND), min(last, line + LINES_AROUND)
    return FoundDefinition(of.path, None, first, last, certainty)


_SEPARATOR = r"::|->|[.#\\]"


def _tests(question: Question, reader: Reader) -> Iterator[tuple[str, Symbol, int]]:
    """Yield the failed tests that the project defines, each with the number of those of the same name."""
    for test in question.failed_tests:
        definitions = definitions_of(reader, test.name)
        if test.path:
            paths = best_suffix(test.path, [path for path, _ in definitions])
            definitions = [(path, symbol) for path, symbol in definitions if path in paths]
        if 0 < len(definitions) <= PLACES_MAX:
            for path, symbol in definitions:
                yield path, symbol, len(definitions)
