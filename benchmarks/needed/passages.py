"""Passages in rank order, printed whole until a budget is used: what the simplest use of a ranking shows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import bm25s  # type: ignore[import-untyped]  # has no annotations
from foveal.daemon.languages.shared.records import Symbol

from ..retrieval import source_files
from .counting import CHARACTERS
from .projects import CodeBase

DEPTH = 60
"""Passages that a ranking is asked for; 8,000 tokens hold fewer."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")


@dataclass(frozen=True, slots=True)
class Passage:
    """Lines of a file, from 1, both inclusive."""

    path: str
    first: int
    last: int


def fill(code: CodeBase, passages: Iterable[Passage], budget: int) -> str:
    """Return the passages whole, in their order, each under its path, as many as fit; one that is too large
    for the space left is passed over. What was shown before isn't shown again."""
    room = budget * CHARACTERS
    parts: list[str] = []
    shown: set[tuple[str, int]] = set()
    for passage in passages:
        lines = code.file(passage.path).lines
        numbers = [
            number
            for number in range(passage.first, min(passage.last, len(lines)) + 1)
            if (passage.path, number) not in shown
        ]
        rows = "\n".join(f"{number}  {lines[number - 1]}" for number in numbers)
        part = f"### `{passage.path}`\n\n```\n{rows}\n```\n\n"
        if numbers and len(part) <= room:
            room -= len(part)
            parts.append(part)
            shown.update((passage.path, number) for number in numbers)
    return "".join(parts)


class DefinitionBm25:
    """BM25 over the definitions of source files, with names split into their words."""

    def __init__(self, code: CodeBase) -> None:
        self._passages = [
            passage
            for path in sorted(code.paths)
            if source_files.language_of(path)
            for passage in leaves(path, code.file(path).symbols)
        ]
        texts = []
        for passage in self._passages:
            lines = code.file(passage.path).lines[passage.first - 1 : passage.last]
            texts.append(_terms(passage.path + "\n" + "\n".join(lines)))
        self._index = bm25s.BM25()
        if texts:
            self._index.index(texts, show_progress=False)

    def rank(self, text: str) -> list[Passage]:
        """Return the best passages for a text."""
        known = [term for term in _terms(text) if term in self._index.vocab_dict] if self._passages else []
        if not known:
            return []
        scores = self._index.get_scores(known)
        order = sorted(range(len(scores)), key=lambda place: (-scores[place], place))
        return [self._passages[place] for place in order[:DEPTH] if scores[place] > 0]


def leaves(path: str, symbols: Sequence[Symbol]) -> list[Passage]:
    """Return the definitions of a file that hold no other, and of those that do the lines above the first."""
    found = []
    ordered = sorted(
        (one for one in symbols if one.kind != "section"), key=lambda one: (one.start_line, -one.end_line)
    )
    for place, symbol in enumerate(ordered):
        inner = ordered[place + 1] if place + 1 < len(ordered) else None
        holds = (
            inner is not None and inner.start_line <= symbol.end_line and inner.start_line > symbol.start_line
        )
        last = inner.start_line - 1 if holds and inner is not None else symbol.end_line
        found.append(Passage(path, symbol.start_line, last))
    return found


def _terms(text: str) -> list[str]:
    return [part.lower() for part in _PART.findall(text) if len(part) > 1]
