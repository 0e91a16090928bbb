"""A run: each project is indexed, and each task's prompt answered by all systems at all budgets."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .passages import DEPTH, DefinitionBm25, fill
from .product import Product, running
from .projects import CodeBase
from .scoring import Score, score
from .tasks import Task

BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
"""Tokens, all of them for the context."""

OURS = "foveal, context"
HITS = "foveal, its hits printed whole"
BM25 = "BM25 over definitions, printed whole"


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: the folder that keeps what was made, and whether only the product's own contexts are
    asked."""

    state: Path
    ours_only: bool = False
    embed: bool = True
    budgets: tuple[int, ...] = BUDGETS


@dataclass
class Results:
    """What a run found. `notes` say what is missing and why."""

    tasks: list[Task] = field(default_factory=list)
    scores: list[Score] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def measure(codes: Sequence[CodeBase], tasks: Sequence[Task], options: Options) -> Results:
    """Ask everything."""
    results = Results(tasks=list(tasks))
    with running(options.state / "daemon", embed=options.embed) as product:
        for number, code in enumerate(codes, 1):
            own = [task for task in tasks if task.project == code.name]
            print(f"{number}/{len(codes)} {code.name}: {len(own)} tasks", file=sys.stderr, flush=True)
            _ask_product(product, code, own, options, results)
            if not options.ours_only:
                _ask_baseline(code, own, options, results)
    return results


def _ask_product(
    product: Product, code: CodeBase, tasks: Sequence[Task], options: Options, results: Results
) -> None:
    root = code.root.resolve()
    product.open(root)
    for task in tasks:
        for budget in options.budgets:
            context = product.context(root, task.text, budget)
            results.scores.append(score(code, task, OURS, budget, context.text))
            results.notes += [f"{task.id}: {problem}" for problem in context.degraded]
        if not options.ours_only:
            hits = [hit for hit in product.hits(root, task.text, DEPTH) if hit.path in code.paths]
            for budget in options.budgets:
                results.scores.append(score(code, task, HITS, budget, fill(code, hits, budget)))
    product.close(root)


def _ask_baseline(code: CodeBase, tasks: Sequence[Task], options: Options, results: Results) -> None:
    bm25 = DefinitionBm25(code)
    for task in tasks:
        ranking = bm25.rank(task.text)
        for size in options.budgets:
            results.scores.append(score(code, task, BM25, size, fill(code, ranking, size)))
