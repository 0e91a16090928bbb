"""Fit the learned order of files: python -m benchmarks.order.fit --state STATE [--write].

A linear model over `file_order.FEATURES`, fitted so that of the files of each question those that answer it
get the highest scores (a softmax over the files, by Newton's method); then the probability of a file from its
score and how far it lies below the best. The repositories of `tune` take part, in each state of the vectors;
the figures are of repositories left out of the fit.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from foveal.daemon.search import file_order_weights
from foveal.daemon.search.file_order import FEATURES, ORDERED_MAX, features
from foveal.daemon.search.ranking import by_evidence
from foveal.daemon.search.router import candidates_of
from numpy.typing import NDArray

from .. import logistic
from ..logistic import print_calibration
from ..retrieval.measures import ndcg
from .collect import STATES, WHOLE
from .projects import TRANSLATED_KINDS
from .ranking import projects

FOLDS = 6
RIDGE = 100.0
"""Of the squares of the weights, on features of unit variance; 5 and 30 gave .002 to .006 less, 300 .005."""

STEPS = 40
STEP_MIN, ENOUGH = 1e-4, 1e-3
"""Newton's method halves a step that makes the fit worse down to this share, and ends when a step gains less
than this much of the logarithmic likelihood."""

EDGES = (0, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.01)
"""Of the probabilities that the table of calibration groups."""

Table = NDArray[np.float64]


@dataclass
class Ranked:
    """The files of one question in one state, in the order of their evidence."""

    project: str
    split: str
    kind: str
    state: str
    paths: list[str]
    relevant: Mapping[str, int]
    table: NDArray[np.float32]
    grades: Table


def main() -> int:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.order.fit", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="folder that `collect` filled")
    parser.add_argument("--write", action="store_true", help="put the weights into the product")
    parser.add_argument("--only-fit", action="store_true", help="print no figures")
    options = parser.parse_args()
    rows = [row for row in read_rows(options.state.absolute()) if row.split == "tune"]
    names = sorted({row.project for row in rows})
    print(f"{len(rows)} questions in their states, {len(names)} code bases", file=sys.stderr)
    if not options.only_fit:
        _print_left_out(rows, names)
    weights = fit(rows)
    text = _module(weights, calibrate(rows, weights))
    if options.write:
        Path(str(file_order_weights.__file__)).write_text(text, encoding="utf-8")
    else:
        print(text)
    return 0


def read_rows(state: Path) -> Iterator[Ranked]:
    """Yield the files of each question with their features, as the product sees them."""
    for name, gathered, reader, tree in projects(state):
        for found in gathered:
            if found.asked.kind in TRANSLATED_KINDS:
                continue
            known = found.unrouted
            for each in STATES:
                if each not in found.hits:
                    continue
                candidates, languages = candidates_of(
                    known, found.hits[each][1], tree, reader, embedded=each in WHOLE
                )
                rare = partial(_rarity, known.rarity)
                files = by_evidence(known.question, candidates, languages, rare)[:ORDERED_MAX]
                table = features(
                    known.question,
                    candidates,
                    files,
                    rare,
                )
                if not files:
                    continue
                relevant = found.asked.relevant
                paths = [file.path for file in files]
                grades = np.array([2.0 ** relevant.get(path, 0) - 1 for path in paths])
                yield Ranked(
                    name,
                    found.asked.split,
                    found.asked.kind,
                    each,
                    paths,
                    relevant,
                    np.array(table, np.float32),
                    grades,
                )


def _rarity(known: Mapping[str, float], term: str) -> float:
    return known.get(term, 0.0)


def fit(rows: Sequence[Ranked]) -> Table:
    """Return the weights of `FEATURES`. Each repository counts as the root of its questions."""
    rows = [row for row in rows if row.grades.sum() > 0]
    counts = Counter((row.project, row.kind == "commit") for row in rows)
    share = np.array([counts[row.project, row.kind == "commit"] ** -0.5 for row in rows])
    share /= share.mean()
    table = np.concatenate([row.table for row in rows]).astype(np.float64)
    aim = np.concatenate([row.grades / row.grades.sum() for row in rows])
    deviation = table.std(axis=0) + 1e-6
    scaled = ((table - table.mean(axis=0)) / deviation).astype(np.float32)
    sizes = [len(row.grades) for row in rows]
    starts = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    of_row = np.repeat(np.arange(len(rows)), sizes)

    def value(weights: Table) -> float:
        scores = (scaled @ weights.astype(np.float32)).astype(np.float64)
        scores -= np.maximum.reduceat(scores, starts)[of_row]
        normal = np.log(np.add.reduceat(np.exp(scores), starts))
        return float((share[of_row] * aim * (scores - normal[of_row])).sum() - RIDGE * (weights @ weights))

    weights = np.zeros(scaled.shape[1])
    known = value(weights)
    for _ in range(STEPS):
        scores = (scaled @ weights.astype(np.float32)).astype(np.float64)
        scores -= np.maximum.reduceat(scores, starts)[of_row]
        odds = np.exp(scores)
        odds /= np.add.reduceat(odds, starts)[of_row]
        weighted = (scaled * (odds * share[of_row])[:, None].astype(np.float32)).astype(np.float32)
        means = np.add.reduceat(scaled * odds[:, None].astype(np.float32), starts)
        curvature = weighted.T @ scaled - (means * share[:, None].astype(np.float32)).T @ means
        gradient = ((aim - odds) * share[of_row]).astype(np.float32) @ scaled - 2 * RIDGE * weights
        step = np.linalg.solve(
            curvature.astype(np.float64) + 2 * RIDGE * np.eye(len(weights)), gradient.astype(np.float64)
        )
        reach = 1.0
        while (better := value(weights + reach * step)) < known and reach > STEP_MIN:
            reach /= 2
        if better < known + ENOUGH:
            break
        weights, known = weights + reach * step, better
    fitted: Table = weights / deviation
    return fitted


def calibrate(rows: Sequence[Ranked], weights: Table) -> tuple[float, float, float]:
    """Return the weights of a constant, a file's score and how far it lies below the best, for its odds."""
    scores = [row.table @ weights for row in rows]
    known = np.concatenate(
        [np.stack([np.ones(len(each)), each, each - each.max()], axis=1) for each in scores]
    )
    true = np.concatenate([row.grades > 0 for row in rows]).astype(float)
    found = logistic.fit(known, true, np.full(3, 1e-6))
    return float(found[0]), float(found[1]), float(found[2])


def _print_left_out(rows: Sequence[Ranked], names: Sequence[str]) -> None:
    """Print what the order gives on repositories left out of the fit, and how well it is calibrated."""
    before: dict[tuple[str, str], list[float]] = {}
    after: dict[tuple[str, str], list[float]] = {}
    said: list[float] = []
    true: list[float] = []
    for fold in range(FOLDS):
        held = set(names[fold::FOLDS])
        known = [row for row in rows if row.project not in held]
        weights = fit(known)
        constant, own, below = calibrate(known, weights)
        for row in rows:
            if row.project not in held:
                continue
            scores = row.table @ weights
            order = np.argsort(-scores, kind="stable")
            key = ("commits" if row.kind == "commit" else "questions", row.state)
            before.setdefault(key, []).append(ndcg(row.paths, row.relevant, 10))
            after.setdefault(key, []).append(ndcg([row.paths[one] for one in order], row.relevant, 10))
            odds = constant + own * scores + below * (scores - scores.max())
            said += (1 / (1 + np.exp(-odds))).tolist()
            true += (row.grades > 0).tolist()
    for key in sorted(before):
        was, new = float(np.mean(before[key])), float(np.mean(after[key]))
        print(f"# {' '.join(key):18} {len(before[key]):5} {was:.3f} {new:.3f} {new - was:+.3f}")
    print_calibration(np.array(said), np.array(true), EDGES, "files")


def _module(weights: Table, calibration: Sequence[float]) -> str:
    lines = [f'    "{name}": {value:.4g},' for name, value in zip(FEATURES, weights, strict=True)]
    numbers = ", ".join(f"{value:.4g}" for value in calibration)
    return _MODULE.format(weights="\n".join(lines), calibration=numbers)


_MODULE = '''"""The weights of the learned order of files, as `python -m benchmarks.order.fit` writes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

WEIGHTS: Final[Mapping[str, float]] = {{
{weights}
}}
"""Of a linear model over `file_order.FEATURES`, fitted to commits and questions of the `tune` code bases of
benchmarks/order."""

CALIBRATION: Final = ({calibration})
"""A constant, and what a file's score and its distance below the best count, for the odds that it answers."""
'''


if __name__ == "__main__":
    sys.exit(main())
