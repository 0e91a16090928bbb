"""The fit of growth: the exponent of a power law through measured points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, log


@dataclass(frozen=True, slots=True)
class PowerLaw:
    """cost = factor * size ** exponent. `worst` is the largest ratio, up or down, of a point to the line.

    A cost with a constant part, such as an interpreter's memory, has no one exponent: it grows with the size.
    """

    exponent: float
    factor: float
    worst: float

    def at(self, size: float) -> float:
        """Return the cost of a size."""
        return float(self.factor * size**self.exponent)


def power_law(points: Sequence[tuple[float, float]]) -> PowerLaw:
    """Fit (size, cost) by least squares on the logarithms of both.

    Raises `ValueError` for fewer than two sizes, or a size or cost that isn't above 0.
    """
    if len({size for size, _ in points}) < 2:
        raise ValueError("an exponent needs at least two sizes")
    if any(size <= 0 or cost <= 0 for size, cost in points):
        raise ValueError("a power law is fitted to sizes and costs above 0 only")
    xs, ys = [log(size) for size, _ in points], [log(cost) for _, cost in points]
    x_mean, y_mean = sum(xs) / len(xs), sum(ys) / len(ys)
    spread = sum((x - x_mean) ** 2 for x in xs)
    exponent = sum((x - x_mean) * (y - y_mean) for x, y in zip(xs, ys, strict=True)) / spread
    start = y_mean - exponent * x_mean
    worst = max(abs(y - start - exponent * x) for x, y in zip(xs, ys, strict=True))
    return PowerLaw(exponent, exp(start), exp(worst))
