"""Slices as pages describe them: name, type, layer, source, and why one was dropped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from urllib.parse import quote

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

_SAID_BY = re.compile(r"(^|; )[^;]*?, \d{4}-\d\d-\d\dT[\d:.]+Z: ")

_FOUND_SOURCE = re.compile(
    r"(found for the prompt|too uncertain for its body), probability [\d.e-]+: ([^;]*); ([^;]*)"
)

_RANK = re.compile(r"by (?:its )?(\w+) \(rank (\d+)\)")

_SHOWN_AS = re.compile(r"it is shown as (\w+): (.*), weight [\d.e-]+", re.DOTALL)

_AT_PLACE = re.compile(r"(the search for the prompt has it at place \d+) \(score .*", re.DOTALL)

TITLE: Final = 60
"""Maximum characters of a decision's name."""


@dataclass(frozen=True, slots=True)
class SliceRow:
    """A slice as pages show it.

    `at` is its number in the context, from 0, by which its elements are found: `slice-3`, `part-3`. `name` is
    its path, or what it is called, `symbol` the definition of the file that it shows, and `label` both as
    short as they can be told. `href` leads to a decision; `score` is a probability or similarity. `span` is
    where its text stands in the context, None where that isn't known.
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
    href: str = ""

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


def slice_rows(slices: Iterable[Mapping[str, Any]], text: str = "") -> list[SliceRow]:
    """Return the slices of a context, as GetContext lists them, for pages. Its `text` names its decisions."""
    return [_row(at, part, text) for at, part in enumerate(slices)]


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


def _decided(text: str) -> str:
    """Return the beginning of a decision, from its list item `- agent: what was decided`."""
    decision = text.strip().partition("\n")[0].partition(": ")[2]
    return decision if len(decision) <= TITLE else f"{decision[:TITLE].rstrip()}…"


def _row(at: int, part: Mapping[str, Any], text: str) -> SliceRow:
    path, symbol, href, score = part.get("path", ""), "", "", part.get("score")
    if path:
        _, _, node = part["id"].partition(":")
        symbol = node[len(path) + 1 :] if node.startswith(f"{path}#") else ""
    name = path or name_of(part["id"], part["type"])
    short = name.rstrip("/").rpartition("/")[2] or name
    span = part.get("span")
    if part["type"] == "agent_history":
        score = None  # it orders decisions, and is no probability
        href = f"/knowledge/decisions/{quote(part['id'].partition(':')[2], safe='')}"
        if span and text:
            short = name = _decided(text[slice(*span)]) or name
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
        score=score,
        href=href,
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
    return SOURCES.get(source) or _FOUND_SOURCE.sub(_found_by, _SAID_BY.sub(r"\1", source))


def plain_reason(reason: str) -> str:
    """Return a reason of ExplainPath, or of a near miss, in the words and with the figures of the lists."""
    if found := _AT_PLACE.fullmatch(reason):
        return found[1]
    return _SHOWN_AS.sub(
        lambda found: f"it is shown as {TYPES.get(found[1], found[1])}: {_source_of(found[2])}",
        _SAID_BY.sub(r"\1", reason),
    )


def _found_by(found: re.Match[str]) -> str:
    """Return what found a definition, each once: its features, and those by which a list has it at a rank."""
    how, features, lists = found.groups()
    names, others = dict[str, str](), dict[str, None]()
    for part in [*features.split(", "), *lists.split(", ")]:
        if ranked := _RANK.fullmatch(part):
            names[ranked[1]] = f"{ranked[1]} (rank {ranked[2]})"
        elif part.startswith("its ") and " " not in part[4:]:
            names.setdefault(part[4:], part[4:])
        else:
            others[part.replace("named in the question", "named in the prompt")] = None
    *before, last = names.values() or ("",)
    said = f"its {', '.join(before)} and {last}" if before else f"its {last}" if last else ""
    text = ", ".join(filter(None, (said, *others)))
    return (
        f"found by {text}" if how.startswith("found") else f"too uncertain to be shown whole; found by {text}"
    )
