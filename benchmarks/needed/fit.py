"""Fit the weights of `daemon/search/definitions.py`: python -m benchmarks.needed.fit --state STATE.

The projects must have been indexed by a run of `benchmarks.needed` with the same --state. Prints the weights,
and how well they are calibrated on repositories left out of the fit.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from ..logistic import fit_features, print_calibration
from ..retrieval.repositories import read_repositories
from .__main__ import LIST
from .definitions import DefinitionFeatures
from .product import index_folder
from .tasks import Task, read_tasks

FOLDS = 7
RIDGE = 3.0
"""Of the squares of the weights, on features of unit variance."""

EDGES = (0, 0.002, 0.01, 0.03, 0.1, 0.2, 0.4, 0.7, 1.01)
"""Of the probabilities that the table of calibration groups."""

Rows = list[tuple[Mapping[str, float], bool]]


def main() -> int:
    """Fit and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.needed.fit", description=__doc__)
    parser.add_argument("--state", type=Path, required=True, help="folder of an earlier run")
    state = parser.parse_args().state.absolute()
    by_project: dict[str, Rows] = {}
    for repository in read_repositories(LIST):
        if repository.split == "tune":
            (file,) = (state / "tasks").glob(f"{repository.name}-{repository.revision[:12]}.jsonl")
            by_project[repository.name] = list(_rows(state, repository.name, read_tasks(file)))
            print(f"{repository.name}: {len(by_project[repository.name]):,} definitions", file=sys.stderr)
    names = sorted({name for rows in by_project.values() for features, _ in rows for name in features})
    names = [
        name
        for name in names
        if sum(name in features for rows in by_project.values() for features, _ in rows) > 200
    ]
    predicted: list[float] = []
    true: list[bool] = []
    projects = sorted(by_project)
    for fold in range(FOLDS):
        held = projects[fold::FOLDS]
        weights = fit_features(
            [row for name in projects if name not in held for row in by_project[name]], names, RIDGE
        )
        for name in held:
            for features, needed in by_project[name]:
                predicted.append(_probability(weights, features))
                true.append(needed)
    print_calibration(np.array(predicted), np.array(true), EDGES, "definitions")
    weights = fit_features([row for rows in by_project.values() for row in rows], names, RIDGE)
    print("{")
    for name, value in weights.items():
        print(f'    "{name}": {value:.4g},')
    print("}")
    return 0


def _rows(state: Path, name: str, tasks: Sequence[Task]) -> Iterator[tuple[Mapping[str, float], bool]]:
    known = DefinitionFeatures(state / "projects" / name, index_folder(state / "daemon", name))
    for task in tasks:
        for (path, _, first, last), features in known.features(task.text):
            yield features, any(first <= line <= last for line in task.lines.get(path, ()))
    known.close()


def _probability(weights: Mapping[str, float], features: Mapping[str, float]) -> float:
    total = weights["constant"] + sum(weights.get(name, 0.0) * value for name, value in features.items())
    return float(1 / (1 + np.exp(-np.clip(total, -30, 30))))


if __name__ == "__main__":
    sys.exit(main())
