"""The result tables: all budgets for each half, by system."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from statistics import fmean

from .measuring import OURS, Results
from .scoring import Score
from .tasks import Task

SPLITS = {"tune": "tune", "held_out": "held out"}

TARGET = 1.3
"""Edited lines per token, against the best of the others, that a context is to show."""

Value = Callable[[Score], float | None]

FIGURES: dict[str, Value] = {
    "edited definitions shown whole": lambda one: one.edits,
    "edited lines shown": lambda one: one.lines,
    "read definitions, first line": lambda one: one.reads,
    "shown lines in needed files": lambda one: one.pure,
}


def markdown(results: Results) -> str:
    """Return all tables."""
    parts = []
    for split, title in SPLITS.items():
        tasks = [task for task in results.tasks if task.split == split]
        if tasks:
            parts.append(_table(title, tasks, results))
    if results.notes:
        parts.append("\n".join(f"- {note}" for note in dict.fromkeys(results.notes)))
    return "\n\n".join(parts)


def to_map(results: Results) -> dict[str, object]:
    """Return everything for JSON, task by task; no prompt's text is in it."""
    tasks = [
        {name: value for name, value in asdict(task).items() if name != "text"} for task in results.tasks
    ]
    return {"tasks": tasks, "scores": [asdict(score) for score in results.scores], "notes": results.notes}


def is_ahead(results: Results, split: str) -> bool:
    """Whether contexts show `TARGET` times the edited lines per token of each other system, and no smaller
    share of them, at each budget."""
    ids = {task.id for task in results.tasks if task.split == split}
    scores = [one for one in results.scores if one.task in ids]
    others = {score.system for score in scores} - {OURS}
    for budget in {one.budget for one in scores}:
        found, rate = _rate(scores, OURS, budget)
        for other in others:
            other_found, other_rate = _rate(scores, other, budget)
            if found < other_found or rate < TARGET * other_rate:
                return False
    return True


def _table(title: str, tasks: Sequence[Task], results: Results) -> str:
    ids = {task.id for task in tasks}
    scores = [one for one in results.scores if one.task in ids]
    budgets = sorted({one.budget for one in scores})
    systems = list(dict.fromkeys(score.system for score in scores))
    projects = len({task.project for task in tasks})
    lines = [
        f"**{title}**: {len(tasks)} tasks from {projects} repositories",
        "",
        "| figure | system | " + " | ".join(f"{budget:,}" for budget in budgets) + " |",
        "|---" * (len(budgets) + 2) + "|",
    ]
    for name, value in FIGURES.items():
        for system in systems:
            cells = [_mean(scores, system, budget, value) for budget in budgets]
            lines.append(f"| {name} | {system} | " + " | ".join(cells) + " |")
    for system in systems:
        cells = [f"{_rate(scores, system, budget)[1] * 1000:.3f}" for budget in budgets]
        lines.append(f"| share of edited lines per 1,000 tokens | {system} | " + " | ".join(cells) + " |")
    for system in systems:
        used = [[one.tokens for one in _of(scores, system, budget)] for budget in budgets]
        cells = [f"{fmean(tokens):,.0f}" if tokens else "-" for tokens in used]
        lines.append(f"| tokens used | {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _of(scores: Sequence[Score], system: str, budget: int) -> list[Score]:
    return [score for score in scores if score.system == system and score.budget == budget]


def _mean(scores: Sequence[Score], system: str, budget: int, value: Value) -> str:
    known = [found for one in _of(scores, system, budget) if (found := value(one)) is not None]
    return f"{fmean(known):.3f}" if known else "-"


def _rate(scores: Sequence[Score], system: str, budget: int) -> tuple[float, float]:
    """Return the mean share of edited lines shown, and that by the mean of the tokens used."""
    own = _of(scores, system, budget)
    if not own:
        return 0.0, 0.0
    found = fmean(one.lines for one in own)
    return found, found / max(fmean(one.tokens for one in own), 1.0)
