"""The figures: samples in, percentiles, the ratio to a baseline and a table out."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field


@dataclass
class Measure:
    """One line of the table. Samples are in the unit that is named.

    `target` bounds `which` ("p50" or "p99") from above, or from below with `least`. It is judged unless the
    run is smaller than what the target speaks of. `baseline` is what it is held against: the ratio is of the
    same quantile, or of the medians where the baseline has one sample. `memory_mb` is what the note, or else
    the daemon, had in memory after it.
    """

    name: str
    unit: str = "ms"
    samples: list[float] = field(default_factory=list)
    target: float | None = None
    which: str = "p50"
    note: str = ""
    least: bool = False
    judged: bool = True
    baseline: Measure | None = None
    memory_mb: float | None = None

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
    def value(self) -> float:
        """What the target bounds; the median where there is none."""
        return self.p99 if self.which == "p99" else self.p50

    @property
    def met(self) -> bool | None:
        """Whether the target was met; None where there is none, or this run can't tell."""
        if self.target is None or not self.judged:
            return None
        return self.value >= self.target if self.least else self.value <= self.target

    @property
    def ratio(self) -> float | None:
        """How many times the baseline this is; None without one."""
        if self.baseline is None or not self.baseline.samples:
            return None
        same = self.baseline.p99 if self.which == "p99" else self.baseline.p50
        return self.value / same if same else None

    def tail(self, target: float) -> Measure:
        """Return a line for the slowest of a hundred of the same samples."""
        return Measure(
            f"{self.name}, tail", self.unit, self.samples, target, "p99",
            judged=self.judged, baseline=self.baseline, memory_mb=self.memory_mb,
        )  # fmt: skip

    def to_map(self) -> dict[str, object]:
        """Return the line for JSON."""
        return {
            "name": self.name,
            "unit": self.unit,
            "count": len(self.samples),
            "value": round(self.value, 4),
            "p50": round(self.p50, 4),
            "p99": round(self.p99, 4),
            "max": round(max(self.samples), 4),
            "target": self.target,
            "target_of": self.which if self.target is not None else None,
            "target_is": None if self.target is None else "least" if self.least else "most",
            "met": self.met,
            "baseline": None if self.baseline is None else self.baseline.name,
            "ratio": None if self.ratio is None else round(self.ratio, 3),
            "memory_mb": None if self.memory_mb is None else round(self.memory_mb, 1),
            "note": self.note,
        }


def table(measures: Sequence[Measure]) -> str:
    """Return the measures as a Markdown table; columns that no line fills are left out."""
    rows = [_cells(measure) for measure in measures]
    columns = [name for name in _COLUMNS if any(row[name] for row in rows)]
    lines = ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"]
    lines += ["| " + " | ".join(row[name] for name in columns) + " |" for row in rows]
    return "\n".join(lines)


_COLUMNS = ("measure", "target", "this run", "met", "baseline", "P50", "P99", "max", "unit", "n", "memory MB")


def _cells(one: Measure) -> dict[str, str]:
    ratio = "" if one.ratio is None or one.baseline is None else f"{_number(one.ratio)} x {one.baseline.name}"
    bound = "≥" if one.least else "≤"
    return {
        "measure": one.name + (f" ({one.note})" if one.note else ""),
        "target": "" if one.target is None else f"{one.which.upper()} {bound} {_number(one.target)}",
        "this run": _number(one.value),
        "met": {None: "", True: "yes", False: "**no**"}[one.met],
        "baseline": ratio,
        "P50": _number(one.p50),
        "P99": _number(one.p99),
        "max": _number(max(one.samples)),
        "unit": one.unit,
        "n": f"{len(one.samples):,}",
        "memory MB": "" if one.memory_mb is None else _number(one.memory_mb),
    }


def _number(value: float) -> str:
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
