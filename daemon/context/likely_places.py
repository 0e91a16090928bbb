"""Likely places: found definitions that are too uncertain to be shown whole, named in one line each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import sqrt

from ..index.service import document_terms, query_terms
from ..privacy.secret_gate import SecretGate
from . import render
from .build_state import BuildState
from .hit_slices import ReasonedDefinition, as_shown, worth
from .selection import Form, Slice, fixed
from .skeleton import printable

PLACES_TOKENS = 260
"""Maximum tokens of all that is uncertain: the likely places with the text around them, and the bodies that
are shown unasked without being sure. So a wrong guess costs 300 tokens with the title and the headings."""

LINE_CHARACTERS = 60
"""Maximum characters of the line of code that stands for a definition; a longer one is cut."""

LINES_READ = 400
"""Maximum lines of a definition among which the best one is looked for, at 3 microseconds each."""

NOTE = "Guesses: one of these may be meant, none is certain. Each with the line that fits the prompt best."

FRAME = f"{NOTE}\n\n```\n", "```\n\n"
"""The texts around the likely places. A line has no fence of its own, since `inline` breaks them up."""


def place_slices(
    state: BuildState, likely: Sequence[ReasonedDefinition], most: float, gate: SecretGate
) -> Iterator[Slice]:
    """Yield a slice for each likely place, as many as `PLACES_TOKENS` hold.

    `most` is the worth of the best definition of the context. `gate` masks the secrets that it knows before a
    line is cut, since half of a secret isn't recognized.
    """
    need, request = state.gathered.need, state.request
    if need is not None and need.hint and not likely and not request.news:  # hooks get it alone
        said = fixed(Form(f"{need.hint}\n\n"))
        weight, why = state.weights.document, "what the prompt asks for isn't known"
        yield Slice("place:none", "place", "focus", weight, (4,), *said, source=why, competes=True)
    terms = frozenset(query_terms(" ".join(sorted(state.words))).weights)
    room = PLACES_TOKENS - state.unsure_tokens - sum(map(state.counter.count, FRAME))
    for place, (reasons, match) in enumerate(likely):
        content = state.files.note(match.path)
        if state.gathered.quick:  # without the index a file is as it was found if it is as it was scanned
            symbol = match.symbol if state.files.is_as_scanned(match.path) else None
        else:
            symbol = as_shown(match, state.files.symbols(match.path))
        is_unsaved = state.files.unsaved(match.path)
        if content.problem or (match.symbol is not None and symbol is None and not is_unsaved):
            continue  # hidden, or changed since it was indexed
        source = state.source(match.path, content)
        first, last = (1, source.line_count) if is_unsaved else (match.first, match.last)
        name = match.symbol.name if match.symbol is not None and not is_unsaved else ""
        number, line = best_line(source.part(first, min(last, first + LINES_READ - 1)), first, name, terms)
        where = f"{match.first}-{match.last}" if not is_unsaved else f"{number}"
        form = fixed(Form(place_line(match.path, where, name, gate.of_code(line))))
        room -= state.counter.count(form[0].text)
        if room < 0:
            state.passed += likely[place:]
            return
        yield Slice(
            f"place:{match.path}#{name}" if name else f"place:{match.path}:{where}",
            "place",
            "focus",
            round(state.weights.document * sqrt(min(worth(match) / most, 1.0)), 4),
            (4, place),
            *form,
            path=match.path,
            source=f"too uncertain for its body, probability {match.probability}: {reasons}",
            score=match.probability,
            lines=None if is_unsaved else (match.first, match.last),
            competes=True,
            frame=FRAME,
        )


def place_line(path: str, where: str, name: str, line: str) -> str:
    """Return the line of a place: its path and lines, its name ("" for none), and the line of code that
    stands for it, which is cut."""
    said = render.inline(line)
    if len(said) > LINE_CHARACTERS:
        said = f"{said[: LINE_CHARACTERS - 1]}…"
    head = " ".join(filter(None, (f"{printable(path)}:{where}", render.inline(name))))
    return f"{head} — {said}\n" if said else f"{head}\n"


def best_line(lines: Sequence[str], first: int, name: str, terms: frozenset[str]) -> tuple[int, str]:
    """Return the number and text of the line with the most terms of the prompt that the name doesn't have;
    of several the first, and the definition's first line if none has any."""
    wanted = terms - set(document_terms(name))
    counts = [len(wanted.intersection(document_terms(line))) for line in lines]
    at = counts.index(max(counts)) if counts else 0
    return first + at, lines[at].strip() if lines else ""
