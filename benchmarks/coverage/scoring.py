"""Owns what a text is worth for a prompt: the shares of what is needed, and why the rest isn't there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .counting import estimate
from .judge import Shown, judge, shows, shows_body
from .projects import CodeBase
from .prompts import Prompt


@dataclass(frozen=True, slots=True)
class Score:
    """What one system's text for one prompt at one budget holds. Shares are of what the prompt needs, from 0
    to 1; `symbols`, and `bodies`, the definitions of which half is shown, are None where none is needed.
    `tokens` are estimated, `exact` counted or 0."""

    system: str
    budget: int
    prompt: str
    files: float
    symbols: float | None
    bodies: float | None
    tokens: int
    exact: int
    missing_files: tuple[str, ...]
    missing_symbols: tuple[str, ...]  # path#name
    named_only: tuple[str, ...]  # of the missing files those that stand in a heading


@dataclass(frozen=True, slots=True)
class Spent:
    """What the product says of one of its contexts: slices and tokens by type, and where its question finds
    the needed files (ranks from 1, 0 for not found)."""

    budget: int
    prompt: str
    tokens: Mapping[str, int]
    slices: Mapping[str, int]
    compressed: Mapping[str, int]
    ranks: Mapping[str, int]


def score(
    code: CodeBase, prompt: Prompt, system: str, budget: int, text: str, exact: Callable[[str], int] | None
) -> Score:
    """Judge a text. Raises `ValueError` for one that is over the budget: it could not be compared."""
    tokens = estimate(text)
    if tokens > budget:
        raise ValueError(f"{system} gave {tokens} tokens for {prompt.id}, the budget is {budget}")
    wanted = {*prompt.files, *(path for path, _ in prompt.symbols)}
    files = {path: code.file(path) for path in wanted}
    found = judge(text, files, code.paths)
    missing = tuple(path for path in prompt.files if not found.get(path, Shown()).counts)
    absent = tuple(
        f"{path}#{name}"
        for path, name in prompt.symbols
        if path not in found or not shows(found[path], files[path], name)
    )
    bodies = sum(
        path in found and shows_body(found[path], files[path], name) for path, name in prompt.symbols
    )
    return Score(
        system,
        budget,
        prompt.id,
        1 - len(missing) / len(prompt.files),
        1 - len(absent) / len(prompt.symbols) if prompt.symbols else None,
        bodies / len(prompt.symbols) if prompt.symbols else None,
        tokens,
        exact(text) if exact is not None else 0,
        missing,
        absent,
        tuple(path for path in missing if path in found),
    )


def spent(prompt: Prompt, budget: int, slices: Sequence[Mapping[str, Any]], found: Sequence[str]) -> Spent:
    """Add up a context's slices by type."""
    tokens: dict[str, int] = {}
    counts: dict[str, int] = {}
    compressed: dict[str, int] = {}
    for one in slices:
        tokens[one["type"]] = tokens.get(one["type"], 0) + one["tokens"]
        counts[one["type"]] = counts.get(one["type"], 0) + 1
        compressed[one["type"]] = compressed.get(one["type"], 0) + bool(one["compressed"])
    ranks = {path: found.index(path) + 1 if path in found else 0 for path in prompt.files}
    return Spent(budget, prompt.id, tokens, counts, compressed, ranks)
