"""The scorer: rates the lines of a text for a prompt and selects those to show."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from ..core.vocabulary import words
from .document import Document, LineRange
from .words import Term

GROUP = 0.3
"""Weight of the score of the block that a line lies in."""

OWN_NEAR: Final = {"code": (0.1, 0.7), "prose": (0.35, 0.4), "data": (0.1, 0.7), "log": (0.9, 0.25)}
"""Weights of the terms in the line itself and of those in nearby lines, by the kind of the text, tuned on one
half of benchmarks/compression."""

OUTLINE, OUTLINE_ALONE = 0.1, 0.6
"""Maximum share of the room for the heads of blocks, which are selected first; the second if no term
occurs in the text."""

DECAY = 0.9
"""Factor applied to a nearby term for each line of distance."""

REACH = 12
"""Maximum distance in lines at which a term adds to the value of a line."""

SPREAD_MAX = 12_000
"""Maximum number of lines with terms whose surroundings are rated, rare terms first: about 30 ms."""

LENGTH_POWER = 0.15
"""Power of a line's length by which its value is divided."""

LONG = 20
LONG_POWER = 0.75
"""Lines of a block with more than `LONG` lines get the block's score times (`LONG` / lines) to this power."""

SATURATION = 1.2
LENGTH_SHARE = 0.5
"""The parameters k1 and b of BM25. b is lower than usual: long functions are often the relevant ones."""

LONG_BLOCK = 60
"""Maximum lines of a block that isn't divided into inner blocks."""

DEPTH_MAX = 8
"""Maximum nesting of blocks; deeper ones count as a part of the outer one."""

DECIDES = 0.03
"""Value of a line that returns, raises or branches."""

WANTED = 0.5
"""Value of a wanted line."""

COMMENT_SHARE = 0.8
"""Value of a comment line relative to a line of code in its place."""

EDGE_HEAD, EDGE_TAIL = 4, 6
"""Number of lines at the beginning and at the end of a log that get the extra value `EDGE`."""

EDGE, RARE, ERROR, WARNING = 0.2, 0.25, 0.6, 0.3
"""Values of a log line at the beginning or end, of a unique one, of an error and of a warning."""

BELOW_ERROR = 0.8
"""Value of the indented lines below an error, such as a stack trace, relative to it."""

SEARCHED = 240
"""Characters of a log line that are searched for its level."""


class LineBlock(NamedTuple):
    """A block of lines, by their places among the lines that aren't blank: its head, the place after its last
    line, its number of lines, and its nesting."""

    head: int
    end: int
    size: int
    depth: int


class RatedLines:
    """The lines of a document in the order of their value for some terms, whatever the room."""

    def __init__(self, document: Document, terms: Sequence[Term], wanted: Sequence[LineRange] = ()) -> None:
        self.document = document
        self._place = {line: part for part, line in enumerate(document.filled)}
        self._blocks = self._read_blocks()
        self._block = [-1] * len(document.filled)
        for index, block in enumerate(self._blocks):  # inner blocks come later and overwrite their part
            self._block[block.head : block.end] = [index] * (block.end - block.head)
        hits = [
            (
                Counter(self._place[line] for line in document.lines_with(term) if line in self._place),
                term.weight,
            )
            for term in terms
        ]
        nearness = self._nearness(hits)
        worth = self._worth(hits, nearness, wanted)
        density = [value / cost**LENGTH_POWER for value, cost in zip(worth, document.costs, strict=True)]
        self._order = sorted(range(len(density)), key=lambda part: (-density[part], part))
        best = sorted(
            range(len(self._blocks)), key=lambda index: (-nearness[index], self._blocks[index].depth, index)
        )
        self._heads = [self._blocks[index].head for index in best]
        self._head_share = OUTLINE if any(nearness) else OUTLINE_ALONE

    def select(self, characters: int) -> LineSelection:
        """Select lines within a number of characters: heads of blocks, then the lines with the most value."""
        selection = LineSelection(self.document, characters)
        floor = selection.room - int(characters * self._head_share)
        for head in self._heads:
            selection.add((head,))
            if selection.room < floor:
                break
        for part in self._order:
            if selection.room <= 0:
                break
            if not selection.shown[part]:
                around = self.document.around(self.document.filled[part])
                selection.add_joined([*(self._place[line] for line in around), part])
        return selection

    def _read_blocks(self) -> list[LineBlock]:
        """Return the outer blocks, and those inside long ones."""
        found: list[LineBlock] = []
        open_ones: list[LineBlock] = []
        if self.document.kind == "log":
            return found
        for head, end in self.document.blocks():
            first, last = self._place[head], self._place[end - 1] + 1
            while open_ones and open_ones[-1].end <= first:
                open_ones.pop()
            outer = open_ones[-1] if open_ones else None
            if len(open_ones) < DEPTH_MAX and (outer is None or outer.size > LONG_BLOCK):
                found.append(LineBlock(first, last, end - head, len(open_ones)))
                open_ones.append(found[-1])
        return found

    def _nearness(self, hits: Sequence[tuple[Counter[int], float]]) -> list[float]:
        """Return the BM25 score of each block for the terms, scaled: 1 for the best, 0 for those without."""
        blocks = self._blocks
        scores = [0.0] * len(blocks)
        average = sum(block.size for block in blocks) / max(1, len(blocks))
        for counts, weight in hits:
            held: Counter[int] = Counter()
            for part, count in counts.items():
                if self._block[part] >= 0:
                    held[self._block[part]] += count
            rarity = weight * _rarity(len(held), len(blocks))
            for index, value in held.items():
                length = 1 - LENGTH_SHARE + LENGTH_SHARE * blocks[index].size / average
                scores[index] += rarity * value / (value + SATURATION * length)
        return _normal(scores)

    def _worth(
        self,
        hits: Sequence[tuple[Counter[int], float]],
        nearness: Sequence[float],
        wanted: Sequence[LineRange],
    ) -> list[float]:
        """Return the value of each line."""
        lines, kind = self.document.filled, self.document.kind
        own = [0.0] * len(lines)
        for counts, weight in hits:
            for part in counts:
                own[part] += weight * _rarity(len(counts), len(own))
        own, near = _normal(own), self._near(hits)
        own_weight, near_weight = OWN_NEAR[kind]
        # In a long block only a few lines are relevant, so each line gets less of the block's score.
        shared = [
            GROUP * score * min(1.0, LONG / block.size) ** LONG_POWER
            for score, block in zip(nearness, self._blocks, strict=True)
        ]
        if kind == "log":
            prior = _log_values(self.document)
        else:
            prior = [DECIDES * _decides(self.document.lines[line]) for line in lines]
        worth: list[float] = []
        error = 0.0  # the value of the error above, for the lines that belong to it
        for part, line in enumerate(lines):
            value = own_weight * own[part] + near_weight * near[part] + prior[part]
            value += shared[self._block[part]] if self._block[part] >= 0 else 0.0
            value += WANTED * any(first <= line + 1 <= last for first, last in wanted)
            text = self.document.lines[line]
            if kind != "log":
                value *= COMMENT_SHARE if text.lstrip().startswith(COMMENT_MARKS) else 1.0
            elif self.document.indents[line] > 0:
                value = max(value, BELOW_ERROR * error)
            else:
                error = value if _ERROR.search(text[:SEARCHED]) else 0.0
            worth.append(value)
        return worth

    def _near(self, hits: Sequence[tuple[Counter[int], float]]) -> list[float]:
        """Return the sum of the rarities of the terms in or near each line, scaled to at most 1.

        A term counts less with the distance to its nearest occurrence, and a quarter of that in another
        block. Several occurrences count once.
        """
        block = self._block
        near = [0.0] * len(block)
        fading = [DECAY**distance for distance in range(REACH + 1)]
        spent = 0
        for holders, weight in sorted(hits, key=lambda hit: len(hit[0])):
            spent += len(holders)
            if not holders or spent > SPREAD_MAX:
                continue
            best: dict[int, float] = {}
            for part in holders:
                for other in range(max(part - REACH, 0), min(part + REACH + 1, len(block))):
                    value = fading[abs(other - part)] / (1 if block[other] == block[part] else 4)
                    if value > best.get(other, 0.0):
                        best[other] = value
            rarity = weight * _rarity(len(holders), len(block))
            for part, value in best.items():
                near[part] += rarity * value
        return _normal(near)


class LineSelection:
    """The selected lines, by their places among those that aren't blank, and the remaining room."""

    def __init__(self, document: Document, room: int) -> None:
        self._costs = document.costs
        self._gap_cost = len(document.gap(max(len(document.lines), 2))) + 1
        self.room = room - (self._gap_cost if self._costs else 0)
        self.shown = bytearray(len(self._costs))

    def add(self, parts: Iterable[int]) -> bool:
        """Select all of these lines, or none if there is too little room; return whether they fit."""
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

    def add_joined(self, parts: Sequence[int]) -> None:
        """Select lines as `add` does, and also a single line left between two selected ones if there is room.

        The mark for one omitted line would take nearly as much room as the line.
        """
        if self.add(parts):
            for part in parts:
                for between, beyond in ((part - 1, part - 2), (part + 1, part + 2)):
                    if 0 <= beyond < len(self.shown) and self.shown[beyond] and not self.shown[between]:
                        self.add((between,))

    def _more_gaps(self, part: int) -> int:
        """Return the change of the number of gaps by selecting this line: -1, 0 or 1."""
        left = part > 0 and not self.shown[part - 1]
        right = part + 1 < len(self.shown) and not self.shown[part + 1]
        return int(left) + int(right) - 1


def _rarity(holders: int, count: int) -> float:
    return math.log(1 + (count - holders + 0.5) / (holders + 0.5))


def _normal(values: list[float]) -> list[float]:
    """Return values as shares of the largest one."""
    most = max(values, default=0.0)
    return [value / most for value in values] if most > 0 else values


def _decides(line: str) -> bool:
    word = _WORD.match(line)
    return word is not None and word[1] in _DECIDING


def _log_values(document: Document) -> list[float]:
    """Return the values of a log's lines by their level, their rarity and their place."""
    texts = [document.lines[line][:SEARCHED] for line in document.filled]
    shapes = [_DIGITS.sub("0", text) for text in texts]
    counts, seen = Counter(shapes), Counter[str]()
    values: list[float] = []
    for part, (text, shape) in enumerate(zip(texts, shapes, strict=True)):
        severity = ERROR if _ERROR.search(text) else WARNING if _WARNING.search(text) else 0.0
        # A repeated line adds little: each repetition has half the value of the one before.
        value = (severity + RARE / counts[shape]) * 0.5 ** min(seen[shape], 20)
        seen[shape] += 1
        values.append(value + (EDGE if part < EDGE_HEAD or part >= len(texts) - EDGE_TAIL else 0.0))
    return values


COMMENT_MARKS = ("#", "//", "/*", "*", "--", ";;", '"""', "@")

_WORD = re.compile(r"[\s}]*(\w+)")
_DECIDING = words(
    """
    return raise throw throws yield if elif else for while switch case match except catch rescue panic assert
    break continue goto try defer select when unless until guard await
    """
)
_ERROR = re.compile(
    r"\b(?:fatal|panic|critical|emerg|alert|severe|error|err|exception|traceback|failed|failure|abort(?:ed)?"
    r"|segfault|undefined reference)\b|(?:Error|Exception)\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\bwarn(?:ing)?\b|\bdeprecated\b", re.IGNORECASE)
_DIGITS = re.compile(r"[0-9]+")
