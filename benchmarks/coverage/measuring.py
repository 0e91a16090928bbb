"""Owns the order of a run: each project is opened, and each prompt answered by all systems at all budgets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

from ..retrieval.baselines import BaselineMissing
from . import aider, whole_files
from .counting import exact_counter
from .product import Product, running
from .projects import CodeBase
from .prompts import Prompt
from .scoring import Score, Spent, score, spent

BUDGETS = (2_000, 4_000, 8_000, 16_000, 32_000)
"""Tokens, all of them for the context."""

OURS = "foveal"

Maps = list[dict[int, str]]


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: the folder that keeps what was made, the interpreter of an environment with aider, and
    whether baselines are asked at all."""

    state: Path
    aider: Path | None = None
    baselines: bool = True
    budgets: tuple[int, ...] = BUDGETS


@dataclass
class Results:
    """What a run found. `notes` say what is missing and why."""

    prompts: list[Prompt] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    spent: list[Spent] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def measure(codes: Sequence[CodeBase], prompts: Sequence[Prompt], options: Options) -> Results:
    """Ask everything. Aider works beside the rest, in a process of its own."""
    results = Results(prompts=list(prompts))
    grouped = {code.name: [one for one in prompts if one.project == code.name] for code in codes}
    asked = [(code, grouped[code.name]) for code in codes if grouped[code.name]]
    with ThreadPoolExecutor(1, "aider") as pool, running(options.state / "daemon") as product:
        maps = {code.name: pool.submit(_maps, code, ours, options) for code, ours in asked}
        for number, (code, ours) in enumerate(asked, 1):
            print(f"{number}/{len(asked)} {code.name}: {len(ours)} prompts", file=sys.stderr)
            _ask_product(product, code, ours, options.budgets, results)
            if options.baselines:
                _ask_baselines(code, ours, maps[code.name], options, results)
    if exact_counter() is None:
        results.notes.append("bpe-openai isn't installed: tokens were not counted exactly")
    return results


def _ask_product(
    product: Product, code: CodeBase, prompts: Sequence[Prompt], budgets: Sequence[int], results: Results
) -> None:
    count = exact_counter()
    root = code.root.resolve()
    product.open(root)
    for prompt in prompts:
        found = product.found(root, prompt)
        for budget in budgets:
            context = product.context(root, prompt, budget)
            results.scores.append(score(code, prompt, OURS, budget, context.text, count))
            results.spent.append(spent(prompt, budget, context.slices, found))
            results.notes += [f"{prompt.id}: {one}" for one in context.degraded]
    product.close(root)


def _ask_baselines(
    code: CodeBase, prompts: Sequence[Prompt], maps: Future[Maps], options: Options, results: Results
) -> None:
    count = exact_counter()
    ranked = whole_files.rankings(code, prompts, options.state)
    for prompt, paths in zip(prompts, ranked, strict=True):
        for budget in options.budgets:
            text = whole_files.fill(code, paths, budget, prompt.focus)
            results.scores.append(score(code, prompt, whole_files.NAME, budget, text, count))
    try:
        texts = maps.result()
    except BaselineMissing as error:
        results.notes.append(f"{code.name}: {error}")
        return
    for prompt, by_budget in zip(prompts, texts, strict=True):
        for budget, text in by_budget.items():
            results.scores.append(score(code, prompt, aider.NAME, budget, text, count))


def _maps(code: CodeBase, prompts: Sequence[Prompt], options: Options) -> Maps:
    if not options.baselines or options.aider is None:
        raise BaselineMissing("aider was not asked: that takes --aider")
    return aider.Aider(options.aider, options.state / "aider").texts(code, prompts, options.budgets)
