"""Owns the size of an answer: how it is counted, and what is left out so that it is never above its limit."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from .errors import ToolError

CHARACTERS_PER_TOKEN = 4
"""The daemon counts so too; code is nearer to 3.5, so a host's own count can be a seventh higher."""

Render = Callable[[dict[str, Any]], str]


def tokens_of(structured: dict[str, Any], text: str) -> int:
    """Return the tokens of the larger of an answer's two forms: a host shows its model one of them."""
    packed = json.dumps(structured, ensure_ascii=False, separators=(",", ":"))
    return -(-max(len(packed), len(text)) // CHARACTERS_PER_TOKEN)


def fit(structured: dict[str, Any], render: Render, max_tokens: int) -> dict[str, Any]:
    """Return the answer with as much of its lists and long texts as fits.

    Texts get half of the room, then lists what they can use, then texts what is left. Lists lose their last
    entries, the longest first, and `more` counts them; texts lose their last lines, and `cut` names them.
    Raises `ToolError` where nothing that may go is left and it is still too large.
    """
    whole = _Cut(structured)
    if _fits(structured, render, max_tokens):
        return structured
    lines = _largest(whole.lines, lambda count: _fits(whole.to(0, count), render, max_tokens // 2))
    entries = _largest(whole.entries, lambda count: _fits(whole.to(count, max(lines, 0)), render, max_tokens))
    entries = max(entries, 0)
    lines = _largest(whole.lines, lambda count: _fits(whole.to(entries, count), render, max_tokens))
    if lines < 0:
        raise ToolError(f"the answer doesn't fit into {max_tokens} tokens", "ask with a larger max_tokens")
    return whole.to(entries, lines)


class _Cut:
    """An answer, and less and less of it; all of its lists and long texts are counted together."""

    def __init__(self, structured: dict[str, Any]) -> None:
        self._structured = structured
        self._lists = [name for name, value in structured.items() if isinstance(value, list)]
        self._texts = [name for name, value in structured.items() if isinstance(value, str) and "\n" in value]
        self.entries = sum(len(structured[name]) for name in self._lists)
        self.lines = sum(structured[name].count("\n") for name in self._texts)

    def to(self, entries: int, lines: int) -> dict[str, Any]:
        """Return the answer with so many entries and lines."""
        return _with_lines(_with_lists(self._structured, self._lists, entries), self._texts, lines)


def _largest(top: int, is_good: Callable[[int], bool]) -> int:
    """Return the largest number from 0 to `top` that is good, where all below a good one are; -1 for none."""
    low, high = -1, top + 1
    while high - low > 1:
        middle = (low + high) // 2
        if is_good(middle):
            low = middle
        else:
            high = middle
    return low


def _fits(structured: dict[str, Any], render: Render, max_tokens: int) -> bool:
    return tokens_of(structured, render(structured)) <= max_tokens


def _with_lists(structured: dict[str, Any], names: list[str], count: int) -> dict[str, Any]:
    """Return the answer with this many entries of its lists: the shorter lists whole, if they can be."""
    left_out = 0
    shown = dict(structured)
    for position, name in enumerate(sorted(names, key=lambda name: len(structured[name]))):
        share = min(len(structured[name]), count // (len(names) - position))
        shown[name] = structured[name][:share]
        left_out += len(structured[name]) - share
        count -= share
    return {**shown, "more": structured.get("more", 0) + left_out} if left_out else shown


def _with_lines(structured: dict[str, Any], names: list[str], count: int) -> dict[str, Any]:
    """Return the answer with this many lines of its long texts, of each the same share."""
    shown = dict(structured)
    cut = []
    total = max(1, sum(structured[name].count("\n") for name in names))
    for name in names:
        lines = structured[name].split("\n")
        keep = (len(lines) - 1) * count // total
        if keep < len(lines) - 1:
            shown[name] = "\n".join(lines[:keep])
            cut.append(name)
    return {**shown, "cut": cut} if cut else shown
