"""Owns what of code is shown: signatures, documentation, and the lines that matter to a prompt in bodies."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

from ..core.lazy_dataclass import dataclass
from ..project.tree import Symbol
from .definitions import COMMENT_MARKS, Definitions
from .document import Document
from .folded import Folded, Rows
from .prompt_terms import Term
from .selection import Selection
from .thinning import thinned


@dataclass(frozen=True, slots=True)
class Weights:
    """What makes a line worth showing. Set on the tuning half of benchmarks/compression."""

    definition: float = 0.3
    """What the nearness of its definition to the prompt is worth."""
    own: float = 0.1
    """What the terms on the line itself are worth."""
    near: float = 0.7
    """What the terms on the lines around it are worth,"""
    decay: float = 0.9
    """of which each next one counts so much of the one before."""
    prior: float = 0.03
    """What it is worth that a line decides: returns, raises, branches."""
    comment: float = 0.8
    """What a line of a comment is worth, of what a line of code in its place would be."""
    outline: float = 0.15
    """The share of the room that signatures may take before the lines that matter."""
    length: float = 0.15
    """The power of a line's length that its worth is divided by: a long one costs more."""
    long: float = 20
    """A definition of more lines gives each of them less of its nearness: a few of them are meant,"""
    power: float = 0.75
    """by the share of these lines in it, to this power."""
    called: float = 0.4
    """What a definition gets of the nearness of one that names it in its body."""


WEIGHTS = Weights()

OUTLINE_ALONE = 0.6
"""The share that signatures may take where nothing in the text is near to the prompt."""

REACH = 12
"""Lines up to which a term says something of the lines around it."""

SPREAD_MAX = 12_000
"""Lines with terms whose surroundings are looked at, those of rare terms first: about 30 ms."""


def compress_code(
    document: Document,
    symbols: Sequence[Symbol],
    terms: Sequence[Term],
    characters: int,
    weights: Weights = WEIGHTS,
    wanted: Collection[str] = (),
) -> Folded:
    """Return the lines of code to show within so many characters, with their numbers.

    Definitions whose names are `wanted` count as much as the one that is nearest to the terms.
    """
    document, symbols = thinned(document, terms, symbols, characters, wanted)
    rows = Rows(document)
    selection = rows.selection(characters)
    definitions = document.worked_out((Definitions, tuple(symbols)), lambda: Definitions(document, symbols))
    scores = definitions.scores(document, terms)
    for index, one in enumerate(definitions.all):
        if one.name and one.name in wanted:
            scores[index] = 1.0
    _share_with_called(document, definitions, scores, weights)
    outline = weights.outline if any(scores) else OUTLINE_ALONE
    _show_outline(selection, definitions, scores, rows.place, int(characters * outline))
    worth = _worth(document, definitions, scores, terms, weights)
    density = [worth[line] / rows.cost(line) ** weights.length for line in rows.parts]
    for part in sorted(range(len(density)), key=lambda part: (-density[part], part)):
        if selection.room <= 0:
            break
        if not selection.shown[part]:
            around = _around(document, definitions, rows.parts[part])
            selection.add_joined([*(rows.place[line] for line in around), part])
    selection.fill_gaps()
    return rows.render(selection)


def _share_with_called(
    document: Document, definitions: Definitions, scores: list[float], weights: Weights
) -> None:
    """Raise what the nearest definitions name in their bodies: a helper often does what is asked about."""
    if not weights.called:
        return
    by_name: dict[str, list[int]] = {}
    for index, one in enumerate(definitions.all):
        name = one.name.rpartition(".")[2].partition("~")[0]
        if len(name) > 2:
            by_name.setdefault(name, []).append(index)
    top = sorted(range(len(scores)), key=lambda index: (-scores[index], index))[:3]
    raised: dict[int, float] = {}
    for index in top:
        one = definitions.all[index]
        if scores[index] <= 0:
            continue
        body = "\n".join(document.lines[one.head_end : min(one.end, one.head_end + 400)])
        for name, bearers in by_name.items():
            if name in body and len(bearers) <= 3 and any(f"{name}{mark}" in body for mark in "(."):
                for bearer in bearers:
                    if bearer != index:
                        raised[bearer] = max(raised.get(bearer, 0.0), weights.called * scores[index])
    for index, score in raised.items():
        scores[index] = min(1.0, max(scores[index], score) + 0.3 * min(scores[index], score))


def _show_outline(
    selection: Selection,
    definitions: Definitions,
    scores: Sequence[float],
    place: dict[int, int],
    room: int,
) -> None:
    """Show signatures with the first line of what documents them, the nearest to the prompt first."""
    floor = selection.room - room
    order = sorted(
        range(len(scores)), key=lambda index: (-scores[index], definitions.all[index].depth, index)
    )
    for index in order:
        one = definitions.all[index]
        head = [line for line in range(one.head, one.head_end) if line in place]
        with_doc = [*head, one.doc] if one.doc in place else head
        for wanted in (with_doc, head):
            cost = selection.room
            if selection.add(place[line] for line in wanted):
                if selection.room < floor and cost > floor:
                    return
                break
        if selection.room < floor:
            return


def _around(document: Document, definitions: Definitions, line: int) -> list[int]:
    """Return the lines without which a line isn't understood: what opens the blocks that it lies in."""
    found = document.blocks.around(line)
    index = definitions.owner[line]
    while index >= 0:
        one = definitions.all[index]
        if line >= one.head:
            found.append(one.head)
        index = one.outer
    return found


_DECIDING = frozenset(
    [
        "return",
        "raise",
        "throw",
        "throws",
        "yield",
        "if",
        "elif",
        "else",
        "for",
        "while",
        "switch",
        "case",
        "match",
        "except",
        "catch",
        "rescue",
        "panic",
        "assert",
        "break",
        "continue",
        "goto",
        "try",
        "defer",
        "select",
        "when",
        "unless",
        "until",
        "guard",
        "await",
    ]
)


def _worth(
    document: Document,
    definitions: Definitions,
    scores: Sequence[float],
    terms: Sequence[Term],
    weights: Weights,
) -> list[float]:
    """Return what each line is worth."""
    lines, owner = document.lines, definitions.owner
    own = own_worth(document, terms)
    near = _near(document, terms, owner, weights.decay)
    # Of a long definition the whole is worth less: a few of its lines are meant.
    shared = [
        score * min(1.0, weights.long / max(1, one.end - one.start)) ** weights.power
        for score, one in zip(scores, definitions.all, strict=True)
    ]
    worth = [0.0] * len(lines)
    for line, indent in enumerate(document.indents):
        if indent < 0:
            continue
        score = shared[owner[line]] if owner[line] >= 0 else 0.0
        prior = _prior(lines[line][indent:] if "\t" not in lines[line] else lines[line].lstrip())
        worth[line] = (
            score * weights.definition
            + weights.own * own[line]
            + weights.near * near[line]
            + weights.prior * (prior if prior > 0 or prior < -1 else 0.0)
        )
        if prior == COMMENT:
            worth[line] *= weights.comment
    _glue(document, worth)
    return worth


def own_worth(document: Document, terms: Sequence[Term]) -> list[float]:
    """Return what the terms on each line say, by their rarity, 1 for the line with the most."""
    count = len(document.lines)
    own = [0.0] * count
    for term in terms:
        holders = dict.fromkeys(document.lines_with(term))
        if not holders:
            continue
        rarity = term.weight * math.log(1 + (count - len(holders) + 0.5) / (len(holders) + 0.5))
        for line in holders:
            own[line] += rarity
    most = max(own, default=0.0)
    return [value / most for value in own] if most > 0 else own


def _near(document: Document, terms: Sequence[Term], owner: Sequence[int], decay: float) -> list[float]:
    """Return how many of the terms stand on a line or near it, by their rarity, 1 for the line with the most.

    A term fades with the distance to its nearest place; several places of it count once. Across the bounds
    of a definition it fades four times as fast.
    """
    count = len(document.lines)
    near = [0.0] * count
    fading = [decay**distance for distance in range(REACH + 1)]
    spent = 0
    holders = [(tuple(dict.fromkeys(document.lines_with(term))), term.weight) for term in terms]
    for lines, weight in sorted(holders, key=lambda one: len(one[0])):
        spent += len(lines)
        if not lines or spent > SPREAD_MAX:
            continue
        rarity = weight * math.log(1 + (count - len(lines) + 0.5) / (len(lines) + 0.5))
        best: dict[int, float] = {}
        for line in lines:
            home = owner[line]
            for other in range(max(0, line - REACH), min(count, line + REACH + 1)):
                value = fading[abs(other - line)] if owner[other] == home else fading[abs(other - line)] / 4
                if value > best.get(other, 0.0):
                    best[other] = value
        for line, value in best.items():
            near[line] += rarity * value
    most = max(near, default=0.0)
    return [value / most for value in near] if most > 0 else near


COMMENT, BRACKETS = -1.0, -2.0
"""What `_prior` says of a comment, and of a line of brackets alone."""


def _prior(stripped: str) -> float:
    if stripped.startswith(COMMENT_MARKS):
        return COMMENT
    word = stripped[:12].replace("(", " ").replace(":", " ").replace("{", " ").replace(";", " ")
    word = word.lstrip("} ").partition(" ")[0]
    if word in _DECIDING:
        return 1.0
    return 0.0 if len(stripped) > 3 else BRACKETS


def _glue(document: Document, worth: list[float]) -> None:
    """Make what goes on over several lines worth about as much as its first line, and the other way round."""
    parents, lines = document.blocks.parents, document.lines
    for line, parent in enumerate(parents):
        if parent >= 0 and lines[parent].rstrip()[-1:] in _UNFINISHED:
            worth[line] = max(worth[line], 0.9 * worth[parent])


_UNFINISHED = frozenset("([,=+&|\\?")
