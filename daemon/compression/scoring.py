"""The scorer: rates the parts of a text for a prompt and selects the parts to show.

Code, data, logs and prose are given as `TextParts`: lines or sentences, grouped by definition or section.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from ..languages.shared.records import Symbol
from .document import Document, Term, indent_of


class ScoreWeights(Struct, frozen=True):
    """The weights of the rating, tuned on one half of benchmarks/compression."""

    group: float = 0.3
    """Weight of the score of the part's group."""
    own: float = 0.1
    """Weight of the terms in the part itself."""
    near: float = 0.7
    """Weight of the terms in nearby parts."""
    outline: float = 0.1
    """Maximum share of the room for heads of groups, which are selected first."""
    called: float = 0.4
    """Share of a group's score that the groups called by it get."""


WEIGHTS = ScoreWeights()
LOG_WEIGHTS = ScoreWeights(own=0.9, near=0.25)
PROSE_WEIGHTS = ScoreWeights(own=0.35, near=0.4)

DECAY = 0.9
"""Factor applied to a nearby term for each part of distance."""

REACH = 12
"""Maximum distance in lines at which a term adds to the value of a part."""

SPREAD_MAX = 12_000
"""Maximum number of parts with terms whose surroundings are rated, rare terms first: about 30 ms."""

LENGTH_POWER = 0.15
"""Power of a part's length by which its value is divided."""

LONG = 20
LONG_POWER = 0.75
"""Parts of a group with more than `LONG` parts get the group's score times (`LONG` / parts) to this power."""

OUTLINE_ALONE = 0.6
"""Maximum share of the room for heads if no term occurs in the text."""

SATURATION = 1.2
LENGTH_SHARE = 0.5
"""The parameters k1 and b of BM25. b is lower than usual: long functions are often the relevant ones."""

OUTER_SHARE = 0.25
INNER_SHARE = 0.5
"""Share of a class's score that its members get, and of a member's terms that its class gets."""

GAP_PARTS = 2
"""Maximum number of parts in a gap that is filled at the end."""


class PartGroup(Struct, frozen=True):
    """A group of parts: a definition or a section.

    `heads` are alternative lists of the parts of its head, the longest first. `outer` is the index of the
    enclosing group, or -1.
    """

    heads: tuple[Sequence[int], ...]
    size: int
    outer: int
    depth: int
    name: str = ""


class TextParts(Struct):
    """The parts of a text in order, each of which is shown whole or left out.

    For each part:

    - `costs`: its characters;
    - `at`: its position in lines;
    - `group`: the index of its group, or -1;
    - `prior`: its value for any prompt;
    - `discount`: a factor for its value;
    - `continues`: the index of the earlier part that it continues, or -1; it has at least the share `carried`
      of that part's value.

    `found` returns the parts with a term, `around` the parts needed to understand a part, and `names` the
    groups that a group calls by name.
    """

    costs: list[int]
    gap_cost: int
    at: Sequence[int]
    groups: Sequence[PartGroup]
    group: Sequence[int]
    prior: Sequence[float]
    continues: Sequence[int]
    carried: float
    found: Callable[[Term], Sequence[int]]
    around: Callable[[int], Sequence[int]]
    names: Callable[[int], Sequence[int]] = lambda _: ()
    discount: Sequence[float] = ()


def choose(
    parts: TextParts,
    terms: Sequence[Term],
    characters: int,
    weights: ScoreWeights = WEIGHTS,
    wanted: Collection[str] = (),
) -> PartSelection:
    """Select the parts to show within a number of characters: heads first, then those with the highest value.

    Groups whose names are `wanted` get the highest score.
    """
    return select(score(parts, terms, weights, wanted), characters)


class ScoredParts(NamedTuple):
    """Parts with the scores of their groups, the parts in order of their value, and the largest share of the
    characters that heads may take."""

    parts: TextParts
    nearness: Sequence[float]
    order: Sequence[int]
    head_share: float


def score(
    parts: TextParts,
    terms: Sequence[Term],
    weights: ScoreWeights = WEIGHTS,
    wanted: Collection[str] = (),
) -> ScoredParts:
    """Rate the parts, whatever the number of characters; this takes most of the time of `choose`."""
    hits = [(Counter(parts.found(term)), term.weight) for term in terms]
    nearness = _nearness(parts, hits)
    for index, group in enumerate(parts.groups):
        if group.name and group.name in wanted:
            nearness[index] = 1.0
    _share_with_named(parts, nearness, weights.called)
    share = weights.outline if any(nearness) else OUTLINE_ALONE
    worth = _worth(parts, nearness, hits, weights)
    density = [value / cost**LENGTH_POWER for value, cost in zip(worth, parts.costs, strict=True)]
    order = sorted(range(len(density)), key=lambda part: (-density[part], part))
    return ScoredParts(parts, nearness, order, share)


def select(scored: ScoredParts, characters: int) -> PartSelection:
    """Select parts that were rated, within a number of characters."""
    parts = scored.parts
    selection = PartSelection(parts.costs, characters, parts.gap_cost)
    _show_heads(selection, parts.groups, scored.nearness, int(characters * scored.head_share))
    for part in scored.order:
        if selection.room <= 0:
            break
        if not selection.shown[part]:
            selection.add_joined([*parts.around(part), part])
    selection.fill_gaps()
    return selection


def _rarity(holders: int, count: int) -> float:
    return math.log(1 + (count - holders + 0.5) / (holders + 0.5))


def _normal(values: list[float]) -> list[float]:
    """Return values as shares of the largest one."""
    most = max(values, default=0.0)
    return [value / most for value in values] if most > 0 else values


def _nearness(parts: TextParts, hits: Sequence[tuple[Counter[int], float]]) -> list[float]:
    """Return the BM25 score of each group for the terms, scaled: 1 for the best, 0 for groups without terms.

    Terms in the members of a group count for the group too, with the factor `INNER_SHARE`. A member also gets
    the share `OUTER_SHARE` of the score of the group around it.
    """
    groups = parts.groups
    scores = [0.0] * len(groups)
    average = sum(group.size for group in groups) / max(1, len(groups))
    for counts, weight in hits:
        held: dict[int, float] = {}
        for part, count in counts.items():
            index, share = parts.group[part], 1.0
            while index >= 0:
                held[index] = held.get(index, 0.0) + count * share
                index, share = groups[index].outer, INNER_SHARE
        rarity = weight * _rarity(len(held), len(groups))
        for index, value in held.items():
            length = 1 - LENGTH_SHARE + LENGTH_SHARE * groups[index].size / average
            scores[index] += rarity * value / (value + SATURATION * length)
    for index, group in enumerate(groups):
        if group.outer >= 0:
            scores[index] += OUTER_SHARE * scores[group.outer]
    return _normal(scores)


def _share_with_named(parts: TextParts, nearness: list[float], share: float) -> None:
    """Raise the scores of groups that the best groups call: a helper often does what the prompt is about."""
    raised: dict[int, float] = {}
    for index in sorted(range(len(nearness)), key=lambda index: (-nearness[index], index))[:3]:
        for named in parts.names(index) if nearness[index] > 0 else ():
            raised[named] = max(raised.get(named, 0.0), share * nearness[index])
    for index, score in raised.items():
        nearness[index] = min(1.0, max(nearness[index], score) + 0.3 * min(nearness[index], score))


def _show_heads(
    selection: PartSelection, groups: Sequence[PartGroup], nearness: Sequence[float], room: int
) -> None:
    """Select the heads of groups, the best groups first, each in the longest form that fits."""
    floor = selection.room - room
    for index in sorted(range(len(groups)), key=lambda index: (-nearness[index], groups[index].depth, index)):
        any(selection.add(head) for head in groups[index].heads)
        if selection.room < floor:
            return


def _worth(
    parts: TextParts,
    nearness: Sequence[float],
    hits: Sequence[tuple[Counter[int], float]],
    weights: ScoreWeights,
) -> list[float]:
    """Return the value of each part."""
    own = [0.0] * len(parts.costs)
    for counts, weight in hits:
        for part in counts:
            own[part] += weight * _rarity(len(counts), len(own))
    own, near = _normal(own), _near(parts, hits)
    # In a long group only a few parts are relevant, so each part gets less of the group's score.
    shared = [
        score * min(1.0, LONG / max(1, group.size)) ** LONG_POWER
        for score, group in zip(nearness, parts.groups, strict=True)
    ]
    worth: list[float] = []
    for part, group in enumerate(parts.group):
        value = weights.own * own[part] + weights.near * near[part] + parts.prior[part]
        value += weights.group * shared[group] if group >= 0 else 0.0
        value *= parts.discount[part] if parts.discount else 1.0
        if parts.continues[part] >= 0:
            value = max(value, parts.carried * worth[parts.continues[part]])
        worth.append(value)
    return worth


def _near(parts: TextParts, hits: Sequence[tuple[Counter[int], float]]) -> list[float]:
    """Return the sum of the rarities of the terms in or near each part, scaled to at most 1.

    A term counts less with the distance to its nearest occurrence, and a quarter of that in another group.
    Several occurrences count once.
    """
    at, group = parts.at, parts.group
    near = [0.0] * len(group)
    fading = [DECAY**distance for distance in range(REACH + 1)]
    spent = 0
    for holders, weight in sorted(hits, key=lambda hit: len(hit[0])):
        spent += len(holders)
        if not holders or spent > SPREAD_MAX:
            continue
        best: dict[int, float] = {}
        for part in holders:
            home, place = group[part], at[part]
            for other in range(bisect_left(at, place - REACH), bisect_right(at, place + REACH)):
                value = fading[abs(at[other] - place)] / (1 if group[other] == home else 4)
                if value > best.get(other, 0.0):
                    best[other] = value
        rarity = weight * _rarity(len(holders), len(group))
        for part, value in best.items():
            near[part] += rarity * value
    return _normal(near)


class PartSelection:
    """The parts selected so far, and the remaining room.

    `costs[i]` are the characters of part i with its line end. Each gap between selected parts has a
    mark of `gap_cost` characters.
    """

    def __init__(self, costs: Sequence[int], room: int, gap_cost: int) -> None:
        self._costs = costs
        self._gap_cost = gap_cost
        self._count = len(costs)
        self.room = room - (gap_cost if costs else 0)
        self.shown = bytearray(self._count)

    def add(self, parts: Iterable[int]) -> bool:
        """Select all of these parts, or none if there is too little room; return whether they fit."""
        added: list[int] = []
        room = self.room
        for part in parts:
            if self.shown[part]:
                continue
            self.shown[part] = 1
            added.append(part)
            room -= self._costs[part] + self._gap_cost * self._more_gaps(part)
        # Checked at the end, since closing gaps gives room back.
        if room < 0:
            for part in reversed(added):
                self.shown[part] = 0
            return False
        self.room = room
        return True

    def add_joined(self, parts: Sequence[int]) -> bool:
        """Select parts as `add` does, and also a single part left between two selected ones if there is room.

        The mark for one omitted part would take nearly as much room as the part.
        """
        if not self.add(parts):
            return False
        for part in parts:
            for between, beyond in ((part - 1, part - 2), (part + 1, part + 2)):
                if 0 <= beyond < self._count and self.shown[beyond] and not self.shown[between]:
                    self.add((between,))
        return True

    def fill_gaps(self) -> None:
        """Fill gaps of at most `GAP_PARTS` parts, the cheapest first, while there is room."""
        small = [(start, end) for start, end in self.gaps() if end - start <= GAP_PARTS]
        for start, end in sorted(small, key=lambda item: sum(self._costs[item[0] : item[1]])):
            self.add(range(start, end))

    def gaps(self) -> Iterable[tuple[int, int]]:
        """Yield the gaps: the first part of each, and the part after the last."""
        start = self.shown.find(0)
        while start >= 0:
            end = self.shown.find(1, start)
            end = self._count if end < 0 else end
            yield start, end
            start = self.shown.find(0, end)

    def _more_gaps(self, part: int) -> int:
        """Return the change of the number of gaps by selecting this part: -1, 0 or 1."""
        left = part > 0 and not self.shown[part - 1]
        right = part + 1 < self._count and not self.shown[part + 1]
        return int(left) + int(right) - 1


LINES_MIN = 1_250
CHARACTERS_PER_LINE = 15
"""Number of lines that are rated: `LINES_MIN`, or one for each `CHARACTERS_PER_LINE` of room if that is more.
A text with more than twice as many lines is thinned to that number first."""

BUCKET = 16
"""Number of consecutive lines that are chosen together when thinning."""

SHARE_NEAR = 0.6
SHARE_HEADS = 0.2
SHARE_WANTED = 0.4
"""Maximum shares of the rated lines for lines around terms, for heads of definitions, and for wanted
definitions."""

EDGE_LINES = 40
"""Lines at the beginning and at the end that are always rated."""

CLIMB_LINES = 1_500
CLIMBS_LINES = 30_000
"""Maximum number of lines searched upwards for enclosing blocks, for one bucket and for all."""

HEAD_LINES = 3
"""Lines kept of a definition's head when thinning."""

_RULES = frozenset(mark * 3 for mark in "=-~^\"'`#*+.:_")


def thinned(
    document: Document,
    terms: Sequence[Term],
    symbols: Sequence[Symbol],
    characters: int,
    wanted: Collection[str] = (),
) -> tuple[Document, Sequence[Symbol]]:
    """Return the lines of a large document that are worth rating, with the symbols in them.

    `wanted` definitions are included. The lines keep their numbers. A small document is returned unchanged.
    """
    most = max(LINES_MIN, characters // CHARACTERS_PER_LINE)
    if len(document.lines) <= 2 * most:
        return document, symbols
    lines = document.lines
    kept = {*range(min(EDGE_LINES, len(lines))), *range(max(0, len(lines) - EDGE_LINES), len(lines))}
    for symbol in symbols if wanted else ():
        if symbol.name in wanted and len(kept) < most * SHARE_WANTED:
            kept.update(
                range(symbol.start_line - 1, min(symbol.end_line, len(lines), symbol.start_line + 300))
            )
    passed = 0
    for bucket in _buckets(document, terms):
        if len(kept) >= most * SHARE_NEAR:
            break
        first = bucket * BUCKET
        kept.update(range(max(0, first - BUCKET // 2), min(len(lines), first + BUCKET + BUCKET // 2)))
        if passed < CLIMBS_LINES:
            passed += _climb(lines, first, kept)
    near = sorted(kept)
    limit = len(kept) + int(most * SHARE_HEADS)
    for line in _heads(document, terms, symbols, near):
        if len(kept) >= limit:
            break
        kept.update(range(line, min(line + HEAD_LINES, len(lines))))
    # The rest goes to the beginning, which tells what the text is about.
    for line in range(len(lines)):
        if len(kept) >= most:
            break
        kept.add(line)
    numbers = sorted(kept)
    return document.part(numbers), _mapped(symbols, numbers)


def _buckets(document: Document, terms: Sequence[Term]) -> list[int]:
    """Return the buckets of lines with terms, those with the most and rarest terms first."""
    count = len(document.lines) // BUCKET + 1
    scores: dict[int, float] = {}
    for term in terms:
        found = {line // BUCKET for line in document.lines_with(term)}
        rarity = term.weight * math.log(1 + (count - len(found) + 0.5) / (len(found) + 0.5))
        for bucket in found:
            scores[bucket] = scores.get(bucket, 0.0) + rarity
    return sorted(scores, key=lambda bucket: (-scores[bucket], bucket))


def _climb(lines: Sequence[str], line: int, kept: set[int]) -> int:
    """Keep the lines that open the blocks around a line; return the number of lines searched."""
    indent = next((found for item in lines[line : line + BUCKET] if (found := indent_of(item)) >= 0), 0)
    end = max(0, line - CLIMB_LINES)
    for index in range(line - 1, end - 1, -1):
        if indent <= 0:
            return line - index
        found = indent_of(lines[index])
        if 0 <= found < indent:
            indent = found
            kept.add(index)
    return line - end


def _heads(
    document: Document, terms: Sequence[Term], symbols: Sequence[Symbol], near: Sequence[int]
) -> Iterable[int]:
    """Return first lines of definitions or sections: with kept lines, then with terms, then outer ones."""
    if not symbols:
        titles = _titles(document.lines)
        around = dict.fromkeys(
            titles[place]
            for line in near
            for place in range(max(0, bisect_right(titles, line) - 2), bisect_right(titles, line))
        )
        return [*around, *titles]
    found = {line for term in terms for line in document.lines_with(term)}

    def rank(symbol: Symbol) -> tuple[bool, bool, int, int]:
        first, end = symbol.start_line - 1, symbol.end_line
        place = bisect_left(near, first)
        holds = place < len(near) and near[place] < end
        return (not holds, first not in found, symbol.depth, first)

    count = len(document.lines)
    return [symbol.start_line - 1 for symbol in sorted(symbols, key=rank) if 0 < symbol.start_line <= count]


def _titles(lines: Sequence[str]) -> list[int]:
    """Return the lines that look like headings or like the heads of sections in data."""
    return [
        index - (index > 0 and line[:3] in _RULES)
        for index, line in enumerate(lines)
        if line and (line[0] == "#" or line[:3] in _RULES or (line[0] == "[" and line[-1] == "]"))
    ]


def _mapped(symbols: Sequence[Symbol], numbers: Sequence[int]) -> list[Symbol]:
    """Return the symbols whose first line is among the lines, with their positions among them."""
    found = []
    for symbol in symbols:
        first = bisect_left(numbers, symbol.start_line - 1)
        if first < len(numbers) and numbers[first] == symbol.start_line - 1:
            end = bisect_right(numbers, symbol.end_line - 1)
            found.append(replace(symbol, start_line=first + 1, end_line=max(end, first + 1)))
    return found
