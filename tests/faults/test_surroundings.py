"""It keeps working when the machine denies something; a few faults of each kind here, `make faults` tries more."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, attempt
from foveal.benchmarks.faults.promises.surroundings import (
    CLOCK,
    DESCRIPTORS,
    FULL,
    PROMISE,
    READ_ONLY,
    SUSPENDED,
)


@pytest.mark.parametrize(
    ("name", "count"),
    [(FULL, 1), (READ_ONLY, 1), (DESCRIPTORS, 1), (CLOCK, 2), (SUSPENDED, 1)],
)
def test_it_goes_on_and_says_so(tmp_path_factory: pytest.TempPathFactory, name: str, count: int) -> None:
    outcome = attempt(PROMISE, PROMISE.test(name), Ground(tmp_path_factory.mktemp("s"), count))
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert outcome.lost == []
    assert outcome.tried == count
