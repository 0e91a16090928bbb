"""The report: results in, Markdown tables and a map for JSON out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict

from ..statistics import Measure
from .bootstrap import Interval, difference
from .judged import Judged
from .measures import MAIN, MEASURES
from .results import Results
from .variants import RECIPE, VARIANTS

SIDE_BY_SIDE = tuple(variant.name for variant in VARIANTS[1:3])
"""Variants whose main measure stands beside the recipe's in the tables by kind, language and project."""


def markdown(results: Results) -> str:
    """Return all tables."""
    parts = [f"### {MAIN} of all", _overview(results)]
    for collection, split, questions in _groups(results):
        projects = len({question.project for question in questions})
        parts.append(f"### {collection}, {split}: {len(questions)} questions about {projects} projects")
        parts.append(_methods(results, questions))
        for title, group in (("kind", _kind), ("language", _language)):
            if len({group(question) for question in questions}) > 1:
                parts.append(_breakdown(results, questions, title, group))
    parts += ["### Cost", _costs(results), _latency(results)]
    parts += [f"- {note}" for note in results.notes]
    return "\n\n".join(part for part in parts if part) + "\n"


def figures_table(figures: Mapping[str, float]) -> str:
    """Return the table of single figures."""
    return _table(["figure", "value"], [[name, f"{value:,.2f}"] for name, value in figures.items()])


def to_map(results: Results) -> dict[str, object]:
    """Return everything for JSON: means with intervals by group, and the scores of each question."""
    groups = []
    for collection, split, questions in _groups(results):
        for title, group in (("", _all), ("kind", _kind), ("language", _language), ("project", _project)):
            for value, part in _parts(questions, group):
                methods = {
                    method: _means(results, method, part)
                    | {
                        "difference": asdict(interval)
                        if (interval := _difference(results, method, part))
                        else None
                    }
                    for method in _asked(results, part)
                }
                where = {"collection": collection, "split": split, "by": title, "value": value}
                groups.append(where | {"n": len(part), "methods": methods})
    return {
        "groups": groups,
        "baselines": {name: results.ready_s.get(name, []) for name in results.baselines},
        "costs": [asdict(cost) for cost in results.costs],
        "latency": [_measure(name, times).to_map() for name, times in results.times.items() if times],
        "latency_busy": [_measure(name, times).to_map() for name, times in results.busy.items() if times],
        "figures": results.figures,
        "notes": results.notes,
        "questions": [
            {"id": id_, "project": question.project, "split": question.split}
            | {"scores": {method: scores[id_] for method, scores in results.scores.items() if id_ in scores}}
            for id_, question in results.questions.items()
        ],
    }


def _overview(results: Results) -> str:
    """Return the main measure of every method on everything that was asked."""
    groups = list(_groups(results))
    head = ["method", *(f"{collection}, {split} ({len(asked)})" for collection, split, asked in groups)]
    rows = []
    for method in results.scores:
        cells = [_cell(results, method, questions) for _, _, questions in groups]
        rows.append([method, *cells])
    return (
        _table(head, rows)
        + "\n\n\\* the 95 % interval of the paired difference to the full recipe leaves zero out."
    )


def _cell(results: Results, method: str, questions: Sequence[Judged]) -> str:
    if method not in _asked(results, questions):
        return ""
    interval = _difference(results, method, questions)
    mark = " \\*" if interval is not None and interval.certain else ""
    return f"{_means(results, method, questions)[MAIN]:.3f}{mark}"


def _methods(results: Results, questions: Sequence[Judged]) -> str:
    """Return the table of all methods with the difference to the recipe."""
    head = ["method", *MEASURES, f"{MAIN} against {RECIPE}, 95 %"]
    rows = []
    for method in _asked(results, questions):
        means = _means(results, method, questions)
        interval = _difference(results, method, questions)
        rows.append([method, *(f"{means[measure]:.3f}" for measure in MEASURES), _interval(interval)])
    return _table(head, rows)


def _breakdown(
    results: Results,
    questions: Sequence[Judged],
    title: str,
    group: Callable[[Judged], str],
) -> str:
    """Return the recipe's measures for each value of something, and the main one of a few others beside."""
    others = [
        method for method in (*SIDE_BY_SIDE, *results.baselines) if method in _asked(results, questions)
    ]
    head = [title, "n", *MEASURES, *(f"{MAIN}: {method}" for method in others)]
    rows = []
    for value, part in _parts(questions, group):
        means = _means(results, RECIPE, part)
        beside = [f"{_means(results, method, part)[MAIN]:.3f}" for method in others]
        rows.append([value, str(len(part)), *(f"{means[measure]:.3f}" for measure in MEASURES), *beside])
    return _table(head, rows)


def _costs(results: Results) -> str:
    head = ["project", "files", "chunks", "contents to embed", "first index s", "its peak MB"]
    head += ["embedded in this run", "index.sqlite MB", "lexical MB", "vectors MB", "embeddings MB"]
    rows = []
    for cost in results.costs:
        now = f"{cost.embedded:,} in {cost.embed_s:.0f} s" if cost.embedded else ""
        counts = [f"{count:,}" for count in (cost.files, cost.chunks, cost.contents)]
        sizes = [cost.sqlite_mb, cost.lexical_mb, cost.vectors_mb, cost.embeddings_mb]
        row = [cost.project, *counts, f"{cost.index_s:.1f}", f"{cost.index_peak_mb:.0f}", now]
        rows.append([*row, *(f"{size:.1f}" for size in sizes)])
    return _table(head, rows) if rows else ""


def _latency(results: Results) -> str:
    head = ["a question's way, ms", "P50", "P99", "max", "processor's time P50", "P99", "n"]
    rows = []
    for name, times in results.times.items():
        if times:
            wall, busy = _measure(name, times), _measure(name, results.busy.get(name, []))
            values = [wall.p50, wall.p99, max(times), *((busy.p50, busy.p99) if busy.samples else ())]
            cells = [f"{value:.2f}" for value in values]
            rows.append([name, *cells, *[""] * (5 - len(cells)), f"{len(times):,}"])
    return _table(head, rows) if rows else ""


def _groups(results: Results) -> Iterable[tuple[str, str, list[Judged]]]:
    grouped: dict[tuple[str, str], list[Judged]] = {}
    for question in results.questions.values():
        grouped.setdefault((question.collection, question.split), []).append(question)
    for (collection, split), questions in sorted(grouped.items(), key=lambda item: (item[0][1], item[0][0])):
        yield collection, split, questions


def _parts(questions: Sequence[Judged], group: Callable[[Judged], str]) -> list[tuple[str, list[Judged]]]:
    values = dict.fromkeys(map(group, questions))
    return [(value, [question for question in questions if group(question) == value]) for value in values]


def _asked(results: Results, questions: Sequence[Judged]) -> list[str]:
    """Return the methods that were asked all of these questions."""
    return [
        method
        for method, scores in results.scores.items()
        if all(question.id in scores for question in questions)
    ]


def _means(results: Results, method: str, questions: Sequence[Judged]) -> dict[str, float]:
    scores = results.scores[method]
    return {
        measure: sum(scores[question.id][measure] for question in questions) / len(questions)
        for measure in MEASURES
    }


def _difference(results: Results, method: str, questions: Sequence[Judged]) -> Interval | None:
    """Return by how much a method is better than the recipe, None for the recipe itself."""
    if method == RECIPE:
        return None
    ours, theirs = results.scores[method], results.scores[RECIPE]
    return difference(
        [ours[question.id][MAIN] for question in questions], [theirs[one.id][MAIN] for one in questions]
    )


def _interval(interval: Interval | None) -> str:
    if interval is None:
        return ""
    mark = " *" if interval.certain else ""
    return f"{interval.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f}){mark}"


def _measure(name: str, times: list[float]) -> Measure:
    return Measure(name, samples=times)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _all(question: Judged) -> str:
    return ""


def _kind(question: Judged) -> str:
    return question.kind


def _language(question: Judged) -> str:
    return question.language


def _project(question: Judged) -> str:
    return question.project
