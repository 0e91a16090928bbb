"""A run: each project is indexed, and each task's prompt answered by all systems at all budgets."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path

from ..retrieval.baselines import BaselineMissing
from ..retrieval.embedding import Embedder
from . import aider
from .definitions import DefinitionRanking
from .passages import DEPTH, DefinitionBm25, fill
from .product import Product, index_folder, running
from .projects import CodeBase
from .scoring import Score, score
from .semble import SembleChunks
from .tasks import Task

BUDGETS = (500, 1_000, 2_000, 4_000, 8_000)
"""Tokens, all of them for the context."""

OURS = "foveal, context"
HITS = "foveal, its hits printed whole"
DEFINITIONS = "definitions by probability, printed whole"
BM25 = "BM25 over definitions, printed whole"


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: the folder that keeps what was made, the interpreters of environments with the peers, and
    whether only the product's own contexts are asked."""

    state: Path
    aider: Path | None = None
    semble: Path | None = None
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
                _ask_baselines(code, own, options, results)
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
    if not options.ours_only:
        ranking = DefinitionRanking(root, index_folder(options.state / "daemon", root.name))
        for task in tasks:
            best = [one for one in ranking.rank(task.text) if one.path in code.paths]
            for budget in options.budgets:
                results.scores.append(score(code, task, DEFINITIONS, budget, fill(code, best, budget)))
        ranking.close()


def _ask_baselines(code: CodeBase, tasks: Sequence[Task], options: Options, results: Results) -> None:
    """Ask the others; what they answered is kept, since they don't change."""
    kept = options.state / "baselines" / f"{code.name}.json"
    key = [[task.id for task in tasks], list(options.budgets), bool(options.semble), bool(options.aider)]
    if kept.is_file():
        known = json.loads(kept.read_text(encoding="utf-8"))
        if known["key"] == key:
            results.scores += [Score(**row) for row in known["scores"]]
            results.notes += known["notes"]
            return
    scores, notes = _baselines(code, tasks, options)
    kept.parent.mkdir(parents=True, exist_ok=True)
    body = {"key": key, "scores": [asdict(one) for one in scores], "notes": notes}
    kept.write_text(json.dumps(body), encoding="utf-8")
    results.scores += scores
    results.notes += notes


def _baselines(code: CodeBase, tasks: Sequence[Task], options: Options) -> tuple[list[Score], list[str]]:
    scores: list[Score] = []
    notes: list[str] = []
    bm25 = DefinitionBm25(code)
    texts = [task.text for task in tasks]
    systems = {BM25: [bm25.rank(text) for text in texts]}
    if options.semble is not None:
        embedder = Embedder(options.state / "embedder", 2)
        for words_only in (False, True):
            peer = SembleChunks(options.semble, options.state / "semble", embedder, words_only=words_only)
            try:
                systems[peer.name] = peer.rank(code, texts)
            except BaselineMissing as error:
                notes.append(f"{code.name}: {error}")
    for name, rankings in systems.items():
        for task, ranking in zip(tasks, rankings, strict=True):
            scores += [score(code, task, name, size, fill(code, ranking, size)) for size in options.budgets]
    if options.aider is not None:
        try:
            maps = aider.Aider(options.aider, options.state / "aider").texts(code, texts, options.budgets)
            for task, by_budget in zip(tasks, maps, strict=True):
                scores += [score(code, task, aider.NAME, budget, text) for budget, text in by_budget.items()]
        except BaselineMissing as error:
            notes.append(f"{code.name}: {error}")
    return scores, notes
