"""Slices as pages describe them: name, type, layer, source, and why one was dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

LAYERS: Final[Mapping[str, tuple[str, str]]] = {
    "anchor": ("Anchor", "what holds whatever is worked on: the project, its rules, earlier decisions"),
    "focus": ("Focus", "what the work is about, sharp, and what it touches, shorter"),
    "horizon": ("Horizon", "the rest of the project, from afar"),
}
"""The layers from the top, each with its title and what it is for."""

TYPES: Final[Mapping[str, str]] = {
    "project_meta": "project",
    "rule": "rule",
    "constraint": "constraint",
    "agent_history": "earlier decision",
    "reference": "reference",
    "focus": "in focus",
    "expansion": "added to focus",
    "session_set": "file of the session",
    "document": "found or named",
    "place": "likely place",
    "compressed_segment": "found, a part",
    "dependency": "neighbour",
    "hot": "worked on",
    "skeleton": "map",
}
"""The types of slices, in the order of the layers that they stand in."""

NAMES: Final[Mapping[str, str]] = {
    "project_meta": "About the project",
    "hot": "Files that are worked on",
    "skeleton": "Map of the project",
    "constraint": "Constraint",
    "agent_history": "Earlier decision",
}
"""Names of slices without a path."""

MODES: Final[Mapping[str, str]] = {
    "always": "in each context",
    "manual": "added by hand",
    "agent": "found for the prompt",
    "glob": "since a file in focus matches its globs",
}

SOURCES: Final[Mapping[str, str]] = {
    "": "drawn from the project's files",
    "asked for": "asked for by its path",
    "the caller": "given by who asked",
    "an ancestor scope": "given to the scope above",
    "manifests and git": "from manifests and git",
}
"""Clearer words for some sources; all others are sentences already."""

FATES: Final[Mapping[str, str]] = {
    "budget": "no room was left for it",
    "duplicate": "another slice shows the same",
}
"""Reasons why a slice was dropped, in words."""

ORDERS: Final[Mapping[str, str]] = {
    "weight": "heaviest first",
    "tokens": "largest first",
    "score": "nearest to the prompt first",
    "place": "as they stand in the text",
}
"""The orders of a list of slices, in words."""

_ITEM_SOURCE = re.compile(r"(.+):(\d+), (always|manual|agent|glob)(, .+)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice as pages show it.

    `at` is its number in the context, from 0, by which its elements are found: `slice-3`, `part-3`. `name` is
    its path, or what it is called, `symbol` the definition of the file that it shows, and `label` both as
    short as they can be told. `span` is where its text stands in the context, None where that isn't known.
    """

    at: int
    id: str
    type: str
    layer: str
    name: str
    symbol: str
    label: str
    path: str
    start_line: int
    end_line: int
    tokens: int
    tokens_before: int
    compressed: bool
    weight: float
    score: float | None
    source: str
    span: tuple[int, int] | None

    @property
    def kind(self) -> str:
        """Its type in words."""
        return TYPES.get(self.type, self.type.replace("_", " "))

    @property
    def lines(self) -> str:
        """The lines of its file that it shows, empty for the whole file and for one line."""
        return f"{self.start_line:,} to {self.end_line:,}" if self.start_line < self.end_line else ""

    @property
    def summary(self) -> str:
        """A summary in one line, shown on hover."""
        amount = f"{self.tokens:,} tokens"
        if self.compressed:
            amount += f" of {self.tokens_before:,}, shortened"
        where = f"{self.name}#{self.symbol}" if self.symbol else self.name
        return f"{where}: {self.kind}, {amount}"


def slice_rows(slices: Iterable[Mapping[str, Any]]) -> list[SliceRow]:
    """Return the slices of a context, as GetContext lists them, for pages."""
    return [_row(at, part) for at, part in enumerate(slices)]


def ordered(rows: Sequence[SliceRow], order: str) -> list[SliceRow]:
    """Return rows in an order: `place` in the text, or the largest `tokens`, `weight` or `score` first."""
    if order == "place":
        return sorted(rows, key=lambda row: (list(LAYERS).index(row.layer), row.span or (0, 0), row.at))
    return sorted(rows, key=lambda row: -(getattr(row, order) or 0.0))


def dropped_rows(dropped: Iterable[Mapping[str, Any]]) -> list[tuple[str, str, float, str]]:
    """Return the name, type in words, weight and fate of slices that didn't enter."""
    return [
        (
            name_of(part["id"], part["type"]),
            TYPES.get(part["type"], part["type"]),
            part["weight"],
            FATES.get(part["reason"], part["reason"]),
        )
        for part in dropped
    ]


def _row(at: int, part: Mapping[str, Any]) -> SliceRow:
    path, symbol = part.get("path", ""), ""
    if path:
        _, _, node = part["id"].partition(":")
        symbol = node[len(path) + 1 :] if node.startswith(f"{path}#") else ""
    name = path or name_of(part["id"], part["type"])
    short = name.rstrip("/").rpartition("/")[2] or name
    span = part.get("span")
    fields = {name: part[name] for name in ("id", "type", "tokens", "tokens_before", "compressed", "weight")}
    return SliceRow(
        **fields,
        at=at,
        layer=part["layer"] if part["layer"] in LAYERS else "focus",
        name=name,
        symbol=symbol,
        label=f"{short}#{symbol}" if symbol else short,
        path=path,
        start_line=part.get("start_line", 0),
        end_line=part.get("end_line", 0),
        score=part.get("score"),
        source=_source_of(part["source"]),
        span=(span[0], span[1]) if span else None,
    )


def name_of(identifier: str, type_: str) -> str:
    """Return what a slice without a path is called: by its id `rule:style`, or by its type."""
    _, _, rest = identifier.partition(":")
    if type_ == "constraint" and rest.isdigit():
        return f"{NAMES[type_]} {int(rest) + 1}"
    return NAMES.get(type_) or rest or identifier


def _source_of(source: str) -> str:
    if found := _ITEM_SOURCE.fullmatch(source):
        place, line, mode, whose = found.groups("")
        return f"from {place}, line {line}{whose}; {MODES[mode]}"
    return SOURCES.get(source, source)
