"""Owns how the answers of the graph read: a line each, with its place, what stands there, and its code."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import Any

from . import terminal
from .focus import seen_from
from .highlight import highlight, question_words

CODE_MAX = 120
"""Characters of a line of code that are shown."""

COLUMN_MAX = 60
"""A longer place or name doesn't push the columns of the others to the right."""


def are_references(reply: dict[str, Any]) -> bool:
    """Whether the graph gave all the results of a reply."""
    return bool(reply["results"]) and all(result.get("certainty") for result in reply["results"])


def describe_references(reply: dict[str, Any], question: str, folder: str) -> Iterator[str]:
    """Yield a line for each result: path and line, the symbol, the code, and how sure it is if it isn't."""
    rows = [
        (
            f"{terminal.clean(seen_from(folder, reply['project'], result['path']))}:{result['line']}",
            terminal.clean(result.get("enclosing", "")),
        )
        for result in reply["results"]
    ]
    widths = [max(min(len(row[column]), COLUMN_MAX) for row in rows) for column in (0, 1)]
    coloured = terminal.use_colour(sys.stdout, os.environ)
    for result, (place, symbol) in zip(reply["results"], rows, strict=True):
        path, _, line = place.rpartition(":")
        shown = f"{terminal.styled(path, fg='magenta', bold=True)}:{terminal.styled(line, fg='green')}"
        parts = [
            shown + " " * (widths[0] - len(place)),
            terminal.styled(symbol, bold=True) + " " * (widths[1] - len(symbol)),
            _code(result, question, coloured=coloured),
        ]
        notes = _notes(result)
        if notes:
            parts.append(terminal.styled(terminal.clean(f"[{notes}]"), dim=True))
        yield "  ".join(parts).rstrip()


def _code(result: dict[str, Any], question: str, *, coloured: bool) -> str:
    """Return the line of the reference, without what stands before it."""
    lines = result["snippet"].replace("\r\n", "\n").split("\n")
    at = result["line"] - result["snippet_line"]
    line = lines[at].strip() if 0 <= at < len(lines) else ""
    line = terminal.clean(f"{line[:CODE_MAX]}…" if len(line) > CODE_MAX else line)
    return highlight(line, result["language"], question_words(question))[0] if coloured and line else line


def _notes(result: dict[str, Any]) -> str:
    """Return how sure a result is, if only by its name, and what leads there."""
    notes = []
    if result["certainty"] == "name":
        notes.append("by name")
    reference = result.get("reference")
    if reference:
        notes.append(f"at {reference['path']}:{reference['line']}")
    via = result.get("via")
    if via and via != result.get("enclosing") and not reference:
        notes.append(f"via {via}")
    return "; ".join(notes)
