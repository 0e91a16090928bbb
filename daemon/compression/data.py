"""Owns what of data is shown: head, tail, what matches the prompt with its keys, and a statistic."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Sequence

from ..core.lazy_dataclass import dataclass
from ..project.languages import language_of
from .code import own_worth
from .document import AROUND_MAX, NO_LINE, Document
from .folded import Folded, Rows, count_of, width_of
from .prompt_terms import Term
from .thinning import thinned

HEAD_LINES = 6
TAIL_LINES = 3
"""What is worth showing where the prompt says nothing: how the data begin and end."""

RECORD_LINES = 40
"""Lines of a record of which one matches that are shown along with it."""

STATISTIC_SHARE = 0.15
STATISTIC_MIN = 400
"""With less room the statistic is left out, in characters; with more it takes at most that share of it."""

NAMED_LINES = 5_000
"""Lines from the beginning that are searched for names at the top."""

NAMES_MAX = 12
NAME_MAX = 40

PARSED_MAX = 1_500_000
"""Characters of JSON that are parsed for the statistic: about 15 ms."""


@dataclass(frozen=True, slots=True)
class Weights:
    """What makes a line of data worth showing. Set on the tuning half of benchmarks/compression."""

    own: float = 1.0
    record: float = 0.6
    """What the best line of a record gives to the others, and the line above a record to all of it."""
    edge: float = 0.12
    shallow: float = 0.1


WEIGHTS = Weights()


def compress_data(
    document: Document, path: str, terms: Sequence[Term], characters: int, weights: Weights = WEIGHTS
) -> Folded:
    """Return the lines of data to show within so many characters, with their numbers, below a statistic."""
    statistic = _statistic_row(document, path, characters)
    room = characters - (len(statistic) + 1 if statistic else 0)
    document, _ = thinned(document, terms, (), characters)
    rows = Rows(document)
    selection = rows.selection(room)
    parents = parents_of(document, path)
    worth = _worth(document, parents, rows.parts, terms, weights)
    for line in sorted(rows.parts, key=lambda line: (-worth[line], line)):
        if selection.room <= 0:
            break
        if not selection.shown[rows.place[line]]:
            selection.add_joined([rows.place[one] for one in (*_above(parents, line), line)])
    selection.fill_gaps()
    return rows.render(selection, statistic)


def parents_of(document: Document, path: str) -> list[int]:
    """Return which line each line belongs to: a key, a section's head, the head of a table; -1 for none."""
    if _separator(path):
        first = next((index for index, indent in enumerate(document.indents) if indent >= 0), NO_LINE)
        return [NO_LINE if index <= first else first for index in range(len(document.lines))]
    parents = list(document.blocks.parents)
    section = NO_LINE
    for index, line in enumerate(document.lines):
        if document.indents[index] != 0:
            continue
        if line[0] == "[" and line.rstrip()[-1:] == "]" and len(line.strip()) > 1:
            section = index
        elif section >= 0:
            parents[index] = section
    return parents


def _above(parents: Sequence[int], line: int) -> Iterator[int]:
    """Yield the lines that a line belongs to, from the inside out, at most `AROUND_MAX`."""
    for _ in range(AROUND_MAX):
        line = parents[line]
        if line < 0:
            return
        yield line


def _worth(
    document: Document, parents: Sequence[int], parts: Sequence[int], terms: Sequence[Term], weights: Weights
) -> list[float]:
    own = own_worth(document, terms)
    depths = [0] * len(own)
    best: dict[int, float] = {}
    size: dict[int, int] = {}
    for line in parts:
        parent = parents[line]
        depths[line] = depths[parent] + 1 if parent >= 0 else 0
        size[parent] = size.get(parent, 0) + 1
        best[parent] = max(best.get(parent, 0.0), own[line])
    worth = [0.0] * len(own)
    passed = [0.0] * len(own)
    edge = {*parts[:HEAD_LINES], *parts[-TAIL_LINES:]}
    for line in parts:
        parent = parents[line]
        if parent >= 0 and size[parent] <= RECORD_LINES:
            passed[line] = max(weights.record * max(best[parent], own[parent]), 0.7 * passed[parent])
        worth[line] = (
            max(weights.own * own[line], passed[line])
            + weights.shallow / (1 + depths[line])
            + (weights.edge if line in edge else 0.0)
        )
    return worth


# The statistic


def _statistic_row(document: Document, path: str, characters: int) -> str:
    if characters < STATISTIC_MIN:
        return ""
    count = count_of(document.filled_between(0, document.count))
    row = f"{'…':>{width_of(document.count)}}  {count} of {_statistic(document, path)}"
    return row[: int(characters * STATISTIC_SHARE)]


def _statistic(document: Document, path: str) -> str:
    """Say in words what the data are: rows and columns, or the names at the top."""
    separator = _separator(path)
    if separator:
        return _table(document, separator)
    language = language_of(path)
    head = document.text[:200].lstrip()[:1]
    if language in ("json", "jsonl", "json5", "jsonc") or head in ("{", "["):
        found = _json(document.text)
        if found:
            return found
    names = [_name(line) for line in document.lines[:NAMED_LINES] if line and not line[0].isspace()]
    names = list(dict.fromkeys(name for name in names if name))
    return f"{language or 'data'}, with {_some(names)} at the top" if names else language or "data"


def _separator(path: str) -> str:
    extension = path.rpartition(".")[2].lower()
    return {"csv": ",", "tsv": "\t", "tab": "\t"}.get(extension, "")


def _table(document: Document, separator: str) -> str:
    first = next((line for line in document.lines if line.strip()), "")[:4_000]
    try:
        names = next(csv.reader([first], delimiter=separator))
    except csv.Error:
        names = first.split(separator)
    return f"a table with {len(names):,} column{'s' * (len(names) != 1)}: {_some(names)}"


def _json(text: str) -> str:
    """Say what a JSON document holds, or nothing if it isn't one or is too large or too deep."""
    if len(text) > PARSED_MAX:
        return ""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    if isinstance(value, dict):
        return f"JSON, an object with {_some(list(value))}"
    if isinstance(value, list):
        keys = dict.fromkeys(key for one in value[:1_000] if isinstance(one, dict) for key in one)
        what = f" of objects with {_some(list(keys))}" if keys else ""
        return f"JSON, a list of {len(value):,} value{'s' * (len(value) != 1)}{what}"
    return "JSON"


def _name(line: str) -> str:
    for mark in ("[", "#", "-", "}", "]", "<", "{"):
        if line.startswith(mark):
            return line.strip() if mark == "[" else ""
    for mark in (":", "="):
        name, found, _ = line.partition(mark)
        if found:
            return name.strip(" \"'")
    return ""


def _some(names: Sequence[str]) -> str:
    shown = [_plain(name) for name in names[:NAMES_MAX]]
    more = f" and {len(names) - NAMES_MAX:,} more" if len(names) > NAMES_MAX else ""
    return f"{', '.join(shown)}{more}"


def _plain(name: str) -> str:
    """Return a name that can't end its line, nor fill it."""
    flat = " ".join("".join(c for c in name[: 2 * NAME_MAX] if c.isprintable()).split())
    return flat if len(flat) <= NAME_MAX else f"{flat[:NAME_MAX]}…"
