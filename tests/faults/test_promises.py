"""Each way to break a promise is tried a few times; `make faults` tries hundreds or thousands of each."""

from __future__ import annotations

import pytest
from foveal.benchmarks.faults.__main__ import all_tests
from foveal.benchmarks.faults.promise import Ground, Test, Trial, attempt
from foveal.benchmarks.faults.promises.acknowledged import CUT
from foveal.benchmarks.faults.promises.damaged import STARTED
from foveal.benchmarks.faults.promises.fresh import STORM
from foveal.benchmarks.faults.promises.starts import AT_ONCE
from foveal.benchmarks.faults.promises.strangers import ESCAPES, USERS

TESTS = {test.name: test for _, test in all_tests()}

COUNTS = {CUT: 40, STARTED: 4, STORM: 20, AT_ONCE: 12, USERS: 2, ESCAPES: 40}
"""How many faults `make test` tries; one of each other test."""


@pytest.mark.parametrize("name", TESTS)
def test_nothing_is_lost(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    count = COUNTS.get(name, 1)
    outcome = attempt(TESTS[name], Ground(tmp_path_factory.mktemp("f"), count, 3))
    if outcome.skipped:
        pytest.skip(outcome.skipped)
    assert outcome.lost == []
    assert outcome.tried >= count


def trials(*trials: Trial) -> Test:
    return Test("t", lambda ground: iter(trials), 5)
