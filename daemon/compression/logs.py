"""Owns what of a log is shown: errors first, what matches the prompt, what is rare, and a statistic."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from ..core.lazy_dataclass import dataclass
from .code import own_worth
from .document import NO_LINE, Document
from .folded import Folded, Rows, count_of, width_of
from .prompt_terms import Term
from .thinning import thinned

HEAD_LINES = 4
TAIL_LINES = 6

LONG_LINE = 800
CLIPPED = 240
"""A longer line, such as the command of a linker, shows so many characters of its beginning and its end."""

USUAL_LINE = 120
"""A line of more characters is worth less for the words on it: it has more of them."""

SEARCHED = 240
"""Characters of a line in which its level stands, if it has one."""

TRACE_LINES = 40
"""Lines that are indented below an error and belong to it: the frames of a stack trace."""

STATISTIC_MIN = 300
"""With less room the statistic is left out, in characters."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What makes a line of a log worth showing. Set on the tuning half of benchmarks/compression."""

    own: float = 0.9
    near: float = 0.25
    rare: float = 0.25
    edge: float = 0.2
    error: float = 0.6
    warning: float = 0.3


WEIGHTS = Weights()

_ERROR = re.compile(
    r"\b(?:fatal|panic|critical|emerg|alert|severe|error|err|exception|traceback|failed|failure|abort(?:ed)?"
    r"|segfault|undefined reference)\b|(?:Error|Exception)\b",
    re.IGNORECASE,
)
_WARNING = re.compile(r"\bwarn(?:ing)?\b|\bdeprecated\b", re.IGNORECASE)
_LEVELS = ("FATAL", "CRITICAL", "ERROR", "WARN", "INFO", "DEBUG")
_TROUBLE = tuple(
    Term(word, 0.7, 99)
    for word in ("fatal", "panic", "critical", "error", "exception", "traceback", "fail", "warn")
)
_DIGITS = re.compile(r"[0-9]+")


def compress_log(
    document: Document, terms: Sequence[Term], characters: int, weights: Weights = WEIGHTS
) -> Folded:
    """Return the lines of a log to show within so many characters, with their numbers, below a statistic."""
    statistic = _statistic_row(document) if characters >= STATISTIC_MIN else ""
    room = characters - (len(statistic) + 1 if statistic else 0)
    document, _ = thinned(document, (*terms, *_TROUBLE), (), characters)
    rows = Rows(document, clipped(document.lines))
    selection = rows.selection(room)
    owners = _owners(document, rows.parts)
    worth = _worth(document, rows.parts, owners, terms, weights)
    for line in sorted(rows.parts, key=lambda line: (-worth[line], line)):
        if selection.room <= 0:
            break
        if not selection.shown[rows.place[line]]:
            around = [rows.place[owners[line]]] if owners[line] >= 0 else []
            selection.add_joined([*around, rows.place[line]])
    selection.fill_gaps()
    return rows.render(selection, statistic)


def clipped(lines: Sequence[str]) -> list[str]:
    """Return lines of which those that are very long show their beginning and their end only."""
    half = CLIPPED // 2
    return [line if len(line) <= LONG_LINE else f"{line[:half]} … {line[-half:]}" for line in lines]


def _worth(
    document: Document,
    parts: Sequence[int],
    owners: Sequence[int],
    terms: Sequence[Term],
    weights: Weights,
) -> list[float]:
    lines = document.lines
    own = own_worth(document, terms)
    shapes = [_DIGITS.sub("0", lines[line][:SEARCHED]) for line in parts]
    counts = Counter(shapes)
    worth = [0.0] * len(lines)
    seen: Counter[str] = Counter()
    previous = 0.0
    for index, line in enumerate(parts):
        shape = shapes[index]
        severity = _severity(lines[line][:SEARCHED], weights)
        seen[shape] += 1
        # The first of many equal ones tells as much as all of them; each next one half of the one before.
        repeated = 0.5 ** min(seen[shape] - 1, 20)
        edge = index < HEAD_LINES or index >= len(parts) - TAIL_LINES
        worth[line] = (
            severity * repeated
            + weights.own * own[line] * min(1.0, (USUAL_LINE / max(1, len(lines[line]))) ** 0.5)
            + weights.rare * repeated / counts[shape]
            + (weights.edge if edge else 0.0)
        )
        if owners[line] >= 0:
            worth[line] = max(worth[line], 0.8 * worth[owners[line]])
        previous = max(own[line], 0.6 * previous)
        worth[line] += weights.near * (previous - own[line])
    return worth


def _severity(line: str, weights: Weights) -> float:
    if _ERROR.search(line):
        return weights.error
    return weights.warning if _WARNING.search(line) else 0.0


def _owners(document: Document, parts: Sequence[int]) -> list[int]:
    """Return for each indented line the line above that it belongs to, else -1."""
    owners = [NO_LINE] * len(document.lines)
    last, count = NO_LINE, 0
    for line in parts:
        if document.indents[line] > 0 and last >= 0:
            count += 1
            if count <= TRACE_LINES and _ERROR.search(document.lines[last][:SEARCHED]):
                owners[line] = last
        else:
            last, count = line, 0
    return owners


def _statistic_row(document: Document) -> str:
    """Say how many lines there are, and how often the levels are named."""
    counts = ((document.text.count(level), level) for level in _LEVELS)
    known = ", ".join(f"{count:,} times {level}" for count, level in counts if count)
    lines = count_of(document.filled_between(0, document.count))
    return f"{'…':>{width_of(document.count)}}  {lines} of a log{': ' + known if known else ''}"
