"""Survival: which lines of a text can still be read in a shorter form of it."""

from __future__ import annotations

import re
from collections.abc import Iterable

_NUMBERED = re.compile(r" *([0-9]+)  (.*)")

OPENING = 2
"""A signature may be shown without what opens its body: so many characters at the end of its line."""


def share_kept(text: str, shorter: str, needed: Iterable[int]) -> float:
    """Return the share of the needed lines, from 1, that aren't blank and survive in a shorter form.

    A line of a form with line numbers survives if it stands under its own number, whole but for indentation.
    In one without numbers it survives if all of its words stand there, one after the other: lines of prose
    may be wrapped in another way.
    """
    lines = text.split("\n")
    wanted = [number for number in needed if lines[number - 1].strip()]
    if not wanted:
        return 1.0
    shown = _shown_by_number(shorter)
    flat = f" {' '.join(shorter.split())} "
    kept = 0
    for number in wanted:
        line = lines[number - 1].strip()
        kept += _survives(line, shown.get(number, "")) if shown else f" {' '.join(line.split())} " in flat
    return kept / len(wanted)


def _survives(line: str, shown: str) -> bool:
    return bool(shown) and line.startswith(shown) and len(line) - len(shown) <= OPENING


def _shown_by_number(shorter: str) -> dict[int, str]:
    """Return the lines under their numbers, or nothing if most lines have none."""
    rows = [row for row in shorter.split("\n") if row.strip()]
    matches = [match for row in rows if (match := _NUMBERED.fullmatch(row))]
    if 4 * len(matches) < len(rows):
        return {}
    return {int(match[1]): match[2].strip() for match in matches}
