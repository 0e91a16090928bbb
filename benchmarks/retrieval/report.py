"""The report: results in, Markdown tables out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .bootstrap import difference
from .judged import Judged
from .measures import MAIN, MEASURES
from .results import Results
from .variants import RECIPE


def markdown(results: Results) -> str:
    """Return all tables."""
    groups = list(_groups(results))
    head = ["method", *(f"{collection}, {split} ({len(asked)})" for collection, split, asked in groups)]
    rows = [[method, *(_cell(results, method, asked) for *_, asked in groups)] for method in results.scores]
    mark = "\\* the 95 % interval of the paired difference to the full recipe leaves zero out."
    parts = [f"### {MAIN} of all", _table(head, rows), mark]
    for collection, split, asked in groups:
        parts.append(f"### {collection}, {split}: the full recipe by kind")
        parts.append(_by_kind(results, asked))
    parts += [f"- {note}" for note in results.notes]
    return "\n\n".join(part for part in parts if part) + "\n"


def _cell(results: Results, method: str, questions: Sequence[Judged]) -> str:
    scores, recipe = results.scores[method], results.scores[RECIPE]
    if not all(question.id in scores for question in questions):
        return ""
    own = [scores[question.id][MAIN] for question in questions]
    interval = difference(own, [recipe[question.id][MAIN] for question in questions])
    mark = " \\*" if method != RECIPE and interval.certain else ""
    return f"{sum(own) / len(own):.3f}{mark}"


def _by_kind(results: Results, questions: Sequence[Judged]) -> str:
    rows = []
    for kind in ("", *dict.fromkeys(question.kind for question in questions)):
        scores = [
            results.scores[RECIPE][question.id] for question in questions if kind in ("", question.kind)
        ]
        means = [sum(score[measure] for score in scores) / len(scores) for measure in MEASURES]
        rows.append([kind or "all", str(len(scores)), *(f"{mean:.3f}" for mean in means)])
    return _table(["kind", "n", *MEASURES], rows)


def _groups(results: Results) -> Iterable[tuple[str, str, list[Judged]]]:
    grouped: dict[tuple[str, str], list[Judged]] = {}
    for question in results.questions.values():
        grouped.setdefault((question.collection, question.split), []).append(question)
    for (collection, split), questions in sorted(grouped.items(), key=lambda item: (item[0][1], item[0][0])):
        yield collection, split, questions


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
