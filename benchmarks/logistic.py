"""Logistic regression with a ridge, which fits the weights that the product has in its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

STEPS = 40
ENOUGH = 1e-6
"""Newton's method ends when no weight moves by more."""

Numbers = NDArray[np.float64]


def fit(table: Numbers, true: Numbers, ridge: Numbers) -> Numbers:
    """Return the weights of the columns of a table, by Newton's method. `ridge` is of their squares."""
    weights = np.zeros(table.shape[1])
    for _ in range(STEPS):
        probability = 1 / (1 + np.exp(-np.clip(table @ weights, -30, 30)))
        slope = table.T @ (true - probability) - ridge * weights
        curve = (table * (probability * (1 - probability))[:, None]).T @ table + np.diag(ridge + 1e-9)
        step = np.linalg.solve(curve, slope)
        weights += step
        if np.abs(step).max() < ENOUGH:
            break
    return weights


def fit_features(
    rows: Sequence[tuple[Mapping[str, float], bool]], names: Sequence[str], ridge: float
) -> dict[str, float]:
    """Return the weights of named features, absent ones being 0, and of `constant`; the ridge is of features
    of unit variance."""
    table = np.array([[features.get(name, 0.0) for name in names] for features, _ in rows])
    mean, deviation = table.mean(axis=0), table.std(axis=0) + 1e-9
    scaled = np.column_stack([np.ones(len(table)), (table - mean) / deviation])
    true = np.array([right for _, right in rows], dtype=float)
    weights = fit(scaled, true, np.array([0.0, *[ridge] * len(names)]))
    plain = weights[1:] / deviation
    constant = float(weights[0] - (plain * mean).sum())
    return {"constant": constant} | {name: float(value) for name, value in zip(names, plain, strict=True)}


def print_calibration(predicted: Numbers, true: Numbers, edges: Sequence[float], things: str) -> None:
    """Print what was predicted on average between two edges each, and what was true."""
    for low, high in pairwise(edges):
        inside = (predicted >= low) & (predicted < high)
        if inside.any():
            shares = f"{predicted[inside].mean():.4f} predicted, {true[inside].mean():.4f} true"
            print(f"# {low} to {high}: {inside.sum():,} {things}, {shares}")
