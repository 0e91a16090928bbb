"""One daemon comes up, and leaves nothing that outlives it; `make faults` starts and kills hundreds."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.promise import Ground, Outcome, attempt
from foveal.benchmarks.faults.promises.starts import AT_ONCE, LEFT, LOG, PROMISE, REUSED


def outcome_of(name: str, factory: pytest.TempPathFactory, count: int) -> Outcome:
    return attempt(PROMISE, PROMISE.test(name), Ground(factory.mktemp("s"), count))


@pytest.mark.parametrize(("name", "count"), [(AT_ONCE, 12), (LEFT, 1), (REUSED, 1), (LOG, 1)])
def test_starts_and_ends(tmp_path_factory: pytest.TempPathFactory, name: str, count: int) -> None:
    outcome = outcome_of(name, tmp_path_factory, count)
    assert outcome.lost == []
    assert outcome.tried == count
