"""One bad client harms no other; a few faults of each kind here, `make faults` tries more."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, attempt
from foveal.benchmarks.faults.promises.neighbours import BESIDE, DESCRIPTORS, FUZZED, PROMISE


@pytest.mark.parametrize(
    ("name", "count"),
    [
        (BESIDE, 1),
        (DESCRIPTORS, 1),
        (FUZZED["protocol"], 3_000),
        (FUZZED["transcript"], 300),
        (FUZZED["config"], 300),
    ],
)
def test_nobody_else_is_harmed(tmp_path_factory: pytest.TempPathFactory, name: str, count: int) -> None:
    outcome = attempt(PROMISE, PROMISE.test(name), Ground(tmp_path_factory.mktemp("n"), count))
    assert outcome.lost == []
    assert outcome.tried == count
