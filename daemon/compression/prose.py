"""Owns what of prose is shown: headings, and the sections and sentences that are nearest to a prompt."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..core.lazy_dataclass import dataclass
from .document import AROUND_MAX, Document
from .folded import Folded, count_of
from .prompt_terms import Term
from .prose_units import Unit, Units
from .selection import Selection
from .thinning import thinned

SATURATION = 1.2
LENGTH_SHARE = 0.6
"""BM25's k1 and b."""

HEADING_HIT = 3.0
"""What a term in a heading counts, compared with one in the section below it."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What makes a unit of prose worth showing. Set on the tuning half of benchmarks/compression."""

    own: float = 0.35
    section: float = 0.35
    near: float = 0.25
    position: float = 0.03
    """What the first unit of a section is worth by itself; the next ones less and less."""
    outline: float = 0.1
    """The share of the room that headings may take before anything else."""
    length: float = 0.1
    """The power of a unit's length that its worth is divided by."""


WEIGHTS = Weights()


def compress_prose(
    document: Document, terms: Sequence[Term], characters: int, weights: Weights = WEIGHTS
) -> Folded:
    """Return the headings, sentences and blocks to show within so many characters, in their order."""
    document, _ = thinned(document, terms, (), characters)
    units = document.worked_out((Units, None), lambda: Units(document))
    found = units.all
    selection = _selection(document, found, characters)
    own = _own(document, units, terms)
    sections = _section_scores(document, units, terms)
    _show_outline(selection, found, sections, int(characters * weights.outline))
    worth = _worth(found, own, sections, weights)
    order = sorted(
        range(len(found)),
        key=lambda i: (-worth[i] / (found[i].end - found[i].start + 2) ** weights.length, i),
    )
    for index in order:
        if selection.room <= 0:
            break
        if not selection.shown[index]:
            selection.add([*_needed(found, index), index])
    selection.fill_gaps()
    return _render(document, found, selection)


def _selection(document: Document, found: Sequence[Unit], characters: int) -> Selection:
    gap_cost = len(f"… {count_of(max(2, document.count))}") + 2
    costs = [unit.end - unit.start + 2 for unit in found]
    numbers = document.numbers
    if document.count > len(numbers):
        # Lines that were left out before are marked between any two units that are shown.
        for index in range(1, len(found)):
            if document.filled_between(numbers[found[index - 1].last] + 1, numbers[found[index].first]):
                costs[index] += gap_cost
        characters -= 2 * gap_cost
    return Selection(costs, characters, gap_cost)


def _show_outline(selection: Selection, found: Sequence[Unit], sections: Sequence[float], room: int) -> None:
    floor = selection.room - room
    headings = [index for index, unit in enumerate(found) if unit.kind == "heading"]
    for index in sorted(headings, key=lambda index: (-sections[index], _depth(found, index), index)):
        if selection.room - (found[index].end - found[index].start + 2) < floor:
            return
        selection.add([*_needed(found, index), index])


def _depth(found: Sequence[Unit], index: int) -> int:
    depth = 0
    while found[index].section >= 0:
        depth, index = depth + 1, found[index].section
    return depth


def _needed(found: Sequence[Unit], index: int) -> list[int]:
    """Return what a unit isn't understood without: its headings, what introduces it, what it belongs to."""
    needed: list[int] = []
    waiting = [index]
    seen = {index}
    while waiting and len(needed) < AROUND_MAX:
        unit = found[waiting.pop()]
        for one in (unit.section, *unit.needs):
            if one >= 0 and one not in seen:
                seen.add(one)
                needed.append(one)
                waiting.append(one)
    return needed


def _own(document: Document, units: Units, terms: Sequence[Term]) -> list[float]:
    """Return how near each unit by itself is to the terms, by BM25; 1 for the nearest one."""
    found = units.all
    lengths = [unit.end - unit.start for unit in found]
    return _bm25([_counts(document, units, term) for term in terms], [t.weight for t in terms], lengths)


def _counts(document: Document, units: Units, term: Term) -> dict[int, float]:
    counts: dict[int, float] = {}
    for place in document.places_of(term):
        index = units.at(place)
        if index >= 0:
            counts[index] = counts.get(index, 0.0) + 1
    return counts


def _section_scores(document: Document, units: Units, terms: Sequence[Term]) -> list[float]:
    """Return by the index of its heading how near each section is to the terms, 1 for the nearest.

    What stands under inner headings counts for the outer ones by half, and their titles by half for it.
    """
    found = units.all
    lengths = [0] * len(found)
    for unit in found:
        if unit.section >= 0:
            lengths[unit.section] += unit.end - unit.start
    counted: list[dict[int, float]] = []
    for term in terms:
        counts: dict[int, float] = {}
        for index, count in _counts(document, units, term).items():
            unit = found[index]
            section, weight = unit.section, count
            if unit.kind == "heading":
                section, weight = index, count * HEADING_HIT
            while section >= 0:
                counts[section] = counts.get(section, 0.0) + weight
                section, weight = found[section].section, weight / 2
        counted.append(counts)
    scores = _bm25(counted, [term.weight for term in terms], [length + 100 for length in lengths])
    for index, unit in enumerate(found):
        if unit.kind == "heading" and unit.section >= 0:
            scores[index] = min(1.0, scores[index] + 0.25 * scores[unit.section])
    return scores


def _bm25(
    counted: Sequence[dict[int, float]], weights: Sequence[float], lengths: Sequence[int]
) -> list[float]:
    """Return the scores of texts by how often each term stands in them, 1 for the best one."""
    scores = [0.0] * len(lengths)
    average = sum(lengths) / max(1, len(lengths)) or 1.0
    for counts, weight in zip(counted, weights, strict=True):
        if not counts:
            continue
        rarity = weight * math.log(1 + (len(lengths) - len(counts) + 0.5) / (len(counts) + 0.5))
        for index, count in counts.items():
            length = 1 - LENGTH_SHARE + LENGTH_SHARE * lengths[index] / average
            scores[index] += rarity * count / (count + SATURATION * length)
    most = max(scores, default=0.0)
    return [score / most for score in scores] if most > 0 else scores


def _worth(
    found: Sequence[Unit], own: Sequence[float], sections: Sequence[float], weights: Weights
) -> list[float]:
    near = _near(found, own)
    worth = []
    position, last = 0, -2
    for index, unit in enumerate(found):
        position = position + 1 if unit.section == last else 0
        last = unit.section
        section = sections[unit.section] if unit.section >= 0 else 0.0
        worth.append(
            weights.own * own[index]
            + weights.section * section
            + weights.near * near[index]
            + weights.position / (1 + position)
        )
    return worth


def _near(found: Sequence[Unit], own: Sequence[float]) -> list[float]:
    """Return what the units around each one say: those of its paragraph more, of other sections nothing."""
    near = [0.0] * len(found)
    for order in (range(1, len(found)), range(len(found) - 2, -1, -1)):
        carried = 0.0
        step = 1 if order.step > 0 else -1
        for index in order:
            other = found[index - step]
            if found[index].section != other.section:
                carried = 0.0
                continue
            carried = max(carried, own[index - step]) * (0.8 if found[index].run == other.run else 0.6)
            near[index] = max(near[index], carried)
    return near


def _render(document: Document, found: Sequence[Unit], selection: Selection) -> Folded:
    """Return the units that are shown, with marks for the rest; empty if none is."""
    text, numbers = document.text, document.numbers
    hidden = _hidden_lines(document, found, selection)
    parts: list[str] = []
    last: Unit | None = None
    after = 0  # the line of the whole text up to which everything was shown or marked
    for index, unit in enumerate(found):
        if not selection.shown[index]:
            continue
        together = index > 0 and last is found[index - 1]
        if last is not None and unit.kind == last.kind == "sentence" and unit.run == last.run:
            parts.append(text[last.end : unit.start] if together else " … ")
        else:
            missing = document.filled_between(after, numbers[unit.first])
            if missing:
                parts.append(f"{_break(parts)}… {count_of(missing)}")
            tight = together and last is not None and unit.first == last.last + 1
            parts.append("\n" if tight and not missing else _break(parts))
        parts.append(text[unit.start : unit.end])
        last, after = unit, numbers[unit.last] + 1
    missing = document.filled_between(after, document.count)
    if missing and parts:
        parts.append(f"\n\n… {count_of(missing)}")
    unseen = document.filled_between(0, document.count) - sum(indent >= 0 for indent in document.indents)
    return Folded("".join(parts), len(hidden) + unseen)


def _break(parts: Sequence[str]) -> str:
    return "\n\n" if parts else ""


def _hidden_lines(document: Document, found: Sequence[Unit], selection: Selection) -> set[int]:
    """Return the lines of the document of which a part isn't shown."""
    return {
        line
        for index, unit in enumerate(found)
        if not selection.shown[index]
        for line in range(unit.first, unit.last + 1)
        if document.indents[line] >= 0
    }
