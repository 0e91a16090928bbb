"""Owns how results read: tables of coverage, what the budget was spent on, and why something is missing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from statistics import fmean

from ..retrieval.bootstrap import difference
from .measuring import OURS, Results
from .prompts import Prompt
from .scoring import Score, Spent

SPLITS = {"tune": "tune", "held_out": "held out"}
BEHIND = "**"
UNSURE = "~"

Value = Callable[[Score], float | None]
VALUES: dict[str, Value] = {"files": lambda one: one.files, "symbols": lambda one: one.symbols}
"""What ours has to be ahead in."""

SHOWN: dict[str, Value] = VALUES | {"symbols, half of the body": lambda one: one.bodies}
"""What is told: without the last one a context of nothing but signatures would look as good as any."""


def markdown(results: Results) -> str:
    """Return all tables."""
    parts = []
    for split, title in SPLITS.items():
        collections = dict.fromkeys(one.collection for one in results.prompts if one.split == split)
        plain = [name for name in collections if "focus" not in name]
        groups = {"all without a focus": plain} | {name: [name] for name in collections}
        for name, members in groups.items():
            chosen = [one for one in results.prompts if one.split == split and one.collection in members]
            if chosen and (len(members) > 1 or name in members):
                parts.append(_coverage(f"{title}, {name}", chosen, results))
                parts.append(_limits(chosen, results))
    if results.notes:
        parts.append("\n".join(f"- {note}" for note in dict.fromkeys(results.notes)))
    return "\n\n".join(parts)


def to_map(results: Results) -> dict[str, object]:
    """Return everything for JSON, prompt by prompt; no prompt's text is in it."""
    prompts = [
        {name: value for name, value in asdict(one).items() if name != "text"} for one in results.prompts
    ]
    return {
        "prompts": prompts,
        "scores": [asdict(one) for one in results.scores],
        "spent": [asdict(one) for one in results.spent],
        "notes": results.notes,
    }


def is_ahead(results: Results, split: str) -> bool:
    """Whether our mean is above that of each baseline at each budget in both measures, over all prompts of a
    split that came without a focus."""
    ids = {one.id for one in results.prompts if one.split == split and not one.focus}
    scores = [one for one in results.scores if one.prompt in ids]
    others = {one.system for one in scores} - {OURS}
    for budget in {one.budget for one in scores}:
        for value in VALUES.values():
            ours = _mean(scores, OURS, budget, value)
            if any(_mean(scores, other, budget, value) >= ours for other in others):
                return False
    return True


def _coverage(title: str, prompts: Sequence[Prompt], results: Results) -> str:
    ids = {one.id for one in prompts}
    scores = [one for one in results.scores if one.prompt in ids]
    budgets = sorted({one.budget for one in scores})
    with_symbols = sum(bool(one.symbols) for one in prompts)
    projects = len({one.project for one in prompts})
    lines = [
        f"**{title}**: {len(prompts)} prompts about {projects} projects, {with_symbols} need definitions",
        "",
        "| share of the needed | system | " + " | ".join(f"{budget:,}" for budget in budgets) + " |",
        "|---" * (len(budgets) + 2) + "|",
    ]
    systems = list(dict.fromkeys(one.system for one in scores))
    for kind, value in SHOWN.items():
        for system in systems:
            cells = [_cell(scores, system, budget, value) for budget in budgets]
            lines.append(f"| {kind} | {system} | " + " | ".join(cells) + " |")
    for system in systems:
        cells = []
        for budget in budgets:
            own = [one for one in scores if one.system == system and one.budget == budget]
            cells.append(f"{fmean(one.tokens for one in own):,.0f} / {fmean(one.exact for one in own):,.0f}")
        lines.append(f"| tokens, estimated / exact | {system} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(scores: Sequence[Score], system: str, budget: int, value: Value) -> str:
    """Return a mean; of a baseline's with a mark where it is not surely below ours, or above."""
    mean = _mean(scores, system, budget, value)
    if system == OURS:
        return f"{mean:.3f}"
    ours = {one.prompt: value(one) for one in scores if one.system == OURS and one.budget == budget}
    theirs = {one.prompt: value(one) for one in scores if one.system == system and one.budget == budget}
    pairs = [(ours[key], one) for key, one in theirs.items()]
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not both:
        return "-"
    found = difference([a for a, _ in both], [b for _, b in both])
    mark = BEHIND if found.mean < 0 else "" if found.certain else UNSURE
    return f"{mark}{mean:.3f}{mark if mark == BEHIND else ''}"


def _mean(scores: Iterable[Score], system: str, budget: int, value: Value) -> float:
    values = (value(one) for one in scores if one.system == system and one.budget == budget)
    known = [one for one in values if one is not None]
    return fmean(known) if known else 0.0


def _limits(prompts: Sequence[Prompt], results: Results) -> str:
    """Return what our budget went into, and what became of the needed files and definitions."""
    ids = {one.id for one in prompts}
    spent = [one for one in results.spent if one.prompt in ids]
    scores = {(one.prompt, one.budget): one for one in results.scores if one.system == OURS}
    budgets = sorted({one.budget for one in spent})
    rows: dict[str, list[str]] = {}
    for budget in budgets:
        own = [one for one in spent if one.budget == budget]
        for name, cell in _column(own, {one.id: one for one in prompts}, scores).items():
            rows.setdefault(name, []).append(cell)
    head = "| ours | " + " | ".join(f"{budget:,}" for budget in budgets) + " |"
    lines = [head, "|---" * (len(budgets) + 1) + "|"]
    lines += [f"| {name} | " + " | ".join(cells) + " |" for name, cells in rows.items()]
    return "\n".join(lines)


def _column(
    spent: Sequence[Spent], prompts: dict[str, Prompt], scores: dict[tuple[str, int], Score]
) -> dict[str, str]:
    budget = spent[0].budget
    own = [scores[one.prompt, budget] for one in spent]
    found: dict[str, str] = {"budget used": f"{fmean(one.tokens for one in own) / budget:.0%}"}
    types = ("rule", "project_meta", "focus", "document", "dependency", "hot", "skeleton")
    for kind in types:
        share = fmean(one.tokens.get(kind, 0) for one in spent) / budget
        found[f"of it {kind}"] = f"{share:.0%}"
    documents = [one.slices.get("document", 0) for one in spent]
    found["document slices"] = f"{fmean(documents):.1f}"
    characters = 4 * sum(one.tokens.get("document", 0) for one in spent) / max(sum(documents), 1)
    found["characters of one"] = f"{characters:,.0f}"
    whole = 1 - sum(one.compressed.get("document", 0) for one in spent) / max(sum(documents), 1)
    found["of them whole"] = f"{whole:.0%}"
    needed = sum(len(prompts[one.prompt].files) for one in spent)
    for name, count in _fates(spent, scores).items():
        found[f"needed files: {name}"] = f"{count / max(needed, 1):.1%}"
    symbols = sum(len(prompts[one.prompt].symbols) for one in spent)
    lost = [key.partition("#")[0] for one in own for key in one.missing_symbols]
    gone = sum(
        path in one.missing_files
        for one in own
        for path in (k.partition("#")[0] for k in one.missing_symbols)
    )
    found["needed symbols: shown"] = f"{1 - len(lost) / max(symbols, 1):.1%}"
    found["needed symbols: file isn't shown"] = f"{gone / max(symbols, 1):.1%}"
    found["needed symbols: left out of a shown file"] = f"{(len(lost) - gone) / max(symbols, 1):.1%}"
    return found


def _fates(spent: Sequence[Spent], scores: dict[tuple[str, int], Score]) -> dict[str, int]:
    """Count what became of each needed file; ranks are those of a Query with the same text."""
    fates = dict.fromkeys(
        ("shown", "named only", "found 1-3", "found 4-6", "found 7-12", "found 13-50", "not found"), 0
    )
    for one in spent:
        own = scores[one.prompt, one.budget]
        for path, rank in one.ranks.items():
            fates[_fate(path, rank, own)] += 1
    shown = fates.pop("shown")
    return {"shown": shown} | {f"missing, {name}": count for name, count in fates.items()}


def _fate(path: str, rank: int, own: Score) -> str:
    if path not in own.missing_files:
        return "shown"
    if path in own.named_only:
        return "named only"
    if not rank:
        return "not found"
    ends = {3: "1-3", 6: "4-6", 12: "7-12"}
    return f"found {next((name for end, name in ends.items() if rank <= end), '13-50')}"
