"""Owns the figures: samples in, percentiles and a table out."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field


@dataclass
class Measure:
    """One line of the table. Samples are in the unit that is named; `target` is a bound on `which`."""

    name: str
    unit: str = "ms"
    samples: list[float] = field(default_factory=list)
    target: float | None = None
    which: str = "p50"
    note: str = ""

    def time(self, work: Callable[[], object], count: int = 1) -> Measure:
        """Add the times of some calls in milliseconds."""
        for _ in range(count):
            started = time.perf_counter()
            work()
            self.samples.append((time.perf_counter() - started) * 1000)
        return self

    def quantile(self, share: float) -> float:
        """Return a quantile of the samples, the nearest that was seen."""
        ordered = sorted(self.samples)
        return ordered[min(int(share * len(ordered)), len(ordered) - 1)]

    @property
    def p50(self) -> float:
        """The median."""
        return self.quantile(0.50)

    @property
    def p99(self) -> float:
        """What one sample in a hundred is above."""
        return self.quantile(0.99)

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where there is none."""
        return None if self.target is None else getattr(self, self.which) <= self.target

    def to_map(self) -> dict[str, object]:
        """Return the line for JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "count": len(self.samples),
            "p50": round(self.p50, 4),
            "p99": round(self.p99, 4),
            "max": round(max(self.samples), 4),
            "target": self.target,
            "target_of": self.which if self.target is not None else None,
            "met": self.met,
            "note": self.note,
        }


def table(measures: list[Measure]) -> str:
    """Return the measures as a Markdown table."""
    lines = ["| measure | P50 | P99 | max | unit | n | target | met |", "|---|---|---|---|---|---|---|---|"]
    for one in measures:
        target = "" if one.target is None else f"{one.which.upper()} ≤ {_number(one.target)}"
        met = {None: "", True: "yes", False: "**no**"}[one.met]
        note = f" ({one.note})" if one.note else ""
        lines.append(
            f"| {one.name}{note} | {_number(one.p50)} | {_number(one.p99)} | {_number(max(one.samples))} |"
            f" {one.unit} | {len(one.samples):,} | {target} | {met} |"
        )
    return "\n".join(lines)


def _number(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if value >= 1 else f"{value:.3f}"
