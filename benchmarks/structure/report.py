"""The report: results in, Markdown tables out."""

from __future__ import annotations

from collections.abc import Sequence

from .running import Compared
from .scoring import Score

PRECISION = 0.95
RECALL = 0.60
WHOLE_RECALL = 0.90
"""What is aimed at for Python: resolved links that are right, call sites that are resolved, and call sites
that the whole answer holds."""

HEAD = (
    "| package | half | sites | into the project | precision | recall | whole recall"
    " | callers of | whole precision | unjudged |\n|---|---|---|---|---|---|---|---|---|---|"
)


def markdown(results: Sequence[Compared]) -> str:
    """Return the table of each language."""
    parts = []
    for language in dict.fromkeys(one.corpus.language for one in results):
        group = [one for one in results if one.corpus.language == language]
        rows = [_row(f"{one.corpus.name} {one.corpus.version}", one.corpus.split, one.score) for one in group]
        for split in ("tune", "held_out"):
            half = [one.score for one in group if one.corpus.split == split]
            if half:
                rows.append(_row("**all**", split, sum(half, Score())))
        parts.append("\n".join([f"### {language}", "", HEAD, *rows]))
        if language == "python":
            parts.append(_targets(group))
    return "\n\n".join(parts)


def missed_targets(results: Sequence[Compared]) -> list[str]:
    """Return the aims that the held-out Python packages miss; all Python packages where none is held out."""
    return [name for name, value, aim in _aims(results) if value < aim]


def _row(name: str, split: str, score: Score) -> str:
    return (
        f"| {name} | {split.replace('_', ' ')} | {score.sites:,} | {score.inside:,} | {score.precision:.3f}"
        f" | {score.recall:.3f} | {score.whole_recall:.3f} | {score.definitions:,}"
        f" | {score.listed_precision:.3f} | {score.unjudged:,} |"
    )


def _aims(results: Sequence[Compared]) -> list[tuple[str, float, float]]:
    python = [result for result in results if result.corpus.language == "python"]
    held_out = [one for one in python if one.corpus.split == "held_out"] or python
    total = sum((one.score for one in held_out), Score())
    if not total.inside:
        return []
    return [
        ("precision of resolved links", total.precision, PRECISION),
        ("recall of call sites, resolved", total.recall, RECALL),
        ("recall of call sites, whole answer", total.whole_recall, WHOLE_RECALL),
    ]


def _targets(results: Sequence[Compared]) -> str:
    lines = ["| Python, held out | measured | target | met |", "|---|---|---|---|"]
    for name, value, aim in _aims(results):
        lines.append(f"| {name} | {value:.3f} | ≥ {aim:.2f} | {'yes' if value >= aim else '**no**'} |")
    return "\n".join(lines)
