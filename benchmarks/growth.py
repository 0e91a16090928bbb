"""The growth curve: costs of 1,000, 10,000 and 100,000 files, and of vectors, with fitted exponents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .bench import Bench
from .fit import power_law
from .large_tree import FILES, Tree, tree
from .statistics import Measure
from .vectors import figures, sizes

SIZES = (1_000, 10_000, FILES)
QUICK_SIZES = (300, 1_000)

Points = list[tuple[float, float]]


def run(bench: Bench) -> list[Measure]:
    """Measure each size, then fit; an exponent of 1 is a cost in proportion, one of 0 none at all."""
    trees = [tree(bench, count) for count in (QUICK_SIZES if bench.quick else SIZES)]
    by_vectors = [(count, figures(bench, count)) for count in sizes(bench)]
    return curves(_of_trees(trees), "files") + curves(_of_vectors(by_vectors), "vectors")


def curves(points: Mapping[tuple[str, str], Points], of: str) -> list[Measure]:
    """Return each curve's points as lines, by (what, unit), and its exponent where it has at least two."""
    measures = []
    for (what, unit), curve in points.items():
        measures += [Measure(f"{what} at {size:,.0f} {of}", unit, [cost]) for size, cost in curve]
        if len({size for size, _ in curve}) > 1:
            law = power_law(curve)
            note = f"no point is further than {law.worst:.2f} times from the line"
            measures.append(Measure(f"{what}: exponent in {of}", "", [law.exponent], note=note))
    return measures


def _of_trees(trees: Sequence[Tree]) -> dict[tuple[str, str], Points]:
    def curve(costs: Sequence[float]) -> Points:
        return [(one.files, cost) for one, cost in zip(trees, costs, strict=True)]

    curves_ = {
        ("all names", "s"): curve([one.names for one in trees]),
        ("names and hashes", "s"): curve([one.hashed for one in trees]),
        ("symbols and words", "s"): curve([one.read for one in trees]),
        ("symbols and links", "s"): curve([one.linked for one in trees]),
        ("warm start", "s"): curve([one.warm_start for one in trees]),
        ("warm start, tree compared", "s"): curve([one.compared for one in trees]),
        ("memory of the daemon", "MB"): curve([one.daemon for one in trees]),
        ("memory of the daemon after a warm start", "MB"): curve([one.warm_daemon for one in trees]),
        ("memory of all processes", "MB"): curve([one.everything for one in trees]),
        ("index on the disk", "MB"): curve([one.index for one in trees]),
    }
    for request, first in trees[0].requests.items():
        name = first.name.split(": ", 1)[1]
        curves_[f"{name}, P50", "ms"] = curve([one.requests[request].p50 for one in trees])
    return curves_


def _of_vectors(by_count: Sequence[tuple[int, list[Measure]]]) -> dict[tuple[str, str], Points]:
    curves_: dict[tuple[str, str], Points] = {}
    for count, measures in by_count:
        for measure in measures:
            what = measure.name.split(": ", 1)[1]
            if what in _VECTOR_CURVES and measure.p50 > 0:
                name = f"{what}, P50" if len(measure.samples) > 1 else what
                curves_.setdefault((name, measure.unit), []).append((count, measure.p50))
    return curves_


_VECTOR_CURVES = frozenset(
    ("search", "search under a filter of 0.1", "build from the database", "memory of a process that searches",
     "disk", "open", "numpy: exact search")
)  # fmt: skip
