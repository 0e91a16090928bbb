"""Slices of search hits: found definitions, and definitions that found ones use."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import ceil, log2, sqrt

from msgspec.structs import replace

from ..graph.records import CLASSES, UNCALLED, Needed, Role
from ..graph.service import CodeGraph, is_uncalled
from ..languages.shared.language import LANGUAGES, language_of
from ..languages.shared.records import Symbol
from ..project.service import role_of, split_lines
from ..rules.records import RuleFiles
from ..search.records import FoundDefinition, Hit
from . import render
from .build_state import BuildState, content_key
from .certainty import compared
from .file_forms import DefinitionForms, FileForms, name_of
from .focus import FocusNode
from .selection import Slice
from .twins import FUNCTIONS, twins

LONG_CHARACTERS = 4_000
"""Maximum characters of a definition that enters whole (1,000 tokens, about 100 lines). A longer one enters
by its most relevant lines and grows if there is room."""

NEEDED_OF_MAX = 5
"""Number of the first found definitions that are shown with the definitions that they use."""

NEEDED_SHARES: Mapping[Role, float] = {"value": 0.1, "call": 0.05}
"""Probability of a used constant and of the head of a called function, relative to the definition that
uses it. In benchmarks/needed they double the share of shown definitions that a commit reads."""

BEHIND_FIRST = 0.99
"""Maximum worth of a used definition, relative to the least worthy best definition of the first files."""

REMARKED_MAX = 3
"""Number of the first found definitions that are examined for callers outside of tests, a millisecond each.
The remark takes ten tokens."""

OPENED_LINES = 30
"""Maximum lines of a called function that may be shown whole if there is room."""

MARKS = ("@", "#[", "[")
"""The first characters of lines that annotate a definition, such as decorators."""


def hit_slices(
    state: BuildState, nodes: Sequence[FocusNode], definitions: Sequence[ReasonedDefinition]
) -> Iterator[Slice]:
    """Yield a slice for each found definition, except those in copies of files in focus.

    An unsaved buffer gets one slice for the whole file, since the lines of its definitions aren't known."""
    inside = {content_key(state.files.note(node.path)) for node in nodes if definitions and not node.symbol}
    places = {path: place for place, path in enumerate(dict.fromkeys(match.path for _, match in definitions))}
    unsaved: set[str] = set()
    most = 0.0
    twin_of = _twins(state, definitions)
    for at, (reasons, match) in enumerate(definitions):
        content = state.files.note(match.path)
        symbol = as_shown(match, state.files.symbols(match.path))
        is_unsaved = state.files.unsaved(match.path)
        problem = content.problem
        if not problem and not is_unsaved and match.symbol is not None and symbol is None:
            problem = "it changed since it was indexed"
        if problem:
            gap = f"{match.path} was found for the prompt but is not shown: {problem}"
            if gap not in state.gaps:
                state.gaps.append(gap)
            continue
        if content_key(content) in inside:
            state.left_out.add(match.path)
            continue
        if match.path in unsaved:
            continue
        most = most or worth(match)
        source = state.source(match.path, content)
        place = 10_000 + places[match.path]
        identifier = match.path
        forms: FileForms | DefinitionForms
        if is_unsaved:
            unsaved.add(match.path)
            names = [each.symbol.name for _, each in definitions if each.path == match.path and each.symbol]
            node = FocusNode(match.path, "", "document", reasons)
            forms = FileForms(node, source, state.words, names, cut=content.cut, unsaved=True)
        else:
            forms = DefinitionForms(
                source,
                symbol,
                match.first,
                match.last,
                state.words,
                in_frame=True,
                remark=_remark(state, match) if at < REMARKED_MAX else "",
                uncertain=match.probability < state.least_whole and not match.is_pasted,
                twin=twin_of.get((match.path, match.first)),
            )
            identifier += f"#{match.symbol.name}" if match.symbol is not None else f":{match.first}"
        lines = None if is_unsaved else (match.first, match.last)
        yield Slice(
            id=f"document:{identifier}",
            type="document",
            layer="focus",
            weight=round(state.weights.document * sqrt(min(worth(match) / most, 1.0)), 4),
            tier=_tier(state, match),
            order=(3, place, match.first),
            smallest=forms(LONG_CHARACTERS),
            grow=forms,
            full_characters=forms.full_characters,
            path=match.path,
            source=f"found for the prompt, probability {match.probability}: {reasons}",
            score=match.probability,
            lines=lines,
            content=content_key(content, lines),
            competes=True,
            frame=None if is_unsaved else render.code_frame(name_of(match.path), source.fence, source.tag),
        )


def _twins(state: BuildState, definitions: Sequence[ReasonedDefinition]) -> Mapping[tuple[str, int], Symbol]:
    """Return definitions whose twins are found before them, by path and first line, each with its twin."""
    places: dict[tuple[str, int], int] = {}
    for at, (_, match) in enumerate(definitions):
        if match.symbol is not None and match.last == match.symbol.end_line:
            places[match.path, match.first] = at
    found: dict[tuple[str, int], Symbol] = {}
    for path in {path for path, _ in places}:
        if sum(other == path for other, _ in places) < 2 or state.files.unsaved(path):
            continue
        for one, other in twins(state.source(path, state.files.note(path))):
            first, second = places.get((path, one.start_line)), places.get((path, other.start_line))
            if first is not None and second is not None and one.kind in FUNCTIONS:
                later, earlier = (one, other) if first > second else (other, one)
                found[path, later.start_line] = earlier
    return found


def _tier(state: BuildState, match: FoundDefinition) -> int:
    """Return 0 for a definition that contexts of all sizes show, else how often `SHARED_TOKENS` have to be
    doubled until one shows it."""
    if match.probability >= state.sure or (match.path, match.first) in state.firsts:
        return 0
    return ceil(log2(state.sure / match.probability))


def _remark(state: BuildState, match: FoundDefinition) -> str:
    """Return the remark about a function that only tests and examples call, "" for any other definition."""
    symbol = match.symbol
    if state.reader is None or symbol is None or symbol.kind not in FUNCTIONS or match.last < symbol.end_line:
        return ""
    if match.path not in state.snapshot.tree.files:
        return ""  # in a linked project, of which this one may be the caller
    graph = CodeGraph(state.snapshot.tree, state.reader)
    return UNCALLED if is_uncalled(match.path, symbol, graph) else ""


def needed_slices(
    state: BuildState, nodes: Sequence[FocusNode], definitions: Sequence[tuple[str, FoundDefinition]]
) -> Iterator[Slice]:
    """Yield a slice for each constant and the head of each function that the first definitions use.

    Definitions that are in focus or found themselves are skipped.
    """
    if state.reader is None or not definitions:
        return
    sure = [match for _, match in definitions if not _tier(state, match)]
    shown = {(match.path, match.first) for match in sure}
    late = {(match.path, match.first) for _, match in definitions[len(sure) :]}
    inside = {node.path for node in nodes if not node.symbol}
    most = worth(definitions[0][1])
    lead = min(worth(match) for _, match in _first_of_files(definitions))
    places = {path: place for place, path in enumerate(dict.fromkeys(match.path for _, match in definitions))}
    innermost = max((match.probability for match in sure if match.is_pasted), default=0.0)
    for match in sure[:NEEDED_OF_MAX]:
        if match.is_pasted and match.probability < innermost:
            continue  # of what an outer frame uses, the frame inside is what matters
        if state.request.news and match.probability < SURE_MIN:
            continue
        is_test = role_of(match.path, language_of(match.path)) == "test"
        if match.symbol is None or (is_test and not match.is_pasted):
            continue  # a test is an example; prompts are seldom about what it calls
        if state.files.unsaved(match.path) or not state.files.indexed(match.path):
            continue
        for needed in state.files.needed_by(match.path, match.symbol):
            if needed.role == "within" or (needed.role == "call" and needed.symbol.kind in CLASSES):
                continue
            if needed.path in inside or (needed.path, needed.first) in shown:
                continue
            part = FoundDefinition(needed.path, needed.symbol, needed.first, needed.last, 0)
            symbol = as_shown(part, state.files.symbols(needed.path))
            if symbol is None or state.files.unsaved(needed.path):
                continue
            shown.add((needed.path, needed.first))
            says = "names" if needed.role == "value" else "calls"
            source = state.source(needed.path, state.files.note(needed.path))
            first, last = _without_marks(source.lines, needed)
            head = DefinitionForms(source, symbol, first, last, in_frame=True)
            body = head
            if symbol.end_line - symbol.start_line < OPENED_LINES or (needed.path, needed.first) in late:
                body = DefinitionForms(source, symbol, first, symbol.end_line, in_frame=True)
            probability = match.probability * NEEDED_SHARES[needed.role]
            # The first files come before what the definitions of one of them use.
            value = min(probability / (needed.last - needed.first + LINES_FREE), BEHIND_FIRST * lead)
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
                source=f"needed to understand {name_of(match.path, match.symbol.name)}, which {says} it",
                lines=(first, last),
                competes=True,
                frame=render.code_frame(name_of(needed.path), source.fence, source.tag),
                beside=f"document:{match.path}#{match.symbol.name}",
            )


def _without_marks(lines: Sequence[str], needed: Needed) -> tuple[int, int]:
    """Return the lines of a used definition without the annotations above it."""
    skipped = 0
    while needed.first + skipped < needed.symbol.end_line and lines[
        needed.first + skipped - 1
    ].lstrip().startswith(MARKS):
        skipped += 1
    return needed.first + skipped, min(needed.last + skipped, needed.symbol.end_line)


def as_shown(definition: FoundDefinition, symbols: Iterable[Symbol]) -> Symbol | None:
    """Return a found definition as its file has it now, with secrets masked; None if it is gone."""
    if definition.symbol is None:
        return None
    wanted = (definition.symbol.name, definition.symbol.start_line, definition.symbol.end_line)
    return next((each for each in symbols if (each.name, each.start_line, each.end_line) == wanted), None)


DEFINITIONS_MAX = 60
"""Maximum number of definitions that compete for a context; 8,000 tokens hold about 50 of them."""

SHOWN_MIN = 0.008
"""Minimum probability of a shown definition. In benchmarks/needed contexts of 8,000 tokens then show .96 of
what they show without a minimum, in .64 of the tokens. If nothing found reaches it, the most probable ones
are still likely places."""

SHOWN_SHARE, SHARED_TOKENS = 0.15, 2_000
"""Minimum share of the best definition's probability, in contexts of up to `SHARED_TOKENS`; in larger ones it
is proportionally smaller. A share of .03 for all sizes shows .02 to .07 more of the edited lines in
benchmarks/needed, for a tenth to a third more tokens."""

FILES_FIRST, FIRST_MIN, FIRST_LINES = 3, 0.02, 30
"""Number of files of which the best definition competes however certain the best file is, its minimum
probability, and its maximum lines. Of the lines that commits to several files edit, contexts of 500 to 4,000
tokens then show .016 more for at most 5 % more tokens, measured on the tune half of benchmarks/needed; a
smaller `SHOWN_SHARE` shows less for more. A fourth file shows no more, longer definitions neither, nor does a
factor for each further definition of a file."""

WANTED_SHARE = 0.5
"""Minimum share of the best probability for definitions that a shortened file in focus shows first."""

WHOLE_MIN = 0.08
"""Minimum probability of the best definition of a context in which definitions are shown whole. Of those from
.03 to .08 commits in the tune half of benchmarks/needed edited .04, of those from .08 to .2 .16."""

SURE_MIN = 0.5
"""Minimum probability of a definition that is shown whole unasked, whatever its length."""

UNSURE_MIN, UNSURE_TOKENS = 0.15, 200
"""Minimum probability of the other ones that are shown whole unasked, and the maximum tokens of all of them.
With these and `SURE_MIN` 3 prompts in 100 get only wrong bodies of more than 200 tokens, instead of 25 if all
from `WHOLE_MIN` on are shown in 1,500 tokens. A fifth of the tokens remains, .57 of it in edited definitions
instead of .25; .17 of the edited definitions are shown whole instead of .36, and half are shown or named (244
commits to 11 projects). From .08 on .20 are shown whole, but .48 of the tokens are right and nearly half of
the prompts get only wrong bodies."""

PLACES_MAX = 8
"""Maximum number of likely places in a context."""

LINES_FREE = 15
"""Lines added to the length of each definition, so that trivial ones don't come first."""


ReasonedDefinition = tuple[str, FoundDefinition]
"""A found definition with the reasons in words."""


def found_definitions(state: BuildState, nodes: Sequence[FocusNode]) -> list[ReasonedDefinition]:
    """Return the found definitions that compete for the context, the best for their length first.

    None lies inside another. The best ones in files in focus are added to the state's `wanted` instead.
    """
    inside = {node.path for node in nodes if node.role != "document" and not node.symbol}
    best: dict[tuple[str, int], ReasonedDefinition] = {}
    in_focus: dict[str, list[FoundDefinition]] = {}
    found = list(found_in(state.gathered.hits, state.rule_files))
    minimum = min(SHOWN_MIN, max((match.probability for _, match in found), default=0.0))
    for reasons, match in found:
        if match.probability < minimum:
            if match.path not in inside:
                state.passed.append((reasons, match))
            continue
        if match.path in inside:
            if match.symbol is not None:
                in_focus.setdefault(match.path, []).append(match)
            continue
        shown = _without_comment(state, match)
        if shown is None:
            state.passed.append((reasons, match))
            continue
        known = best.get((shown.path, shown.first))
        if known is None or known[1].probability < shown.probability:
            best[shown.path, shown.first] = reasons, shown
    for path, held in in_focus.items():
        most = max(held_part.probability for held_part in held)
        names = {
            held_part.symbol.name
            for held_part in held
            if held_part.symbol and held_part.probability >= WANTED_SHARE * most
        }
        state.wanted.setdefault(path, names)
    outermost = list(_outermost(best.values(), _shown_whole(state, nodes)))
    whole = [item for _, item in outermost if item.symbol is None or item.last == item.symbol.end_line]
    # The head of a class is left out here: its probability says nothing about its members.
    state.sure = SHOWN_SHARE * max((item.probability for item in whole), default=0.0)
    doublings = max(ceil(log2(max(state.request.context_tokens, 1) / SHARED_TOKENS)), 0)
    least = state.sure / 2**doublings
    state.firsts = {
        (match.path, match.first)
        for _, match in _first_of_files(outermost)
        if match.probability >= FIRST_MIN and match.last - match.first < FIRST_LINES
    }
    # What only larger contexts show comes last, so that it takes no room from the others.
    ordered = sorted(
        outermost,
        key=lambda pair: (_tier(state, pair[1]), -worth(pair[1]), pair[1].path, pair[1].first),
    )
    taken = [pair for pair in ordered if pair[1].probability >= least or not _tier(state, pair[1])]
    state.least = least
    state.passed += [pair for pair in ordered if pair[1].probability < least and _tier(state, pair[1])]
    state.passed += taken[DEFINITIONS_MAX:]
    taken = taken[:DEFINITIONS_MAX]
    if not state.request.news or state.gathered.quick:  # comparing reads all files
        return taken
    weighed = compared(state, [match for _, match in taken])
    taken = [(reasons, match) for (reasons, _), match in zip(taken, weighed, strict=True)]
    return sorted(taken, key=lambda pair: (-worth(pair[1]), pair[1].path, pair[1].first))


COMMENT_GAP = 3
"""Maximum lines from a comment to the definition that it documents: annotations, or a blank line."""

COMMENT = re.compile(r"\s*+(?://|(?!.*\*/\s*\S)(?:/\*|\*(?=[\s/]|$)))")
"""The beginnings of lines that are all comment, also of those inside of a block: `*p = 1;` is code, and so is
what follows a `*/`."""


def _without_comment(state: BuildState, match: FoundDefinition) -> FoundDefinition | None:
    """Return the definition that found lines document if they are only comments, None if they document none;
    anything else as it is."""
    row = LANGUAGES.get(language_of(match.path))
    if match.symbol is not None or row is None or not row.grammar or row.heading is not None:
        return match
    if state.files.unsaved(match.path):
        return match
    comment = COMMENT if row.comment == "//" else re.compile(rf"\s*+{re.escape(row.comment)}")
    lines = split_lines(state.files.read(match.path).text)
    spoken = [not line.strip() or comment.match(line) is not None for line in lines]
    if match.first > len(lines) or not all(spoken[match.first - 1 : match.last]):
        return match
    last = match.last
    while last < len(lines) and spoken[last]:
        last += 1
    symbols = state.files.symbols(match.path)
    below = [one for one in symbols if last < one.start_line <= last + COMMENT_GAP]
    if not below:
        return None
    symbol = min(below, key=lambda one: (one.start_line, -one.end_line))
    inner = (one.start_line for one in symbols if symbol.start_line < one.start_line <= symbol.end_line)
    last = symbol.end_line if symbol.kind in FUNCTIONS else min(inner, default=symbol.end_line + 1) - 1
    return replace(match, symbol=symbol, first=symbol.start_line, last=last)


def _first_of_files(found: Sequence[ReasonedDefinition]) -> Iterator[ReasonedDefinition]:
    """Yield the most probable definition of each of the first files, those with the most probable ones."""
    best: dict[str, ReasonedDefinition] = {}
    for pair in found:
        known = best.setdefault(pair[1].path, pair)
        if pair[1].probability > known[1].probability:
            best[pair[1].path] = pair
    yield from sorted(best.values(), key=lambda pair: (-pair[1].probability, pair[1].path))[:FILES_FIRST]


def divide(
    state: BuildState, found: Sequence[ReasonedDefinition]
) -> tuple[list[ReasonedDefinition], list[ReasonedDefinition]]:
    """Return the definitions to show whole, in the order given, and the likely places, the best first.

    Unasked only what is sure is shown whole, and small definitions that are probable. In a context that was
    asked for, improbable ones follow a probable best one as far as its budget reaches; without a probable one
    all are likely places. So are they for a prompt that perhaps needs no code, and in a quick build, which
    has no time for bodies.
    """
    need = state.gathered.need
    named_only = state.gathered.quick or (need is not None and not need.is_sure)
    best = max((match.probability for _, match in found), default=0.0)
    state.least_whole = SURE_MIN if state.request.news else WHOLE_MIN if best < WHOLE_MIN else 0.0
    whole: list[ReasonedDefinition] = []
    rest: list[ReasonedDefinition] = list(found) if named_only else []
    for pair in () if named_only else found:
        probability = pair[1].probability
        fits = probability >= state.least_whole or pair[1].is_pasted
        # A line alone is better off among the likely places, which show it too.
        long = pair[1].last > pair[1].first
        if not fits and long and state.request.news and probability >= UNSURE_MIN:
            tokens = _tokens(state, pair[1])
            fits = state.unsure_tokens + tokens <= UNSURE_TOKENS
            state.unsure_tokens += tokens if fits else 0
        (whole if fits else rest).append(pair)
    rest.sort(key=lambda pair: (-pair[1].probability, pair[1].path, pair[1].first))
    state.passed += rest[PLACES_MAX:]
    return whole, rest[:PLACES_MAX]


def _tokens(state: BuildState, match: FoundDefinition) -> int:
    """Return the tokens of a definition that is shown whole, with its heading; of an unsaved file all."""
    source = state.source(match.path, state.files.note(match.path))
    lines = source.lines if state.files.unsaved(match.path) else source.part(match.first, match.last)
    heading = render.code_frame(name_of(match.path), source.fence, source.tag)
    return state.counter.count("".join(heading)) + state.counter.count("\n".join(lines))


def worth(definition: FoundDefinition) -> float:
    """Return the probability of a definition divided by its length.

    Dividing by the square root of the length shows up to .01 fewer of the edited lines in benchmarks."""
    return definition.probability / (definition.last - definition.first + LINES_FREE)


def found_in(hits: Iterable[Hit], rule_files: RuleFiles) -> Iterator[ReasonedDefinition]:
    """Yield the definitions of search hits, except those in files of rules."""
    for hit in hits:
        if hit.path not in rule_files:
            said = _reasons_of(hit)
            for definition in hit.definitions:
                yield "; ".join(filter(None, (", ".join(definition.reasons), said))), definition


def _shown_whole(state: BuildState, nodes: Sequence[FocusNode]) -> Mapping[str, list[tuple[int, int]]]:
    """Return the lines of the definitions in focus, by path."""
    spans: dict[str, list[tuple[int, int]]] = {}
    for node in nodes:
        if node.role != "document" and node.symbol:
            for symbol in state.files.symbols(node.path):
                if symbol.name == node.symbol:
                    spans.setdefault(node.path, []).append((symbol.start_line, symbol.end_line))
    return spans


def _outermost(
    found: Iterable[ReasonedDefinition], shown: Mapping[str, Sequence[tuple[int, int]]]
) -> Iterator[ReasonedDefinition]:
    """Yield the definitions that lie neither in focus nor inside another found one.

    The outer definition gets the highest probability of those inside."""
    outer: ReasonedDefinition | None = None
    for reasons, match in sorted(found, key=lambda pair: (pair[1].path, pair[1].first, -pair[1].last)):
        if any(first <= match.first and match.last <= last for first, last in shown.get(match.path, ())):
            continue
        if outer is not None and outer[1].path == match.path and match.last <= outer[1].last:
            if match.probability > outer[1].probability:
                outer = reasons, replace(outer[1], probability=match.probability)
            continue
        if outer is not None:
            yield outer
        outer = reasons, match
    if outer is not None:
        yield outer


def _reasons_of(hit: Hit) -> str:
    """Return the reasons why a file was found, in words."""
    words = {"lexical": "by its words", "vector": "by its meaning", "tree": "by name"}
    ranked = [f"{words[name]} (rank {rank})" for name, rank in sorted(hit.sources.items())]
    return ", ".join([*ranked, *hit.why]) or "by other parts of its file"
